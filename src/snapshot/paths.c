#include "paths-priv.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "snapshot-priv.h"

void paths_add(struct paths *paths, struct span path)
{
    if (paths->count == paths->capacity) {
        paths->capacity = paths->capacity ? paths->capacity * 2 : 64;
        paths->items = memory_resize(paths->items, paths->capacity * sizeof *paths->items);
    }
    char *copy = memory_new(path.n + 1);
    if (path.n > 0) {
        memcpy(copy, path.p, path.n);
    }
    paths->items[paths->count++] = copy;
}

static int compare(const void *a, const void *b)
{
    return entry_order(*(char *const *)a, *(char *const *)b);
}

void paths_sort(struct paths *paths)
{
    if (paths->count > 1) {
        qsort(paths->items, paths->count, sizeof *paths->items, compare);
    }
}

/* The first path that does not come before this one. */
static size_t place_of(const struct paths *paths, const char *path)
{
    size_t low = 0;
    size_t high = paths->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_order(paths->items[middle], path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool paths_has(const struct paths *paths, const char *path)
{
    size_t place = place_of(paths, path);
    return place < paths->count && strcmp(paths->items[place], path) == 0;
}

bool paths_has_beneath(const struct paths *paths, const char *directory)
{
    size_t length = strlen(directory);
    /* In this order, what a directory holds comes right behind it. */
    size_t place = place_of(paths, directory);
    while (place < paths->count && strcmp(paths->items[place], directory) == 0) {
        place++;
    }
    return place < paths->count && strncmp(paths->items[place], directory, length) == 0 &&
           paths->items[place][length] == '/';
}

void paths_done(struct paths *paths)
{
    if (!paths) {
        return;
    }
    for (size_t i = 0; i < paths->count; i++) {
        memory_free(paths->items[i]);
    }
    memory_free(paths->items);
    *paths = (struct paths){0};
}
