/* redact.c
 *
 * One pass over the text. At each place the forms of forms[] that can begin there are tried in
 * order; one that fits passes on what is to be seen, hides what is not, and leaves the place behind
 * it. What no form takes is passed on.
 *
 * Decisions use only what stands in the output so far and what follows in the input, and hiding takes
 * no blank, no break and no quote away that another form would have stopped at: hiding again changes
 * nothing.
 */
#include "redact.h"

#include <string.h>

#include "scan-priv.h"

/* The forms. Each is asked where it can begin and answers whether it took something. */

static bool take_private_key(struct scan *scan)
{
    size_t length = redact_private_key(scan_rest(scan, scan->at), &scan->no_end);
    scan_hide(scan, scan->at + length);
    return length > 0;
}

static bool take_token(struct scan *scan)
{
    size_t length = redact_token(scan_rest(scan, scan->at));
    scan_hide(scan, scan_end_with_key(scan, scan->at, scan->at + length));
    return length > 0;
}

static struct span name_of(const struct scan *scan)
{
    return span_of(scan->text.p + scan->at, scan->run_end - scan->at);
}

static bool is_token68(char c)
{
    return redact_is_alnum(c) || strchr("-._~+/=", c) != NULL;
}

/* Where the credential behind the scheme that begins here starts; *ret_end is its end. */
static size_t find_scheme_value(const struct scan *scan, size_t *ret_end)
{
    size_t start = scan_skip_blanks(scan, scan->run_end);
    size_t end = start;
    while (end < scan->text.n && scan_byte(scan, end) != '\0' && is_token68(scan_byte(scan, end))) {
        end++;
    }
    *ret_end = end;
    return start > scan->run_end ? start : end;
}

static bool take_bearer(struct scan *scan)
{
    if (!redact_equals(name_of(scan), "bearer")) {
        return false;
    }
    size_t end;
    size_t start = find_scheme_value(scan, &end);
    if (end <= start) {
        return false;
    }
    scan_pass(scan, start);
    scan_hide(scan, scan_end_with_key(scan, start, end));
    return true;
}

/* `Basic dXNlcjpwdw==`, and not `Basic usage`. */
static bool looks_encoded(struct span text)
{
    bool any = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        any |= (c >= '0' && c <= '9') || c == '=' || (i > 0 && c >= 'A' && c <= 'Z');
    }
    return text.n >= 8 && any;
}

static bool take_basic(struct scan *scan)
{
    if (!redact_equals(name_of(scan), "basic")) {
        return false;
    }
    size_t end;
    size_t start = find_scheme_value(scan, &end);
    if (!looks_encoded(span_of(scan->text.p + start, end - start))) {
        return false;
    }
    scan_pass(scan, start);
    scan_hide(scan, scan_end_with_key(scan, start, end));
    return true;
}

/* Behind `NAME`, `"NAME"`, `\"NAME\"` or `x[NAME]`: a colon, `=`, `:=` or `=>` and blanks. The offset
 * of the value, 0: no assignment. */
static size_t find_assigned(const struct scan *scan, bool *ret_quoted)
{
    size_t at = scan->run_end;
    if (scan_byte(scan, at) == ']') {
        at++;
    }
    size_t escaped = at;
    while (scan_byte(scan, escaped) == '\\') {
        escaped++;
    }
    *ret_quoted = scan_is_quote(scan_byte(scan, escaped));
    if (*ret_quoted) {
        at = escaped + 1;
    }
    at = scan_skip_blanks(scan, at);
    char c = scan_byte(scan, at);
    char next = scan_byte(scan, at + 1);
    if ((c != ':' && c != '=') || (c == ':' && next == ':')) {
        return 0;
    }
    at += next == '=' || (c == '=' && next == '>') ? 2 : 1;
    return scan_skip_blanks(scan, at);
}

static bool take_assignment(struct scan *scan)
{
    struct span name = name_of(scan);
    bool quoted;
    size_t value = find_assigned(scan, &quoted);
    if (value == 0 || !redact_is_credential(name)) {
        return false;
    }
    enum reach reach = redact_is_header(name) ? REACH_LINE : REACH_WORD;
    scan_pass(scan, value);
    scan_hide_value(scan, reach, quoted);
    return true;
}

/* `<password>value</password>` */
static bool take_element(struct scan *scan)
{
    if (scan->last != '<' || scan_byte(scan, scan->run_end) != '>' ||
        !redact_is_credential(name_of(scan))) {
        return false;
    }
    scan_pass(scan, scan->run_end + 1);
    scan_hide_value(scan, REACH_ELEMENT, false);
    return true;
}

/* Behind `--token`: blanks; or, in a list of arguments, `", "`. 0: no value. */
static size_t find_argument(struct scan *scan)
{
    size_t at = scan->run_end;
    if (scan_is_quote(scan_byte(scan, at))) {
        size_t comma = scan_skip_blanks(scan, at + 1);
        at = scan_byte(scan, comma) == ',' ? comma + 1 : comma;
    }
    size_t value = scan_skip_blanks(scan, at);
    bool apart = value > scan->run_end;
    bool another_flag = scan_byte(scan, value) == '-' && scan_byte(scan, value + 1) == '-' &&
                        redact_private_key(scan_rest(scan, value), &scan->no_end) == 0;
    return apart && !another_flag ? value : 0;
}

static bool take_flag(struct scan *scan)
{
    if (scan_byte(scan, scan->at) != '-' || !redact_is_credential(name_of(scan))) {
        return false;
    }
    size_t value = find_argument(scan);
    if (value == 0) {
        return false;
    }
    scan_pass(scan, value);
    scan_hide_value(scan, REACH_WORD, false);
    return true;
}

static bool is_redacted(struct span text)
{
    return span_find(text, span_of_string(REDACTED)) != NULL;
}

/* A word in which something was hidden may have been two words before: it is left as it is. */
static bool is_login(const struct scan *scan, size_t at)
{
    size_t end = at;
    while (!scan_ends_value(scan, end, REACH_WORD)) {
        end++;
    }
    struct span word = span_of(scan->text.p + at, end - at);
    return memchr(word.p, ':', word.n) != NULL && !is_redacted(word);
}

static bool take_program_flag(struct scan *scan)
{
    size_t length;
    bool needs_colon;
    enum flag_form form =
        redact_program_flag(scan->programs, scan_rest(scan, scan->at), &length, &needs_colon);
    if (form == FLAG_NONE) {
        return false;
    }
    size_t value = scan->at + length;
    if (form == FLAG_SEPARATE) {
        value = scan_skip_blanks(scan, value);
    }
    if (needs_colon && !is_login(scan, value)) {
        return false;
    }
    scan_pass(scan, value);
    scan_hide_value(scan, REACH_WORD, false);
    return true;
}

/* `login NAME password VALUE`, of a .netrc. */
static bool take_netrc(struct scan *scan)
{
    if (!redact_equals(name_of(scan), "password") ||
        !redact_is_blank(scan_byte(scan, scan->run_end))) {
        return false;
    }
    const char *p = buf_string(scan->out) + scan->out_start;
    size_t i = buf_length(scan->out) - scan->out_start;
    size_t lowest = i > 256 ? i - 256 : 0; /* the look back is bounded */
    while (i > lowest && redact_is_blank(p[i - 1])) {
        i--;
    }
    while (i > lowest && !redact_is_space(p[i - 1])) {
        i--;
    }
    while (i > lowest && redact_is_blank(p[i - 1])) {
        i--;
    }
    if (i < 5 || !redact_equals(span_of(p + i - 5, 5), "login")) {
        return false;
    }
    scan_pass(scan, scan_skip_blanks(scan, scan->run_end));
    scan_hide_value(scan, REACH_WORD, false);
    return true;
}

static bool is_letter(char c)
{
    return redact_is_alnum(c) && !(c >= '0' && c <= '9');
}

/* `user:password@host`, without a scheme. `image:1.2@sha256:...` is none. */
static bool take_login(struct scan *scan)
{
    if (scan_byte(scan, scan->run_end) != ':' || scan_byte(scan, scan->at) == '-') {
        return false;
    }
    size_t at = scan->run_end + 1;
    while (at < scan->text.n && !redact_is_space(scan_byte(scan, at)) &&
           strchr(":/@\"'<>`", scan_byte(scan, at)) == NULL) {
        at++;
    }
    struct span word = span_of(scan->text.p + scan->run_end + 1, at - scan->run_end - 1);
    if (word.n == 0 || scan_byte(scan, at) != '@' || !is_letter(scan_byte(scan, at + 1)) ||
        redact_begins(scan_rest(scan, at + 1), "sha") || is_redacted(word)) {
        return false;
    }
    scan_hide(scan, at);
    return true;
}

static bool is_port(struct span text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') {
            return false;
        }
    }
    return true;
}

static void find_word(struct scan *scan, size_t at)
{
    if (at < scan->word_end) {
        return;
    }
    scan->word_has_at = false;
    while (at < scan->text.n && !redact_is_space(scan_byte(scan, at)) &&
           !scan_is_quote(scan_byte(scan, at))) {
        if (scan_byte(scan, at) == '@') {
            scan->word_at = at;
            scan->word_has_at = true;
        }
        at++;
    }
    scan->word_end = at;
}

/* The @ that ends the userinfo which starts at `start`, or 0. */
static size_t find_userinfo_end(struct scan *scan, size_t start)
{
    size_t at = start;
    size_t found = 0;
    size_t colon = 0;
    while (at < scan->text.n && !redact_is_space(scan_byte(scan, at)) &&
           strchr("/?#\"'<>`", scan_byte(scan, at)) == NULL) {
        found = scan_byte(scan, at) == '@' ? at : found;
        colon = scan_byte(scan, at) == ':' ? at : colon;
        at++;
    }
    if (found > 0 || colon == 0 || at == scan->text.n ||
        strchr("/?#", scan_byte(scan, at)) == NULL ||
        is_port(span_of(scan->text.p + colon + 1, at - colon - 1))) {
        return found;
    }
    /* A password with a slash in it: the last @ of the word ends it. */
    find_word(scan, start);
    return scan->word_has_at && scan->word_at > start ? scan->word_at : 0;
}

/* `scheme://user:password@host`, `scheme://token@host` */
static bool take_userinfo(struct scan *scan)
{
    if (!span_starts_with(scan_rest(scan, scan->at), "://")) {
        return false;
    }
    size_t start = scan->at + 3;
    size_t end = find_userinfo_end(scan, start);
    if (end <= start || is_redacted(span_of(scan->text.p + start, end - start))) {
        return false;
    }
    scan_pass(scan, start);
    scan_hide(scan, end);
    return true;
}

enum where {
    AT_DASH,  /* a - */
    AT_COLON, /* a : */
    AT_WORD,  /* no letter or digit before */
    AT_NAME,  /* the first byte of a name; run_end is known */
};

static const struct form {
    const char *name; /* in docs/redaction.md */
    enum where where;
    bool (*take)(struct scan *scan);
} forms[] = {
    {"private key", AT_DASH, take_private_key},
    {"token", AT_WORD, take_token},
    {"bearer", AT_NAME, take_bearer},
    {"basic", AT_NAME, take_basic},
    {"assignment", AT_NAME, take_assignment},
    {"element", AT_NAME, take_element},
    {"flag", AT_NAME, take_flag},
    {"program flag", AT_NAME, take_program_flag},
    {"netrc", AT_NAME, take_netrc},
    {"login", AT_NAME, take_login},
    {"userinfo", AT_COLON, take_userinfo},
};

static bool can_begin(struct scan *scan, enum where where)
{
    char c = scan_byte(scan, scan->at);
    switch (where) {
    case AT_DASH:
        return c == '-';
    case AT_COLON:
        return c == ':';
    case AT_WORD:
        return redact_is_alnum(c) && !redact_is_alnum(scan->last);
    case AT_NAME:
        return redact_is_name(c) && !redact_is_name(scan->last);
    default:
        return false;
    }
}

/* A word of its own calls a program; the scheme of an URL does not. */
static void note_program(struct scan *scan)
{
    char next = scan_byte(scan, scan->run_end);
    if (redact_is_space(next) || scan_is_quote(next)) {
        scan->programs |= redact_programs(name_of(scan));
    }
}

static void find_run(struct scan *scan)
{
    scan->run_end = scan->at;
    while (scan->run_end < scan->text.n && redact_is_name(scan->text.p[scan->run_end])) {
        scan->run_end++;
    }
}

const char *redact_form_name(size_t index)
{
    return index < countof(forms) ? forms[index].name : NULL;
}

static bool take_any(struct scan *scan)
{
    char c = scan_byte(scan, scan->at);
    bool name = redact_is_name(c);
    if ((!name && c != ':') || (redact_is_alnum(c) && redact_is_alnum(scan->last))) {
        return false; /* nothing begins in the middle of a word */
    }
    if (name && !redact_is_name(scan->last)) {
        find_run(scan);
        note_program(scan);
    }
    for (size_t i = 0; i < countof(forms); i++) {
        if (can_begin(scan, forms[i].where) && forms[i].take(scan)) {
            return true;
        }
    }
    return false;
}

/* What every form but a token's needs somewhere: blanks and breaks, the signs of assignments, elements and URLs,
 * quotes. */
static bool is_needed(char c)
{
    return redact_is_space(c) || scan_is_quote(c) || c == ':' || c == '=' || c == '<';
}

bool redact_leaves(struct span in)
{
    char last = '\0';
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        bool begins = redact_is_alnum(c) && !redact_is_alnum(last);
        if (is_needed(c) || (begins && redact_token(span_of(in.p + i, in.n - i)) > 0)) {
            return false;
        }
        last = c;
    }
    return true;
}

size_t redact_from(struct span in, size_t from, struct buf *out)
{
    struct scan scan = {.text = in, .out = out, .out_start = buf_length(out)};
    size_t start = buf_length(out);
    while (scan.at < in.n) {
        bool before = scan.at < from;
        if (!take_any(&scan)) {
            scan_pass_byte(&scan);
        }
        start = before ? buf_length(out) : start;
    }
    return start;
}

void redact_text(struct span in, struct buf *out)
{
    (void)redact_from(in, 0, out);
}
