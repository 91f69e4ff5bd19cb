/* hash.h
 *
 * SHA-256, streaming, over libcrypto's own implementation (docs/adr/0002 says why the one-shot
 * functions and not the provider interface). A digest in text is 64 lowercase hex digits.
 *
 * Limitations  SHA-256 only; a second algorithm would be a second type.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HASH_BYTES = 32, HASH_HEX_SIZE = 65 };

struct hash {
    uint64_t state[32]; /* large and aligned enough for libcrypto's context; checked in hash.c */
};

void hash_init(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t n);
void hash_hex(struct hash *hash, char hex[HASH_HEX_SIZE]); /* ends the hash */
