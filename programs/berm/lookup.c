#include "lookup.h"

const json_t *lookup(const json_t *value, const char *path)
{
    while (value && *path != '\0') {
        size_t length = strcspn(path, ".");
        value = json_object_getn(value, path, length);
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return value;
}

int64_t lookup_number(const json_t *value, const char *path)
{
    const json_t *found = lookup(value, path);
    return json_is_integer(found) ? json_integer_value(found) : -1;
}

const char *lookup_text(const json_t *value, const char *path)
{
    return json_string_value(lookup(value, path));
}
