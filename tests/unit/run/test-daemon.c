#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "process.h"
#include "run-priv.h"

static char folder[] = "/var/tmp/berm-test-XXXXXX";
static const struct scope_offer offer = {.adapter = SCOPE_DELEGATED, .place = "/sys/fs/cgroup/x"};

static int check(const char *a, const char *b, struct err *err)
{
    char *const texts[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
    *err = (struct err){0};
    return run_daemons_check(texts, err);
}

/* MD-1: a daemon is named and declared whole; what is not understood is refused by name. */
static void a_declaration_is_whole(void **state)
{
    static const char *const wrong[] = {"",
                                        "=e,s,l",
                                        "graphd=",
                                        "graphd=e",
                                        "graphd=e,s",
                                        "graphd=,s,l",
                                        "graphd=e,,l",
                                        "graphd=e,s,",
                                        "graphd=e,s,l,x",
                                        "Graphd=e,s,l",
                                        "-x=e,s,l",
                                        "a b=e,s,l",
                                        "a-name-that-is-longer-than-may-be=e,s,l"};
    struct err err;
    assert_int_equal(check("graphd=e,s,l", "two-2_=e,s,l", &err), 0);
    for (size_t i = 0; i < countof(wrong); i++) {
        if (check(wrong[i], NULL, &err) == 0) {
            fail_msg("taken: %s", wrong[i]);
        }
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.msg, "daemon '"));
    }
    assert_int_equal(check("graphd=e,s,l", "graphd=e,t,m", &err), -1);
    assert_non_null(strstr(err.msg, "declared twice"));
    assert_int_equal(check("graphd=e,s,l", "graph=e,t,m", &err), 0);
    assert_int_equal(check("graphd", "graph=e,t,m", &err), 0);
    assert_int_equal(check("graphd", "graphd", &err), -1);
    assert_int_equal(check("graphd=e,s,l", "graphd", &err), -1);
    assert_non_null(strstr(err.msg, "declared twice"));
    char *texts[DAEMON_COUNT + 2] = {NULL};
    for (int i = 0; i <= DAEMON_COUNT; i++) {
        texts[i] = memory_format("d%d=e,s,l", i);
    }
    assert_int_equal(run_daemons_check(texts, &err), -1);
    assert_non_null(strstr(err.msg, "at most 4"));
    for (int i = 0; i <= DAEMON_COUNT; i++) {
        memory_free(texts[i]);
    }
    assert_int_equal(run_daemons_check(NULL, &err), 0);
}

struct trial {
    struct preparation preparation;
    const char *what; /* of the check that failed */
    const char *remedy;
};

static void prepare_it(struct trial *trial, const char *declared, const struct scope_offer *held)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const environment[] = {path, NULL};
    char *const argv[] = {(char[]){"true"}, NULL};
    char *const writable[] = {(char[]){"data"}, NULL};
    char *const daemons[] = {(char *)(uintptr_t)declared, NULL};
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    request.cwd = folder;
    request.sandbox = true;
    request.writable = writable;
    request.daemons = daemons;
    request.user = os_geteuid() == 0 ? "1000:1000" : NULL;
    *trial = (struct trial){.preparation = {.offer = held}};
    prepare(&request, &trial->preparation);
    for (size_t i = 0; i < trial->preparation.checks.count; i++) {
        const struct check *one = &trial->preparation.checks.list[i];
        if (!one->ok) {
            assert_string_equal(one->code, CHECK_DAEMON);
            trial->what = one->what;
            trial->remedy = one->remedy;
        }
    }
}

/* MD-7: a folder in the private /tmp or beneath --writable, one for both. */
static void a_place_that_may_be_is_planned(void **state)
{
    struct trial trial;
    with_string wanted = memory_format("%s/data", folder);
    prepare_it(&trial, "graphd=true,data/s,data/l", &offer);
    assert_null(trial.what);
    assert_int_equal(trial.preparation.daemon_count, 1);
    assert_string_equal(trial.preparation.wishes[0].name, "graphd");
    assert_string_equal(trial.preparation.wishes[0].folder, wanted);
    assert_string_equal(trial.preparation.wishes[0].socket, "s");
    assert_string_equal(trial.preparation.wishes[0].lock, "l");
    assert_true(trial.preparation.wishes[0].executable->inode > 0);
    preparation_done(&trial.preparation);
    prepare_it(&trial, "graphd=/usr/bin/true,/tmp/w/s,/tmp/w/l", &offer);
    assert_null(trial.what);
    assert_string_equal(trial.preparation.wishes[0].folder, "/tmp/w");
    preparation_done(&trial.preparation);
}

static void everything_else_is_refused_before_the_start(void **state)
{
    static const char place[] = "another place for";
    static const char program[] = "declare a program";
    static const struct {
        const char *declared;
        const char *words;
        const char *remedy;
    } rows[] = {
        {"graphd=true,s,l", "is no folder that may hold its socket", place},
        {"graphd=true,/usr/s,/usr/l", "is no folder that may hold its socket", place},
        {"graphd=true,data/.git/s,data/.git/l", "is no folder that may hold its socket", place},
        {"graphd=true,data/../data/s,data/../data/l", "is no folder that may hold its socket",
         place},
        {"graphd=true,data/s,/tmp/l", "two names in one folder", place},
        {"graphd=true,data/s,data/s", "two names in one folder", place},
        {"graphd=true,data/,data/l", "is no name of a file", place},
        {"graphd=true,data/..,data/l", "is no name of a file", place},
        {"graphd=no-such-program,data/s,data/l", "no-such-program", program},
        {"graphd=./script,data/s,data/l", "is a script", program},
    };
    struct trial trial;
    for (size_t i = 0; i < countof(rows); i++) {
        prepare_it(&trial, rows[i].declared, &offer);
        if (!trial.what || !strstr(trial.what, rows[i].words)) {
            fail_msg("%s: %s", rows[i].declared, trial.what ? trial.what : "taken");
        }
        assert_non_null(strstr(trial.what, "daemon 'graphd'"));
        assert_non_null(strstr(trial.remedy, rows[i].remedy));
        preparation_done(&trial.preparation);
    }
    static const struct scope_offer none = {.adapter = SCOPE_NONE};
    prepare_it(&trial, "graphd=true,data/s,data/l", &none);
    assert_non_null(strstr(trial.what, "no scope"));
    preparation_done(&trial.preparation);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* MD-1: a name alone is the daemon that the project declares, by the paths of its folder. */
static void a_name_is_what_the_project_declares(void **state)
{
    struct trial trial;
    with_string wanted = memory_format("%s/data", folder);
    with_string file = memory_format("%s/berm.yaml", folder);
    with_string copy = memory_format("cp /bin/true %s/server", folder);
    assert_int_equal(system(copy), 0);
    prepare_it(&trial, "graphd", &offer);
    assert_non_null(strstr(trial.what, "there is no berm.yaml that declares it"));
    preparation_done(&trial.preparation);
    write_file(file,
               "schema: 1\ndaemon:\n  graphd: { exec: server, socket: data/s, lock: data/l }\n");
    prepare_it(&trial, "graphd", &offer);
    assert_null(trial.what);
    assert_string_equal(trial.preparation.wishes[0].folder, wanted);
    assert_string_equal(trial.preparation.wishes[0].socket, "s");
    assert_string_equal(trial.preparation.wishes[0].lock, "l");
    assert_true(trial.preparation.wishes[0].executable->inode > 0);
    preparation_done(&trial.preparation);
    prepare_it(&trial, "other", &offer);
    assert_non_null(strstr(trial.what, "berm.yaml' declares no such daemon"));
    assert_non_null(strstr(trial.remedy, "under daemon: in berm.yaml"));
    preparation_done(&trial.preparation);
    prepare_it(&trial, "other=true,data/s,data/l", &offer);
    assert_null(trial.what);
    preparation_done(&trial.preparation);
    assert_int_equal(unlink(file), 0);
}

/* TR-5: what runs already is not adopted; a link that leads nowhere is there as well. */
static void what_is_there_already_is_refused(void **state)
{
    struct trial trial;
    with_string lock = memory_format("%s/data/l", folder);
    assert_int_equal(symlink("nowhere", lock), 0);
    prepare_it(&trial, "graphd=true,data/s,data/l", &offer);
    assert_non_null(trial.what);
    assert_non_null(strstr(trial.what, "data/l' is there already"));
    assert_non_null(strstr(trial.remedy, "end what runs already"));
    preparation_done(&trial.preparation);
    assert_int_equal(unlink(lock), 0);
}

static int begin(void **state)
{
    if (!mkdtemp(folder) || chmod(folder, 0755) < 0) {
        return -1;
    }
    with_string data = memory_format("%s/data", folder);
    with_string git = memory_format("%s/data/.git", folder);
    with_string script = memory_format("%s/script", folder);
    FILE *file = fopen(script, "we");
    return mkdir(data, 0777) || mkdir(git, 0777) || !file || fputs("#!/bin/sh\n", file) < 0 ||
           fclose(file) || chmod(script, 0755);
}

static int end(void **state)
{
    with_string command = memory_format("rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_declaration_is_whole),
        cmocka_unit_test(a_place_that_may_be_is_planned),
        cmocka_unit_test(everything_else_is_refused_before_the_start),
        cmocka_unit_test(a_name_is_what_the_project_declares),
        cmocka_unit_test(what_is_there_already_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
