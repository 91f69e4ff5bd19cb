#include "wildcard-priv.h"

#include <string.h>

#include "attributes.h"
#include "span.h"

static bool is_between(unsigned char c, unsigned char low, unsigned char high)
{
    return c >= low && c <= high;
}

static bool is_letter(unsigned char c)
{
    return is_between(c, 'a', 'z') || is_between(c, 'A', 'Z');
}

static bool is_digit(unsigned char c)
{
    return is_between(c, '0', '9');
}

static bool is_hex(unsigned char c)
{
    return is_digit(c) || is_between(c, 'a', 'f') || is_between(c, 'A', 'F');
}

static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* 1, 0, or -1: there is no such class. */
static int in_class(struct span name, unsigned char c)
{
    const bool letter = is_letter(c);
    const bool printed = is_between(c, 0x20, 0x7e);
    const struct {
        const char *name;
        bool holds;
    } classes[] = {
        {"alnum", letter || is_digit(c)},
        {"alpha", letter},
        {"blank", c == ' ' || c == '\t'},
        {"cntrl", c < 0x20 || c == 0x7f},
        {"digit", is_digit(c)},
        {"graph", printed && c != ' '},
        {"lower", is_between(c, 'a', 'z')},
        {"print", printed},
        {"punct", printed && c != ' ' && !letter && !is_digit(c)},
        {"space", is_space(c)},
        {"upper", is_between(c, 'A', 'Z')},
        {"xdigit", is_hex(c)},
    };
    for (size_t i = 0; i < countof(classes); i++) {
        if (span_equals(name, classes[i].name)) {
            return classes[i].holds;
        }
    }
    return -1;
}

/* [:name:] at p: how many bytes it has; 0 when it is no class, -1 when the set does not end or the class is none. */
static int match_class(const char *p, unsigned char c, bool *found)
{
    const char *name = p + 2;
    const char *end = strchr(name, ']');
    if (!end) {
        return -1;
    }
    if (end == name || end[-1] != ':') {
        return 0;
    }
    int holds = in_class(span_of(name, (size_t)(end - 1 - name)), c);
    *found = *found || holds == 1;
    return holds < 0 ? -1 : (int)(end + 1 - p);
}

/* One member of a set at p, or a range; the byte behind it, or NULL: the set does not end. *previous is the byte
 * that a range would start from, 0 for none. */
static const char *match_member(const char *p, unsigned char c, unsigned char *previous,
                                bool *found)
{
    if (p[0] == '[' && p[1] == ':') {
        int length = match_class(p, c, found);
        if (length != 0) {
            *previous = 0;
            return length < 0 ? NULL : p + length;
        }
    }
    bool range = p[0] == '-' && *previous != 0 && p[1] != '\0' && p[1] != ']';
    if (range) {
        p++;
    }
    if (*p == '\\') {
        p++;
    }
    unsigned char member = (unsigned char)*p;
    if (member == 0) {
        return NULL;
    }
    *found = *found || is_between(c, range ? *previous : member, member);
    *previous = range ? 0 : member;
    return p + 1;
}

/* p behind the '['; the byte behind the ']', or NULL: the set does not end. */
static const char *match_set(const char *p, unsigned char c, bool *ret_matches)
{
    bool negated = *p == '!' || *p == '^';
    bool found = false;
    unsigned char previous = 0;
    p += negated;
    do {
        p = *p == '\0' ? NULL : match_member(p, c, &previous, &found);
    } while (p && *p != ']');
    *ret_matches = found != negated && c != '/';
    return p ? p + 1 : NULL;
}

struct matching {
    const char *pattern;
    struct wildcard_budget *budget;
};

static bool match_here(const struct matching *matching, const char *p, const char *text);

/* p at the first of one or more stars. */
static bool match_stars(const struct matching *matching, const char *p, const char *text)
{
    const char *rest = p + strspn(p, "*");
    bool begins = p == matching->pattern || p[-1] == '/';
    bool ends = rest[0] == '\0' || rest[0] == '/' || (rest[0] == '\\' && rest[1] == '/');
    bool slashes = rest - p > 1 && begins && ends;
    if (slashes && rest[0] == '/' && match_here(matching, rest + 1, text)) {
        return true; /* no directory at all */
    }
    if (rest[0] == '\0') {
        return slashes || !strchr(text, '/');
    }
    for (; *text != '\0' && matching->budget->steps > 0; text++) {
        if (match_here(matching, rest, text)) {
            return true;
        }
        if (*text == '/' && !slashes) {
            return false;
        }
    }
    return false;
}

static bool match_here(const struct matching *matching, const char *p, const char *text)
{
    for (; *p != '\0'; text++) {
        if (matching->budget->steps == 0) {
            return false;
        }
        matching->budget->steps--;
        if (*p == '*') {
            return match_stars(matching, p, text);
        }
        if (*text == '\0') {
            return false;
        }
        if (*p == '[') {
            bool matches = false;
            p = match_set(p + 1, (unsigned char)*text, &matches);
            if (!p || !matches) {
                return false;
            }
            continue;
        }
        if (*p == '?') {
            if (*text == '/') {
                return false;
            }
            p++;
            continue;
        }
        p += *p == '\\';
        if (*p != *text) {
            return false;
        }
        p++;
    }
    return *text == '\0';
}

bool wildcard_match(const char *pattern, const char *path, struct wildcard_budget *budget)
{
    const struct matching matching = {.pattern = pattern, .budget = budget};
    return match_here(&matching, pattern, path);
}

size_t wildcard_literal(const char *pattern)
{
    return strcspn(pattern, "*?[\\");
}
