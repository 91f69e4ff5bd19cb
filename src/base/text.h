/* text.h
 *
 * Text from outside, made safe to show, and small number parsing.
 *
 * text_neutralise() rewrites bytes so that a terminal or a log shows them and obeys none: control
 * characters (C0, DEL, C1), bidi controls and other invisible format characters, the Unicode line
 * separators and invalid UTF-8 become visible escapes (\n, \x1b, \u202e, \xff). Valid printable
 * UTF-8 stays. Each input byte becomes at most 4 output bytes.
 *
 * Source       Unicode 15 categories Cc, Cf, Zl, Zp, noncharacters; the "Trojan Source" set
 *              (UAX #9 explicit formatting characters).
 * Limitations  does not judge look-alike letters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"
#include "buf.h"
#include "span.h"

void text_neutralise(struct buf *out, struct span in);

/* True when the bytes are valid UTF-8 (no overlong forms, no surrogates, at most U+10FFFF). */
bool text_is_utf8(struct span in);
/* Append `in` as valid UTF-8: each byte that is not becomes U+FFFD. For JSON strings. */
void text_to_utf8(struct buf *out, struct span in);

/* Whole decimal number, no sign, no blank, at most maximum; else false and *ret_value untouched. */
bool text_parse_number(struct span in, uint64_t maximum, uint64_t *ret_value) must_check;
/* The value of the first variable of that name in NAME=VALUE strings that NULL ends, or NULL. */
const char *text_variable(char *const *environment, const char *name);
