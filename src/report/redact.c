/* redact.c
 *
 * One pass over the text. At each place the forms of forms[] that can begin there are tried in
 * order; one that fits passes on what is to be seen, hides what is not, and leaves the place behind
 * it. What no form takes is passed on.
 *
 * Invariants
 *   1. Every look ahead is either consumed when it succeeds, or bounded, or remembered when it fails:
 *      the time is linear.
 *   2. Decisions use only what stands in the output so far and what follows in the input, and hiding
 *      takes no blank, no break and no quote away that another form would have stopped at: hiding
 *      again changes nothing.
 */
#include "redact.h"

#include <string.h>

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

static char byte(const struct scan *scan, size_t at)
{
    return at < scan->text.n ? scan->text.p[at] : '\0';
}

static struct span rest(const struct scan *scan, size_t at)
{
    return span_of(scan->text.p + at, scan->text.n - at);
}

static bool is_quote(char c)
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

static void pass_byte(struct scan *scan)
{
    char c = scan->text.p[scan->at];
    if (redact_is_break(c)) {
        scan->quote = '\0';
        scan->programs = 0;
    } else if (is_quote(c) && scan->last != '\\') {
        note_quote(scan, c);
    } else if (scan->quote == '\0' && (c == '|' || c == ';' || c == '&')) {
        scan->programs = 0;
    }
    buf_add_char(scan->out, c);
    scan->last = c;
    scan->at++;
}

static void hide(struct scan *scan, size_t end)
{
    if (end > scan->at) {
        buf_add_string(scan->out, REDACTED);
        scan->last = ']';
        scan->at = end;
    }
}

/* Pass on up to `end`; a token that stands there is hidden all the same. */
static void pass(struct scan *scan, size_t end)
{
    while (scan->at < end) {
        size_t token = redact_is_alnum(scan->last) ? 0 : redact_token(rest(scan, scan->at));
        if (token > 0) {
            hide(scan, scan->at + token);
        } else {
            pass_byte(scan);
        }
    }
}

static size_t skip_blanks(const struct scan *scan, size_t at)
{
    while (redact_is_blank(byte(scan, at))) {
        at++;
    }
    return at;
}

/* The offset behind a private key block that begins in [at, end), or end. */
static size_t end_with_key(struct scan *scan, size_t at, size_t end)
{
    while (at < end) {
        const char *dash = memchr(scan->text.p + at, '-', end - at);
        if (!dash) {
            return end;
        }
        at = (size_t)(dash - scan->text.p);
        size_t key = redact_private_key(rest(scan, at), &scan->no_end);
        if (key > 0 && at + key > end) {
            return at + key;
        }
        at += key > 0 ? key : 1;
    }
    return end;
}

enum reach { REACH_WORD, REACH_LINE, REACH_ELEMENT };

static bool ends_value(const struct scan *scan, size_t at, enum reach reach)
{
    char c = byte(scan, at);
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
    for (; at < scan->text.n && !redact_is_break(byte(scan, at)); at++) {
        char c = byte(scan, at);
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
    if (byte(scan, at) == '[' || byte(scan, at) == '{') {
        end = bracket_end(scan, at);
    }
    for (;;) {
        while (!ends_value(scan, end, reach)) {
            end++;
        }
        size_t extended = end_with_key(scan, at, end);
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
        for (; end < scan->text.n && !redact_is_break(byte(scan, end)); end++) {
            if (byte(scan, end) != quote) {
                continue;
            }
            size_t n = escapes(scan, end);
            if (n > end - at) {
                n = end - at;
            }
            if (opening == 0 ? n % 2 == 0 : n <= opening) {
                end -= n;
                break;
            }
        }
        size_t extended = end_with_key(scan, at, end);
        if (extended == end) {
            return end;
        }
        at = end = extended;
    }
}

/* A shell joins what follows a closing quote at once: `TOKEN="ab"cd`. */
static void hide_joined(struct scan *scan)
{
    char next = byte(scan, scan->at + 1);
    if (is_quote(byte(scan, scan->at)) && (redact_is_alnum(next) || is_quote(next))) {
        pass(scan, scan->at + 1);
        hide(scan, bare_end(scan, scan->at, REACH_WORD));
    }
}

/* Does the quote at `at` open a value? One that could close what is open on the line opens all the
 * same when the name before the value was quoted too, or when what follows begins a word: a line with
 * a quote too many must not turn inside out. */
static bool opens_value(const struct scan *scan, size_t at, bool quoted_name)
{
    char next = byte(scan, at + 1);
    return byte(scan, at) != scan->quote || quoted_name ||
           (!redact_is_space(next) && strchr(",;:.)}]>+&|", next) == NULL);
}

/* Hide the value that begins at scan->at, if there is one. */
static void hide_value(struct scan *scan, enum reach reach, bool quoted_name)
{
    size_t at = scan->at;
    size_t opening = 0;
    while (byte(scan, at) == '\\') {
        opening++;
        at++;
    }
    char quote = byte(scan, at);
    if (reach != REACH_ELEMENT && is_quote(quote) &&
        (opening > 0 || opens_value(scan, at, quoted_name))) {
        pass(scan, at + 1);
        hide(scan, quoted_end(scan, scan->at, quote, opening));
        hide_joined(scan);
        return;
    }
    hide(scan, bare_end(scan, scan->at, reach));
}

/* The forms. Each is asked where it can begin and answers whether it took something. */

static bool take_private_key(struct scan *scan)
{
    size_t length = redact_private_key(rest(scan, scan->at), &scan->no_end);
    hide(scan, scan->at + length);
    return length > 0;
}

static bool take_token(struct scan *scan)
{
    size_t length = redact_token(rest(scan, scan->at));
    hide(scan, scan->at + length);
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
    size_t start = skip_blanks(scan, scan->run_end);
    size_t end = start;
    while (end < scan->text.n && byte(scan, end) != '\0' && is_token68(byte(scan, end))) {
        end++;
    }
    *ret_end = end;
    return start > scan->run_end ? start : end;
}

static bool take_bearer(struct scan *scan)
{
    size_t end;
    size_t start = find_scheme_value(scan, &end);
    if (!redact_equals(name_of(scan), "bearer") || end <= start) {
        return false;
    }
    pass(scan, start);
    hide(scan, end);
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
    pass(scan, start);
    hide(scan, end);
    return true;
}

/* Behind `NAME`, `"NAME"`, `\"NAME\"` or `x[NAME]`: a colon, `=`, `:=` or `=>` and blanks. The offset
 * of the value, 0: no assignment. */
static size_t find_assigned(const struct scan *scan, bool *ret_quoted)
{
    size_t at = scan->run_end;
    if (byte(scan, at) == ']') {
        at++;
    }
    size_t escaped = at;
    while (byte(scan, escaped) == '\\') {
        escaped++;
    }
    *ret_quoted = is_quote(byte(scan, escaped));
    if (*ret_quoted) {
        at = escaped + 1;
    }
    at = skip_blanks(scan, at);
    char c = byte(scan, at);
    char next = byte(scan, at + 1);
    if ((c != ':' && c != '=') || (c == ':' && next == ':')) {
        return 0;
    }
    at += next == '=' || (c == '=' && next == '>') ? 2 : 1;
    return skip_blanks(scan, at);
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
    pass(scan, value);
    hide_value(scan, reach, quoted);
    return true;
}

/* `<password>value</password>` */
static bool take_element(struct scan *scan)
{
    if (scan->last != '<' || byte(scan, scan->run_end) != '>' ||
        !redact_is_credential(name_of(scan))) {
        return false;
    }
    pass(scan, scan->run_end + 1);
    hide_value(scan, REACH_ELEMENT, false);
    return true;
}

/* Behind `--token`: blanks; or, in a list of arguments, `", "`. 0: no value. */
static size_t find_argument(const struct scan *scan)
{
    size_t at = scan->run_end;
    if (is_quote(byte(scan, at))) {
        size_t comma = skip_blanks(scan, at + 1);
        at = byte(scan, comma) == ',' ? comma + 1 : comma;
    }
    size_t value = skip_blanks(scan, at);
    bool apart = value > scan->run_end;
    bool another_flag = byte(scan, value) == '-' && byte(scan, value + 1) == '-';
    return apart && !another_flag ? value : 0;
}

static bool take_flag(struct scan *scan)
{
    if (byte(scan, scan->at) != '-' || !redact_is_credential(name_of(scan))) {
        return false;
    }
    size_t value = find_argument(scan);
    if (value == 0) {
        return false;
    }
    pass(scan, value);
    hide_value(scan, REACH_WORD, false);
    return true;
}

static bool has_colon(const struct scan *scan, size_t at)
{
    for (; !ends_value(scan, at, REACH_WORD); at++) {
        if (byte(scan, at) == ':') {
            return true;
        }
    }
    return false;
}

static bool take_program_flag(struct scan *scan)
{
    size_t length;
    bool needs_colon;
    enum flag_form form =
        redact_program_flag(scan->programs, rest(scan, scan->at), &length, &needs_colon);
    if (form == FLAG_NONE) {
        return false;
    }
    size_t value = scan->at + length;
    if (form == FLAG_SEPARATE) {
        value = skip_blanks(scan, value);
    }
    if (needs_colon && !has_colon(scan, value)) {
        return false;
    }
    pass(scan, value);
    hide_value(scan, REACH_WORD, false);
    return true;
}

/* `login NAME password VALUE`, of a .netrc. */
static bool take_netrc(struct scan *scan)
{
    if (!redact_equals(name_of(scan), "password") || !redact_is_blank(byte(scan, scan->run_end))) {
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
    pass(scan, skip_blanks(scan, scan->run_end));
    hide_value(scan, REACH_WORD, false);
    return true;
}

static bool is_redacted(struct span text)
{
    return memmem(text.p, text.n, REDACTED, sizeof REDACTED - 1) != NULL;
}

static bool is_letter(char c)
{
    return redact_is_alnum(c) && !(c >= '0' && c <= '9');
}

/* `user:password@host`, without a scheme. `image:1.2@sha256:...` is none. */
static bool take_login(struct scan *scan)
{
    if (byte(scan, scan->run_end) != ':') {
        return false;
    }
    size_t at = scan->run_end + 1;
    while (at < scan->text.n && !redact_is_space(byte(scan, at)) &&
           strchr(":/@\"'<>`", byte(scan, at)) == NULL) {
        at++;
    }
    struct span word = span_of(scan->text.p + scan->run_end + 1, at - scan->run_end - 1);
    if (word.n == 0 || byte(scan, at) != '@' || !is_letter(byte(scan, at + 1)) ||
        redact_begins(rest(scan, at + 1), "sha") || is_redacted(word)) {
        return false;
    }
    hide(scan, at);
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
    while (at < scan->text.n && !redact_is_space(byte(scan, at)) && !is_quote(byte(scan, at))) {
        if (byte(scan, at) == '@') {
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
    while (at < scan->text.n && !redact_is_space(byte(scan, at)) &&
           strchr("/?#\"'<>`", byte(scan, at)) == NULL) {
        found = byte(scan, at) == '@' ? at : found;
        colon = byte(scan, at) == ':' ? at : colon;
        at++;
    }
    if (found > 0 || colon == 0 || at == scan->text.n || strchr("/?#", byte(scan, at)) == NULL ||
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
    if (!span_starts_with(rest(scan, scan->at), "://")) {
        return false;
    }
    size_t start = scan->at + 3;
    size_t end = find_userinfo_end(scan, start);
    if (end <= start || is_redacted(span_of(scan->text.p + start, end - start))) {
        return false;
    }
    pass(scan, start);
    hide(scan, end);
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
    char c = byte(scan, scan->at);
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

/* The scheme of an URL calls nothing. */
static void note_program(struct scan *scan)
{
    if (byte(scan, scan->run_end) != ':') {
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
    char c = byte(scan, scan->at);
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

size_t redact_from(struct span in, size_t from, struct buf *out)
{
    struct scan scan = {.text = in, .out = out, .out_start = buf_length(out)};
    size_t start = buf_length(out);
    while (scan.at < in.n) {
        bool before = scan.at < from;
        if (!take_any(&scan)) {
            pass_byte(&scan);
        }
        start = before ? buf_length(out) : start;
    }
    return start;
}

void redact_text(struct span in, struct buf *out)
{
    (void)redact_from(in, 0, out);
}
