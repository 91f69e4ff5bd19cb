#include "form-priv.h"

#include <string.h>

static const struct form_trait traits[] = {
    [FORM_BOOL] = {"true or false, without quotes", 0, NULL},
    [FORM_NUMBER] = {"a whole number, without quotes", INT64_C(1) << 53, ""},
    [FORM_TEXT] = {"a text", 1024, "bytes"},
    [FORM_WORD] = {"a word", 0, NULL},
    [FORM_TEXTS] = {"a list of texts", 1024, "items"},
    [FORM_PART] = {"a mapping", 0, NULL},
    [FORM_NAMED] = {"a mapping of names", 256, "names"},
};

const struct form_trait *form_trait(enum form_type type)
{
    return &traits[type];
}

#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS     "0123456789"
#define NAME_BYTES 64

static bool is_name(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n <= NAME_BYTES && strchr(LETTERS DIGITS, text[0]) != NULL &&
           strspn(text, LETTERS DIGITS "._-") == n;
}

static bool is_path(const char *text)
{
    for (const char *part = text;;) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n <= 2 && strspn(part, ".") >= n)) {
            return false;
        }
        if (part[n] == '\0') {
            return text[0] != '-';
        }
        part += n + 1;
    }
}

static bool is_flag(const char *text)
{
    size_t dashes = strspn(text, "-");
    return (dashes == 1 || dashes == 2) && is_name(text + dashes);
}

static const struct form_shape_trait shapes[] = {
    [SHAPE_ANY] = {NULL, NULL, NULL},
    [SHAPE_NAME] = {"1 to 64 letters, digits and . _ -, the first a letter or digit",
                    "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", is_name},
    [SHAPE_PATH] = {"a relative path without empty, '.' or '..' parts, that begins with no '-'",
                    "^(?!-)(?!\\.{1,2}(/|$))[^/]+(/(?!\\.{1,2}(/|$))[^/]+)*$", is_path},
    [SHAPE_FLAG] = {"an option: - or -- and a name", "^--?[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
                    is_flag},
};

const struct form_shape_trait *form_shape_trait(enum form_shape shape)
{
    return &shapes[shape];
}

bool form_text_fits(enum form_shape shape, const char *text)
{
    return !shapes[shape].fits || shapes[shape].fits(text);
}
