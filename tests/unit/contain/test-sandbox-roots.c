#include "sandbox-test.h"

/* SB-4: a missing folder, a file, and what holds the system or runtime folders. */
static void not_everything_may_be_opened(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *wanted;
        const char *words;
    } cases[] = {
        {"missing", "No such file"}, {"file", "Not a directory"},
        {"/", "as a whole"},         {"/tmp", "as a whole"},
        {"/run", "runtime"},         {"/proc", "runtime"},
        {"/dev", "runtime"},         {"/sys/fs", "runtime"},
        {"repo/.git", ".git"},       {"repo/.git/refs", ".git"},
        {"repo/.berm", ".berm"},     {"state/berm/runs", "berm's own state"},
    };
    static const char *const folders[] = {"repo",  "repo/.git",  "repo/.git/refs", "repo/.berm",
                                          "state", "state/berm", "state/berm/runs"};
    put(place, "file", "");
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    for (size_t i = 0; i < countof(cases); i++) {
        with_string state_dir = memory_format("%s/state/berm", place->path);
        struct trial trial = {
            .request = {.writable = WORDS(cases[i].wanted), .state_dir = state_dir}};
        trial_plan(&trial, place);
        if (!was_refused(&trial.checks, CHECK_ROOTS, cases[i].words)) {
            fail_msg("%s was not refused for: %s", cases[i].wanted, cases[i].words);
        }
        assert_int_equal(trial.sandbox->root_count, 0);
        trial_done(&trial);
    }
}

/* MD-7: in the private /tmp and in writable roots, by plain components; never in .git or .berm of the host. */
static void where_the_payload_may_keep_things(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "data", 0755), 0);
    struct trial trial = {.request = {.writable = WORDS("data")}};
    trial_plan(&trial, place);
    const struct {
        const char *path;
        enum sandbox_place place;
        const char *rest;
    } cases[] = {{"/tmp", SANDBOX_PRIVATE_PLACE, ""},
                 {"/tmp/w/.git/x", SANDBOX_PRIVATE_PLACE, "w/.git/x"},
                 {"/tmp/", SANDBOX_PRIVATE_PLACE, ""},
                 {"/tmpx", SANDBOX_NOWHERE, NULL},
                 {"/tmp/../etc", SANDBOX_NOWHERE, NULL},
                 {"/tmp/./w", SANDBOX_NOWHERE, NULL},
                 {"/tmp//w", SANDBOX_NOWHERE, NULL},
                 {"/var/tmp", SANDBOX_NOWHERE, NULL},
                 {"/", SANDBOX_NOWHERE, NULL},
                 {"", SANDBOX_NOWHERE, NULL},
                 {"tmp", SANDBOX_NOWHERE, NULL},
                 {"%s/data", SANDBOX_WRITABLE_PLACE, ""},
                 {"%s/data/run", SANDBOX_WRITABLE_PLACE, "run"},
                 {"%s/data/.git", SANDBOX_NOWHERE, NULL},
                 {"%s/data/a/.git/b", SANDBOX_NOWHERE, NULL},
                 {"%s/data/.berm/b", SANDBOX_NOWHERE, NULL},
                 {"%s/data/.gitx", SANDBOX_WRITABLE_PLACE, ".gitx"},
                 {"%s/data/../data", SANDBOX_NOWHERE, NULL}};
    for (size_t i = 0; i < countof(cases); i++) {
        int fd = -2;
        const char *rest = NULL;
        bool relative = cases[i].path[0] == '%';
        with_string path = relative ? memory_format("%s%s", trial.path, cases[i].path + 2)
                                    : memory_copy_string(cases[i].path);
        enum sandbox_place found = sandbox_place_of(trial.sandbox, path, &fd, &rest);
        if (found != cases[i].place) {
            fail_msg("%s: %d", path, (int)found);
        }
        if (cases[i].rest) {
            assert_string_equal(rest, cases[i].rest);
            assert_int_equal(fd >= 0,
                             found == SANDBOX_WRITABLE_PLACE); /* the other is not made yet */
        }
    }
    trial_done(&trial);
}

/* MD-7: nor lies it where git is led to from .git, under any name. */
static void a_place_that_is_closed_is_nowhere(void **state)
{
    struct place *place = *state;
    int fd = -1;
    const char *rest = NULL;
    assert_int_equal(mkdirat(place->fd, "deep", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "deep/data", 0755), 0);
    put(place, ".git", "gitdir: deep/data\n");
    struct trial trial = {.request = {.writable = WORDS(".")}};
    trial_plan(&trial, place);
    static const struct {
        const char *path;
        enum sandbox_place place;
    } cases[] = {{"deep", SANDBOX_WRITABLE_PLACE},
                 {"deep/datas", SANDBOX_WRITABLE_PLACE},
                 {"deep/data", SANDBOX_NOWHERE},
                 {"deep/data/hooks", SANDBOX_NOWHERE},
                 {"", SANDBOX_WRITABLE_PLACE}};
    for (size_t i = 0; i < countof(cases); i++) {
        with_string path =
            memory_format("%s%s%s", trial.path, cases[i].path[0] ? "/" : "", cases[i].path);
        if (sandbox_place_of(trial.sandbox, path, &fd, &rest) != cases[i].place) {
            fail_msg("%s", path);
        }
    }
    trial_done(&trial);
}

static void what_steers_others_is_closed(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS(".")}};
    assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
    assert_int_equal(mkdirat(place->fd, ".berm", 0755), 0);
    trial_plan(&trial, place);
    with_string git = memory_format("%s/.git", trial.path);
    with_string berm = memory_format("%s/.berm", trial.path);
    assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, git));
    assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, berm));
    trial_done(&trial);
}

/* R33: a link can be replaced by whoever may write its folder, so it is covered itself. */
static void a_link_is_covered(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS(".")}};
    assert_int_equal(mkdirat(place->fd, "elsewhere", 0755), 0);
    assert_int_equal(symlinkat("elsewhere", place->fd, ".git"), 0);
    trial_plan(&trial, place);
    with_string path = memory_format("%s/.git", trial.path);
    assert_true(checks_ok(&trial.checks));
    assert_true(has_rule(trial.sandbox, LAUNCH_MASK, path));
    for (size_t i = 0; i < trial.sandbox->rule_count; i++) {
        const struct sandbox_rule *rule = &trial.sandbox->rules[i];
        assert_true(rule->kind != LAUNCH_MASK || strcmp(rule->path, path) != 0 ||
                    S_ISLNK(rule->stat.st_mode));
    }
    trial_done(&trial);
}

/* I10: where git goes from .git is closed as well, by a link or by a file, with the way to it; and
 * where that folder says that the common one is. */
static void where_git_is_led_is_closed(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"a", "a/data", "b", "b/common"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "a/data/commondir", "../../b/common\n");
    for (int by_link = 0; by_link < 2; by_link++) {
        struct trial trial = {.request = {.writable = WORDS(".")}};
        if (by_link) {
            assert_int_equal(unlinkat(place->fd, ".git", 0), 0);
            assert_int_equal(symlinkat("a/data", place->fd, ".git"), 0);
        } else {
            put(place, ".git", "gitdir: a/data\n");
        }
        trial_plan(&trial, place);
        with_string a = memory_format("%s/a", trial.path);
        with_string data = memory_format("%s/a/data", trial.path);
        with_string b = memory_format("%s/b", trial.path);
        with_string common = memory_format("%s/b/common", trial.path);
        assert_true(checks_ok(&trial.checks));
        assert_true(has_rule(trial.sandbox, LAUNCH_PIN, a));
        assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, data));
        assert_true(has_rule(trial.sandbox, LAUNCH_PIN, b));
        assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, common));
        trial_done(&trial);
    }
}

/* I10, SB-3: also from a .git above the root; a part of such a folder is none that could be opened. */
static void where_git_is_led_from_above_is_closed(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"w", "w/kept", "w/kept/hooks"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, ".git", "gitdir: w/../w/kept\n");
    static const struct {
        const char *root;
        bool may;
    } cases[] = {{"w", true}, {"w/kept", false}, {"w/kept/hooks", false}};
    for (size_t i = 0; i < countof(cases); i++) {
        struct trial trial = {.request = {.writable = WORDS(cases[i].root)}};
        trial_plan(&trial, place);
        with_string kept = memory_format("%s/w/kept", trial.path);
        assert_int_equal(checks_ok(&trial.checks), cases[i].may);
        if (cases[i].may) {
            assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, kept));
        } else {
            assert_non_null(strstr(checks_first_failed(&trial.checks)->what, cases[i].root));
        }
        trial_done(&trial);
    }
}

/* I10: worktrees may lie in a bare repository, whose own parts are none that could be opened beside one; nor does a
 * .git in such a part make it a worktree. */
static void a_worktree_in_a_bare_repository_is_no_part_of_it(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"bare",       "bare/hooks",     "bare/logs",
                                          "bare/out",   "bare/worktrees", "bare/worktrees/main",
                                          "bare/main",  "bare/main/sub",  "kept",
                                          "kept/hooks", "kept/hooks/sub"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "bare/main/.git", "gitdir: ../worktrees/main\n");
    put(place, "bare/logs/.git", "gitdir: ../worktrees/main\n");
    put(place, "bare/worktrees/main/commondir", "../..\n");
    put(place, ".git", "gitdir: kept\n");
    put(place, "kept/hooks/.git", "gitdir: ..\n");
    static const struct {
        const char *roots[2];
        const char *refused; /* NULL: none is */
    } cases[] = {
        {{"bare/main", NULL}, NULL},
        {{"bare/main/sub", NULL}, NULL},
        {{"bare/logs", NULL}, NULL}, /* a worktree may have such a name */
        {{"bare/main", "bare/out"}, NULL},
        {{"bare/main", "bare/hooks"}, "bare/hooks"},
        {{"bare/hooks", "bare/main/sub"}, "bare/hooks"},
        {{"bare/main", "bare/worktrees"}, "bare/worktrees"},
        {{"bare/main", "bare/worktrees/main"}, "bare/worktrees/main"},
        {{"kept/hooks", NULL}, "kept/hooks"},
        {{"kept/hooks/sub", NULL}, "kept/hooks/sub"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct trial trial = {.request = {.writable = WORDS(cases[i].roots[0], cases[i].roots[1])}};
        trial_plan(&trial, place);
        if (checks_ok(&trial.checks) != !cases[i].refused ||
            (cases[i].refused && !was_refused(&trial.checks, CHECK_ROOTS, cases[i].refused))) {
            fail_msg("%zu: %s", i, cases[i].roots[0]);
        }
        trial_done(&trial);
    }
    struct trial trial = {.request = {.writable = WORDS(".", "bare/main")}};
    trial_plan(&trial, place);
    with_string bare = memory_format("%s/bare", trial.path);
    assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, bare));
    trial_done(&trial);
}

static void write_or_link(const struct place *place, const char *name, const char *text)
{
    (void)unlinkat(place->fd, name, 0);
    if (text && strncmp(text, "-> ", 3) == 0) {
        assert_int_equal(symlinkat(text + 3, place->fd, name), 0);
    } else if (text) {
        put(place, name, text);
    }
}

/* I10: what git is led to and is not there yet, the payload could make; and what .berm leads to. */
static void what_is_not_there_yet_cannot_be_closed(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"build", "kept", "other", "other/kept"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "build/file", "");
    static const struct {
        const char *root;
        const char *git;
        const char *commondir; /* in kept */
        const char *inner;     /* .git in other */
        const char *berm;      /* and its .berm */
        bool may;
    } cases[] = {
        {"build", "gitdir: kept\n", NULL, NULL, NULL, true},
        {"build", "gitdir: build/g\n", NULL, NULL, NULL, false},
        {"other", "gitdir: build/g\n", NULL, NULL, NULL, true},
        {"build", "gitdir: gone/g\n", NULL, NULL, NULL, true},
        {"build", "gitdir: build/x/../../kept\n", NULL, NULL, NULL, false},
        {"build", "gitdir: build/file/g\n", NULL, NULL, NULL, false},
        {"build", "-> build/g", NULL, NULL, NULL, false},
        {"other", "-> build/g", NULL, NULL, NULL, true},
        {"build", "gitdir: kept\n", "../build/c\n", NULL, NULL, false},
        {"other", "gitdir: kept\n", "../build/c\n", NULL, NULL, true},
        {"build", "gitdir: kept\n", "-> ../build/c", NULL, NULL, false},
        {"other", "gitdir: kept\n", "-> ../build/c", NULL, NULL, true},
        {"build", "-> kept", "../build/c\n", NULL, NULL, false},
        {"other", NULL, NULL, "gitdir: g\n", NULL, false},
        {"other", NULL, NULL, "gitdir: ../g\n", NULL, true},
        {"other", NULL, NULL, "-> g", NULL, false},
        {"other", NULL, NULL, "-> ../g", NULL, true},
        {"other", NULL, NULL, "gitdir: kept\n", NULL, true}, /* without commondir */
        {"other", NULL, NULL, NULL, "-> b", false},
        {"other", NULL, NULL, NULL, "-> ../b", true},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        write_or_link(place, ".git", cases[i].git);
        write_or_link(place, "kept/commondir", cases[i].commondir);
        write_or_link(place, "other/.git", cases[i].inner);
        write_or_link(place, "other/.berm", cases[i].berm);
        struct trial trial = {.request = {.writable = WORDS(cases[i].root)}};
        trial_plan(&trial, place);
        if (checks_ok(&trial.checks) != cases[i].may ||
            (!cases[i].may && !was_refused(&trial.checks, CHECK_ROOTS, "not there"))) {
            fail_msg("%zu: %s", i, cases[i].root);
        }
        trial_done(&trial);
    }
}

/* Where it would lie is closed: a part of a repository that is not there, as of a submodule that was never fetched. */
static void what_is_missing_in_a_closed_place_stays_so(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {".git", "sub", "led", "led/kept"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "sub/.git", "gitdir: ../.git/modules/sub\n");
    put(place, "led/.git", "gitdir: kept\n");
    put(place, "led/kept/commondir", "gone\n");
    char *const *const cases[] = {WORDS(".", "sub"), WORDS("sub", "."), WORDS("sub"), WORDS("led")};
    for (size_t i = 0; i < countof(cases); i++) {
        struct trial trial = {.request = {.writable = cases[i]}};
        trial_plan(&trial, place);
        if (!checks_ok(&trial.checks)) {
            fail_msg("%zu: %s", i, checks_first_failed(&trial.checks)->saw);
        }
        trial_done(&trial);
    }
}

/* I10: nor can what leads there be led elsewhere: a link in a root, or a folder that only ".." passes. */
static void the_way_that_git_is_led_is_closed(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"build", "build/a", "kept"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "build/common", "../kept\n");
    assert_int_equal(symlinkat("../kept", place->fd, "build/link"), 0);
    static const struct {
        const char *git;
        const char *commondir;
        enum launch_kind kind;
        const char *path;
    } cases[] = {
        {"gitdir: build/link\n", NULL, LAUNCH_MASK, "build/link"},
        {"-> build/link", NULL, LAUNCH_MASK, "build/link"},
        {"gitdir: build/a/../../kept\n", NULL, LAUNCH_PIN, "build/a"},
        {"gitdir: kept\n", "-> ../build/common", LAUNCH_CLOSE, "build/common"},
        {"gitdir: kept\n", "../build/link\n", LAUNCH_MASK, "build/link"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        write_or_link(place, ".git", cases[i].git);
        write_or_link(place, "kept/commondir", cases[i].commondir);
        struct trial trial = {.request = {.writable = WORDS("build")}};
        trial_plan(&trial, place);
        with_string path = memory_format("%s/%s", trial.path, cases[i].path);
        with_string root = memory_format("%s/build", trial.path);
        if (!has_rule(trial.sandbox, cases[i].kind, path)) {
            fail_msg("%zu: %s", i, path);
        }
        assert_true(checks_ok(&trial.checks));
        assert_false(has_rule(trial.sandbox, LAUNCH_PIN, root));
        trial_done(&trial);
    }
}

/* A folder that git is led to from its own .git would be closed as a whole. */
static void a_root_that_is_its_own_git_folder_is_refused(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS(".")}};
    assert_int_equal(symlinkat(".", place->fd, ".git"), 0);
    trial_plan(&trial, place);
    assert_true(was_refused(&trial.checks, CHECK_ROOTS, "not possible"));
    trial_done(&trial);
}

/* I10: what is at the top of one root is deep in the other, which could move the folders above. */
static void a_root_in_a_root_is_pinned(void **state)
{
    struct place *place = *state;
    static const char *const folders[] = {"x", "x/b", "x/b/.git"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    for (int inner_first = 0; inner_first < 2; inner_first++) {
        struct trial trial = {
            .request = {.writable = inner_first ? WORDS("x/b", ".") : WORDS(".", "x/b")}};
        trial_plan(&trial, place);
        with_string x = memory_format("%s/x", trial.path);
        with_string b = memory_format("%s/x/b", trial.path);
        with_string git = memory_format("%s/x/b/.git", trial.path);
        assert_true(has_rule(trial.sandbox, LAUNCH_PIN, x));
        assert_true(has_rule(trial.sandbox, LAUNCH_PIN, b));
        assert_true(has_rule(trial.sandbox, LAUNCH_CLOSE, git));
        trial_done(&trial);
    }
}

/* I10: berm's state within a root, and every folder on the way to it. */
static void berms_state_is_closed_with_the_way_to_it(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS(".")}};
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "a/b", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "a/b/berm", 0755), 0);
    with_string state_dir = memory_format("%s/a/b/berm", place->path);
    trial.request.state_dir = state_dir;
    trial_plan(&trial, place);
    with_string a = memory_format("%s/a", place->path);
    with_string b = memory_format("%s/a/b", place->path);
    assert_true(has_rule(trial.sandbox, LAUNCH_PIN, a));
    assert_true(has_rule(trial.sandbox, LAUNCH_PIN, b));
    assert_true(has_rule(trial.sandbox, LAUNCH_MASK, state_dir));
    trial_done(&trial);
}

/* RS-1: a report is out of the payload's reach. */
static void a_report_in_a_root_is_refused(void **state)
{
    struct place *place = *state;
    with_string report = memory_format("%s/out/r.json", place->path);
    struct trial trial = {.request = {.writable = WORDS("out"), .report = report}};
    assert_int_equal(mkdirat(place->fd, "out", 0755), 0);
    trial_plan(&trial, place);
    assert_true(was_refused(&trial.checks, CHECK_ROOTS, "report would lie"));
    trial_done(&trial);

    with_string outside = memory_format("%s/r.json", place->path);
    struct trial other = {.request = {.writable = WORDS("out"), .report = outside}};
    trial_plan(&other, place);
    assert_true(checks_ok(&other.checks));
    trial_done(&other);
}

static void what_appeared_is_told(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS(".")}};
    with_strvec notes = {0};
    trial_plan(&trial, place);
    sandbox_look_back(trial.sandbox, &notes);
    assert_int_equal(notes.count, 0);
    assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
    sandbox_look_back(trial.sandbox, &notes);
    assert_int_equal(notes.count, 1);
    assert_non_null(strstr(notes.strings[0], "/.git'"));
    trial_done(&trial);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(not_everything_may_be_opened),
        IN_PLACE(where_the_payload_may_keep_things),
        IN_PLACE(a_place_that_is_closed_is_nowhere),
        IN_PLACE(what_steers_others_is_closed),
        IN_PLACE(a_link_is_covered),
        IN_PLACE(where_git_is_led_is_closed),
        IN_PLACE(where_git_is_led_from_above_is_closed),
        IN_PLACE(a_worktree_in_a_bare_repository_is_no_part_of_it),
        IN_PLACE(what_is_not_there_yet_cannot_be_closed),
        IN_PLACE(what_is_missing_in_a_closed_place_stays_so),
        IN_PLACE(the_way_that_git_is_led_is_closed),
        IN_PLACE(a_root_that_is_its_own_git_folder_is_refused),
        IN_PLACE(a_root_in_a_root_is_pinned),
        IN_PLACE(berms_state_is_closed_with_the_way_to_it),
        IN_PLACE(a_report_in_a_root_is_refused),
        IN_PLACE(what_appeared_is_told),
    };
    return cmocka_run_group_tests_name("contain/sandbox-roots", tests, NULL, NULL);
}
