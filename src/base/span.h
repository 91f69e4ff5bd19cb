/* span.h
 *
 * A span borrows bytes that somebody else owns: the type of untrusted input. It is not terminated
 * and may hold NUL. Strings of our own stay `const char *`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *p;
    size_t n;
};

static inline struct span span_of(const char *p, size_t n)
{
    return (struct span){p, n};
}

static inline struct span span_of_string(const char *string)
{
    return (struct span){string, string ? strlen(string) : 0};
}

static inline bool span_equals(struct span a, const char *string)
{
    size_t n = strlen(string);
    return a.n == n && (n == 0 || memcmp(a.p, string, n) == 0);
}

static inline bool span_starts_with(struct span a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && memcmp(a.p, prefix, n) == 0;
}

/* Where `what`, which is not empty, stands first; NULL: nowhere. */
static inline const char *span_find(struct span in, struct span what)
{
    while (in.n >= what.n) {
        const char *first = (const char *)memchr(in.p, what.p[0], in.n - what.n + 1);
        if (!first || memcmp(first, what.p, what.n) == 0) {
            return first;
        }
        in = span_of(first + 1, in.n - (size_t)(first + 1 - in.p));
    }
    return NULL;
}
