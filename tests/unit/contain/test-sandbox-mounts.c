#include "sandbox-test.h"

#include <sys/sysmacros.h>

#define ROOT    "1 0 254:0 / / ro,nosuid - ext4 /dev/vda rw\n"
#define PRIVATE "9 1 0:50 /tmp /tmp rw,nosuid,nodev - tmpfs berm rw,size=1024k\n"

#define TEN     "aaaaaaaaa/"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG                                                                                       \
    HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED        \
        HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED "a"

static struct sandbox plan_with_a_root(void)
{
    struct sandbox sandbox = {.root_count = 1};
    sandbox.roots[0].path = (char *)(uintptr_t) "/home/u/a b";
    return sandbox;
}

static int check_plan(const struct sandbox *sandbox, const char *text, struct err *err)
{
    with_mount_table table = {0};
    *err = (struct err){0};
    return mount_table_parse(text, &table) < 0
               ? err_set(err, ERR_UNAVAILABLE, "cannot be read")
               : sandbox_check_written(sandbox, &table, makedev(0, 50), err);
}

static int check(const char *text, struct err *err)
{
    const struct sandbox sandbox = plan_with_a_root();
    return check_plan(&sandbox, text, err);
}

/* SB-7, CT-2: nothing can be written but what the plan opens. */
static void what_the_plan_opens_may_be_written(void **state)
{
    static const char *const good[] = {
        ROOT PRIVATE,
        ROOT "2 1 0:22 / /proc rw,nosuid - proc proc rw\n",
        ROOT "2 1 0:22 / /dev/pts rw,nosuid - devpts devpts rw\n",
        ROOT "2 1 0:5 /null /dev/null ro,nosuid - devtmpfs devtmpfs rw\n",
        ROOT "2 1 254:0 /home/u/a\\040b /home/u/a\\040b rw - ext4 /dev/vda rw\n",
        ROOT "2 1 254:0 /x /home/u/a\\040b/below rw - ext4 /dev/vda rw\n",
        ROOT "2 1 0:22 / /home/u/a\\040b/proc rw - proc x rw\n"
             "3 2 0:50 /empty /home/u/a\\040b/proc ro - tmpfs x rw\n",
        /* Something stands over it, wherever that is listed: out of reach. */
        ROOT "2 1 0:60 / /run/user/1 rw - fuse x rw\n3 1 0:61 / /run ro - tmpfs x rw\n",
        ROOT "3 1 0:61 / /run ro - tmpfs x rw\n2 1 0:60 / /run/user/1 rw - fuse x rw\n",
        ROOT "3 2 0:61 / /run ro - tmpfs x rw\n4 2 0:60 / /run/user/1 rw - fuse x rw\n"
             "2 1 0:62 / /run rw - tmpfs x rw\n",
    };
    struct err err;
    for (size_t i = 0; i < countof(good); i++) {
        if (check(good[i], &err) < 0) {
            fail_msg("%s: %s", good[i], err.msg);
        }
    }
}

static void anything_else_is_a_refusal_that_names_it(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } bad[] = {
        {"1 0 254:0 / / rw - ext4 /dev/vda rw\n", "written (/)"},
        {ROOT "2 1 0:61 / /dev/shm rw - tmpfs tmpfs rw\n", "written (/dev/shm)"},
        {ROOT "2 1 0:5 /null /dev/null rw - devtmpfs x rw\n", "written (/dev/null)"},
        {ROOT "2 1 0:61 / /home/u/a rw - ext4 x rw\n", "written (/home/u/a)"},
        {ROOT "2 1 0:61 / /home/u/a\\040bc rw - ext4 x rw\n", "written (/home/u/a bc)"},
        /* What it stands on does not cover it, wherever that is listed, nor what covers nothing. */
        {ROOT "2 1 0:61 / /run ro - tmpfs x rw\n3 2 0:60 / /run/user/1 rw - fuse x rw\n",
         "written (/run/user/1)"},
        {ROOT "3 2 0:60 / /run/user/1 rw - fuse x rw\n2 1 0:61 / /run ro - tmpfs x rw\n",
         "written (/run/user/1)"},
        {ROOT "2 1 0:61 / /x rw - ext4 x rw\n3 1 0:61 / /x ro - ext4 x rw\n", "written (/x)"},
        {ROOT "2 1 0:61 / /x rw - ext4 x rw\n3 1 0:61 / / ro - ext4 x rw\n", "written (/x)"},
        /* Nor do parents end that lead in a circle. */
        {ROOT "2 3 0:61 / /x rw - ext4 x rw\n3 2 0:61 / /y ro - ext4 x rw\n", "written (/x)"},
        {ROOT "2 2 0:61 / /x rw - ext4 x rw\n", "written (/x)"},
        /* Processes of somebody else, in an opened folder too. */
        {ROOT "2 1 0:22 / /srv/proc rw - proc x rw\n", "written (/srv/proc)"},
        {ROOT "2 1 0:22 / /home/u/a\\040b/proc rw - proc x rw\n", "written (/home/u/a b/proc)"},
        /* Blanks of other kinds are not escaped, and lengths have no bound: not read is not passed. */
        {ROOT "2 1 0:61 /r\rro /x rw - ext4 x rw\n", "written (/x)"},
        {ROOT "2 1 0:61 / /x\vro,y rw - ext4 x rw\n", "written (/x"},
        {ROOT "2 1 0:61 /" LONG " /x rw - ext4 x rw\n", "written (/x)"},
        {ROOT "2 1 0:61 / /" LONG LONG " rw - ext4 x rw\n", "written (/aa"},
        {ROOT "2 1 0:61 / /x rw - proc\n", "cannot be read"},
        {ROOT "nonsense\n", "cannot be read"},
        {ROOT "2 1 0:61 / /x rw ext4 x rw\n", "cannot be read"},
        {"", "no root"},
    };
    struct err err;
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(check(bad[i].text, &err), -1);
        assert_int_equal(err.code, ERR_UNAVAILABLE);
        if (!strstr(err.msg, bad[i].words)) {
            fail_msg("%s: %s", bad[i].text, err.msg);
        }
    }
}

/* SB-8: of declared work, no link is followed in any mount of the private file system that can be written. */
static void links_of_declared_work_lead_nowhere(void **state)
{
    static const char closed[] = "9 1 0:50 /tmp /tmp rw,nosuid,nosymfollow - tmpfs berm rw\n";
    static const struct {
        const char *text;
        const char *words; /* NULL: as planned */
    } tables[] = {
        {"8 1 0:50 /shm /dev/shm rw,nodev,nosymfollow - tmpfs berm rw\n", NULL},
        {"8 1 0:50 /dev /dev ro,nosuid - tmpfs berm rw\n", NULL},         /* has berm's own */
        {"8 1 254:0 /x /home/u/a\\040b/x rw - ext4 /dev/vda rw\n", NULL}, /* is no temporary one */
        {"8 1 0:50 / /run/p rw - tmpfs berm rw\n7 8 0:50 /e /run/p ro - tmpfs berm rw\n", NULL},
        {"8 1 0:50 /shm /dev/shm rw,nodev - tmpfs berm rw\n", "followed (/dev/shm)"},
        {"8 9 0:50 /tmp/a /tmp/a rw - tmpfs berm rw\n", "followed (/tmp/a)"},
    };
    struct err err;
    struct sandbox sandbox = plan_with_a_root();
    sandbox.walk = link_walk_new();
    for (size_t i = 0; i < countof(tables); i++) {
        with_string text = memory_format("%s%s%s", ROOT, closed, tables[i].text);
        int result = check_plan(&sandbox, text, &err);
        if (result != (tables[i].words ? -1 : 0) ||
            (tables[i].words && !strstr(err.msg, tables[i].words))) {
            fail_msg("%s: %s", text, err.msg);
        }
    }
    link_walk_free(sandbox.walk);
    sandbox.walk = NULL;
    assert_int_equal(check_plan(&sandbox, ROOT PRIVATE, &err), 0);
}

static void check_others(const char *path, const char *const *wanted)
{
    static const char text[] = "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
                               "2 1 0:30 /@home /home rw - btrfs x rw\n"
                               "3 1 0:30 / /mnt/all\\040of rw - btrfs x rw\n"
                               "4 1 0:30 /@home/u/www /srv/www rw - btrfs x rw\n"
                               "5 1 254:0 /var/lib /data rw - ext4 /dev/vda rw\n"
                               "6 1 0:40 /@home /other rw - tmpfs x rw\n"
                               "7 1 0:25 / /run rw - tmpfs x rw\n"
                               "8 1 0:25 / /chroot/run rw - tmpfs x rw\n";
    with_strvec found = {0};
    with_mount_table table = {0};
    assert_int_equal(mount_table_parse(text, &table), 0);
    mounts_other_paths(&table, path, &found);
    size_t count = 0;
    for (; wanted[count]; count++) {
        assert_true(count < found.count);
        assert_string_equal(found.strings[count], wanted[count]);
    }
    assert_int_equal(found.count, count);
}

/* I10: of two mounts at one place the one in reach shows it, wherever they are listed. */
static void a_covered_mount_is_not_the_one_that_shows_a_place(void **state)
{
    static const char text[] = "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
                               "3 2 0:40 / /srv rw - tmpfs x rw\n"
                               "2 1 0:30 / /srv rw - btrfs x rw\n"
                               "4 1 0:40 /d /other rw - tmpfs x rw\n";
    with_strvec found = {0};
    with_mount_table table = {0};
    assert_int_equal(mount_table_parse(text, &table), 0);
    mounts_other_paths(&table, "/srv/d/x", &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.strings[0], "/other/x");
}

/* I10: the same place by a bind mount, by the whole of its file system, by one that is mounted twice. */
static void other_mounts_show_a_place_too(void **state)
{
    check_others("/home", (const char *const[]){"/mnt/all of/@home", NULL});
    check_others("/home/u/www/x",
                 (const char *const[]){"/mnt/all of/@home/u/www/x", "/srv/www/x", NULL});
    check_others("/srv/www", (const char *const[]){"/home/u/www", "/mnt/all of/@home/u/www", NULL});
    check_others("/run/d/s", (const char *const[]){"/chroot/run/d/s", NULL});
    check_others("/var/lib/mysql", (const char *const[]){"/data/mysql", NULL});
    check_others("/var/lib", (const char *const[]){"/data", NULL});
    check_others("/var/library", (const char *const[]){NULL});
    check_others("/data", (const char *const[]){"/var/lib", NULL});
    check_others("/usr", (const char *const[]){NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_plan_opens_may_be_written),
        cmocka_unit_test(anything_else_is_a_refusal_that_names_it),
        cmocka_unit_test(links_of_declared_work_lead_nowhere),
        cmocka_unit_test(other_mounts_show_a_place_too),
        cmocka_unit_test(a_covered_mount_is_not_the_one_that_shows_a_place),
    };
    return cmocka_run_group_tests_name("contain/sandbox-mounts", tests, NULL, NULL);
}
