#include "bfs-test.h"

#include "bfs-priv.h"

/* What was done in which order: f(ile synced) d(irectory synced) l(inked) r(enamed). */
static char done[32];
static size_t done_count;
static char failing; /* that step fails with EIO and does nothing */

static bool note(char step)
{
    if (done_count < sizeof done - 1) {
        done[done_count++] = step;
        done[done_count] = '\0';
    }
    return step != failing;
}

int __real_os_fsync(int fd);
int __wrap_os_fsync(int fd);
int __wrap_os_fsync(int fd)
{
    struct stat stat_now;
    assert_int_equal(fstat(fd, &stat_now), 0);
    return note(S_ISDIR(stat_now.st_mode) ? 'd' : 'f') ? __real_os_fsync(fd) : -EIO;
}

int __real_os_link_fd(int file_fd, int new_dir, const char *new_name);
int __wrap_os_link_fd(int file_fd, int new_dir, const char *new_name);
int __wrap_os_link_fd(int file_fd, int new_dir, const char *new_name)
{
    return note('l') ? __real_os_link_fd(file_fd, new_dir, new_name) : -EIO;
}

int __real_os_renameat(int old_dir, const char *old_name, int new_dir, const char *new_name,
                       unsigned flags);
int __wrap_os_renameat(int old_dir, const char *old_name, int new_dir, const char *new_name,
                       unsigned flags);
int __wrap_os_renameat(int old_dir, const char *old_name, int new_dir, const char *new_name,
                       unsigned flags)
{
    return note('r') ? __real_os_renameat(old_dir, old_name, new_dir, new_name, flags) : -EIO;
}

static size_t count_entries(const struct place *place)
{
    struct err err = {0};
    with_strvec names = {0};
    assert_ok(bfs_list(&place->dir, 1000, &names, &err));
    return names.count;
}

static void stage_text(const struct place *place, const char *text, uint64_t reserve_bytes,
                       struct bfs_stage *stage)
{
    struct err err = {0};
    assert_ok(bfs_stage_open(&place->dir, 0600, reserve_bytes, stage, &err));
    assert_ok(bfs_stage_write(stage, span_of_string(text), &err));
}

/* RS-2, RS-3: complete or not there at all, mode 0600, nothing left beside it */
static void replaces_whatever_was_there(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "outside", "outside");
    put(place, "file", "old");
    assert_int_equal(symlinkat("outside", place->fd, "link"), 0);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    const char *names[] = {"new", "file", "link", "fifo"};
    for (size_t i = 0; i < countof(names); i++) {
        with_bfs_stage stage = {0};
        stage_text(place, "fresh", 65536, &stage);
        assert_ok(bfs_stage_replace(&stage, names[i], &err));
        assert_content(place, names[i], "fresh");
        struct bfs_facts facts;
        assert_ok(bfs_stat(&place->dir, names[i], &facts, &err));
        assert_int_equal(facts.mode, S_IFREG | 0600);
        assert_int_equal(facts.links, 1);
        assert_int_equal(facts.size_bytes, 5);
    }
    assert_content(place, "outside", "outside"); /* D9: the target of the link was not touched */
    assert_int_equal(count_entries(place), 5);
}

/* D9 */
static void a_directory_is_not_replaced(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "directory", 0755), 0);
    with_bfs_stage stage = {0};
    stage_text(place, "fresh", 0, &stage);
    assert_fails(bfs_stage_replace(&stage, "directory", &err), ERR_REFUSED);
    bfs_stage_done(&stage);
    assert_int_equal(count_entries(place), 1);
}

static void creates_only_what_is_not_there(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_bfs_stage first = {0};
    stage_text(place, "first", 100, &first);
    assert_ok(bfs_stage_create(&first, "name", &err));
    with_bfs_stage second = {0};
    stage_text(place, "second", 100, &second);
    assert_fails(bfs_stage_create(&second, "name", &err), ERR_CONFLICT);
    assert_content(place, "name", "first");
    assert_int_equal(symlinkat("/nowhere", place->fd, "dangling"), 0);
    assert_fails(bfs_stage_create(&second, "dangling", &err), ERR_CONFLICT);
    assert_ok(bfs_stage_create(&second, "other", &err)); /* it is still good for another name */
    assert_content(place, "other", "second");
}

static void leaves_nothing_when_it_is_not_published(void **state)
{
    struct place *place = *state;
    {
        with_bfs_stage stage = {0};
        stage_text(place, "never", 1 << 20, &stage);
    }
    assert_int_equal(count_entries(place), 0);
}

/* A filesystem without O_TMPFILE: the same promises, by a name that nobody can guess. */
static void a_named_stage_keeps_the_same_promises(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "taken", "old");
    with_bfs_stage stage = {.dir = &place->dir};
    assert_ok(bfs_stage_open_named(&stage, 0600, &err));
    assert_int_equal(count_entries(place), 2);
    assert_int_equal(strlen(stage.temporary), strlen(".berm-") + 32);
    assert_ok(bfs_stage_write(&stage, span_of_string("new"), &err));
    assert_fails(bfs_stage_create(&stage, "taken", &err), ERR_CONFLICT);
    assert_content(place, "taken", "old");
    assert_ok(bfs_stage_create(&stage, "free", &err));
    assert_content(place, "free", "new");
    assert_int_equal(count_entries(place), 2);

    with_bfs_stage again = {.dir = &place->dir};
    assert_ok(bfs_stage_open_named(&again, 0600, &err));
    assert_ok(bfs_stage_write(&again, span_of_string("newer"), &err));
    assert_ok(bfs_stage_replace(&again, "taken", &err));
    assert_content(place, "taken", "newer");
    {
        with_bfs_stage dropped = {.dir = &place->dir};
        assert_ok(bfs_stage_open_named(&dropped, 0600, &err));
        assert_int_equal(count_entries(place), 3);
    }
    assert_int_equal(count_entries(place), 2);
}

/* Content before name, name before the directory: a crash in between leaves the old or the new. */
static void what_is_published_was_synced_before(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_bfs_stage replaced = {0};
    stage_text(place, "x", 4096, &replaced);
    done_count = 0;
    assert_ok(bfs_stage_replace(&replaced, "name", &err));
    assert_string_equal(done, "flrd");
    with_bfs_stage created = {0};
    stage_text(place, "x", 4096, &created);
    done_count = 0;
    assert_ok(bfs_stage_create(&created, "other", &err));
    assert_string_equal(done, "fld");
}

/* RS-2: whichever step fails, the old content stays, and nothing is left beside it. */
static void a_step_that_fails_changes_nothing(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    for (const char *step = "flr"; *step; step++) {
        put(place, "name", "old");
        {
            with_bfs_stage stage = {0};
            stage_text(place, "new", 4096, &stage);
            failing = *step;
            assert_fails(bfs_stage_replace(&stage, "name", &err), ERR_SYS);
            failing = '\0';
            assert_int_equal(err.sys, EIO);
            assert_content(place, "name", "old");
        }
        assert_int_equal(count_entries(place), 1);
    }
    with_bfs_stage stage = {0};
    stage_text(place, "new", 4096, &stage);
    failing = 'd'; /* the last one: the new content is there, its survival is not promised */
    assert_fails(bfs_stage_replace(&stage, "name", &err), ERR_SYS);
    failing = '\0';
    assert_content(place, "name", "new");
}

/* D7: a full disk shows when blocks are set aside, not when the verdict is written. */
static void what_was_set_aside_is_there(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "probe", "");
    int probe = openat(place->fd, "probe", O_WRONLY | O_CLOEXEC);
    bool can = fallocate(probe, 0, 0, 1) == 0; /* not every filesystem, nor under every filter */
    close(probe);
    with_bfs_stage stage = {0};
    assert_ok(bfs_stage_open(&place->dir, 0600, 1 << 20, &stage, &err));
    assert_int_equal(stage.reserved, can);
    struct stat stat_now;
    assert_int_equal(fstat(bfs_stage_fd(&stage), &stat_now), 0);
    assert_true(!can || stat_now.st_blocks * 512 >= 1 << 20);
    assert_ok(bfs_stage_reserve(&stage, 2 << 20, &err));
    assert_int_equal(fstat(bfs_stage_fd(&stage), &stat_now), 0);
    assert_true(!can || stat_now.st_blocks * 512 >= 2 << 20);
    with_bfs_stage much = {0};
    assert_fails(bfs_stage_open(&place->dir, 0600, UINT64_MAX, &much, &err), ERR_SYS);
    assert_int_equal(err.sys, EFBIG);
}

static void a_file_under_its_own_name_is_new(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fd file = {0};
    assert_ok(bfs_create(&place->dir, "new", 0600, &file, &err));
    assert_int_equal(write(fd_num(&file), "seen", 4), 4);
    assert_content(place, "new", "seen");
    assert_true(fcntl(fd_num(&file), F_GETFD) & FD_CLOEXEC);
    assert_int_equal(symlinkat("target", place->fd, "dangling"), 0);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    const char *names[] = {"new", "dangling", "fifo"};
    alarm(10);
    for (size_t i = 0; i < countof(names); i++) {
        with_fd none = {0};
        assert_fails(bfs_create(&place->dir, names[i], 0600, &none, &err), ERR_CONFLICT);
        assert_false(fd_is_open(&none));
    }
    alarm(0);
    with_fd none = {0};
    assert_fails(bfs_create(&place->dir, "../x", 0600, &none, &err), ERR_REFUSED);
    assert_content(place, "new", "seen");
}

static void names_are_single_components(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_bfs_stage stage = {0};
    stage_text(place, "x", 0, &stage);
    const char *names[] = {"", ".", "..", "a/b", "/", "../x"};
    for (size_t i = 0; i < countof(names); i++) {
        assert_fails(bfs_stage_replace(&stage, names[i], &err), ERR_REFUSED);
        assert_fails(bfs_stage_create(&stage, names[i], &err), ERR_REFUSED);
    }
}

/* A file that grows as its bytes come: new, and nobody else's to read. */
static void creates_what_is_not_there(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fd fd = {0};
    assert_ok(bfs_create(&place->dir, "kept", 0600, &fd, &err));
    assert_int_equal(write(fd_num(&fd), "abc", 3), 3);
    assert_content(place, "kept", "abc");
    struct bfs_facts facts;
    assert_ok(bfs_stat(&place->dir, "kept", &facts, &err));
    assert_int_equal(facts.mode, S_IFREG | 0600);
    with_fd other = {0};
    assert_fails(bfs_create(&place->dir, "kept", 0600, &other, &err), ERR_CONFLICT);
    assert_int_equal(symlinkat("nowhere", place->fd, "link"), 0);
    assert_fails(bfs_create(&place->dir, "link", 0600, &other, &err), ERR_CONFLICT);
    assert_fails(bfs_create(&place->dir, "a/b", 0600, &other, &err), ERR_REFUSED);
    assert_false(fd_is_open(&other));
    assert_content(place, "kept", "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(replaces_whatever_was_there),
        place_test(a_directory_is_not_replaced),
        place_test(creates_only_what_is_not_there),
        place_test(leaves_nothing_when_it_is_not_published),
        place_test(a_named_stage_keeps_the_same_promises),
        place_test(what_is_published_was_synced_before),
        place_test(a_step_that_fails_changes_nothing),
        place_test(what_was_set_aside_is_there),
        place_test(a_file_under_its_own_name_is_new),
        place_test(names_are_single_components),
        place_test(creates_what_is_not_there),
    };
    return cmocka_run_group_tests_name("bfs/stage", tests, NULL, NULL);
}
