/* path.h
 *
 * What lies beneath what, by the text of two physical paths (no "..", no link, no empty component).
 */
#pragma once

#include <stdbool.h>
#include <string.h>

/* path is root itself or lies beneath it. A slash at the end of root does not matter. */
static inline bool path_is_beneath(const char *path, const char *root)
{
    size_t length = strlen(root);
    while (length > 0 && root[length - 1] == '/') {
        length--;
    }
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}
