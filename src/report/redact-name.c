#include "redact-priv.h"

#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool redact_begins(struct span a, const char *word)
{
    size_t n = strlen(word);
    if (a.n < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (lower(a.p[i]) != word[i]) {
            return false;
        }
    }
    return true;
}

bool redact_equals(struct span a, const char *word)
{
    return a.n == strlen(word) && redact_begins(a, word);
}

/* With its length, which the compiler knows. */
#define WORD(text) ((struct span){(text), sizeof(text) - 1})

/* A name is a credential's when it ends in one of these, separators left out, letters of any case. */
static const struct span words[] = {
    WORD("password"),    WORD("passwords"),     WORD("passwd"),    WORD("passphrase"),
    WORD("passcode"),    WORD("token"),         WORD("secret"),    WORD("secrets"),
    WORD("apikey"),      WORD("accesskey"),     WORD("secretkey"), WORD("privatekey"),
    WORD("signingkey"),  WORD("sharedkey"),     WORD("masterkey"), WORD("encryptionkey"),
    WORD("accountkey"),  WORD("licensekey"),    WORD("authkey"),   WORD("credential"),
    WORD("credentials"), WORD("authorization"), WORD("auth"),      WORD("cookie"),
    WORD("sessionid"),   WORD("sessid"),        WORD("jwt"),       WORD("bearer"),
    WORD("amzsignature")};

/* And when one of these stands alone in a flag (`--pass`) or behind _ or . (`DB_PASS`): by
 * themselves they say other things (`PASS: test-1`, `PWD=/home`). */
static const char *const weak_words[] = {"pass", "pwd", "pw"};

/* What may follow without changing that. `token_file`, `password-stdin` name no secret. */
static const struct span qualifiers[] = {
    WORD("value"), WORD("base"), WORD("hash"),    WORD("prod"), WORD("dev"),  WORD("test"),
    WORD("old"),   WORD("new"),  WORD("default"), WORD("raw"),  WORD("text"), WORD("string")};

enum { NAME_BYTES = 64 }; /* of the end of a name; what stands further ahead does not matter */

/* The end of a name in lower case, without separators and trailing digits. */
struct plain {
    char text[NAME_BYTES];
    size_t start;
};

static struct span plain_span(const struct plain *plain)
{
    return span_of(plain->text + plain->start, NAME_BYTES - plain->start);
}

static void make_plain(struct plain *plain, struct span name)
{
    plain->start = NAME_BYTES;
    bool digits = true;
    for (size_t i = name.n; i > 0 && plain->start > 0; i--) {
        char c = name.p[i - 1];
        if (!redact_is_alnum(c) || (digits && c >= '0' && c <= '9')) {
            continue;
        }
        digits = false;
        plain->text[--plain->start] = lower(c);
    }
}

static bool ends_with(struct span text, const struct span *word)
{
    return text.n >= word->n && text.p[text.n - 1] == word->p[word->n - 1] &&
           memcmp(text.p + text.n - word->n, word->p, word->n) == 0;
}

static struct span without_qualifier(struct span text)
{
    for (size_t i = 0; i < sizeof qualifiers / sizeof qualifiers[0]; i++) {
        if (ends_with(text, &qualifiers[i])) {
            return span_of(text.p, text.n - qualifiers[i].n);
        }
    }
    return text;
}

static bool ends_in_word(struct span text)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (ends_with(text, &words[i])) {
            return true;
        }
    }
    return false;
}

static bool ends_in_weak_word(struct span name)
{
    for (size_t i = 0; i < sizeof weak_words / sizeof weak_words[0]; i++) {
        size_t n = strlen(weak_words[i]);
        if (name.n <= n || !redact_equals(span_of(name.p + name.n - n, n), weak_words[i])) {
            continue;
        }
        char before = name.p[name.n - n - 1];
        return before == '_' || before == '.' || (before == '-' && name.p[0] == '-');
    }
    return false;
}

bool redact_is_credential(struct span name)
{
    struct plain plain;
    make_plain(&plain, name);
    struct span text = plain_span(&plain);
    struct span rest = without_qualifier(text);
    return ends_in_word(text) || (rest.n < text.n && ends_in_word(rest)) || ends_in_weak_word(name);
}

bool redact_is_header(struct span name)
{
    struct plain plain;
    make_plain(&plain, name);
    return ends_with(plain_span(&plain), &WORD("authorization")) ||
           ends_with(plain_span(&plain), &WORD("cookie"));
}

/* `-p` alone is a port, a path, a parent nearly everywhere: only these say a password with it. */
static const struct {
    const char *program;
    const char *flag;
    bool separate; /* the value may be the next word */
    bool attached; /* the value may follow at once */
    bool colon;    /* it is a secret only with a colon in it */
} program_flags[] = {
    {"curl", "-u", true, true, true},
    {"curl", "-U", true, true, true},
    {"curl", "--user", true, false, true},
    {"curl", "--user=", false, true, true},
    {"curl", "--proxy-user", true, false, true},
    {"curl", "--proxy-user=", false, true, true},
    {"mysql", "-p", false, true, false},
    {"mysqldump", "-p", false, true, false},
    {"mysqladmin", "-p", false, true, false},
    {"mysqlimport", "-p", false, true, false},
    {"mariadb", "-p", false, true, false},
    {"mariadb-dump", "-p", false, true, false},
    {"sshpass", "-p", true, true, false},
    {"login", "-p", true, false, false},
    {"mongo", "-p", true, false, false},
    {"mongosh", "-p", true, false, false},
    {"mongodump", "-p", true, false, false},
    {"redis-cli", "-a", true, false, false},
    {"ldapsearch", "-w", true, false, false},
    {"ldapmodify", "-w", true, false, false},
    {"sqlcmd", "-P", true, true, false},
    {"zip", "-P", true, true, false},
    {"unzip", "-P", true, true, false},
    {"7z", "-p", false, true, false},
    {"openssl", "-passin", true, false, false},
    {"openssl", "-passout", true, false, false},
};
_Static_assert(sizeof program_flags / sizeof program_flags[0] <= 32, "one bit each");

unsigned redact_programs(struct span word)
{
    unsigned programs = 0;
    for (size_t i = 0; i < sizeof program_flags / sizeof program_flags[0]; i++) {
        if (lower(word.p[0]) == program_flags[i].program[0] &&
            redact_equals(word, program_flags[i].program)) {
            programs |= 1u << i;
        }
    }
    return programs;
}

enum flag_form redact_program_flag(unsigned programs, struct span text, size_t *ret_flag,
                                   bool *ret_needs_colon)
{
    for (size_t i = 0; programs != 0 && i < sizeof program_flags / sizeof program_flags[0]; i++) {
        if (!(programs & (1u << i)) || !span_starts_with(text, program_flags[i].flag)) {
            continue;
        }
        size_t n = strlen(program_flags[i].flag);
        bool alone = text.n == n || redact_is_space(text.p[n]);
        if (alone ? program_flags[i].separate : program_flags[i].attached) {
            *ret_flag = n;
            *ret_needs_colon = program_flags[i].colon;
            return alone ? FLAG_SEPARATE : FLAG_ATTACHED;
        }
    }
    return FLAG_NONE;
}
