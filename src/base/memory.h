/* memory.h
 *
 * Allocation that does not fail: out of memory aborts, because budgets stop every caller from
 * causing it and a half-made error path is worse than a death that leaves a provisional record.
 *
 * memory_arm() forbids allocation from then on (a call aborts) and memory_disarm() allows it again.
 * The supervisor arms itself for the life of the payload: what it needs is allocated before, so a
 * host without memory cannot stop it from stopping the payload.
 */
#pragma once

#include <stddef.h>

#include "attributes.h"

void *memory_new(size_t size) __attribute__((malloc, returns_nonnull)); /* zeroed */
void *memory_resize(void *old, size_t size) __attribute__((returns_nonnull));
char *memory_copy_string(const char *string) __attribute__((malloc, returns_nonnull));
char *memory_copy_or_null(const char *string) __attribute__((malloc)); /* NULL of NULL */
char *memory_format(const char *format, ...) printf_like(1, 2)
    __attribute__((malloc, returns_nonnull));
void memory_free(void *memory);

void memory_arm(void);
void memory_disarm(void);

static inline void memory_freep(void *holder)
{
    memory_free(*(void **)holder);
}
#define with_string cleanup(memory_freep) char *
