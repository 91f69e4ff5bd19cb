#include "memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool armed;

static void check(void)
{
    if (armed) {
        BUG("allocation while a payload is supervised");
    }
}

void *memory_new(size_t size)
{
    check();
    void *memory = calloc(1, size ? size : 1);
    if (!memory) {
        BUG("out of memory");
    }
    return memory;
}

void *memory_resize(void *old, size_t size)
{
    check();
    void *memory = realloc(old, size ? size : 1);
    if (!memory) {
        BUG("out of memory");
    }
    return memory;
}

char *memory_copy_string(const char *string)
{
    size_t size = strlen(string) + 1;
    return memcpy(memory_new(size), string, size);
}

char *memory_copy_or_null(const char *string)
{
    return string ? memory_copy_string(string) : NULL;
}

char *memory_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BUG_IF(length < 0);
    char *text = memory_new((size_t)length + 1);
    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void memory_free(void *memory)
{
    free(memory);
}

void memory_arm(void)
{
    armed = true;
}

void memory_disarm(void)
{
    armed = false;
}
