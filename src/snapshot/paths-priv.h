/* paths-priv.h
 *
 * A set of relative paths, of any bytes but NUL.
 *
 * Calling sequence   paths_add() again and again, paths_sort() once, then the questions
 * Limitations        its memory is bounded by whoever adds
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "attributes.h"
#include "span.h"

struct paths {
    char **items;
    size_t count;
    size_t capacity;
};

void paths_add(struct paths *paths, struct span path);
void paths_sort(struct paths *paths);
bool paths_has(const struct paths *paths, const char *path);
/* Some path lies beneath that directory. */
bool paths_has_beneath(const struct paths *paths, const char *directory);
void paths_done(struct paths *paths);
#define with_paths cleanup(paths_done) struct paths
