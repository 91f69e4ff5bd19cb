#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "mountinfo.h"

static char line[65536];

static int parse(const char *text, struct mountinfo *mount)
{
    snprintf(line, sizeof line, "%s", text);
    return mountinfo_parse(line, mount);
}

static void a_line_is_a_mount(void **state)
{
    struct mountinfo mount;
    assert_int_equal(parse("36 35 98:7 /r\\134 /a\\040b\\011c ro,noatime shared:1 master:2 - ext4 "
                           "/dev/x rw,errors=continue",
                           &mount),
                     0);
    assert_int_equal(mount.id, 36);
    assert_int_equal(mount.parent, 35);
    assert_true(mount.device == makedev(98, 7));
    assert_string_equal(mount.root, "/r\\");
    assert_string_equal(mount.path, "/a b\tc");
    assert_string_equal(mount.type, "ext4");
    assert_true(mount.read_only);
    assert_int_equal(parse("1 1 0:4 net:[4026531840] /run/netns/a rw - nsfs nsfs rw", &mount), 0);
    assert_string_equal(mount.root, "net:[4026531840]");
    assert_false(mount.read_only);
    /* A file system without a name for what it is on. */
    assert_int_equal(parse("1 1 0:4 / / rw -  x rw", &mount), -EINVAL);
    assert_int_equal(parse("1 1 0:4 / / rw - tmpfs  rw", &mount), 0);
}

/* SB-8: an option of the mount by its whole name, and none of the file system, of a path or of who shares it. */
static void links_are_followed_unless_an_option_says_otherwise(void **state)
{
    static const struct {
        const char *text;
        bool no_links;
    } lines[] = {
        {"1 1 0:4 / / rw,nosymfollow - tmpfs x rw", true},
        {"1 1 0:4 / / ro,nosuid,nodev,nosymfollow,relatime shared:1 - tmpfs x rw", true},
        {"1 1 0:4 / / rw - tmpfs x rw", false},
        {"1 1 0:4 / / rw,nosuid,nosymfollowing,symfollow,xnosymfollow - tmpfs x rw", false},
        {"1 1 0:4 /rw,nosymfollow /,nosymfollow rw,nosuid nosymfollow - tmpfs ,nosymfollow "
         "rw,nosymfollow",
         false},
    };
    struct mountinfo mount;
    for (size_t i = 0; i < countof(lines); i++) {
        assert_int_equal(parse(lines[i].text, &mount), 0);
        assert_int_equal(mount.no_links, lines[i].no_links);
    }
}

/* T20: a path is text of anybody's choice; what only looks like an escape or a field stays as it is. */
static void a_path_forges_nothing(void **state)
{
    struct mountinfo mount;
    assert_int_equal(parse("1 1 0:4 / /a\\040-\\040ext4\\777\\08\\04 rw - tmpfs x rw", &mount), 0);
    assert_string_equal(mount.path, "/a - ext4\\777\\08\\04");
    assert_string_equal(mount.type, "tmpfs");
    assert_int_equal(parse("1 1 0:4 / /\r\v\xff rw - tmpfs x rw", &mount), 0);
    assert_string_equal(mount.path, "/\r\v\xff");
}

/* CT-2: a mount that cannot be read could be one that can be written. */
static void anything_else_is_none(void **state)
{
    static const char *const bad[] = {
        "",
        "1 1 0:4 / /",
        "1 1 0:4 / / rw",
        "1 1 0:4 / / rw - tmpfs",
        "1 1 0:4 / / rw shared:1 tmpfs x rw",
        "1 1 0:4 /  rw - tmpfs x rw",
        "1 1 0:4 / relative rw - tmpfs x rw",
        "1 1 0:4 / / noatime,ro - tmpfs x rw",
        "1 1 0:4 / / rox - tmpfs x rw",
        "x 1 0:4 / / ro - tmpfs x rw",
        "-1 1 0:4 / / ro - tmpfs x rw",
        "1x 1 0:4 / / ro - tmpfs x rw",
        "1 1 04 / / ro - tmpfs x rw",
        "1 1 0: / / ro - tmpfs x rw",
        "1 1 0:4x / / ro - tmpfs x rw",
        "1 1 0:+4 / / ro - tmpfs x rw",
    };
    struct mountinfo mount;
    for (size_t i = 0; i < countof(bad); i++) {
        if (parse(bad[i], &mount) != -EINVAL) {
            fail_msg("%s", bad[i]);
        }
    }
}

/* What the running kernel says is read whole. */
static void the_kernels_own_lines_are_read(void **state)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    assert_non_null(file);
    struct mountinfo mount;
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (mountinfo_parse(line, &mount) < 0) {
            fail_msg("line %d", count + 1);
        }
        count++;
    }
    assert_true(count > 0);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_mount),
        cmocka_unit_test(links_are_followed_unless_an_option_says_otherwise),
        cmocka_unit_test(a_path_forges_nothing),
        cmocka_unit_test(anything_else_is_none),
        cmocka_unit_test(the_kernels_own_lines_are_read),
    };
    return cmocka_run_group_tests_name("os/mountinfo", tests, NULL, NULL);
}
