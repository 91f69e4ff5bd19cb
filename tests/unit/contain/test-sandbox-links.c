/* SB-8: what a look through temporary folders finds, and what it cannot be led to. */
#include "sandbox-test.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "clock.h"
#include "file.h"

enum { ORDINARY = 65534 };

static struct link_walk *walk;
static struct link_budget budget;
static struct sandbox_links links;

/* --- between two calls of a look ---------------------------------------------------------------- */

static const char *met; /* the name before whose opening something happens */
static void (*then)(void);
static int failing; /* or what the opening answers */
static int opened;
static int listing;     /* what the list of a folder answers */
static int lists_until; /* before which list of a look something happens; 0: none */
static bool without_types;
static int64_t clock_step_ns;
static int fail_at; /* which call of a look fails, whatever it is; 0: none */
static int calls;

static bool is_to_fail(void)
{
    return ++calls == fail_at;
}

int __real_os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve);
int __wrap_os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve);
int __wrap_os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    opened++;
    if (is_to_fail()) {
        return -EMFILE;
    }
    if (met && strcmp(path, met) == 0) {
        met = NULL;
        if (then) {
            then();
        }
        if (failing) {
            return failing;
        }
    }
    return __real_os_openat2(dir_fd, path, flags, mode, resolve);
}

ssize_t __real_os_getdents(int fd, void *entries, size_t size);
ssize_t __wrap_os_getdents(int fd, void *entries, size_t size);
ssize_t __wrap_os_getdents(int fd, void *entries, size_t size)
{
    if (lists_until > 0 && --lists_until == 0) {
        then();
    }
    ssize_t got = listing ? listing : is_to_fail() ? -EIO : __real_os_getdents(fd, entries, size);
    for (ssize_t at = 0; at < got && without_types;) {
        struct dirent64 *entry = (struct dirent64 *)(void *)((char *)entries + at);
        entry->d_type = DT_UNKNOWN;
        at += entry->d_reclen;
    }
    return got;
}

int __real_os_stat_entry(int dir_fd, const char *name, struct stat *ret_stat);
int __wrap_os_stat_entry(int dir_fd, const char *name, struct stat *ret_stat);
int __wrap_os_stat_entry(int dir_fd, const char *name, struct stat *ret_stat)
{
    return is_to_fail() ? -EACCES : __real_os_stat_entry(dir_fd, name, ret_stat);
}

int64_t __real_os_processor_ns(void);
int64_t __wrap_os_processor_ns(void);
int64_t __wrap_os_processor_ns(void)
{
    static int64_t now_ns;
    return now_ns += clock_step_ns;
}

static int top = -1;

static bool look(const struct place *place)
{
    with_fd held = fd_adopt(open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    const struct link_folder folder = {fd_num(&held), "tmp"};
    return links_find(walk, &folder, 1, &budget, &links);
}

static void make_folder(int dir_fd, const char *name)
{
    assert_int_equal(mkdirat(dir_fd, name, 0700), 0);
}

/* So many folders in each other beneath the top, by this name; the innermost. */
static int nest(int dir_fd, const char *name, int depth)
{
    int at = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < depth; i++) {
        make_folder(at, name);
        int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(below >= 0);
        close(at);
        at = below;
    }
    return at;
}

/* --- what is found ------------------------------------------------------------------------------ */

static void nothing_is_found_where_no_link_is(void **state)
{
    struct place *place = *state;
    make_folder(place->fd, "a");
    make_folder(place->fd, "a/b");
    put(place, "a/file", "x");
    assert_false(look(place));
    assert_int_equal(links.count, 0);
    assert_null(links.why);
}

static void a_link_is_found_by_its_path_wherever_it_leads(void **state)
{
    struct place *place = *state;
    make_folder(place->fd, "a");
    assert_int_equal(symlinkat("/nowhere", place->fd, "a/out"), 0);
    assert_true(look(place));
    assert_int_equal(links.count, 1);
    assert_string_equal(links.paths[0], "tmp/a/out");
    assert_null(links.why);
}

/* To a folder, and to itself: neither is entered. */
static void no_link_is_followed(void **state)
{
    struct place *place = *state;
    assert_int_equal(symlinkat("/", place->fd, "root"), 0);
    assert_int_equal(symlinkat(".", place->fd, "self"), 0);
    opened = 0;
    assert_true(look(place));
    assert_int_equal(links.count, 2);
    assert_int_equal(opened, 1);
}

/* R21 */
static void all_are_counted_and_sixteen_are_told(void **state)
{
    struct place *place = *state;
    for (int i = 0; i < 500; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "l%d", i);
        assert_int_equal(symlinkat("x", place->fd, name), 0);
    }
    assert_true(look(place));
    assert_int_equal(links.count, 500);
    assert_int_equal(links.told, LINKS_TOLD);
}

/* D5 */
static void a_name_may_be_of_any_bytes_and_of_any_length(void **state)
{
    struct place *place = *state;
    char name[256];
    memset(name, 0xff, 255);
    name[255] = '\0';
    make_folder(place->fd, name);
    int folder = openat(place->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(symlinkat("x", folder, name), 0);
    assert_int_equal(symlinkat("x", folder, "\n"), 0);
    close(folder);
    assert_true(look(place));
    assert_int_equal(links.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(strlen(links.paths[i]), LINK_PATH_SIZE - 1);
        assert_memory_equal(links.paths[i], "tmp/\xff\xff", 6);
        assert_string_equal(links.paths[i] + LINK_PATH_SIZE - 1 - 4, "\xff...");
    }
}

static void a_path_that_just_fits_is_whole(void **state)
{
    struct place *place = *state;
    char name[253];
    memset(name, 'n', 252);
    name[252] = '\0';
    assert_int_equal(symlinkat("x", place->fd, name), 0);
    assert_true(look(place));
    assert_int_equal(strlen(links.paths[0]), 256);
    assert_string_equal(links.paths[0] + 4, name);
}

/* D6: a FIFO that nobody writes to would block whoever opened it. */
static void what_is_no_folder_is_not_opened(void **state)
{
    struct place *place = *state;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", place->path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    put(place, "file", "x");
    opened = 0;
    assert_false(look(place));
    assert_int_equal(opened, 1);
    close(listener);
}

/* --- what is not known counts as a link ---------------------------------------------------------- */

static void is_not_known(const char *why, int sys, const char *where)
{
    assert_int_equal(links.count, 0);
    assert_non_null(links.why);
    assert_non_null(links.remedy);
    if (!strstr(links.why, why) || links.sys != sys || strcmp(links.where, where) != 0) {
        fail_msg("%s, %d: %s", links.why, links.sys, links.where);
    }
}

/* A limit that was met is named, with what helps. */
static void limit_is(const char *wanted)
{
    char why[LINKS_WHY_SIZE];
    assert_non_null(links.why);
    sandbox_links_say_why(&links, why);
    assert_string_equal(why, wanted);
    assert_int_equal(links.sys, 0);
    assert_non_null(links.remedy);
}

static void a_folder_that_may_not_be_read_is_as_good_as_a_link(void **state)
{
    struct place *place = *state;
    bool is_root = geteuid() == 0;
    if (is_root) {
        assert_int_equal(chmod(place->path, 0777), 0);
        assert_int_equal(seteuid(ORDINARY), 0);
    }
    make_folder(place->fd, "secret");
    assert_int_equal(symlinkat("x", place->fd, "secret/link"), 0);
    for (mode_t mode = 0; mode < 0400; mode += 0100) { /* its own user may not read it */
        assert_int_equal(fchmodat(place->fd, "secret", mode, 0), 0);
        assert_true(look(place));
        is_not_known("a folder cannot be opened", EACCES, "tmp/secret");
    }
    /* Who may list it sees what is a link; who may not enter it sees no folder in it. */
    assert_int_equal(fchmodat(place->fd, "secret", 0700, 0), 0);
    make_folder(place->fd, "secret/below");
    assert_int_equal(unlinkat(place->fd, "secret/link", 0), 0);
    assert_int_equal(fchmodat(place->fd, "secret", 0400, 0), 0);
    assert_true(look(place));
    is_not_known("a folder cannot be opened", EACCES, "tmp/secret/below");
    assert_int_equal(fchmodat(place->fd, "secret", 0700, 0), 0);
    if (is_root) {
        assert_int_equal(seteuid(0), 0);
    }
}

static void a_call_that_fails_is_as_good_as_a_link(void **state)
{
    static const int answers[] = {EMFILE, ENFILE, ENOSYS, EAGAIN, ENOMEM, EIO, EPERM};
    struct place *place = *state;
    make_folder(place->fd, "a");
    for (size_t i = 0; i < countof(answers); i++) {
        met = "a";
        failing = -answers[i];
        assert_true(look(place));
        is_not_known("a folder cannot be opened", answers[i], "tmp/a");
        met = ".";
        assert_true(look(place));
        is_not_known("a folder cannot be opened", answers[i], "tmp");
    }
    /* Of the top itself none may be missing either. */
    static const int of_others[] = {EXDEV, ENOENT, ENOTDIR};
    for (size_t i = 0; i < countof(of_others); i++) {
        met = ".";
        failing = -of_others[i];
        assert_true(look(place));
        is_not_known("a folder cannot be opened", of_others[i], "tmp");
    }
    failing = 0;
    listing = -EIO;
    assert_true(look(place));
    is_not_known("a folder cannot be listed", EIO, "tmp");
}

/* Not every file system says in a list what its entries are. */
static void types_are_asked_for_where_the_list_has_none(void **state)
{
    struct place *place = *state;
    without_types = true;
    make_folder(place->fd, "a");
    put(place, "a/file", "x");
    assert_false(look(place));
    assert_int_equal(symlinkat("x", place->fd, "a/l"), 0);
    assert_true(look(place));
    assert_int_equal(links.count, 1);
}

/* D11: each call of a look in turn: never is it said that there is no link. */
static void whichever_call_fails_a_link_is_not_ruled_out(void **state)
{
    struct place *place = *state;
    int inner = nest(place->fd, "d", 3);
    put(place, "d/file", "x");
    close(inner);
    for (int unknown = 0; unknown < 2; unknown++) {
        without_types = unknown;
        fail_at = calls = 0;
        assert_false(look(place));
        int whole = calls;
        assert_true(whole > 8);
        for (fail_at = 1; fail_at <= whole; fail_at++) {
            calls = 0;
            assert_true(look(place));
            assert_non_null(links.why);
            assert_true(links.sys > 0);
        }
    }
}

static void more_entries_than_the_budget_are_not_looked_at(void **state)
{
    struct place *place = *state;
    char name[16];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        put(place, name, "");
    }
    budget.entries = 300;
    assert_false(look(place));
    budget.entries = 299;
    assert_true(look(place));
    limit_is("there are too many entries, at most 299 entries");
}

static void a_look_has_an_end_in_time(void **state)
{
    struct place *place = *state;
    char name[16];
    for (int i = 0; i < 600; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        put(place, name, "");
    }
    clock_step_ns = 2 * NS_PER_S;
    assert_true(look(place));
    limit_is("a look takes too long, at most 1 s of the processor");
}

/* D5 */
static void folders_may_lie_as_deep_as_the_budget(void **state)
{
    struct place *place = *state;
    char name[256];
    memset(name, 'd', 255);
    name[255] = '\0';
    int inner = nest(place->fd, name, LINK_DEPTH - 1);
    assert_false(look(place));
    assert_int_equal(symlinkat("x", inner, "l"), 0);
    assert_true(look(place));
    assert_int_equal(links.count, 1);
    assert_int_equal(unlinkat(inner, "l", 0), 0);
    make_folder(inner, "one-more");
    assert_true(look(place));
    limit_is("folders lie too deep in each other, at most 128 folders");
    close(inner);
}

/* --- while somebody changes it ------------------------------------------------------------------- */

static void replace_by_link(void)
{
    assert_int_equal(unlinkat(top, "a", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("/", top, "a"), 0);
}

static void replace_by_file(void)
{
    assert_int_equal(unlinkat(top, "a", AT_REMOVEDIR), 0);
    close(openat(top, "a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void remove_folder(void)
{
    assert_int_equal(unlinkat(top, "a", AT_REMOVEDIR), 0);
}

static void a_folder_that_becomes_a_link_leads_nowhere(void **state)
{
    struct place *place = *state;
    make_folder(place->fd, "a");
    top = place->fd;
    met = "a";
    then = replace_by_link;
    opened = 0;
    assert_true(look(place));
    assert_int_equal(links.count, 1);
    assert_string_equal(links.paths[0], "tmp/a");
    assert_int_equal(opened, 2);
}

static void a_folder_that_is_gone_is_none(void **state)
{
    struct place *place = *state;
    void (*const changes[])(void) = {remove_folder, replace_by_file};
    for (size_t i = 0; i < countof(changes); i++) {
        make_folder(place->fd, "a");
        top = place->fd;
        met = "a";
        then = changes[i];
        assert_false(look(place));
        assert_null(links.why);
    }
}

/* Between its opening and its list: what was removed holds nothing any more. The folders of the look are the
 * payload's to remove, and the top is not. */
static void a_folder_that_goes_when_it_is_open_holds_nothing(void **state)
{
    struct place *place = *state;
    make_folder(place->fd, "a");
    top = place->fd;
    then = remove_folder;
    lists_until = 2; /* the top's, then its own */
    assert_false(look(place));
    assert_null(links.why);
    /* What is beside it is looked at all the same. */
    make_folder(place->fd, "a");
    assert_int_equal(symlinkat("x", place->fd, "l"), 0);
    lists_until = 2;
    assert_true(look(place));
    assert_int_equal(links.count, 1);
    listing = -ENOENT;
    assert_true(look(place));
    is_not_known("a folder cannot be listed", ENOENT, "tmp");
}

/* Another mount is not the payload's to have made (the launcher's own stand in there). */
static void what_is_mounted_in_there_is_not_entered(void **state)
{
    struct place *place = *state;
    make_folder(place->fd, "a");
    met = "a";
    failing = -EXDEV;
    assert_false(look(place));
    assert_null(links.why);
}

/* A look leaves no descriptor open, however it ended. */
static void nothing_stays_open(void **state)
{
    struct place *place = *state;
    int inner = nest(place->fd, "d", 20);
    make_folder(inner, "secret");
    close(inner);
    int before = dup(place->fd);
    close(before);
    met = "secret";
    failing = -EMFILE;
    assert_true(look(place));
    failing = 0;
    assert_false(look(place));
    int after = dup(place->fd);
    close(after);
    assert_int_equal(after, before);
}

/* --- of a sandbox -------------------------------------------------------------------------------- */

static void a_sandbox_is_looked_through_by_what_it_holds(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.no_links = true}};
    trial_plan(&trial, place);
    assert_true(sandbox_bars_links(trial.sandbox));
    assert_true(sandbox_find_links(trial.sandbox, &links));
    is_not_known("they are not held", EBADF, "");
    make_folder(place->fd, "tmp");
    make_folder(place->fd, "shm");
    const int held[] = {PRIVATE_TMP, PRIVATE_SHM}; /* a host without /var/tmp has none to hold */
    for (size_t i = 0; i < countof(held); i++) {
        trial.sandbox->private_dirs[held[i]] =
            fd_adopt(openat(place->fd, i == 0 ? "tmp" : "shm", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    assert_false(sandbox_find_links(trial.sandbox, &links));
    assert_int_equal(symlinkat("x", place->fd, "shm/l"), 0);
    assert_true(sandbox_find_links(trial.sandbox, &links));
    assert_string_equal(links.paths[0], "dev/shm/l");
    trial_done(&trial);
}

/* An ordinary run may have links in /tmp. */
static void an_ordinary_sandbox_bars_none(void **state)
{
    struct trial trial = {0};
    trial_plan(&trial, *state);
    assert_false(sandbox_bars_links(trial.sandbox));
    trial_done(&trial);
}

static int start(void **state)
{
    walk = link_walk_new();
    budget = (struct link_budget){100000, NS_PER_S};
    met = NULL;
    then = NULL;
    failing = listing = lists_until = fail_at = 0;
    without_types = false;
    clock_step_ns = 0;
    return place_make(state);
}

static int end(void **state)
{
    link_walk_free(walk);
    return place_remove(state);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(nothing_is_found_where_no_link_is),
        IN_PLACE(a_link_is_found_by_its_path_wherever_it_leads),
        IN_PLACE(no_link_is_followed),
        IN_PLACE(all_are_counted_and_sixteen_are_told),
        IN_PLACE(a_name_may_be_of_any_bytes_and_of_any_length),
        IN_PLACE(a_path_that_just_fits_is_whole),
        IN_PLACE(what_is_no_folder_is_not_opened),
        IN_PLACE(a_folder_that_may_not_be_read_is_as_good_as_a_link),
        IN_PLACE(a_call_that_fails_is_as_good_as_a_link),
        IN_PLACE(types_are_asked_for_where_the_list_has_none),
        IN_PLACE(whichever_call_fails_a_link_is_not_ruled_out),
        IN_PLACE(more_entries_than_the_budget_are_not_looked_at),
        IN_PLACE(a_look_has_an_end_in_time),
        IN_PLACE(folders_may_lie_as_deep_as_the_budget),
        IN_PLACE(a_folder_that_becomes_a_link_leads_nowhere),
        IN_PLACE(a_folder_that_is_gone_is_none),
        IN_PLACE(a_folder_that_goes_when_it_is_open_holds_nothing),
        IN_PLACE(what_is_mounted_in_there_is_not_entered),
        IN_PLACE(nothing_stays_open),
        IN_PLACE(a_sandbox_is_looked_through_by_what_it_holds),
        IN_PLACE(an_ordinary_sandbox_bars_none),
    };
    return cmocka_run_group_tests_name("contain/sandbox-links", tests, NULL, NULL);
}
