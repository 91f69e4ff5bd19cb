#include "../unit.h"

#include "../files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "memory.h"
#include "run-priv.h"

/* Who runs berm; and what was planned again is looked at before it is. */
static uid_t user;
uid_t __wrap_os_geteuid(void);
uid_t __wrap_os_geteuid(void)
{
    return user;
}
static unsigned planned;
void __wrap_prepare_frozen(struct preparation *preparation);
void __wrap_prepare_frozen(struct preparation *preparation)
{
    planned++;
}

char *__wrap_sandbox_inside(const struct sandbox *sandbox, const char *path);
char *__wrap_sandbox_inside(const struct sandbox *sandbox, const char *path)
{
    return memory_copy_string(path);
}

static char top[] = "/tmp/berm-freeze-XXXXXX";

static int make_tree(void **state)
{
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    user = 12345;
    return 0;
}

static int remove_tree(void **state)
{
    with_string words = memory_format("chmod -R u+w %s && rm -r %s", top, top);
    assert_int_equal(chdir("/"), 0);
    return system(words);
}

/* A run of `bench/run` in a new repository that is called so. */
struct trial {
    char *folder;
    struct strvec argv;
    struct strvec environment;
    struct run_request request;
    struct run run;
};

static void trial_begin(struct trial *trial, const char *name, const char *word)
{
    *trial = (struct trial){.folder = memory_format("%s/%s", top, name)};
    assert_int_equal(chdir(top), 0);
    assert_int_equal(mkdir(name, 0755), 0);
    assert_int_equal(chdir(name), 0);
    static const char *const folders[] = {".git", "bench", "needed"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdir(folders[i], 0755), 0);
    }
    with_string declared = memory_format(
        "schema: 1\nentrypoint:\n  e: { argv: [bench/run%s%s], dependencies: [needed] }\n",
        word ? ", " : "", word ? word : "");
    write_file("berm.yaml", declared, 0644);
    write_file("bench/run", "#!/bin/sh\n. needed/lib\n", 0755);
    write_file("needed/lib", "lib", 0644);
    write_file("data", "data", 0644);
    write_file(".gitignore", "needed\nberm.yaml\n", 0644);
    strvec_push(&trial->argv, "bench/run");
    if (word) {
        strvec_push(&trial->argv, word);
    }
    strvec_push_format(&trial->environment, "XDG_STATE_HOME=%s/state-%s", top, name);
    assert_int_equal(project_read(trial->folder, &trial->run.preparation.project, NULL), 0);
    trial->request = run_request_plain();
    trial->request.tier = CONTEXT_TIER_SMALL;
    trial->request.workload = "w";
    trial->request.argv = strvec_argv(&trial->argv);
    trial->request.environment = strvec_argv(&trial->environment);

    struct run *run = &trial->run;
    struct preparation *preparation = &run->preparation;
    run->request = &trial->request;
    with_string state = memory_format("%s/state-%s/berm", top, name);
    with_bfs_dir made = {0};
    assert_int_equal(bfs_dir_make(AT_FDCWD, state, 0700, BFS_TRUST_ANY, &made, NULL), 0);
    preparation->cwd = fd_adopt(os_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0));
    preparation->entrypoint = preparation->project.entrypoint.items;
    const struct binding_request wanted = {.name = "./bench/run",
                                           .argv = trial->request.argv,
                                           .cwd_fd = fd_num(&preparation->cwd),
                                           .cwd_path = trial->folder,
                                           .environment = trial->request.environment,
                                           .own_authority = true};
    struct err err = {0};
    preparation->binding = binding_resolve(&wanted, &err);
    assert_string_equal(err.msg, "");
}

static void trial_done(struct trial *trial)
{
    run_freeze_done(&trial->run.tier.freeze);
    preparation_done(&trial->run.preparation);
    strvec_done(&trial->argv);
    strvec_done(&trial->environment);
    memory_free(trial->folder);
}

/* FZ-1, FZ-2, FZ-3: what the work is told by and what its declaration names is frozen; an edit of the checkout is told
 * before the release, and changes nothing afterwards; one of the copy is. */
static void what_was_frozen_is_looked_at_again(void **state)
{
    struct trial trial;
    struct err err = {0};
    trial_begin(&trial, "whole", NULL);
    struct run *run = &trial.run;
    planned = 0;
    assert_int_equal(run_freeze(run, &err), 0);
    assert_string_equal(err.msg, "");
    assert_true(checks_ok(&run->preparation.checks));
    assert_int_equal(strlen(run->tier.frozen), 64);
    assert_ptr_equal(run->facts.frozen, &run->tier.freeze.facts);
    assert_string_equal(run->facts.frozen->identity, run->tier.frozen);
    /* .gitignore, bench, bench/run, berm.yaml, data, needed, needed/lib */
    assert_int_equal(run->facts.frozen->entries, 7);
    assert_int_equal(run->facts.frozen->files_copied, 5);
    assert_int_equal(planned, 1);
    const struct frozen_place *place = &run->preparation.frozen;
    assert_string_equal(place->source.place, trial.folder);
    assert_string_equal(place->cwd_path, place->source.copy);
    assert_int_equal(faccessat(place->source.fd, "needed/lib", R_OK, 0), 0);
    assert_int_equal(faccessat(place->source.fd, ".git", F_OK, 0), -1);

    assert_int_equal(run_freeze_check(run, &err), 0);
    write_file("data", "DATA", 0644);
    assert_int_equal(run_freeze_check(run, &err), -1);
    assert_int_equal(err.code, ERR_CHANGED);
    assert_int_equal(run_freeze_ended(run, &err), 0);
    assert_int_equal(fchmodat(place->source.fd, "data", 0600, 0), 0);
    assert_int_equal(run_freeze_ended(run, &err), -1);
    assert_true(run->tier.freeze.facts.copy_changed);
    trial_done(&trial);
}

static const char *refusal_by(struct trial *trial, const char *code)
{
    struct err err = {0};
    assert_int_equal(run_freeze(&trial->run, &err), 0);
    const struct check *failed = checks_first_failed(&trial->run.preparation.checks);
    assert_non_null(failed);
    assert_string_equal(failed->code, code);
    assert_int_not_equal(strlen(failed->remedy), 0);
    assert_null(trial->run.facts.frozen);
    run_freeze_prune(&trial->run); /* of what came to be, which is perhaps nothing */
    return failed->what;
}

static const char *refusal(struct trial *trial)
{
    return refusal_by(trial, "preflight.frozen");
}

/* EP-1, EP-3, FZ-1: what was declared and audited is what is frozen, or nothing runs. */
static void what_changes_before_it_is_frozen_is_a_refusal(void **state)
{
    struct trial trial;
    trial_begin(&trial, "declared", NULL);
    write_file("berm.yaml", "schema: 1\n", 0644);
    assert_non_null(strstr(refusal(&trial), "'berm.yaml' changed"));
    trial_done(&trial);

    trial_begin(&trial, "audited", NULL);
    write_file("needed/lib", "docker run it\n", 0644);
    assert_non_null(
        strstr(refusal_by(&trial, "preflight.entrypoint"), "none that a tier launches"));
    trial_done(&trial);
}

/* FZ-2: what cannot be frozen is refused, and nobody's failure. */
static void what_cannot_be_frozen_is_a_refusal(void **state)
{
    struct trial trial;
    trial_begin(&trial, "none", NULL);
    assert_int_equal(rmdir(".git"), 0);
    assert_non_null(strstr(refusal(&trial), "no Git repository"));
    trial_done(&trial);

    trial_begin(&trial, "link", NULL);
    assert_int_equal(symlink("/etc/passwd", "out"), 0);
    assert_non_null(strstr(refusal(&trial), "'out'"));
    trial_done(&trial);

    trial_begin(&trial, "dependency", NULL);
    assert_int_equal(unlink("needed/lib"), 0);
    assert_non_null(strstr(refusal(&trial), "'needed'"));
    trial_done(&trial);

    trial_begin(&trial, "report", NULL);
    with_string report = memory_format("%s/data", trial.folder);
    trial.run.facts.report_file = report;
    assert_non_null(strstr(refusal(&trial), "put it outside of the repository"));
    trial_done(&trial);

    trial_begin(&trial, "root", NULL);
    user = 0;
    assert_non_null(strstr(refusal(&trial), "root starts no work"));
    user = 12345;
    trial_done(&trial);
}

/* SB-3: what lies in a scratch is seen as it is later: it is nothing that was frozen. */
static void a_scratch_holds_nothing_else(void **state)
{
    static const struct {
        const char *scratch;
        const char *wanted; /* NULL: it may be one */
    } cases[] = {
        {"out", NULL},
        {"bench", "'bench/run' is a part of the source"},
        {"needed", "'needed/lib' is a part of the source"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct trial trial;
        char name[32];
        char scratch[32];
        (void)snprintf(name, sizeof name, "scratch%zu", i);
        (void)snprintf(scratch, sizeof scratch, "%s", cases[i].scratch);
        trial_begin(&trial, name, NULL);
        struct preparation *preparation = &trial.run.preparation;
        assert_int_equal(mkdir("out", 0755), 0);
        write_file("out/.gitignore", "kept*\n", 0644);
        struct project_entrypoint declared = *preparation->entrypoint;
        declared.scratch = scratch;
        preparation->entrypoint = &declared;
        struct err err = {0};
        assert_int_equal(
            bfs_dir_open(AT_FDCWD, scratch, BFS_TRUST_ANY, &preparation->scratch, &err), 0);
        if (cases[i].wanted) {
            const char *said = refusal(&trial);
            if (!strstr(said, cases[i].wanted)) {
                fail_msg("%s: %s", scratch, said);
            }
        } else {
            assert_int_equal(run_freeze(&trial.run, &err), 0);
            assert_true(checks_ok(&preparation->checks));
        }
        trial_done(&trial);
    }
}

/* FZ-3: a run that is over leaves its copy to the next, which need not read or write a file again. */
static void the_copy_is_kept_for_the_next(void **state)
{
    struct trial trial;
    struct err err = {0};
    trial_begin(&trial, "twice", "data");
    assert_int_equal(run_freeze(&trial.run, &err), 0);
    char first[HASH_HEX_SIZE];
    memcpy(first, trial.run.tier.frozen, sizeof first);
    run_freeze_prune(&trial.run);
    run_freeze_done(&trial.run.tier.freeze);
    assert_int_equal(run_freeze(&trial.run, &err), 0);
    assert_string_equal(trial.run.tier.frozen, first);
    assert_int_equal(trial.run.facts.frozen->files_copied, 0);
    trial_done(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_frozen_is_looked_at_again),
        cmocka_unit_test(what_cannot_be_frozen_is_a_refusal),
        cmocka_unit_test(a_scratch_holds_nothing_else),
        cmocka_unit_test(what_changes_before_it_is_frozen_is_a_refusal),
        cmocka_unit_test(the_copy_is_kept_for_the_next),
    };
    return cmocka_run_group_tests_name("run/freeze", tests, make_tree, remove_tree);
}
