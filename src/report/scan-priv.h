/* scan-priv.h
 *
 * One pass of the redactor over a text: what it knows at a place, how it goes on, and where a value
 * ends.
 */
#pragma once

#include "buf.h"
#include "redact-priv.h"

struct scan {
    struct span text;
    size_t at;
    struct buf *out;
    size_t out_start;  /* where this text begins in out */
    char last;         /* the last byte that was put out, 0: none */
    char quote;        /* the quote that is open on this line, 0: none */
    unsigned programs; /* called on this line, redact_programs() */
    size_t run_end;    /* of the name that begins at `at`, when one does */
    size_t word_end;   /* of the text without blanks that `at` lies in */
    size_t word_at;    /* its last @, when word_has_at */
    bool word_has_at;
    bool no_end; /* no private key ends behind `at` */
};

/* NUL behind the end. */
static inline char scan_byte(const struct scan *scan, size_t at)
{
    return at < scan->text.n ? scan->text.p[at] : '\0';
}

static inline struct span scan_rest(const struct scan *scan, size_t at)
{
    return span_of(scan->text.p + at, scan->text.n - at);
}

size_t scan_skip_blanks(const struct scan *scan, size_t at);
bool scan_is_quote(char c);

void scan_pass_byte(struct scan *scan);
/* Pass on up to `end`; a token that stands there is hidden all the same. */
void scan_pass(struct scan *scan, size_t end);
void scan_hide(struct scan *scan, size_t end);

/* The offset behind a private key block that begins in [at, end), or end. */
size_t scan_end_with_key(struct scan *scan, size_t at, size_t end);

enum reach {
    REACH_WORD,    /* to a blank */
    REACH_LINE,    /* to the end of the line */
    REACH_ELEMENT, /* to a < */
};
/* Is `at` behind a value without quotes of its own? A quote that was open before ends it as well. */
bool scan_ends_value(const struct scan *scan, size_t at, enum reach reach);
/* Hide the value that begins here, if there is one: quoted, in brackets, or bare. quoted_name: the
 * name before it was in quotes. */
void scan_hide_value(struct scan *scan, enum reach reach, bool quoted_name);
