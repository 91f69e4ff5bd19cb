/* What the kernel says of a cgroup holds names that anybody can have made: any text is read within its
 * bounds, and no text behind a line changes what the line says. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "cgroupfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"populated", "oom", "max", "total", "rbytes", ""};
    char path[CGROUP_PATH_SIZE];
    with_buf text = buf_new(1 << 20);
    with_buf behind = buf_new(1 << 20);
    buf_add_string(&behind, "populated 1\n8:0 rbytes=7\n");
    for (size_t i = 0; i < size; i++) {
        char byte = data[i] ? (char)data[i] : ' ';
        buf_add_char(&text, byte);
        buf_add_char(&behind, byte);
    }
    const char *said = buf_string(&text);
    if (cgroup_path_parse(said, path) == 0) {
        BUG_IF(path[0] != '/' || strchr(path, '\n') || !strstr(said, path));
        (void)!cgroup_path_names(path, "payload");
    }
    BUG_IF(cgroup_number(said) < -1);
    for (size_t i = 0; i < countof(keys); i++) {
        BUG_IF(cgroup_value(said, keys[i]) < -1);
        BUG_IF(cgroup_nested_sum(said, "", keys[i]) < -1);
        BUG_IF(cgroup_nested_sum(said, "some ", keys[i]) > cgroup_nested_sum(said, "", keys[i]));
        (void)!cgroup_has_word(said, keys[i]);
    }
    BUG_IF(cgroup_value(buf_string(&behind), "populated") != 1);
    BUG_IF(cgroup_nested_sum(buf_string(&behind), "", "rbytes") < 7);
    return 0;
}
