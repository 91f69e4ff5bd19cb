#include "cursor-priv.h"

#include <string.h>

#include "memory.h"

static bool is_open_at(const struct cursor *cursor, const char *path, size_t length)
{
    return cursor->path && strlen(cursor->path) == length &&
           memcmp(cursor->path, path, length) == 0;
}

static void close_dir(struct cursor *cursor)
{
    bfs_dir_done(&cursor->dir);
    memory_free(cursor->path);
    cursor->path = NULL;
}

int cursor_at(struct cursor *cursor, const char *path, const struct bfs_dir **ret_dir,
              const char **ret_name, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        *ret_dir = cursor->root;
        *ret_name = path;
        return 0;
    }
    size_t length = (size_t)(slash - path);
    if (!is_open_at(cursor, path, length)) {
        close_dir(cursor);
        with_string directory = memory_format("%.*s", (int)length, path);
        if (bfs_dir_open_beneath(cursor->root, directory, &cursor->dir, err) < 0) {
            return -1;
        }
        cursor->path = directory;
        directory = NULL;
    }
    *ret_dir = &cursor->dir;
    *ret_name = slash + 1;
    return 0;
}

void cursor_done(struct cursor *cursor)
{
    if (!cursor) {
        return;
    }
    close_dir(cursor);
    *cursor = (struct cursor){0};
}
