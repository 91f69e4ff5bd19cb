#include "../bfs/bfs-test.h"

#include "archive.h"
#include "facts.h"
#include "process.h"

static char *variable(const char *name, const struct place *place, const char *below)
{
    return memory_format("%s=%s%s", name, place->path, below);
}

static struct archive *open_in(const struct place *place)
{
    with_string state = variable("XDG_STATE_HOME", place, "/state");
    char *const environment[] = {state, NULL};
    struct err err = {0};
    struct archive *archive = archive_open(environment, &err);
    if (!archive) {
        fail_msg("%s", err.msg);
    }
    return archive;
}

static void write_file(const struct archive *archive, const char *name, const char *bytes, size_t n)
{
    with_string path = memory_format("%s/%s", archive_folder(archive), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* Sets the age too: a larger age is an older record. */
static void write_record(const struct archive *archive, const char *id, int age_s, const char *text)
{
    with_string name = memory_format("%s.json", id);
    write_file(archive, name, text, strlen(text));
    with_string path = memory_format("%s/%s", archive_folder(archive), name);
    const struct timespec times[2] = {{1700000000 - age_s, 0}, {1700000000 - age_s, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* change NULL: of this process; else that member of the controller is another. */
static char *make_record(bool in_progress, const char *change)
{
    struct report_facts facts = make_facts();
    facts.in_progress = in_progress;
    struct err err = {0};
    with_json record = report_build(&facts, &err);
    assert_non_null(record);
    json_t *controller = json_object_get(record, "controller");
    if (change && strcmp(change, "boot_id") == 0) {
        json_object_set_new(controller, change, json_string("another boot"));
    } else if (change) {
        json_int_t value = json_integer_value(json_object_get(controller, change));
        json_object_set_new(controller, change, json_integer(value + 1000000000));
    }
    with_buf text = buf_new(1 << 20);
    assert_int_equal(json_write(record, JSON_READABLE, &text, &err), 0);
    return memory_copy_string(buf_string(&text));
}

/* R61: the state folder, and nothing in HOME when it is named; XDG: relative and empty are ignored */
static void the_state_folder(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_string home = variable("HOME", place, "/home");
    with_string absolute = variable("XDG_STATE_HOME", place, "/state");
    char relative[] = "XDG_STATE_HOME=state";
    char empty[] = "XDG_STATE_HOME=";
    assert_int_equal(mkdirat(place->fd, "home", 0700), 0);

    char *const both[] = {home, absolute, NULL};
    with_archive archive = archive_open(both, &err);
    assert_non_null(archive);
    with_string folder = memory_format("%s/state/berm/runs", place->path);
    assert_string_equal(archive_folder(archive), folder);
    assert_int_equal(unlinkat(place->fd, "home", AT_REMOVEDIR), 0); /* it stayed empty */

    with_string in_home = memory_format("%s/home/.local/state/berm/runs", place->path);
    char *const ignored[][3] = {{home, relative, NULL}, {home, empty, NULL}, {home, NULL}};
    for (size_t i = 0; i < countof(ignored); i++) {
        with_archive other = archive_open(ignored[i], &err);
        assert_non_null(other);
        assert_string_equal(archive_folder(other), in_home);
    }
    struct stat seen;
    assert_int_equal(fstatat(place->fd, "home/.local/state/berm", &seen, 0), 0);
    assert_int_equal(seen.st_mode, S_IFDIR | 0700);

    char *const neither[] = {relative, NULL};
    assert_null(archive_open(neither, &err));
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "set one of them"));
}

static void ids_are_new(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_archive archive = open_in(place);
    for (int i = 0; i < 100; i++) {
        char id[RUN_ID_SIZE];
        assert_ok(archive_new_id(archive, id, &err));
        assert_int_equal(strlen(id), 6);
        assert_int_equal(strspn(id, "0123456789abcdefghjkmnpqrstvwxyz"), 6);
        write_record(archive, id, 0, "{}");
    }
    with_strvec ids = {0};
    assert_ok(archive_list(archive, &ids, &err));
    assert_int_equal(ids.count, 100);
    with_string path = archive_path(archive, "abcdef", ".json");
    with_string wanted = memory_format("%s/state/berm/runs/abcdef.json", place->path);
    assert_string_equal(path, wanted);
}

static void kept_files_are_new(void **state)
{
    struct err err = {0};
    with_archive archive = open_in(*state);
    with_fd kept = {0};
    with_fd none = {0};
    assert_int_equal(archive_create(archive, "abcdef", ".stdout", &kept, &err), 0);
    struct stat seen;
    assert_int_equal(fstat(fd_num(&kept), &seen), 0);
    assert_int_equal(seen.st_mode, S_IFREG | 0600);
    assert_int_equal(archive_create(archive, "abcdef", ".stdout", &none, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(archive_create(archive, "abcdef", "/x", &none, &err), -1);
}

static void finding_a_run(void **state)
{
    struct err err = {0};
    char id[RUN_ID_SIZE];
    with_archive archive = open_in(*state);
    assert_int_equal(archive_find(archive, "last", id, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    write_record(archive, "k7f3aa", 30, "{}");
    write_record(archive, "k7f3bb", 10, "{}");
    write_record(archive, "k8aaaa", 20, "{}");
    write_file(archive, "zzzzzz.stdout", "x", 1); /* no record */
    write_file(archive, "README", "x", 1);
    assert_ok(archive_find(archive, "last", id, &err));
    assert_string_equal(id, "k7f3bb");
    assert_ok(archive_find(archive, "k8", id, &err));
    assert_string_equal(id, "k8aaaa");
    assert_ok(archive_find(archive, "k7f3aa", id, &err));
    assert_string_equal(id, "k7f3aa");
    assert_int_equal(archive_find(archive, "k7f", id, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "k7f3bb, k7f3aa"));
    static const char *const unknown[] = {"q", "", "k7f3aa7", "../k8", "K8", "zzzzzz", "README"};
    for (size_t i = 0; i < countof(unknown); i++) {
        assert_int_equal(archive_find(archive, unknown[i], id, &err), -1);
        assert_int_equal(err.code, ERR_NOT_FOUND);
    }
    with_strvec ids = {0};
    assert_ok(archive_list(archive, &ids, &err));
    assert_int_equal(ids.count, 3);
    assert_string_equal(ids.strings[0], "k7f3bb");
    assert_string_equal(ids.strings[2], "k7f3aa");
}

/* Two runs that end within one tick of the kernel's clock. */
static void the_last_of_a_tick(void **state)
{
    struct err err = {0};
    char id[RUN_ID_SIZE];
    with_archive archive = open_in(*state);
    write_record(archive, "aaaaaa", 0, "{\"started_at\":\"2026-11-29T15:54:11.120Z\"}");
    write_record(archive, "bbbbbb", 0, "{\"started_at\":\"2026-11-29T15:54:11.123Z\"}");
    write_record(archive, "cccccc", 0, "damaged");
    write_record(archive, "dddddd", 5, "{\"started_at\":\"2027-11-29T15:54:11.123Z\"}");
    assert_ok(archive_find(archive, "last", id, &err));
    assert_string_equal(id, "bbbbbb");
}

static void damaged_records_are_said_to_be(void **state)
{
    struct err err = {0};
    with_archive archive = open_in(*state);
    with_string good = make_record(true, NULL);
    write_record(archive, "aaaaaa", 0, good);
    with_json record = archive_read(archive, "aaaaaa", &err);
    assert_non_null(record);
    with_string half = memory_format("%.*s", (int)strlen(good) / 2, good);
    const char *const damaged[] = {"", "{}", "[]", "\x01", "{\"schema\":\"berm.run/v1\"}", half};
    for (size_t i = 0; i < countof(damaged); i++) {
        write_record(archive, "bbbbbb", 0, damaged[i]);
        assert_null(archive_read(archive, "bbbbbb", &err));
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    assert_null(archive_read(archive, "cccccc", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    with_string fifo = archive_path(archive, "dddddd", ".json");
    assert_int_equal(mkfifo(fifo, 0600), 0); /* and does not hang */
    assert_null(archive_read(archive, "dddddd", &err));
}

static void pruning_keeps_the_newest(void **state)
{
    struct err err = {0};
    with_archive archive = open_in(*state);
    for (int i = 0; i < 503; i++) {
        with_string id = memory_format("%06d", i);
        write_record(archive, id, i, "{}");
    }
    write_file(archive, "000501.stdout", "kept", 4);
    struct archive_pruned pruned;
    assert_ok(archive_prune(archive, true, &pruned, &err));
    assert_int_equal(pruned.runs, 3);
    assert_int_equal(pruned.bytes, 10);
    assert_int_equal(pruned.kept_runs, 500);
    assert_int_equal(pruned.kept_bytes, 1000);
    assert_ok(archive_prune(archive, false, &pruned, &err));
    assert_int_equal(pruned.runs, 3);
    with_strvec ids = {0};
    assert_ok(archive_list(archive, &ids, &err));
    assert_int_equal(ids.count, 500);
    assert_string_equal(ids.strings[499], "000499");
    with_string gone = archive_path(archive, "000501", ".stdout");
    assert_int_equal(access(gone, F_OK), -1);
    assert_ok(archive_prune(archive, false, &pruned, &err));
    assert_int_equal(pruned.runs, 0);
}

/* Each last letter of an id is as likely as any other. */
static void every_thirty_second_run_looks_for_what_to_prune(void **state)
{
    char id[RUN_ID_SIZE] = "000000";
    int due = 0;
    for (const char *last = "0123456789abcdefghjkmnpqrstvwxyz"; *last; last++) {
        id[strlen(id) - 1] = *last;
        due += archive_is_due(id, false);
        assert_true(archive_is_due(id, true));
    }
    assert_int_equal(due, 1);
}

static void pruning_keeps_the_bytes(void **state)
{
    struct err err = {0};
    with_archive archive = open_in(*state);
    for (int i = 0; i < 4; i++) {
        with_string id = memory_format("%06d", i);
        write_record(archive, id, i, "{}");
        with_string kept = archive_path(archive, id, ".stdout");
        int fd = open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(fd, INT64_C(100) << 20), 0); /* sparse */
        close(fd);
    }
    struct archive_pruned pruned;
    assert_ok(archive_prune(archive, false, &pruned, &err));
    assert_int_equal(pruned.kept_runs, 2);
    assert_int_equal(pruned.runs, 2);
    assert_true(pruned.kept_bytes <= ARCHIVE_KEEP_BYTES);
}

/* A provisional record stays as long as its controller lives, by pid, start and boot. */
static void a_live_run_is_never_pruned(void **state)
{
    struct err err = {0};
    with_archive archive = open_in(*state);
    with_string live = make_record(true, NULL);
    with_string dead = make_record(true, "pid");
    with_string reused = make_record(true, "start_ticks"); /* the pid names another process now */
    with_string rebooted = make_record(true, "boot_id");
    with_string ended = make_record(false, NULL);
    for (int i = 0; i < ARCHIVE_KEEP_RUNS; i++) {
        with_string id = memory_format("%06d", i);
        write_record(archive, id, i, "{}");
    }
    write_record(archive, "aaaaaa", 9000, live);
    write_record(archive, "bbbbbb", 9000, dead);
    write_record(archive, "cccccc", 9000, reused);
    write_record(archive, "dddddd", 9000, ended);
    write_record(archive, "eeeeee", 9000, rebooted);
    struct archive_pruned pruned;
    assert_ok(archive_prune(archive, false, &pruned, &err));
    assert_int_equal(pruned.runs, 4);
    assert_int_equal(pruned.kept_runs, ARCHIVE_KEEP_RUNS + 1);
    char id[RUN_ID_SIZE];
    assert_ok(archive_find(archive, "aaaaaa", id, &err));
}

/* TR-2: who uses a promotion compares its report again. */
static void what_was_promoted_is_never_pruned(void **state)
{
    static const char promotions[] =
        "{\"schema\":\"berm.promotions/v1\",\"promotions\":[{\"repository\":\"/r\","
        "\"workload\":\"w\",\"tier\":\"small\",\"frozen_digest\":\"%1$s\","
        "\"report_digest\":\"%1$s\",\"run_id\":\"aaaaaa\",\"recorded_at\":\"t\",\"build\":\"%1$s\"}"
        "]}";
    static const char digest[] = "aaaaaaaaaaaa4444444444444444444444444444444444444444444444444444";
    struct err err = {0};
    with_archive archive = open_in(*state);
    for (int i = 0; i < ARCHIVE_KEEP_RUNS; i++) {
        with_string id = memory_format("%06d", i);
        write_record(archive, id, i, "{}");
    }
    write_record(archive, "aaaaaa", 9000, "{}");
    write_record(archive, "bbbbbb", 9000, "{}");
    with_string text = memory_format(promotions, digest);
    write_file(archive, "../promotions.json", text, strlen(text) - 1); /* not the whole of it */
    struct archive_pruned pruned;
    assert_fails(archive_prune(archive, false, &pruned, &err), ERR_CORRUPT);
    write_file(archive, "../promotions.json", text, strlen(text));
    assert_ok(archive_prune(archive, false, &pruned, &err));
    assert_int_equal(pruned.runs, 1);
    char id[RUN_ID_SIZE];
    assert_ok(archive_find(archive, "aaaaaa", id, &err));
    assert_fails(archive_find(archive, "bbbbbb", id, &err), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(the_state_folder),
        place_test(ids_are_new),
        place_test(kept_files_are_new),
        place_test(finding_a_run),
        place_test(the_last_of_a_tick),
        place_test(damaged_records_are_said_to_be),
        place_test(pruning_keeps_the_newest),
        place_test(pruning_keeps_the_bytes),
        place_test(every_thirty_second_run_looks_for_what_to_prune),
        place_test(a_live_run_is_never_pruned),
        place_test(what_was_promoted_is_never_pruned),
    };
    return cmocka_run_group_tests_name("report/archive", tests, NULL, NULL);
}
