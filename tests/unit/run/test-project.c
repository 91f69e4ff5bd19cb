#include "../unit.h"

#include "../files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entrypoint.h"
#include "memory.h"
#include "run-priv.h"

static char top[] = "/tmp/berm-run-project-XXXXXX";

static int make_tree(void **state)
{
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    assert_int_equal(mkdir(".git", 0700), 0);
    return mkdir("sub", 0700);
}

/* Files that cannot be looked at, when `unseen`. */
static bool unseen;
static int fail_unseen(struct err *err)
{
    return err_set(err, ERR_SYS, "look at '%s/run': Input/output error", top);
}

int __real_workload_judge(const struct project_workload *workload, char *const *argv,
                          const struct entrypoint_files *files,
                          struct entrypoint_verdict *ret_verdict, struct err *err);
int __wrap_workload_judge(const struct project_workload *workload, char *const *argv,
                          const struct entrypoint_files *files,
                          struct entrypoint_verdict *ret_verdict, struct err *err);
int __wrap_workload_judge(const struct project_workload *workload, char *const *argv,
                          const struct entrypoint_files *files,
                          struct entrypoint_verdict *ret_verdict, struct err *err)
{
    return unseen ? fail_unseen(err)
                  : __real_workload_judge(workload, argv, files, ret_verdict, err);
}

int __real_entrypoint_judge(const struct project *project, char *const *argv,
                            const struct entrypoint_files *files,
                            const struct project_entrypoint **ret_entrypoint,
                            struct entrypoint_verdict *ret_verdict, struct err *err);
int __wrap_entrypoint_judge(const struct project *project, char *const *argv,
                            const struct entrypoint_files *files,
                            const struct project_entrypoint **ret_entrypoint,
                            struct entrypoint_verdict *ret_verdict, struct err *err);
int __wrap_entrypoint_judge(const struct project *project, char *const *argv,
                            const struct entrypoint_files *files,
                            const struct project_entrypoint **ret_entrypoint,
                            struct entrypoint_verdict *ret_verdict, struct err *err)
{
    return unseen ? fail_unseen(err)
                  : __real_entrypoint_judge(project, argv, files, ret_entrypoint, ret_verdict, err);
}

static int remove_tree(void **state)
{
    (void)unlink("berm.yaml");
    (void)unlink("run");
    (void)unlink("sub/run");
    assert_int_equal(rmdir("sub"), 0);
    assert_int_equal(rmdir(".git"), 0);
    assert_int_equal(chdir("/"), 0);
    return rmdir(top);
}

/* What a request becomes in the folder. */
static void apply(const char *folder, struct run_request *request,
                  struct preparation *ret_preparation)
{
    *ret_preparation = (struct preparation){0};
    (void)snprintf(ret_preparation->cwd_path, sizeof ret_preparation->cwd_path, "%s", folder);
    run_project_apply(request, ret_preparation);
}

#define SET(guarantee) (UINT32_C(1) << (guarantee))

/* CT-2, IF-2: a project adds to what is required, from every folder of it, and takes nothing away. */
static void a_project_adds_and_never_takes_away(void **state)
{
    with_string sub = memory_format("%s/sub", top);
    static const struct {
        const char *require;
        uint32_t asked;
        uint32_t wanted;
        size_t notes;
    } cases[] = {
        {"[network]", 0, SET(GUARANTEE_NETWORK), 1},
        {"[network]", SET(GUARANTEE_MEMORY), SET(GUARANTEE_NETWORK) | SET(GUARANTEE_MEMORY), 1},
        {"[network]", SET(GUARANTEE_NETWORK), SET(GUARANTEE_NETWORK), 0},
        {"[network]", GUARANTEE_ALL, GUARANTEE_ALL, 0},
        {"[]", GUARANTEE_ALL, GUARANTEE_ALL, 0},
        {"[managed]", 0, GUARANTEE_ALL, 1},
        {"[memory, pids]", 0, SET(GUARANTEE_MEMORY) | SET(GUARANTEE_PIDS), 1},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_string text = memory_format("schema: 1\nrequire: %s\n", cases[i].require);
        write_file("berm.yaml", text, 0600);
        struct run_request request = run_request_plain();
        request.require = cases[i].asked;
        with_preparation preparation;
        apply(i % 2 ? sub : top, &request, &preparation);
        assert_true(checks_ok(&preparation.checks));
        assert_int_equal(request.require, cases[i].wanted);
        assert_int_equal(preparation.notes.count, cases[i].notes);
        with_json json = run_project_to_json(&preparation, NULL);
        assert_true(json_is_string(json_object_get(json, "file")));
    }
    unlink("berm.yaml");
    struct run_request request = run_request_plain();
    with_preparation none;
    apply(top, &request, &none);
    assert_true(checks_ok(&none.checks));
    assert_int_equal(request.require, 0);
    with_json json = run_project_to_json(&none, NULL);
    assert_true(json_is_null(json));
}

/* CT-3: what means something only in a sandbox is judged when it is known whether there is one. */
static void a_sandbox_may_be_the_projects(void **state)
{
    static char here[] = ".";
    char *const writable[] = {here, NULL};
    for (int required = 0; required < 2; required++) {
        write_file("berm.yaml", required ? "schema: 1\nrequire: [network]\n" : "schema: 1\n", 0600);
        struct run_request request = run_request_plain();
        request.writable = writable;
        with_preparation preparation;
        apply(top, &request, &preparation);
        const struct check *failed = checks_first_failed(&preparation.checks);
        assert_int_equal(failed == NULL, required);
        if (failed) {
            assert_string_equal(failed->code, "preflight.sandbox");
            assert_non_null(strstr(failed->what, "writable: has a meaning only in a sandbox"));
        }
    }
    unlink("berm.yaml");
}

/* CT-3: what cannot be read is not taken for nothing. */
static void a_broken_file_is_a_refusal(void **state)
{
    write_file("berm.yaml", "schema: 1\nrequire: managed\n", 0600);
    struct run_request request = run_request_plain();
    with_preparation preparation;
    apply(top, &request, &preparation);
    const struct check *failed = checks_first_failed(&preparation.checks);
    assert_string_equal(failed->code, "preflight.project");
    assert_non_null(strstr(failed->what, "berm.yaml:2:10: require: must be a list"));
    assert_int_not_equal(strlen(failed->remedy), 0);
}

/* TR-2: a command that is called a workload is that one, and stands the audit. */
static void work_is_what_it_is_called(void **state)
{
    write_file("berm.yaml",
               "schema: 1\nworkload:\n  w: { argv: [./run, '{n}'], parameters: {n: [1, 2]}, "
               "timeout_s: 9 }\n"
               "  d: { argv: [run/docker] }\n  p: { argv: [run] }\n",
               0600);
    write_file("run", "#!/bin/sh\n", 0700);
    with_string sub = memory_format("%s/sub", top);
    static char run[] = "./run";
    static char one[] = "1";
    static char three[] = "3";
    static char bare[] = "run";
    char *const good[] = {run, one, NULL};
    char *const bad[] = {run, three, NULL};
    char *const program[] = {bare, NULL};
    const struct {
        const char *name;
        const char *folder;
        char *const *argv;
        const char *wanted; /* of the check; NULL: it may run */
    } cases[] = {
        {"w", top, bad, "[undeclared]"},
        {"x", top, good, "declares no such workload"},
        {"w", sub, good, "its words are meant for"},
        {"p", top, program, "[program]"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct run_request request = run_request_plain();
        request.workload = cases[i].name;
        request.argv = cases[i].argv;
        with_preparation preparation;
        apply(cases[i].folder, &request, &preparation);
        const struct check *failed = checks_first_failed(&preparation.checks);
        assert_non_null(failed);
        assert_string_equal(failed->code, "preflight.entrypoint");
        with_string all = memory_format("%s %s", failed->what, failed->saw);
        if (!strstr(all, cases[i].wanted)) {
            fail_msg("case %zu: %s", i, all);
        }
        assert_int_not_equal(strlen(failed->remedy), 0);
    }
}

/* TR-2, EP-1: what cannot be looked at is refused, and the remedy is of that and not of what is declared. */
static void what_cannot_be_looked_at_has_its_own_remedy(void **state)
{
    write_file("berm.yaml",
               "schema: 1\nworkload:\n  w: { argv: [./run] }\n"
               "entrypoint:\n  e: { argv: [run] }\n",
               0600);
    write_file("run", "#!/bin/sh\n", 0700);
    static char run[] = "./run";
    char *const argv[] = {run, NULL};
    for (int at_a_tier = 0; at_a_tier < 2; at_a_tier++) {
        struct run_request request = run_request_plain();
        request.workload = at_a_tier ? "e" : "w";
        request.tier = at_a_tier ? CONTEXT_TIER_SMALL : CONTEXT_TIER_NONE;
        request.argv = argv;
        with_preparation preparation;
        unseen = true;
        apply(top, &request, &preparation);
        unseen = false;
        const struct check *failed = checks_first_failed(&preparation.checks);
        assert_string_equal(failed->code, "preflight.entrypoint");
        assert_non_null(strstr(failed->what, "/run': Input/output error"));
        assert_non_null(strstr(failed->remedy, "let this user read what is named"));
    }
}

/* TR-7: of that very work, where it is declared so; and that limits what it writes as before. */
static void a_result_is_declared_to_be_one(void **state)
{
    write_file("berm.yaml",
               "schema: 1\nworkload:\n  w: { argv: [./run] }\n"
               "  s: { argv: [./run], structured_output: true }\n",
               0600);
    write_file("run", "#!/bin/sh\n", 0700);
    static char run[] = "./run";
    char *const argv[] = {run, NULL};
    static const struct {
        const char *workload;
        bool structured;
    } cases[] = {{NULL, false}, {"w", false}, {"s", true}};
    for (size_t i = 0; i < countof(cases); i++) {
        struct run_request request = run_request_plain();
        request.workload = cases[i].workload;
        request.argv = argv;
        with_preparation preparation;
        apply(top, &request, &preparation);
        assert_true(checks_ok(&preparation.checks));
        assert_int_equal(request.workload_structured, cases[i].structured);
        assert_int_equal(request.output_bytes, 0);
    }
}

/* SB-3: one folder, which is there and no link, and for small work alone. */
static void scratch_is_one_folder_for_small_work(void **state)
{
    write_file("berm.yaml",
               "schema: 1\nentrypoint:\n"
               "  s: { argv: [sub/run, s], scratch: out, scratch_reason: it writes }\n"
               "  l: { argv: [sub/run, l], scratch: link, scratch_reason: it writes }\n"
               "  d: { argv: [sub/run, d], scratch: link/deep, scratch_reason: it writes }\n"
               "  n: { argv: [sub/run, n], scratch: none, scratch_reason: it writes }\n",
               0600);
    write_file("sub/run", "#!/bin/sh\n", 0700);
    with_string out = memory_format("%s/out", top);
    with_string deep = memory_format("%s/deep", out);
    with_string link = memory_format("%s/link", top);
    assert_int_equal(mkdir(out, 0700), 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(symlink("out", link), 0);
    static const struct {
        const char *word;
        enum context_tier tier;
        const char *wanted; /* of the check; NULL: it may run */
    } cases[] = {
        {"s", CONTEXT_TIER_SMALL, NULL},
        {"s", CONTEXT_TIER_MEDIUM, "only small work"},
        {"s", CONTEXT_TIER_LARGE, "only small work"},
        {"l", CONTEXT_TIER_SMALL, "link"},
        {"d", CONTEXT_TIER_SMALL, "link"},
        {"n", CONTEXT_TIER_SMALL, "none"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct run_request plain = run_request_plain();
        plain.tier = cases[i].tier;
        struct run_request request = run_tier_widen(&plain);
        with_strvec argv = {0};
        strvec_push(&argv, "sub/run");
        strvec_push(&argv, cases[i].word);
        request.workload = "any";
        request.argv = strvec_argv(&argv);
        with_preparation preparation;
        apply(top, &request, &preparation);
        const struct check *failed = checks_first_failed(&preparation.checks);
        if ((failed != NULL) != (cases[i].wanted != NULL) ||
            (failed && !strstr(failed->what, cases[i].wanted))) {
            fail_msg("case %zu: %s", i, failed ? failed->what : "may run");
        }
        assert_true(failed ? !preparation.scratch.path
                           : strcmp(preparation.scratch.path, out) == 0);
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(out), 0);
}

/* EP-1, SB-3, SB-6, TR-2: a tier launches a declared entrypoint, with what its declaration says. */
static void a_tier_launches_what_is_declared(void **state)
{
    write_file("berm.yaml",
               "schema: 1\nentrypoint:\n  e: { argv: [sub/run, '1'] }\n"
               "  n: { argv: [sub/run, net], network: required, network_reason: it loads }\n"
               "  s: { argv: [sub/run, out], scratch: sub, scratch_reason: it writes }\n"
               "workload:\n  w: { argv: [sub/run, net] }\n"
               "  r: { argv: [sub/run, '1'], structured_output: true }\n",
               0600);
    write_file("sub/run", "#!/bin/sh\n", 0700);
    with_string sub = memory_format("%s/sub", top);
    const struct {
        const char *workload;
        const char *folder;
        const char *words[3];
        const char *wanted; /* of the check; NULL: it may run */
        bool network;
    } cases[] = {
        {"any", top, {"sub/run", "1"}, NULL, false},
        {"any", top, {"sub/run", "net"}, NULL, true},
        {"w", top, {"sub/run", "net"}, NULL, true},
        {"w", top, {"sub/run", "1"}, "workload 'w'", false},
        {"r", top, {"sub/run", "1"}, NULL, false},
        {"r", top, {"sub/run", "net"}, "workload 'r'", true},
        {"any", top, {"sub/run", "2"}, "[undeclared]", false},
        {"any", top, {"sub/run", "out"}, NULL, false},
        {"any", sub, {"sub/run", "1"}, "its words are meant for", false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct run_request plain = run_request_plain();
        plain.tier = CONTEXT_TIER_SMALL;
        struct run_request request = run_tier_widen(&plain);
        with_strvec argv = {0};
        strvec_push(&argv, cases[i].words[0]);
        strvec_push(&argv, cases[i].words[1]);
        request.workload = cases[i].workload;
        request.argv = strvec_argv(&argv);
        with_preparation preparation;
        apply(cases[i].folder, &request, &preparation);
        const struct check *failed = checks_first_failed(&preparation.checks);
        with_string all =
            memory_format("%s %s", failed ? failed->what : "", failed ? failed->saw : "");
        if ((failed != NULL) != (cases[i].wanted != NULL) ||
            (failed && !strstr(all, cases[i].wanted))) {
            fail_msg("case %zu: %s", i, all);
        }
        bool result = cases[i].workload[0] == 'r' && !cases[i].network; /* TR-7 */
        assert_int_equal(request.workload_structured, result);
        if (!failed) {
            assert_non_null(preparation.entrypoint);
            assert_int_equal(request.host_network, cases[i].network);
            assert_int_equal(request.require, cases[i].network
                                                  ? GUARANTEE_ALL & ~SET(GUARANTEE_NETWORK)
                                                  : GUARANTEE_ALL);
        }
    }
    unlink("berm.yaml");
    struct run_request request = run_request_plain();
    request.tier = CONTEXT_TIER_SMALL;
    with_preparation preparation;
    apply(top, &request, &preparation);
    assert_non_null(strstr(checks_first_failed(&preparation.checks)->what, "no berm.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_adds_and_never_takes_away),
        cmocka_unit_test(a_sandbox_may_be_the_projects),
        cmocka_unit_test(a_broken_file_is_a_refusal),
        cmocka_unit_test(work_is_what_it_is_called),
        cmocka_unit_test(what_cannot_be_looked_at_has_its_own_remedy),
        cmocka_unit_test(a_result_is_declared_to_be_one),
        cmocka_unit_test(scratch_is_one_folder_for_small_work),
        cmocka_unit_test(a_tier_launches_what_is_declared),
    };
    return cmocka_run_group_tests_name("run/project", tests, make_tree, remove_tree);
}
