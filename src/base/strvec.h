/* strvec.h
 *
 * A vector of strings for argv and envp: owns copies, is always NULL-terminated at the end.
 * Zero is a valid empty vector, but strvec_argv() of one that never held anything is a pointer to a
 * lone NULL, never NULL itself.
 */
#pragma once

#include <stddef.h>

#include "attributes.h"

struct strvec {
    char **strings;
    size_t count;
    size_t capacity;
};

void strvec_push(struct strvec *vec, const char *string);
void strvec_push_take(struct strvec *vec, char *string); /* owns string from here on */
void strvec_push_format(struct strvec *vec, const char *format, ...) printf_like(2, 3);
void strvec_push_all(struct strvec *vec, char *const *strings); /* up to the NULL */
void strvec_sort(struct strvec *vec);                           /* bytewise */
void strvec_done(struct strvec *vec);
char *const *strvec_argv(const struct strvec *vec);

#define with_strvec cleanup(strvec_done) struct strvec
