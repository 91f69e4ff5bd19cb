/* redact-priv.h
 *
 * What the files of the redactor share: which names are a credential's, where values end, and the
 * shapes of tokens. All look at bytes only, each byte a bounded number of times.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "span.h"

/* Here and not in a source: asked several times of each byte of a record. */
static inline bool redact_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The end of a line, NUL. */
static inline bool redact_is_break(char c)
{
    return c == '\n' || c == '\r' || c == '\0';
}

static inline bool redact_is_space(char c)
{
    return redact_is_blank(c) || redact_is_break(c);
}

static inline bool redact_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* What names are made of. */
static inline bool redact_is_name(char c)
{
    return redact_is_alnum(c) || c == '-' || c == '_' || c == '.';
}

bool redact_equals(struct span a, const char *word); /* ASCII, letters of either case */
bool redact_begins(struct span a, const char *word);

/* "GITHUB_TOKEN", "db.password", "clientSecret", "x-api-key", "--auth". */
bool redact_is_credential(struct span name);
/* Names whose value goes to the end of the line: "Authorization", "Set-Cookie". */
bool redact_is_header(struct span name);

/* Programs whose short flags carry a credential (`mysql -psecret`). */
unsigned redact_programs(struct span word); /* a bit for each that the word calls */
enum flag_form { FLAG_NONE, FLAG_SEPARATE, FLAG_ATTACHED };
/* What `text` begins with, when one of the programs was called: its flag alone (the value is the
 * next word) or the flag with the value behind it; *ret_flag is the flag's length. A value of a
 * flag that takes user:password is one only with a colon. */
enum flag_form redact_program_flag(unsigned programs, struct span text, size_t *ret_flag,
                                   bool *ret_needs_colon);

/* Bytes of the token at the front of text, 0 when none of the known shapes is there. */
size_t redact_token(struct span text);

/* Bytes of the private key block at the front of text, 0 when none is there. *no_end remembers that
 * no end marker follows, so that it is looked for in vain only once. */
size_t redact_private_key(struct span text, bool *no_end);
/* Offset behind the first end marker of a private key that has no beginning in text, or 0. */
size_t redact_private_key_rest(struct span text);

/* redact_text(), and where in out that begins which stands from offset `from` on. */
size_t redact_from(struct span in, size_t from, struct buf *out);

/* A quick look: true, nothing in it would be hidden; false, it is not known. */
bool redact_leaves(struct span in);

/* The forms in their order, NULL behind the last. */
const char *redact_form_name(size_t index);
