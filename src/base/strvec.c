#include "strvec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void strvec_push_take(struct strvec *vec, char *string)
{
    if (vec->count + 2 > vec->capacity) {
        vec->capacity = vec->capacity ? vec->capacity * 2 : 8;
        vec->strings = memory_resize(vec->strings, vec->capacity * sizeof *vec->strings);
    }
    vec->strings[vec->count++] = string;
    vec->strings[vec->count] = NULL;
}

void strvec_push(struct strvec *vec, const char *string)
{
    strvec_push_take(vec, memory_copy_string(string));
}

void strvec_push_format(struct strvec *vec, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BUG_IF(length < 0);
    char *string = memory_new((size_t)length + 1);
    va_start(args, format);
    (void)vsnprintf(string, (size_t)length + 1, format, args);
    va_end(args);
    strvec_push_take(vec, string);
}

void strvec_push_all(struct strvec *vec, char *const *strings)
{
    for (; strings && *strings; strings++) {
        strvec_push(vec, *strings);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void strvec_sort(struct strvec *vec)
{
    if (vec->count > 1) {
        qsort(vec->strings, vec->count, sizeof *vec->strings, compare);
    }
}

void strvec_done(struct strvec *vec)
{
    if (!vec) {
        return;
    }
    for (size_t i = 0; i < vec->count; i++) {
        memory_free(vec->strings[i]);
    }
    memory_free(vec->strings);
    *vec = (struct strvec){0};
}

char *const *strvec_argv(const struct strvec *vec)
{
    static char *const empty[] = {NULL};
    return vec->strings ? vec->strings : empty;
}
