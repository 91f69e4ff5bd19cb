#include "redact-priv.h"

#include <string.h>

/* Shapes that issuers publish, so that scanners find what leaked. */
enum alphabet { ALNUM, WORD, DOTTED }; /* letters and digits; and - _; and . */

#define SHAPE(prefix)                                                                              \
    {                                                                                              \
        prefix, sizeof prefix - 1                                                                  \
    }

static const struct {
    struct span prefix;
    enum alphabet alphabet;
    size_t minimum;   /* of what follows the prefix */
    bool needs_digit; /* the prefix alone could begin an ordinary word */
} tokens[] = {
    {SHAPE("AKIA"), ALNUM, 16, false},     {SHAPE("ASIA"), ALNUM, 16, false},
    {SHAPE("ghp_"), WORD, 16, false},      {SHAPE("gho_"), WORD, 16, false},
    {SHAPE("ghu_"), WORD, 16, false},      {SHAPE("ghs_"), WORD, 16, false},
    {SHAPE("ghr_"), WORD, 16, false},      {SHAPE("github_pat_"), WORD, 16, false},
    {SHAPE("glpat-"), WORD, 16, false},    {SHAPE("gldt-"), WORD, 16, false},
    {SHAPE("xoxb-"), WORD, 10, false},     {SHAPE("xoxp-"), WORD, 10, false},
    {SHAPE("xoxa-"), WORD, 10, false},     {SHAPE("xoxs-"), WORD, 10, false},
    {SHAPE("xapp-"), WORD, 10, false},     {SHAPE("sk-"), WORD, 20, true},
    {SHAPE("sk_live_"), WORD, 16, false},  {SHAPE("sk_test_"), WORD, 16, false},
    {SHAPE("rk_live_"), WORD, 16, false},  {SHAPE("AIza"), WORD, 30, false},
    {SHAPE("ya29."), DOTTED, 20, false},   {SHAPE("npm_"), WORD, 30, true},
    {SHAPE("pypi-"), WORD, 40, true},      {SHAPE("hf_"), ALNUM, 30, false},
    {SHAPE("dckr_pat_"), WORD, 16, false}, {SHAPE("SG."), DOTTED, 40, true},
    {SHAPE("eyJ"), DOTTED, 24, false},     {SHAPE("AGE-SECRET-KEY-1"), ALNUM, 40, false},
    {SHAPE("hvs."), DOTTED, 20, false},    {SHAPE("dop_v1_"), ALNUM, 40, false},
};

enum { TOKEN_LOOK = 128 }; /* how far a minimum or a digit is looked for */

static bool is_of(enum alphabet alphabet, char c)
{
    return redact_is_alnum(c) || (alphabet != ALNUM && (c == '-' || c == '_')) ||
           (alphabet == DOTTED && c == '.');
}

static bool has_digit(struct span text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] >= '0' && text.p[i] <= '9') {
            return true;
        }
    }
    return false;
}

static size_t run_length(enum alphabet alphabet, struct span text, size_t maximum)
{
    size_t n = 0;
    while (n < text.n && n < maximum && is_of(alphabet, text.p[n])) {
        n++;
    }
    return n;
}

/* The first letters of the prefixes: most words have another. */
static bool may_begin(char c)
{
    return memchr("ASdeghnprsxy", c, sizeof "ASdeghnprsxy" - 1) != NULL;
}

size_t redact_token(struct span text)
{
    if (text.n == 0 || !may_begin(text.p[0])) {
        return 0;
    }
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        size_t prefix = tokens[i].prefix.n;
        if (text.n < prefix || text.p[0] != tokens[i].prefix.p[0] ||
            memcmp(text.p, tokens[i].prefix.p, prefix) != 0) {
            continue;
        }
        struct span rest = span_of(text.p + prefix, text.n - prefix);
        size_t looked = run_length(tokens[i].alphabet, rest, TOKEN_LOOK);
        if (looked >= tokens[i].minimum &&
            (!tokens[i].needs_digit || has_digit(span_of(rest.p, looked)))) {
            return prefix + run_length(tokens[i].alphabet, rest, rest.n);
        }
    }
    return 0;
}

/* Private key blocks: PEM, OpenSSH, PGP. */

#define BEGIN_MARKER "-----BEGIN "
#define END_MARKER   "-----END "

enum { LABEL_BYTES = 48 };

/* Bytes of `-----BEGIN EC PRIVATE KEY-----` at the front, for either marker; 0: another label. */
static size_t marker_length(struct span text, const char *marker)
{
    if (!span_starts_with(text, marker)) {
        return 0;
    }
    size_t i = strlen(marker);
    size_t label = i;
    while (i < text.n && i - label < LABEL_BYTES &&
           (redact_is_alnum(text.p[i]) || text.p[i] == ' ')) {
        i++;
    }
    struct span name = span_of(text.p + label, i - label);
    bool private = span_find(name, span_of_string("PRIVATE KEY")) != NULL;
    return private && span_starts_with(span_of(text.p + i, text.n - i), "-----") ? i + 5 : 0;
}

/* Offset behind the next end marker of a private key, 0: there is none. */
static size_t find_end(struct span text)
{
    size_t at = 0;
    for (;;) {
        const char *found =
            span_find(span_of(text.p + at, text.n - at), span_of_string(END_MARKER));
        if (!found) {
            return 0;
        }
        at = (size_t)(found - text.p);
        size_t length = marker_length(span_of(found, text.n - at), END_MARKER);
        if (length > 0) {
            return at + length;
        }
        at += sizeof END_MARKER - 1;
    }
}

static bool is_body(char c)
{
    return redact_is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '\\';
}

/* Bytes at the front that can stand in a key's text on one line. */
static size_t body_length(struct span text)
{
    size_t n = 0;
    while (n < text.n && is_body(text.p[n])) {
        n++;
    }
    return n;
}

/* The length of a line that belongs to a key as a whole: its text, or one of the headers of an
 * encrypted one; *ret_all says whether it does. */
static size_t key_line_length(struct span text, bool *ret_all)
{
    size_t n = 0;
    while (n < text.n && !redact_is_break(text.p[n])) {
        n++;
    }
    struct span line = span_of(text.p, n);
    *ret_all = body_length(line) == n || redact_begins(line, "proc-type:") ||
               redact_begins(line, "dek-info:");
    return n;
}

/* A key without its end: what still looks like one. */
static size_t unended_length(struct span text)
{
    size_t n = body_length(text);
    while (n < text.n && redact_is_break(text.p[n])) {
        bool all;
        size_t line = key_line_length(span_of(text.p + n + 1, text.n - n - 1), &all);
        if (!all) {
            break;
        }
        n += 1 + line;
    }
    return n;
}

size_t redact_private_key(struct span text, bool *no_end)
{
    size_t begin = marker_length(text, BEGIN_MARKER);
    if (begin == 0) {
        return 0;
    }
    struct span rest = span_of(text.p + begin, text.n - begin);
    size_t end = *no_end ? 0 : find_end(rest);
    *no_end = end == 0;
    return begin + (end > 0 ? end : unended_length(rest));
}

size_t redact_private_key_rest(struct span text)
{
    size_t end = find_end(text);
    if (end == 0) {
        return 0;
    }
    struct span before = span_of(text.p, end);
    const char *begin = span_find(before, span_of_string(BEGIN_MARKER));
    while (begin) {
        size_t at = (size_t)(begin - text.p);
        if (marker_length(span_of(begin, end - at), BEGIN_MARKER) > 0) {
            return 0;
        }
        at += sizeof BEGIN_MARKER - 1;
        begin = span_find(span_of(text.p + at, end - at), span_of_string(BEGIN_MARKER));
    }
    return end;
}
