#include "../bfs/bfs-test.h"

#include "ignore-priv.h"

static bool ask(const struct ignore *rules, const char *path, bool is_directory)
{
    struct wildcard_budget budget = {.steps = 1 << 20};
    return ignore_ask(rules, path, is_directory, &budget);
}

static void parse(struct ignore *rules, const char *text, const char *base,
                  const struct ignore *above)
{
    struct err err = {0};
    with_buf buf = buf_new(1 << 16);
    buf_add_string(&buf, text);
    assert_ok(ignore_parse(&buf, base, above, rules, &err));
}

/* FZ-2: gitignore(5), line by line */
static void lines_mean_what_git_means(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *path;
        bool directory;
        bool ignored;
    } cases[] = {
        {"*.o\n", "x.o", false, true},
        {"*.o\n", "a/b/x.o", false, true},
        {"*.o", "x.o", false, true},
        {"*.o\r\n", "x.o", false, true},
        {"*.o\r", "x.o", false, true},
        {"\xef\xbb\xbf*.o\n", "x.o", false, true},
        {"#*.o\n", "#x.o", false, false},
        {"\\#x\n", "#x", false, true},
        {"\\!x\n", "!x", false, true},
        {"x \n", "x", false, true},
        {"x\\ \n", "x ", false, true},
        {"x\\ \n", "x", false, false},
        {"x \\\n", "x", false, false},
        {"build/\n", "build", true, true},
        {"build/\n", "build", false, false},
        {"build/\n", "a/build", true, true},
        {"/build\n", "build", false, true},
        {"/build\n", "a/build", false, false},
        {"a/b\n", "a/b", false, true},
        {"a/b\n", "x/a/b", false, false},
        {"a/*.c\n", "a/x.c", false, true},
        {"a/*.c\n", "a/b/x.c", false, false},
        {"**/x\n", "a/b/x", false, true},
        {"a**/b\n", "ax/y/b", false, true}, /* as git: what follows the literal begins anew */
        {"*\n!keep\n", "keep", false, false},
        {"*\n!keep\n", "other", false, true},
        {"!keep\n*\n", "keep", false, true},
        {"\n\n", "x", false, false},
        {"/\n", "x", true, false},
        {"!\n", "x", false, false},
        {"   \n", "x", false, false},
        {"x//\n", "x", true, false},
        {"\xff\n", "\xff", false, true},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_ignore rules = {0};
        parse(&rules, cases[i].text, "", NULL);
        if (ask(&rules, cases[i].path, cases[i].directory) != cases[i].ignored) {
            fail_msg("'%s' for '%s'", cases[i].text, cases[i].path);
        }
    }
}

static void the_deepest_file_with_a_word_decides(void **state)
{
    (void)state;
    with_ignore top = {0};
    with_ignore below = {0};
    parse(&top, "*.o\n/a/x\n", "", NULL);
    parse(&below, "!keep.o\n/y\n", "a/", &top);
    assert_false(ask(&below, "a/keep.o", false));
    assert_true(ask(&below, "a/other.o", false));
    assert_true(ask(&below, "a/x", false));
    assert_true(ask(&below, "a/y", false));
    assert_false(ask(&below, "a/b/y", false));
    assert_false(ask(NULL, "a", false));
}

static void a_file_of_patterns_is_read_within_bounds(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_ignore rules = {0};
    assert_ok(ignore_read(&place->dir, ".gitignore", "", NULL, &rules, &err));
    assert_int_equal(rules.count, 0);
    put(place, ".gitignore", "a\nb\n");
    with_ignore two = {0};
    assert_ok(ignore_read(&place->dir, ".gitignore", "", NULL, &two, &err));
    assert_int_equal(two.count, 2);

    with_ignore none = {0};
    assert_int_equal(symlinkat(".gitignore", place->fd, "link"), 0);
    assert_fails(ignore_read(&place->dir, "link", "", NULL, &none, &err), ERR_REFUSED);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    alarm(10);
    assert_fails(ignore_read(&place->dir, "fifo", "", NULL, &none, &err), ERR_REFUSED);
    alarm(0);
    int fd = openat(place->fd, "large", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, IGNORE_BYTES + 1), 0);
    assert_fails(ignore_read(&place->dir, "large", "", NULL, &none, &err), ERR_OVER_BUDGET);
    assert_int_equal(ftruncate(fd, IGNORE_LINE + 1), 0);
    assert_fails(ignore_read(&place->dir, "large", "", NULL, &none, &err), ERR_OVER_BUDGET);
    close(fd);

    with_buf many = buf_new(1 << 20);
    for (int i = 0; i <= IGNORE_RULES; i++) {
        buf_add_string(&many, "a\n");
    }
    assert_fails(ignore_parse(&many, "", NULL, &none, &err), ERR_OVER_BUDGET);
}

static void a_budget_that_is_used_up_ignores_nothing(void **state)
{
    (void)state;
    with_ignore rules = {0};
    struct wildcard_budget budget = {.steps = 1};
    parse(&rules, "a\nb\nc\n", "", NULL);
    assert_false(ignore_ask(&rules, "a", false, &budget));
    assert_int_equal(budget.steps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_mean_what_git_means),
        cmocka_unit_test(the_deepest_file_with_a_word_decides),
        place_test(a_file_of_patterns_is_read_within_bounds),
        cmocka_unit_test(a_budget_that_is_used_up_ignores_nothing),
    };
    return cmocka_run_group_tests_name("snapshot/ignore", tests, NULL, NULL);
}
