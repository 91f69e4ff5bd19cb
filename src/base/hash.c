#define OPENSSL_SUPPRESS_DEPRECATED
#include "hash.h"

#include <openssl/sha.h>

#include "attributes.h"

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct hash), "the context must fit");

static SHA256_CTX *context(struct hash *hash)
{
    return (SHA256_CTX *)(void *)hash->state;
}

void hash_init(struct hash *hash)
{
    (void)SHA256_Init(context(hash)); /* cannot fail: it only writes constants */
}

void hash_add(struct hash *hash, const void *bytes, size_t n)
{
    (void)SHA256_Update(context(hash), bytes, n); /* no failure is defined for it */
}

void hash_hex(struct hash *hash, char hex[HASH_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[HASH_BYTES];
    (void)SHA256_Final(digest, context(hash));
    for (size_t i = 0; i < HASH_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * HASH_BYTES] = '\0';
}
