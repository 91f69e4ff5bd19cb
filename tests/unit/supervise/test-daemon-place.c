#include "daemon-test.h"

static const struct daemon_wish wish = {
    .name = "graphd", .folder = "/root/run", .socket = "s", .lock = "l"};

static int open_place(const char *path, struct daemon_place *place)
{
    return daemon_place_open(NULL, path, place);
}

static void make_folders(void)
{
    static const char *const folders[] = {"/tmp/w", "/tmp/w/a", "/tmp/w/a/b", "/root/run"};
    for (size_t i = 0; i < countof(folders); i++) {
        (void)mkdir(fake_path(folders[i]), 0700);
    }
}

/* MD-2 MD-7: a folder is what is reached without following a link, where it may be. */
static void no_link_leads_to_a_folder(void **state)
{
    with_daemon_place place = {0};
    make_folders();
    assert_int_equal(symlink("run", fake_path("/root/link")), 0);
    assert_int_equal(symlink("/etc", fake_path("/root/run/etc")), 0);
    fake_file("/root/file", "");
    assert_int_equal(open_place("/root/link", &place), -ENOTDIR);
    assert_int_equal(open_place("/root/run/etc", &place), -ENOTDIR);
    assert_int_equal(open_place("/root/link/x", &place), -ELOOP);
    assert_int_equal(open_place("/root/../private/w", &place), -EXDEV);
    assert_int_equal(open_place("/root/file", &place), -ENOTDIR);
    assert_int_equal(open_place("/root/none", &place), -ENOENT);
    assert_int_equal(open_place("/usr", &place), -EACCES);
    assert_int_equal(open_place("/root/run", &place), 0);
    assert_false(place.is_private);
    daemon_place_done(&place);
    assert_int_equal(open_place("/tmp", &place), 0);
    assert_true(place.is_private);
    (void)unlink(fake_path("/root/link"));
    (void)unlink(fake_path("/root/run/etc"));
}

/* MD-2 TR-5: a link that leads nowhere is something. */
static void what_is_there_is_seen(void **state)
{
    const char *name = NULL;
    make_folders();
    assert_int_equal(daemon_look_absent(NULL, &wish, &name), 0);
    assert_int_equal(symlink("nowhere", fake_path("/root/run/l")), 0);
    assert_int_equal(daemon_look_absent(NULL, &wish, &name), -EEXIST);
    assert_string_equal(name, "l");
    (void)unlink(fake_path("/root/run/l"));
    fake_socket("/root/run/s");
    assert_int_equal(daemon_look_absent(NULL, &wish, &name), -EEXIST);
    assert_string_equal(name, "s");
    (void)unlink(fake_path("/root/run/s"));
    const struct daemon_wish nowhere = {.folder = "/root/none", .socket = "s", .lock = "l"};
    assert_int_equal(daemon_look_absent(NULL, &nowhere, &name), 0);
}

/* MD-4: type, device, inode, owner, mode and size; one that differs is another object. */
static void an_object_is_all_of_it(void **state)
{
    const struct daemon_object sealed = {1, 2, S_IFSOCK | 0600, 4, 5};
    struct daemon_object seen = sealed;
    assert_true(daemon_object_same(&sealed, &seen));
    seen.device++;
    assert_false(daemon_object_same(&sealed, &seen));
    seen = (struct daemon_object){1, 3, S_IFSOCK | 0600, 4, 5};
    assert_false(daemon_object_same(&sealed, &seen));
    seen = (struct daemon_object){1, 2, S_IFSOCK | 0640, 4, 5};
    assert_false(daemon_object_same(&sealed, &seen));
    seen = (struct daemon_object){1, 2, S_IFREG | 0600, 4, 5};
    assert_false(daemon_object_same(&sealed, &seen));
    seen = (struct daemon_object){1, 2, S_IFSOCK | 0600, 5, 5};
    assert_false(daemon_object_same(&sealed, &seen));
    seen = (struct daemon_object){1, 2, S_IFSOCK | 0600, 4, 6};
    assert_false(daemon_object_same(&sealed, &seen));
    const struct daemon_object none = {0};
    assert_false(daemon_object_same(&none, &none));
}

/* MD-4: a lock is a small file of its owner, with one name, and no link. */
static void a_lock_is_a_plain_file(void **state)
{
    char text[DAEMON_LOCK_BYTES];
    struct daemon_object object;
    with_daemon_place place = {0};
    make_folders();
    assert_int_equal(open_place("/root/run", &place), 0);
    assert_int_equal(daemon_lock_read(&place, "l", geteuid(), text, &object), -ENOENT);
    fake_file("/root/run/l", "{}");
    assert_int_equal(daemon_lock_read(&place, "l", geteuid(), text, &object), 2);
    assert_int_equal(object.size_bytes, 2);
    assert_int_equal(daemon_lock_read(&place, "l", geteuid() + 1, text, &object), -EINVAL);
    char other[128];
    (void)snprintf(other, sizeof other, "%s", fake_path("/root/run/other"));
    assert_int_equal(link(fake_path("/root/run/l"), other), 0);
    assert_int_equal(daemon_lock_read(&place, "l", geteuid(), text, &object), -EINVAL);
    (void)unlink(other);
    assert_int_equal(truncate(fake_path("/root/run/l"), DAEMON_LOCK_BYTES + 1), 0);
    assert_int_equal(daemon_lock_read(&place, "l", geteuid(), text, &object), -EINVAL);
    (void)unlink(fake_path("/root/run/l"));
    assert_int_equal(symlink("other", fake_path("/root/run/l")), 0);
    assert_int_equal(daemon_lock_read(&place, "l", geteuid(), text, &object), -ELOOP);
    (void)unlink(fake_path("/root/run/l"));
    assert_int_equal(mkfifo(fake_path("/root/run/l"), 0600), 0);
    assert_int_equal(daemon_lock_read(&place, "l", geteuid(), text, &object), -EINVAL);
    (void)unlink(fake_path("/root/run/l"));
}

/* MD-7: below the working folder, and only in the private file system. */
static void beneath_is_by_identity(void **state)
{
    struct stat w;
    struct stat b;
    make_folders();
    assert_int_equal(stat(fake_path("/tmp/w"), &w), 0);
    assert_int_equal(stat(fake_path("/tmp/w/a/b"), &b), 0);
    assert_true(daemon_place_is_beneath(NULL, "/tmp/w/a/b", w.st_dev, w.st_ino));
    assert_true(daemon_place_is_beneath(NULL, "/tmp/w", w.st_dev, w.st_ino));
    assert_false(daemon_place_is_beneath(NULL, "/tmp/w/a", b.st_dev, b.st_ino));
    assert_false(daemon_place_is_beneath(NULL, "/tmp", w.st_dev, w.st_ino));
    assert_false(daemon_place_is_beneath(NULL, "/root/run", w.st_dev, w.st_ino));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_link_leads_to_a_folder), cmocka_unit_test(what_is_there_is_seen),
        cmocka_unit_test(an_object_is_all_of_it),    cmocka_unit_test(a_lock_is_a_plain_file),
        cmocka_unit_test(beneath_is_by_identity),
    };
    return cmocka_run_group_tests(tests, daemon_begin, daemon_end);
}
