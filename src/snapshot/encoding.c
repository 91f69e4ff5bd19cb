#include "encoding-priv.h"

void encoding_init(struct encoding *encoding, const char *tag)
{
    hash_init(&encoding->hash);
    encoding_string(encoding, tag);
}

void encoding_number(struct encoding *encoding, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(number >> (8 * i));
    }
    hash_add(&encoding->hash, bytes, sizeof bytes);
}

void encoding_span(struct encoding *encoding, struct span bytes)
{
    encoding_number(encoding, bytes.n);
    hash_add(&encoding->hash, bytes.p, bytes.n);
}

void encoding_string(struct encoding *encoding, const char *string)
{
    if (!string) {
        encoding_number(encoding, UINT64_MAX); /* the length of no string */
        return;
    }
    encoding_span(encoding, span_of_string(string));
}

void encoding_hex(struct encoding *encoding, char hex[HASH_HEX_SIZE])
{
    hash_hex(&encoding->hash, hex);
}
