/* Adopting what a killed run left is tried in tests/crash. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adopt.h"
#include "bfs.h"
#include "file.h"

static const char crash[] = "{\"run_id\": \"k7f3ab\", \"crash\": true}";

static struct watch_identity identity_at(int dir, const char *name)
{
    struct stat facts;
    assert_int_equal(fstatat(dir, name, &facts, AT_SYMLINK_NOFOLLOW), 0);
    return (struct watch_identity){facts.st_dev, facts.st_ino, facts.st_uid, 0};
}

static void write_file(int dir, const char *name, const char *text)
{
    with_fd file = fd_adopt(os_openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    assert_int_equal(os_write_all(fd_num(&file), text, strlen(text)), 0);
}

static void adopt(bool right_identity)
{
    char path[] = "/tmp/berm-test-XXXXXX";
    char text[sizeof crash] = "";
    struct err err = {0};
    uint32_t left = 99;
    assert_non_null(mkdtemp(path));
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    int folder = fd_num(&dir);
    write_file(folder, "x.watch", "a manifest");
    write_file(folder, "slot", "{\"run_id\": \"k7f3ab\"}");
    assert_int_equal(mkdirat(folder, "made", 0700), 0);

    static struct watch_manifest manifest;
    manifest = (struct watch_manifest){
        .magic = WATCH_MAGIC, .version = WATCH_VERSION, .bytes = sizeof manifest};
    struct watch_entry *entries[] = {&manifest.file, &manifest.slots[0], &manifest.directories[0]};
    static const char *const names[] = {"x.watch", "slot", "made"};
    for (size_t i = 0; i < countof(entries); i++) {
        entries[i]->parent = identity_at(folder, ".");
        (void)snprintf(entries[i]->path, sizeof entries[i]->path, "%s", path);
        (void)snprintf(entries[i]->name, sizeof entries[i]->name, "%s", names[i]);
        entries[i]->self = identity_at(folder, names[i]);
    }
    (void)snprintf(manifest.run_id, sizeof manifest.run_id, "k7f3ab");
    manifest.directories[0].self.inode += !right_identity;
    struct {
        struct watch_reports head;
        char text[sizeof crash];
    } reports = {.head.texts = {{{sizeof reports.head, sizeof crash - 1}, {0}}}};
    memcpy(reports.text, crash, sizeof crash);
    manifest.reports_bytes = sizeof reports;

    const struct adoption adoption = {.manifest = &manifest,
                                      .reports = span_of((const char *)&reports, sizeof reports),
                                      .folder_fd = folder,
                                      .slot_fds = {folder, -1},
                                      .parent_fds = {folder, -1, -1, -1},
                                      .leaf_fd = -1,
                                      .scope_fd = -1,
                                      .scope_parent_fd = -1,
                                      .gate_pidfd = -1};
    if (adopt_finish(&adoption, &os_clock_real, &left, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    assert_int_equal(left, 0);
    assert_int_equal(faccessat(folder, "x.watch", F_OK, 0), -1);
    assert_int_equal(unlinkat(folder, "made", AT_REMOVEDIR), right_identity ? -1 : 0);
    assert_int_equal(os_read_small(folder, "slot", text, sizeof text), sizeof crash - 1);
    assert_string_equal(text, crash);
    assert_int_equal(unlinkat(folder, "slot", 0), 0);
    assert_int_equal(rmdir(path), 0);
}

static void what_it_names_is_removed_and_the_crash_is_told(void **state)
{
    adopt(true);
}

static void what_is_another_by_now_is_left_alone(void **state)
{
    adopt(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_names_is_removed_and_the_crash_is_told),
        cmocka_unit_test(what_is_another_by_now_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
