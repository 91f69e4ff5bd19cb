/* encoding-priv.h
 *
 * The canonical encoding that identities are hashed over: a tag first, then numbers of eight bytes (least
 * significant first) and strings of bytes behind their length. So no two lists of values have the same
 * encoding, and a field that is not there is written as a string that no present one can be.
 *
 * Limitations  the reader of such bytes is another hash: nothing decodes them.
 */
#pragma once

#include <stdint.h>

#include "hash.h"
#include "span.h"

struct encoding {
    struct hash hash;
};

void encoding_init(struct encoding *encoding, const char *tag);
void encoding_number(struct encoding *encoding, uint64_t number);
void encoding_span(struct encoding *encoding, struct span bytes);
void encoding_string(struct encoding *encoding, const char *string); /* NULL: as absent */
void encoding_hex(struct encoding *encoding, char hex[HASH_HEX_SIZE]);
