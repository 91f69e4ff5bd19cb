#include "pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

enum { ROOM_BYTES = 16 << 20 };

/* What smaps says of the mapping that holds the address, in the line that begins so; "": nothing. */
static void look(const void *address, const char *begins, char line[512])
{
    bool here = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    line[0] = '\0';
    while (fgets(line, 512, maps)) {
        uintptr_t first;
        uintptr_t end;
        if (sscanf(line, "%lx-%lx ", &first, &end) == 2) {
            here = (uintptr_t)address >= first && (uintptr_t)address < end;
        } else if (here && strncmp(line, begins, strlen(begins)) == 0) {
            break;
        }
        line[0] = '\0';
    }
    fclose(maps);
}

static void a_touched_byte_is_a_page_and_no_more(void **state)
{
    char line[512];
    void *room = NULL;
    long kib = 0;
    assert_int_equal(os_pages_new(ROOM_BYTES, &room), 0);
    char *bytes = room;
    assert_int_equal(bytes[0] | bytes[ROOM_BYTES - 1], 0);
    for (size_t at = 0; at < ROOM_BYTES; at += ROOM_BYTES / 4) {
        bytes[at] = 1;
    }
    look(room, "Rss:", line);
    assert_int_equal(sscanf(line, "Rss: %ld kB", &kib), 1);
    assert_in_range(kib, 1, 1024);
    /* Where they are not always on, only the advice is seen. */
    look(room, "VmFlags:", line);
    assert_true(strstr(line, " nh") || access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0);
    os_pages_free(room, ROOM_BYTES);
    look(room, "Rss:", line);
    assert_string_equal(line, "");
    os_pages_free(NULL, ROOM_BYTES);
}

static void what_cannot_be_had_is_told(void **state)
{
    char there = 0;
    void *room = &there;
    assert_int_equal(os_pages_new(SIZE_MAX / 2, &room), -ENOMEM);
    assert_int_equal(os_pages_new(0, &room), -EINVAL);
    assert_ptr_equal(room, &there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_touched_byte_is_a_page_and_no_more),
        cmocka_unit_test(what_cannot_be_had_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
