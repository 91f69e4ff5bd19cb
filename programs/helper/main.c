#include <stddef.h>
#include <string.h>

#include "file.h"
#include "helper.h"
#include "process.h"

static const struct {
    const char *word;
    const char *name; /* of the process */
    void (*main)(int argc, char **argv);
} duties[] = {
    {"launcher", "berm-launcher", launcher_main},
    {"anchor", "berm-anchor", anchor_main},
    {"watchdog", "berm-watchdog", watchdog_main},
};

/* The project's own, since err.c needs more of libc than is in this image. */
void bug_at(const char *file, int line, const char *what)
{
    (void)!os_write(2, what, strlen(what));
    os_exit(HELPER_EXIT_BUG);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < countof(duties); i++) {
        if (strcmp(argv[1], duties[i].word) == 0) {
            (void)!os_set_name(duties[i].name); /* else it would be that of a descriptor */
            duties[i].main(argc - 1, argv + 1);
        }
    }
    return HELPER_EXIT_USAGE;
}
