#include "binding-test.h"

/* The walk asks the kernel through os_openat(); a test steps in between two of its steps. */
static struct {
    int at_call;
    int calls;
    void (*meddle)(void);
} hook;

int __real_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    if (hook.meddle && hook.calls++ == hook.at_call) {
        hook.meddle();
    }
    return __real_os_openat(dir_fd, path, flags, mode);
}

static int walk_from(const struct place *place, const char *path, struct walk *walk)
{
    return walk_to(&(struct walk_start){place->fd, place->path}, path, walk);
}

static const char *below(const struct place *place, const char *path)
{
    static char text[256];
    snprintf(text, sizeof text, "%s%s%s", place->path, path[0] ? "/" : "", path);
    return text;
}

static void links_lead_where_the_kernel_says(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "a/b", 0755), 0);
    put(place, "a/b/file", "x");
    assert_int_equal(symlinkat("a/b", place->fd, "to-b"), 0);
    assert_int_equal(symlinkat("../../to-b/file", place->fd, "a/b/up"), 0);
    assert_int_equal(symlinkat(below(place, "a/b/up"), place->fd, "absolute"), 0);
    assert_int_equal(symlinkat("a/b/file/", place->fd, "slash"), 0);
    assert_int_equal(symlinkat("a//b/./", place->fd, "dots"), 0);
    assert_int_equal(symlinkat("loop2", place->fd, "loop1"), 0);
    assert_int_equal(symlinkat("loop1", place->fd, "loop2"), 0);
    assert_int_equal(symlinkat("nowhere", place->fd, "dangling"), 0);
    assert_int_equal(symlinkat("/", place->fd, "root"), 0);
    const struct {
        const char *path;
        int error;
        const char *canonical;
    } cases[] = {
        {"a/b/file", 0, "a/b/file"},
        {"./a/./b//file", 0, "a/b/file"},
        {"a/../a/b/file", 0, "a/b/file"},
        {"to-b/file", 0, "a/b/file"},
        {"to-b/../b/file", 0, "a/b/file"}, /* the parent of the target, not of the link */
        {"absolute", 0, "a/b/file"},
        {"dots/file", 0, "a/b/file"},
        {"dots", 0, "a/b"},
        {".", 0, ""},
        {"a/..", 0, ""},
        {"slash", -ENOTDIR, NULL},
        {"a/b/file/", -ENOTDIR, NULL},
        {"a/b/file/.", -ENOTDIR, NULL},
        {"a/b/file/x", -ENOTDIR, NULL},
        {"loop1", -ELOOP, NULL},
        {"loop1/x", -ELOOP, NULL},
        {"dangling", -ENOENT, NULL},
        {"none", -ENOENT, NULL},
        {"none/x", -ENOENT, NULL},
        {"", -ENOENT, NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_walk walk = {0};
        int error = walk_from(place, cases[i].path, &walk);
        if (error != cases[i].error) {
            fail_msg("%s: %d, not %d", cases[i].path, error, cases[i].error);
        }
        struct stat stat_now;
        int kernel = fstatat(place->fd, cases[i].path, &stat_now, 0) < 0 ? -errno : 0;
        assert_int_equal(error, kernel);
        if (error == 0) {
            assert_string_equal(walk.canonical, below(place, cases[i].canonical));
            assert_int_equal(walk.facts.inode, stat_now.st_ino);
            assert_true(fd_is_open(&walk.target));
        }
    }
    with_walk root = {0};
    assert_int_equal(walk_from(place, "root/../..", &root), 0);
    assert_string_equal(root.canonical, "/");
}

static void as_many_links_as_the_kernel_follows(void **state)
{
    struct place *place = *state;
    put(place, "link0", "x");
    for (int i = 1; i <= 41; i++) {
        char name[16];
        char target[16];
        snprintf(name, sizeof name, "link%d", i);
        snprintf(target, sizeof target, "link%d", i - 1);
        assert_int_equal(symlinkat(target, place->fd, name), 0);
    }
    with_walk walk = {0};
    assert_int_equal(walk_from(place, "link40", &walk), 0);
    with_walk longer = {0};
    assert_int_equal(walk_from(place, "link41", &longer), -ELOOP);
    struct stat stat_now;
    assert_int_equal(fstatat(place->fd, "link40", &stat_now, 0), 0);
    assert_int_equal(fstatat(place->fd, "link41", &stat_now, 0), -1);
}

static bool passed(const struct walk *walk, const char *path)
{
    for (size_t i = 0; i < walk->place_count; i++) {
        if (strcmp(walk->places[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Whoever can write a folder that holds a link can turn the link: such folders count too. */
static void every_folder_with_a_say_is_noted(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "bin", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "links", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "more", 0755), 0);
    put(place, "bin/program", "x");
    assert_int_equal(symlinkat("../more/second", place->fd, "links/first"), 0);
    assert_int_equal(symlinkat("../bin/program", place->fd, "more/second"), 0);
    with_walk walk = {0};
    assert_int_equal(walk_from(place, "links/first", &walk), 0);
    assert_true(passed(&walk, "/"));
    assert_true(passed(&walk, "/tmp"));
    assert_true(passed(&walk, below(place, "")));
    assert_true(passed(&walk, below(place, "links")));
    assert_true(passed(&walk, below(place, "more")));
    assert_true(passed(&walk, below(place, "bin")));
}

static void nothing_is_opened_that_is_no_file(void **state)
{
    struct place *place = *state;
    alarm(10);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    with_walk walk = {0};
    assert_int_equal(walk_from(place, "fifo", &walk), 0);
    assert_true(S_ISFIFO(walk.facts.mode));
    assert_int_equal(fcntl(fd_num(&walk.target), F_GETFL) & O_PATH, O_PATH);
    with_walk device = {0};
    assert_int_equal(walk_from(place, "/dev/null", &device), 0);
    assert_true(S_ISCHR(device.facts.mode));
    alarm(0);
}

/* What a descriptor of /proc stands for has to have a path, or it is not found. */
static void magic_links_are_read_and_not_jumped_through(void **state)
{
    struct place *place = *state;
    put(place, "file", "x");
    int file = openat(place->fd, "file", O_RDONLY | O_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    with_walk walk = {0};
    assert_int_equal(walk_from(place, path, &walk), 0);
    assert_string_equal(walk.canonical, below(place, "file"));
    assert_int_equal(unlinkat(place->fd, "file", 0), 0);
    with_walk removed = {0};
    assert_int_equal(walk_from(place, path, &removed), -ENOENT);
    close(file);
}

static void odd_and_long_names(void **state)
{
    struct place *place = *state;
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    const char *names[] = {"new\nline", "\xff\xfe", "a b", "...", longest};
    for (size_t i = 0; i < countof(names); i++) {
        put(place, names[i], "x");
        with_walk walk = {0};
        assert_int_equal(walk_from(place, names[i], &walk), 0);
        assert_string_equal(strrchr(walk.canonical, '/') + 1, names[i]);
    }
    char name[300];
    memset(name, 'n', sizeof name);
    name[299] = '\0';
    with_walk walk = {0};
    assert_int_equal(walk_from(place, name, &walk), -ENAMETOOLONG);
    name[256] = '\0';
    assert_int_equal(walk_from(place, name, &walk), -ENAMETOOLONG);
    char *path = malloc(10000);
    memset(path, '/', 10000);
    path[9999] = '\0';
    assert_int_equal(walk_from(place, path, &walk), -ENAMETOOLONG);
    free(path);
}

/* I7, CVE-2024-21626: the working directory is the descriptor, and its path must lead to it. */
static void a_working_directory_is_where_its_path_leads_or_not_at_all(void **state)
{
    struct place *place = *state;
    put(place, "file", "x");
    assert_int_equal(mkdirat(place->fd, "other", 0755), 0);
    with_walk walk = {0};
    struct walk_start wrong = {place->fd, below(place, "other")};
    assert_int_equal(walk_to(&wrong, "file", &walk), -ESTALE);
    struct walk_start file = {place->fd, below(place, "file")};
    assert_int_equal(walk_to(&file, "x", &walk), -ESTALE);
    struct walk_start gone = {place->fd, below(place, "gone")};
    assert_int_equal(walk_to(&gone, "file", &walk), -ENOENT);
    struct walk_start nameless = {place->fd, NULL};
    assert_int_equal(walk_to(&nameless, "file", &walk), -ENOENT);
    struct walk_start relative = {place->fd, "."};
    assert_int_equal(walk_to(&relative, "file", &walk), -ENOENT);
    assert_int_equal(walk_to(&gone, "/etc/passwd", &walk), 0);
}

static const struct place *swapped;

static void swap_folder(void)
{
    /* "a" becomes another folder with a file of the same name. */
    assert_int_equal(renameat2(swapped->fd, "a", swapped->fd, "z", RENAME_EXCHANGE), 0);
}

static void put_a_link_there(void)
{
    assert_int_equal(renameat(swapped->fd, "a", swapped->fd, "moved"), 0);
    assert_int_equal(symlinkat("z", swapped->fd, "a"), 0);
}

/* I2: swapped before each step of the walk in turn. What comes out is always one of the two files,
 * with the facts of the one that the descriptor holds. */
static void a_component_that_is_swapped_under_way(void **state)
{
    struct place *place = *state;
    swapped = place;
    void (*const meddlers[])(void) = {swap_folder, put_a_link_there};
    for (size_t m = 0; m < countof(meddlers); m++) {
        for (int at = 0;; at++) {
            assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
            assert_int_equal(mkdirat(place->fd, "z", 0755), 0);
            put(place, "a/file", "first");
            put(place, "z/file", "second, longer");
            struct stat first;
            struct stat second;
            assert_int_equal(fstatat(place->fd, "a/file", &first, 0), 0);
            assert_int_equal(fstatat(place->fd, "z/file", &second, 0), 0);
            hook.meddle = meddlers[m];
            hook.at_call = at;
            hook.calls = 0;
            with_walk walk = {0};
            int error = walk_from(place, "a/file", &walk);
            hook.meddle = NULL;
            assert_int_equal(error, 0);
            struct stat held;
            assert_int_equal(fstat(fd_num(&walk.target), &held), 0);
            assert_int_equal(walk.facts.inode, held.st_ino);
            assert_true(held.st_ino == first.st_ino || held.st_ino == second.st_ino);
            bool beyond = hook.calls <= at;
            remove_all(place->fd);
            if (beyond) {
                assert_true(at > 3);
                break;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(links_lead_where_the_kernel_says),
        place_test(as_many_links_as_the_kernel_follows),
        place_test(every_folder_with_a_say_is_noted),
        place_test(nothing_is_opened_that_is_no_file),
        place_test(magic_links_are_read_and_not_jumped_through),
        place_test(odd_and_long_names),
        place_test(a_working_directory_is_where_its_path_leads_or_not_at_all),
        place_test(a_component_that_is_swapped_under_way),
    };
    return cmocka_run_group_tests_name("binding/walk", tests, NULL, NULL);
}
