#include "err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

static const char *const families[] = {
#define X(enumerator, name, family, meaning) [enumerator] = family,
    ERR_CODES(X)
#undef X
};

void bug_at(const char *file, int line, const char *what)
{
    char text[256];
    int length = snprintf(text, sizeof text, "berm: BUG %s:%d: %s\n", file, line, what);
    if (length > 0) {
        size_t size = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
        (void)!write(STDERR_FILENO, text, size); /* the abort below says it all the same */
    }
    abort();
}

/* Mark a message that did not fit, so that nobody takes the cut end for the whole. */
static void mark_if_cut(struct err *err, int wanted)
{
    if (wanted >= (int)sizeof err->msg) {
        memcpy(err->msg + sizeof err->msg - 4, "...", 4);
    }
}

printf_like(4, 0) static int fill(struct err *err, enum err_code code, int sys, const char *format,
                                  va_list args)
{
    if (!err) {
        return -1;
    }
    err->code = code;
    err->sys = sys < 0 ? -sys : sys;
    mark_if_cut(err, vsnprintf(err->msg, sizeof err->msg, format, args));
    return -1;
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fill(err, code, 0, format, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, int sys, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fill(err, ERR_SYS, sys, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->msg);
        const char *words = names_errno_words(err->sys);
        const char *name = names_errno(err->sys);
        char number[24];
        (void)snprintf(number, sizeof number, "errno %d", err->sys);
        mark_if_cut(err,
                    (int)used + snprintf(err->msg + used, sizeof err->msg - used, ": %s (%s)",
                                         words ? words : "unknown error", name ? name : number));
    }
    return -1;
}

int err_wrap(struct err *err, const char *format, ...)
{
    if (!err) {
        return -1;
    }
    char before[sizeof err->msg];
    memcpy(before, err->msg, sizeof before);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->msg, sizeof err->msg, format, args);
    va_end(args);
    mark_if_cut(err, used);
    if (used >= 0 && used < (int)sizeof err->msg) {
        size_t start = (size_t)used;
        mark_if_cut(err,
                    used + snprintf(err->msg + start, sizeof err->msg - start, ": %s", before));
    }
    return -1;
}

const char *err_code_family(enum err_code code)
{
    return (unsigned)code < ERR_CODE_COUNT ? families[code] : "unknown";
}
