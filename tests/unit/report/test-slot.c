#include "../bfs/bfs-test.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "memory.h"
#include "slot.h"

#define REPORT  "{\"schema\":\"lamina.safe-runner-report/v1\",\"outcome\":\"success\"}\n"
#define RECORD  "{\"schema\":\"berm.run/v1\"}\n"
#define WAITING "{\"schema\":\"lamina.safe-runner-report/v1\",\"outcome\":\"internal_error\"}\n"
#define ENDED   "{\"schema\":\"lamina.safe-runner-report/v1\",\"outcome\":\"command_failed\"}\n"

enum { RESERVE_BYTES = 65536 };

static char *path_of(const struct place *place, const char *name)
{
    return memory_format("%s/%s", place->path, name);
}

static struct slot *take_as(const struct place *place, const char *name, const char *run_id,
                            struct err *err)
{
    with_string path = path_of(place, name);
    return slot_take(path, run_id, span_of_string(WAITING), RESERVE_BYTES, err);
}

static struct slot *must_take(const struct place *place, const char *name)
{
    struct err err = {0};
    struct slot *slot = take_as(place, name, "k7f3aa", &err);
    if (!slot) {
        fail_msg("%s", err.msg);
    }
    return slot;
}

static size_t count_entries(const struct place *place)
{
    struct err err = {0};
    with_strvec names = {0};
    assert_ok(bfs_list(&place->dir, 1000, &names, &err));
    return names.count;
}

static void has_text(const struct err *err, const char *words)
{
    if (!strstr(err->msg, words)) {
        fail_msg("'%s' does not say '%s'", err->msg, words);
    }
}

/* RS-2, RS-3, RS-4, RP-5: provisional from the start, final at the end, 0600, nothing beside it; the
 * caller's own user and group own it (isolate NEWS 2.5). */
static void a_slot_from_take_to_publish(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_slot slot = must_take(place, "r.json");
    assert_content(place, "r.json", WAITING);
    assert_int_equal(count_entries(place), 1);
    assert_ok(slot_publish(slot, span_of_string(ENDED), &err));
    assert_content(place, "r.json", ENDED);
    assert_int_equal(count_entries(place), 1);
    struct bfs_facts facts;
    assert_ok(bfs_stat(&place->dir, "r.json", &facts, &err));
    assert_int_equal(facts.mode, S_IFREG | 0600);
    assert_int_equal(facts.owner, geteuid());
    assert_int_equal(facts.group, getegid());
    assert_int_equal(facts.size_bytes, strlen(ENDED));
    with_string path = path_of(place, "r.json");
    assert_string_equal(slot_path(slot), path);
    assert_null(slot_kept(slot));
    /* Once more, without set-aside blocks. */
    assert_ok(slot_publish(slot, span_of_string(WAITING), &err));
    assert_content(place, "r.json", WAITING);
    assert_int_equal(count_entries(place), 1);
}

/* A run that dies leaves its provisional record. */
static void an_unpublished_slot_keeps_the_provisional_record(void **state)
{
    struct place *place = *state;
    put(place, "r.json", REPORT);
    with_slot slot = must_take(place, "r.json");
    slot_freep(&slot);
    assert_content(place, "r.json", WAITING);
    assert_int_equal(count_entries(place), 1);
}

/* D9: a link is replaced and not followed, also a dangling one. */
static void a_link_is_replaced(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "victim", "victim");
    assert_int_equal(symlinkat("victim", place->fd, "r.json"), 0);
    assert_int_equal(symlinkat("nowhere", place->fd, "s.json"), 0);
    with_slot slot = must_take(place, "r.json");
    with_slot other = must_take(place, "s.json");
    assert_ok(slot_publish(slot, span_of_string(ENDED), &err));
    assert_content(place, "r.json", ENDED);
    assert_content(place, "victim", "victim");
    assert_content(place, "s.json", WAITING);
    assert_int_equal(count_entries(place), 3);
}

/* The other names of a hard-linked report keep their bytes. */
static void a_hard_linked_victim_is_not_truncated(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "victim", REPORT);
    assert_int_equal(linkat(place->fd, "victim", place->fd, "r.json", 0), 0);
    with_slot slot = must_take(place, "r.json");
    assert_null(slot_kept(slot));
    assert_ok(slot_publish(slot, span_of_string(ENDED), &err));
    assert_content(place, "victim", REPORT);
    assert_content(place, "r.json", ENDED);
}

/* Records are replaced; what is none is kept beside the slot. */
static void what_is_no_record_is_kept(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *name;
        const char *content;
        bool kept;
    } rows[] = {
        {"a", REPORT, false},
        {"b", RECORD, false},
        {"c", "", false},
        {"d", "my thesis\n", true},
        {"e", "{\"schema\":\"another/v1\"}", true},
        {"f", "{\"schema\":\"lamina.safe-runner-report/v1\"", true},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        put(place, rows[i].name, rows[i].content);
        with_slot slot = must_take(place, rows[i].name);
        assert_content(place, rows[i].name, WAITING);
        with_string kept = memory_format("%s.before-k7f3aa", rows[i].name);
        if (rows[i].kept) {
            assert_string_equal(slot_kept(slot), kept);
            assert_content(place, kept, rows[i].content);
        } else {
            assert_null(slot_kept(slot));
            assert_int_equal(faccessat(place->fd, kept, F_OK, AT_SYMLINK_NOFOLLOW), -1);
        }
    }
}

/* D9: what cannot be replaced is said to be so, and stays. */
static void what_is_in_the_way(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "folder", 0700), 0);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    assert_null(take_as(place, "folder", "k7f3aa", &err));
    assert_int_equal(err.code, ERR_REFUSED);
    has_text(&err, "is a directory");
    assert_null(take_as(place, "fifo", "k7f3aa", &err));
    assert_int_equal(err.code, ERR_REFUSED);
    static const char *const directories[] = {"", "folder/", ".", "folder/.."};
    for (size_t i = 0; i < countof(directories); i++) {
        assert_null(take_as(place, directories[i], "k7f3aa", &err));
        assert_int_equal(err.code, ERR_USAGE);
    }
    put(place, "file", "x");
    assert_null(take_as(place, "file/r.json", "k7f3aa", &err));
    assert_null(slot_take("/dev/stdout", "k7f3aa", span_of_string(WAITING), 0, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_null(slot_take("/proc/self/comm", "k7f3aa", span_of_string(WAITING), 0, &err));
    assert_int_equal(count_entries(place), 3);
}

/* RS-1: missing folders are made for this user only. */
static void missing_folders_are_made(void **state)
{
    struct place *place = *state;
    with_slot slot = must_take(place, "a/b/r.json");
    assert_content(place, "a/b/r.json", WAITING);
    struct stat seen;
    assert_int_equal(fstatat(place->fd, "a", &seen, 0), 0);
    assert_int_equal(seen.st_mode, S_IFDIR | 0700);
    assert_int_equal(fstatat(place->fd, "a/b", &seen, 0), 0);
    assert_int_equal(seen.st_mode, S_IFDIR | 0700);
}

/* RS-1: the parent is this user's, or sticky; a refusal prints path and mode. */
static void parents_that_are_trusted(void **state)
{
    struct place *place = *state;
    static const struct {
        mode_t mode;
        bool trusted;
    } rows[] = {{0700, true},  {0755, true},  {0770, true}, /* this user's private group */
                {01777, true}, {0777, false}, {0707, false}};
    for (size_t i = 0; i < countof(rows); i++) {
        assert_int_equal(fchmod(place->fd, rows[i].mode), 0);
        struct err err = {0};
        with_slot slot = take_as(place, "r.json", "k7f3aa", &err);
        assert_int_equal(slot != NULL, rows[i].trusted);
        if (!slot) {
            with_string mode = memory_format("mode %04o", (unsigned)rows[i].mode);
            assert_int_equal(err.code, ERR_REFUSED);
            has_text(&err, mode);
            has_text(&err, place->path);
        }
    }
    assert_int_equal(fchmod(place->fd, 0700), 0);
}

static void a_foreign_parent_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(fchown(place->fd, 12345, 12345), 0);
    assert_null(take_as(place, "r.json", "k7f3aa", &err));
    assert_int_equal(err.code, ERR_REFUSED);
    has_text(&err, "owner 12345");
    assert_int_equal(fchown(place->fd, 0, 0), 0);
    /* A foreign group that may write. */
    assert_int_equal(fchown(place->fd, 0, 12345), 0);
    assert_int_equal(fchmod(place->fd, 0770), 0);
    assert_null(take_as(place, "r.json", "k7f3aa", &err));
    has_text(&err, "group 12345");
    assert_int_equal(fchown(place->fd, 0, 0), 0);
}

/* S7: of two runs with one slot the later taker owns it, and the earlier one is told. */
static void two_runs_with_one_slot(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_slot first = must_take(place, "r.json");
    with_slot second = take_as(place, "r.json", "k7f3bb", &err);
    assert_non_null(second);
    assert_null(slot_kept(second)); /* the first's record is a record */
    assert_int_equal(slot_publish(first, span_of_string(ENDED), &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    has_text(&err, "r.json");
    assert_content(place, "r.json", WAITING);
    assert_ok(slot_publish(second, span_of_string(REPORT), &err));
    assert_content(place, "r.json", REPORT);
    assert_int_equal(slot_publish(first, span_of_string(ENDED), &err), -1);
    assert_content(place, "r.json", REPORT);
    assert_int_equal(count_entries(place), 1);
}

/* Bytes copied into another file do not regain the slot, and a removed one is not made again. */
static void a_slot_that_was_changed_is_a_conflict(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_slot slot = must_take(place, "r.json");
    put(place, "copy", WAITING);
    assert_int_equal(renameat(place->fd, "copy", place->fd, "r.json"), 0);
    assert_int_equal(slot_publish(slot, span_of_string(ENDED), &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_content(place, "r.json", WAITING);
    assert_int_equal(unlinkat(place->fd, "r.json", 0), 0);
    assert_int_equal(slot_publish(slot, span_of_string(ENDED), &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(count_entries(place), 0);
}

/* RS-1: the parent is bound by identity. */
static void a_parent_that_was_moved_or_opened_up(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_slot slot = must_take(place, "a/r.json");
    assert_int_equal(fchmodat(place->fd, "a", 0777, 0), 0);
    assert_int_equal(slot_publish(slot, span_of_string(ENDED), &err), -1);
    assert_int_equal(err.code, ERR_CHANGED);
    has_text(&err, "mode 0777");
    assert_int_equal(fchmodat(place->fd, "a", 0700, 0), 0);
    assert_int_equal(renameat(place->fd, "a", place->fd, "b"), 0);
    assert_int_equal(slot_publish(slot, span_of_string(ENDED), &err), -1);
    assert_int_equal(mkdirat(place->fd, "a", 0700), 0);
    assert_int_equal(slot_publish(slot, span_of_string(ENDED), &err), -1);
    assert_int_equal(err.code, ERR_CHANGED);
    assert_content(place, "b/r.json", WAITING);
    assert_int_equal(unlinkat(place->fd, "a", AT_REMOVEDIR), 0);
    assert_int_equal(renameat(place->fd, "b", place->fd, "a"), 0);
    /* A tighter mode changes nothing: the directory is the same. */
    assert_int_equal(fchmodat(place->fd, "a", 0755, 0), 0);
    assert_ok(slot_publish(slot, span_of_string(ENDED), &err));
    assert_content(place, "a/r.json", ENDED);
}

/* A lock that somebody else holds on the directory delays, and does not hang. */
static void a_held_lock_is_not_waited_for_for_ever(void **state)
{
    struct place *place = *state;
    int holder = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(holder, LOCK_EX), 0);
    alarm(30); /* a wait without an end ends the test */
    with_slot slot = must_take(place, "r.json");
    alarm(0);
    assert_content(place, "r.json", WAITING);
    close(holder);
}

/* RP-4 */
static void a_fallback_report(void **state)
{
    char path[256];
    struct err err = {0};
    assert_ok(slot_fallback("k7f3aa", span_of_string(ENDED), path, sizeof path, &err));
    assert_true(strncmp(path, "/tmp/berm-report-k7f3aa-", 24) == 0);
    struct stat seen;
    assert_int_equal(lstat(path, &seen), 0);
    assert_int_equal(seen.st_mode, S_IFREG | 0600);
    assert_int_equal(seen.st_size, strlen(ENDED));
    char another[256];
    assert_ok(slot_fallback("k7f3aa", span_of_string(ENDED), another, sizeof another, &err));
    assert_int_equal(strspn(path + 24, "0123456789abcdef"), 16); /* nobody can foresee it */
    assert_string_not_equal(path, another);
    assert_int_equal(unlink(another), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(
        slot_fallback("k7f3aa", span_of(ENDED, (16 << 20) + 1), path, sizeof path, &err), -1);
    assert_int_equal(err.code, ERR_OVER_BUDGET);
}

/* A small filesystem of its own, in a child with a mount namespace of its own. */

static int mount_private(const char *path, const char *options)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
        return -1;
    }
    (void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static void fill_disk(const char *path)
{
    with_string name = memory_format("%s/filler", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char block[4096] = {0};
    while (write(fd, block, sizeof block) > 0) {
    }
    close(fd);
}

enum { CANNOT_MOUNT = 77 };

/* D7: the disk fills up after the slot was taken; the final record has its blocks, and those that it got later. */
static int publishes_on_a_full_disk(const char *path, size_t bytes)
{
    if (mount_private(path, "size=1m,mode=0700") < 0) {
        return CANNOT_MOUNT;
    }
    struct err err = {0};
    with_string name = memory_format("%s/r.json", path);
    with_slot slot = slot_take(name, "k7f3aa", span_of_string(WAITING), RESERVE_BYTES, &err);
    if (!slot || (bytes > RESERVE_BYTES && slot_reserve(slot, bytes, &err) < 0)) {
        return 1;
    }
    fill_disk(path);
    with_string final = memory_new(bytes);
    memset(final, 'x', bytes);
    struct stat seen;
    return slot_publish(slot, span_of(final, bytes), &err) < 0 || lstat(name, &seen) < 0 ||
                   seen.st_size != (off_t)bytes
               ? 2
               : 0;
}

static int survives_a_full_disk(const char *path)
{
    return publishes_on_a_full_disk(path, RESERVE_BYTES);
}

static int survives_it_with_more(const char *path)
{
    return publishes_on_a_full_disk(path, 3 * RESERVE_BYTES);
}

/* D7: with no room at all nothing is begun, and what was there stays. */
static int refuses_a_full_disk(const char *path)
{
    if (mount_private(path, "size=1m,mode=0700") < 0) {
        return CANNOT_MOUNT;
    }
    struct err err = {0};
    with_string name = memory_format("%s/r.json", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (write(fd, REPORT, strlen(REPORT)) < 0) {
        return 1;
    }
    close(fd);
    fill_disk(path);
    with_slot slot = slot_take(name, "k7f3aa", span_of_string(WAITING), RESERVE_BYTES, &err);
    struct stat seen;
    return slot || err.sys != ENOSPC || lstat(name, &seen) < 0 ||
                   seen.st_size != (off_t)strlen(REPORT)
               ? 2
               : 0;
}

/* D8 */
static int refuses_a_read_only_folder(const char *path)
{
    if (mount_private(path, "size=1m,mode=0700") < 0 ||
        mount("none", path, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0) {
        return CANNOT_MOUNT;
    }
    struct err err = {0};
    with_string name = memory_format("%s/r.json", path);
    with_slot slot = slot_take(name, "k7f3aa", span_of_string(WAITING), RESERVE_BYTES, &err);
    return slot || err.sys != EROFS ? 2 : 0;
}

static void in_a_child(void **state, int (*check)(const char *path))
{
    struct place *place = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(check(place->path));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT_MOUNT) {
        if (getenv("MUST_WORK")) {
            fail_msg("a private mount was refused");
        }
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_full_disk_does_not_take_the_verdict(void **state)
{
    in_a_child(state, survives_a_full_disk);
    in_a_child(state, survives_it_with_more);
}

static void a_full_disk_at_the_start(void **state)
{
    in_a_child(state, refuses_a_full_disk);
}

static void a_read_only_folder(void **state)
{
    in_a_child(state, refuses_a_read_only_folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_slot_from_take_to_publish),
        place_test(an_unpublished_slot_keeps_the_provisional_record),
        place_test(a_link_is_replaced),
        place_test(a_hard_linked_victim_is_not_truncated),
        place_test(what_is_no_record_is_kept),
        place_test(what_is_in_the_way),
        place_test(missing_folders_are_made),
        place_test(parents_that_are_trusted),
        place_test(a_foreign_parent_is_refused),
        place_test(two_runs_with_one_slot),
        place_test(a_slot_that_was_changed_is_a_conflict),
        place_test(a_parent_that_was_moved_or_opened_up),
        place_test(a_held_lock_is_not_waited_for_for_ever),
        place_test(a_fallback_report),
        place_test(a_full_disk_does_not_take_the_verdict),
        place_test(a_full_disk_at_the_start),
        place_test(a_read_only_folder),
    };
    return cmocka_run_group_tests_name("report/slot", tests, NULL, NULL);
}
