/* mountinfo holds paths that anybody can have mounted at: any text is read within its bounds, and no
 * text makes a mount that can be written pass as one that cannot. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "memory.h"
#include "sandbox-priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(const struct sandbox *sandbox, const char *text)
{
    struct err err = {0};
    with_mount_table table = {0};
    if (mount_table_parse(text, &table) < 0) {
        return -1;
    }
    (void)!sandbox_check_hidden(sandbox, &table, makedev(0, 50), &err);
    return sandbox_check_written(sandbox, &table, makedev(0, 50), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char first[] = "1 0 254:0 / / ro - ext4 x rw\n";
    static const char open[] = "\n7777777 7777777 9:9 / /srv rw - ext4 x rw\n";
    struct sandbox_mount planned[] = {
        {.kind = MOUNT_EMPTY, .path = (char *)(uintptr_t) "/home"},
        {.kind = MOUNT_EMPTY, .path = (char *)(uintptr_t) "/run"},
        {.kind = MOUNT_DEVICES, .path = (char *)(uintptr_t) "/dev"},
        {.kind = MOUNT_READ_ONLY, .path = (char *)(uintptr_t) "/run/x"}};
    struct sandbox sandbox = {
        .root_count = 1, .mounts = planned, .mount_count = sizeof planned / sizeof planned[0]};
    sandbox.roots[0].path = (char *)(uintptr_t) "/home/u/root";
    with_buf text = buf_new(1 << 20);
    buf_add_string(&text, first);
    for (size_t i = 0; i < size; i++) {
        buf_add_char(&text, data[i] ? (char)data[i] : ' '); /* the kernel writes no NUL */
    }
    (void)!check(&sandbox, buf_string(&text));
    /* Nothing names it, or what it stands on: whatever else is there, this one is seen. */
    if (strstr(buf_string(&text), "7777777")) {
        return 0;
    }
    buf_add_string(&text, open);
    BUG_IF(check(&sandbox, buf_string(&text)) == 0);
    return 0;
}
