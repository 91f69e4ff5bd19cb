/* scan.c
 *
 * Where a value ends, and what is put out. Every look ahead is consumed by what was found, or is
 * remembered when nothing was, or is bounded: the time is linear.
 */
#include "scan-priv.h"

#include <string.h>

#include "redact.h"

bool scan_is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

/* Backslashes right before `at`. */
static size_t escapes(const struct scan *scan, size_t at)
{
    size_t n = 0;
    while (n < at && scan->text.p[at - n - 1] == '\\') {
        n++;
    }
    return n;
}

/* An apostrophe within a word opens nothing. */
static void note_quote(struct scan *scan, char c)
{
    if (scan->quote == c) {
        scan->quote = '\0';
    } else if (scan->quote == '\0' && (c == '"' || !redact_is_alnum(scan->last))) {
        scan->quote = c;
    }
}

void scan_pass_byte(struct scan *scan)
{
    char c = scan->text.p[scan->at];
    if (redact_is_break(c)) {
        scan->quote = '\0';
        scan->programs = 0;
    } else if (scan_is_quote(c) && scan->last != '\\') {
        note_quote(scan, c);
    } else if (scan->quote == '\0' && (c == '|' || c == ';' || c == '&')) {
        scan->programs = 0;
    }
    buf_add_char(scan->out, c);
    scan->last = c;
    scan->at++;
}

void scan_hide(struct scan *scan, size_t end)
{
    if (end > scan->at) {
        buf_add_string(scan->out, REDACTED);
        scan->last = ']';
        scan->at = end;
    }
}

void scan_pass(struct scan *scan, size_t end)
{
    while (scan->at < end) {
        size_t token = redact_is_alnum(scan->last) ? 0 : redact_token(scan_rest(scan, scan->at));
        if (token > 0) {
            scan_hide(scan, scan->at + token);
        } else {
            scan_pass_byte(scan);
        }
    }
}

size_t scan_skip_blanks(const struct scan *scan, size_t at)
{
    while (redact_is_blank(scan_byte(scan, at))) {
        at++;
    }
    return at;
}

size_t scan_end_with_key(struct scan *scan, size_t at, size_t end)
{
    while (at < end) {
        const char *dash = memchr(scan->text.p + at, '-', end - at);
        if (!dash) {
            return end;
        }
        at = (size_t)(dash - scan->text.p);
        size_t key = redact_private_key(scan_rest(scan, at), &scan->no_end);
        if (key > 0 && at + key > end) {
            return at + key;
        }
        at += key > 0 ? key : 1;
    }
    return end;
}

bool scan_ends_value(const struct scan *scan, size_t at, enum reach reach)
{
    char c = scan_byte(scan, at);
    if (at >= scan->text.n || redact_is_break(c)) {
        return true;
    }
    if (reach == REACH_ELEMENT) {
        return c == '<';
    }
    if (reach == REACH_WORD && redact_is_blank(c)) {
        return true;
    }
    return c == scan->quote && scan->quote != '\0' && escapes(scan, at) % 2 == 0;
}

/* `[...]` and `{...}` on one line are one value. */
static size_t bracket_end(const struct scan *scan, size_t at)
{
    size_t depth = 0;
    for (; at < scan->text.n && !redact_is_break(scan_byte(scan, at)); at++) {
        char c = scan_byte(scan, at);
        if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return at + 1;
        }
    }
    return at;
}

static size_t bare_end(struct scan *scan, size_t at, enum reach reach)
{
    size_t end = at;
    if (scan_byte(scan, at) == '[' || scan_byte(scan, at) == '{') {
        end = bracket_end(scan, at);
    }
    for (;;) {
        while (!scan_ends_value(scan, end, reach)) {
            end++;
        }
        size_t extended = scan_end_with_key(scan, at, end);
        if (extended == end) {
            return end;
        }
        at = end = extended;
    }
}

/* The closing quote has no more backslashes before it than the opening one (JSON within JSON); an
 * even number where the opening one has none. */
static size_t quoted_end(struct scan *scan, size_t at, char quote, size_t opening)
{
    size_t end = at;
    for (;;) {
        for (; end < scan->text.n && !redact_is_break(scan_byte(scan, end)); end++) {
            if (scan_byte(scan, end) != quote) {
                continue;
            }
            size_t n = escapes(scan, end);
            if (n > end - at) {
                n = end - at;
            }
            if (opening == 0 ? n % 2 == 0 : n <= opening) {
                end -= opening == 0 ? 0 : n;
                break;
            }
        }
        size_t extended = scan_end_with_key(scan, at, end);
        if (extended == end) {
            return end;
        }
        at = end = extended;
    }
}

/* A shell joins what follows a closing quote at once: `TOKEN="ab"cd`. */
static bool is_joined(const struct scan *scan)
{
    char next = scan_byte(scan, scan->at + 1);
    return scan_is_quote(scan_byte(scan, scan->at)) &&
           (redact_is_alnum(next) || scan_is_quote(next));
}

/* Does the quote at `at` open a value? One that could close what is open on the line opens all the
 * same when the name before the value was quoted too, or when what follows begins a word: a line with
 * a quote too many must not turn inside out. */
static bool opens_value(const struct scan *scan, size_t at, bool quoted_name)
{
    char next = scan_byte(scan, at + 1);
    return scan_byte(scan, at) != scan->quote || quoted_name ||
           (!redact_is_space(next) && strchr(",;:.)}]>+&|", next) == NULL);
}

/* The quote that opens the value here, behind `*ret_escapes` backslashes, or NUL. */
static char opening_quote(const struct scan *scan, bool quoted_name, size_t *ret_escapes)
{
    size_t at = scan->at;
    while (scan_byte(scan, at) == '\\') {
        at++;
    }
    *ret_escapes = at - scan->at;
    char quote = scan_byte(scan, at);
    bool opens = scan_is_quote(quote) && (at > scan->at || opens_value(scan, at, quoted_name));
    return opens ? quote : '\0';
}

void scan_hide_value(struct scan *scan, enum reach reach, bool quoted_name)
{
    for (;;) {
        size_t opening;
        char quote = opening_quote(scan, quoted_name, &opening);
        if (quote == '\0' || reach == REACH_ELEMENT) {
            scan_hide(scan, bare_end(scan, scan->at, reach));
            return;
        }
        scan_pass(scan, scan->at + opening + 1);
        scan_hide(scan, quoted_end(scan, scan->at, quote, opening));
        if (!is_joined(scan)) {
            return;
        }
        scan_pass(scan, scan->at + 1);
        quoted_name = true;
    }
}
