/* mountinfo holds paths that anybody can have mounted at: any text is read within its bounds, and no
 * text makes a mount that can be written pass as one that cannot. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "memory.h"
#include "sandbox-priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char first[] = "1 0 254:0 / / ro - ext4 x rw\n";
    static const char open[] = "\n7777777 7777777 9:9 / /srv rw - ext4 x rw\n";
    struct err err = {0};
    struct sandbox sandbox = {.root_count = 1};
    sandbox.roots[0].path = (char *)(uintptr_t) "/home/u/root";
    with_buf text = buf_new(1 << 20);
    buf_add_string(&text, first);
    for (size_t i = 0; i < size; i++) {
        buf_add_char(&text, data[i] ? (char)data[i] : ' '); /* the kernel writes no NUL */
    }
    (void)!sandbox_check_mounts(&sandbox, buf_string(&text), makedev(0, 50), &err);
    /* Nothing names it, or what it stands on: whatever else is there, this one is seen. */
    if (strstr(buf_string(&text), "7777777")) {
        return 0;
    }
    buf_add_string(&text, open);
    BUG_IF(sandbox_check_mounts(&sandbox, buf_string(&text), makedev(0, 50), &err) == 0);
    return 0;
}
