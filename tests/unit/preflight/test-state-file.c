#include "../bfs/bfs-test.h"

#include <errno.h>
#include <sys/file.h>

#include "memory.h"
#include "state-file-priv.h"

struct note {
    int64_t number;
};
static const struct record_field note_fields[] = {
    FIELD(struct note, number, FIELD_INT, SENSITIVITY_PUBLIC, .maximum = 9)};
static const struct record note_record = RECORD(struct note, "note", note_fields);
static const struct state_file note_file = {"note.json", &note_record, "move it away"};

static bool pread_fails;

ssize_t __real_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset)
{
    return pread_fails ? -EIO : __real_os_pread(fd, bytes, n, offset);
}

static void what_was_written_is_read_and_nobody_else_can(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct bfs_facts facts;
    struct note note = {7};
    assert_int_equal(state_file_read(&place->dir, &note_file, &note, &err), 0);
    assert_int_equal(note.number, 7);
    assert_ok(state_file_write(&place->dir, &note_file, &note, &err));
    assert_ok(bfs_stat(&place->dir, "note.json", &facts, &err));
    assert_int_equal(facts.mode & 07777, 0600);
    note.number = 0;
    assert_int_equal(state_file_read(&place->dir, &note_file, &note, &err), 1);
    assert_int_equal(note.number, 7);
}

/* TR-2, FZ-5: what cannot be believed is an error with its remedy, and never "none". */
static void what_is_none_is_an_error(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"number\": 10}",
                                        "{\"number\": 1, \"more\": 1}",
                                        "{}",
                                        "{\"number\": 1} x"};
    struct place *place = *state;
    struct err err = {0};
    struct note note = {7};
    for (size_t i = 0; i < countof(texts); i++) {
        put(place, "note.json", texts[i]);
        assert_int_equal(fchmodat(place->fd, "note.json", 0600, 0), 0);
        assert_fails(state_file_read(&place->dir, &note_file, &note, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.msg, "/note.json': "));
        assert_non_null(strstr(err.msg, "; move it away"));
    }
    put(place, "note.json", "{\"number\": 1}");
    assert_int_equal(fchmodat(place->fd, "note.json", 0602, 0), 0);
    assert_fails(state_file_read(&place->dir, &note_file, &note, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(place->fd, "note.json", 0), 0);
    assert_int_equal(symlinkat("elsewhere", place->fd, "note.json"), 0);
    assert_fails(state_file_read(&place->dir, &note_file, &note, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(place->fd, "note.json", 0), 0);
    assert_int_equal(mkfifoat(place->fd, "note.json", 0600), 0);
    assert_fails(state_file_read(&place->dir, &note_file, &note, &err), ERR_REFUSED);
}

/* What cannot be read may be as good as ever. */
static void what_cannot_be_read_is_not_to_be_moved_away(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct note note = {7};
    put(place, "note.json", "{\"number\": 1}");
    assert_int_equal(fchmodat(place->fd, "note.json", 0600, 0), 0);
    pread_fails = true;
    assert_fails(state_file_read(&place->dir, &note_file, &note, &err), ERR_SYS);
    pread_fails = false;
    assert_null(strstr(err.msg, "move it away"));
    assert_non_null(strstr(err.msg, "leave it where it is"));
}

static void one_at_a_time_changes_it(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    int other = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_ok(state_file_lock(&place->dir, &err));
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    state_file_unlock(&place->dir);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(what_was_written_is_read_and_nobody_else_can),
        place_test(what_is_none_is_an_error),
        place_test(what_cannot_be_read_is_not_to_be_moved_away),
        place_test(one_at_a_time_changes_it),
    };
    return cmocka_run_group_tests_name("preflight/state-file", tests, NULL, NULL);
}
