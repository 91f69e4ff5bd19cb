/* attributes.h
 *
 * The GNU attributes that berm uses, by the names that it uses them under, and a few macros that
 * every file needs. Nothing here generates code.
 */
#pragma once

#include <stddef.h>

#define must_check        __attribute__((warn_unused_result))
#define printf_like(a, b) __attribute__((format(printf, a, b)))
/* __unused__ for clang: to be released at the end of the scope is a use. */
#define cleanup(f) __attribute__((cleanup(f), __unused__))
#define no_return  __attribute__((noreturn))
#define unused     __attribute__((unused))

#define countof(a) (sizeof(a) / sizeof((a)[0]))

/* A broken invariant of our own: say where, abort. The payload's first process dies with
 * berm, and the provisional record that stays says that the run was in progress. */
no_return void bug_at(const char *file, int line, const char *what);
#define BUG(what) bug_at(__FILE__, __LINE__, what)
#define BUG_IF(condition)                                                                          \
    do {                                                                                           \
        if (condition) {                                                                           \
            BUG(#condition);                                                                       \
        }                                                                                          \
    } while (0)
