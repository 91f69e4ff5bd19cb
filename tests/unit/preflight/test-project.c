#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "file.h"
#include "memory.h"
#include "project.h"

static const char whole[] =
    "schema: 1\n"
    "require: [managed]\n"
    "entrypoint:\n"
    "  retrieval:\n"
    "    argv: [bench/retrieval, --evaluate]\n"
    "    network: isolated\n"
    "    sealed:\n"
    "      worker:    { flag: --worker, executable: true, max_mib: 256 }\n"
    "      model:     { flag: --model, manifest: bench/model.json, max_mib: 256 }\n"
    "      tokenizer: { flag: --tokenizer, max_mib: 64 }\n"
    "      digest:    { flag: --model-digest, of: model }\n"
    "  fetch:\n"
    "    argv: [\"bench/fetch.sh\", \"--size={size}\"]\n"
    "    parameters: { size: [1000, 100000] }\n"
    "    network: required\n"
    "    network_reason: downloads what it measures\n"
    "    scratch: out\n"
    "    scratch_reason: \"writes there\"\n"
    "daemon:\n"
    "  graphd: { exec: bench/graphd, socket: graphd.sock, lock: graphd.lock }\n"
    "workload:\n"
    "  scan:\n"
    "    argv: [python3, bench.py, --size, \"{size}\"]\n"
    "    parameters: { size: [1000, 100000] }\n"
    "    timeout_s: 60\n"
    "    oracle: { argv: [python3, check.py], strength: contract_check }\n"
    "    structured_output: true\n";

/* EP-1, SB-3, SB-6, SI-1: what the design's example declares is what is read. */
static void a_whole_file_is_read(void **state)
{
    struct err err = {0};
    with_project project = {0};
    if (project_parse(span_of(whole, sizeof whole - 1), "f", &project, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    assert_true(project.present);
    assert_string_equal(project.require.strings[0], "managed");
    const struct project_entrypoint *retrieval =
        form_find(&project.entrypoint, sizeof *retrieval, "retrieval");
    assert_int_equal(retrieval->network, PROJECT_NETWORK_ISOLATED);
    assert_null(retrieval->scratch);
    assert_int_equal(retrieval->sealed.count, 4);
    const struct project_sealed *sealed = retrieval->sealed.items;
    assert_true(sealed[0].executable);
    assert_string_equal(sealed[1].manifest, "bench/model.json");
    assert_int_equal(sealed[2].max_mib, 64);
    assert_string_equal(sealed[3].of, "model");
    const struct project_entrypoint *fetch = form_find(&project.entrypoint, sizeof *fetch, "fetch");
    assert_int_equal(fetch->network, PROJECT_NETWORK_REQUIRED);
    assert_string_equal(fetch->scratch, "out");
    const struct project_parameter *size = fetch->parameters.items;
    assert_string_equal(size->values.strings[1], "100000");
    const struct project_daemon *daemon = project.daemon.items;
    assert_string_equal(daemon->socket, "graphd.sock");
    const struct project_workload *scan = project.workload.items;
    assert_int_equal(scan->timeout_s, 60);
    assert_int_equal(scan->oracle.strength, 1);
    assert_true(scan->structured_output); /* TR-7 */
    assert_int_equal(scan->oracle.item.line, 26);
}

#define HEAD "schema: 1\nentrypoint:\n  e:\n    argv: [run"

/* What one key says of another is checked, and each fault has its line and what to do. */
static void what_does_not_fit_together_is_refused(void **state)
{
    static const struct {
        const char *text;
        const char *wanted;
    } cases[] = {
        {"require: []\n", "f:1:1: the key 'schema' is missing: 1: this format"},
        {"schema: 2\n", "f:1:9: schema: 2 is outside 1 to 1"},
        {"schema: 1\nrequire: [none]\n", "require: 'none' is none of managed, filesystem"},
        {"schema: 1\npolicy: {}\n", "there is no key 'policy' here"},
        {"schema: 1\nentrypoint: {e: {}}\n", "entrypoint.e: the key 'argv' is missing"},
        {"schema: 1\nentrypoint: {e: {argv: []}}\n", "entrypoint.e.argv: 0 items is outside"},
        {"schema: 1\nentrypoint: {e: {argv: ['']}}\n", "the first word must be a file"},
        {"schema: 1\nentrypoint: {e: {argv: ['{x}'], parameters: {x: [a]}}}\n",
         "f:2:14: entrypoint.e: argv: the first word must be a file"},
        {"schema: 1\nentrypoint: {e: {argv: [/bin/ls]}}\n",
         "argv: '/bin/ls' must be a relative path to a file of the repository"},
        {"schema: 1\nentrypoint: {e: {argv: [../x]}}\n", "must be a relative path"},
        {"schema: 1\nentrypoint: {e: {argv: [./x]}}\n", "must be a relative path"},
        {HEAD ", '{x}']\n", "f:3:3: entrypoint.e: argv: {x} is no parameter: declare it"},
        {HEAD ", '{}']\n", "{} is no parameter"},
        {HEAD ", 'a}b']\n", "'a}b' has a brace that belongs to no {PARAMETER}"},
        {HEAD ", 'a{b']\n", "has a brace"},
        {HEAD ", '}{x}']\n    parameters: {x: [1]}\n", "has a brace"},
        {HEAD ", '{x}{']\n    parameters: {x: [1]}\n", "has a brace"},
        {HEAD "]\n    parameters: {x: [1]}\n",
         "f:5:18: entrypoint.x: a parameter of e that no word of its argv uses"},
        {HEAD "]\n    network: required\n", "network needs a network_reason: say why"},
        {HEAD "]\n    network_reason: because\n", "network_reason without network"},
        {HEAD "]\n    network: open\n", "'open' is none of isolated, required"},
        {HEAD "]\n    environment: [A]\n", "environment: 'A' must be NAME=VALUE"},
        {HEAD "]\n    environment: ['=1']\n", "environment: '=1' must be NAME=VALUE"},
        {HEAD "]\n    dependencies: [../lib]\n", "'../lib' must be a relative path"},
        {HEAD "]\n    scratch: out\n", "scratch needs a scratch_reason"},
        {HEAD "]\n    scratch_reason: because\n", "scratch_reason without scratch"},
        {HEAD "]\n    scratch: /tmp\n", "scratch: '/tmp' must be a relative path"},
        {HEAD "]\n    scratch: ../x\n", "must be a relative path"},
        {HEAD "]\n    sealed: {a: {}}\n", "sealed.a: the key 'flag' is missing"},
        {HEAD "]\n    sealed: {a: {flag: --a, of: b}}\n", "f:5:14: sealed.a: of: 'b' is no sealed"},
        {HEAD "]\n    sealed: {a: {flag: --a, of: a}}\n", "of: 'a' is no sealed file"},
        {HEAD "]\n    sealed: {a: {flag: --a, of: b, executable: true}, b: {flag: --b}}\n",
         "a digest is no file"},
        {HEAD "]\n    sealed: {a: {flag: --a}, b: {flag: --a}}\n",
         "sealed.b: flag: '--a' is that of a already"},
        {HEAD ", --a]\n    sealed: {a: {flag: --a}}\n", "flag: '--a' stands in argv"},
        {HEAD "]\n    sealed: {a: {flag: --a, max_mib: 257}}\n",
         "max_mib: 257 is outside 1 to 256"},
        {"schema: 1\ndaemon: {d: {exec: d, socket: s, lock: s}}\n",
         "f:2:10: daemon.d: socket and lock are the same file"},
        {"schema: 1\ndaemon: {d: {exec: d, socket: /run/s, lock: l}}\n", "must be a relative path"},
        {"schema: 1\nworkload: {w: {argv: [a, '{x}']}}\n", "workload.w: argv: {x} is no parameter"},
        {"schema: 1\nworkload: {w: {argv: [a], timeout_s: 0}}\n", "timeout_s: 0 is outside"},
        {"schema: 1\nworkload: {w: {argv: [a], oracle: {argv: ['{x}'], strength: "
         "contract_check}}}\n",
         "oracle of workload.w: argv: the first word"},
        {"schema: 1\nworkload: {w: {argv: [a], oracle: {argv: [b]}}}\n",
         "workload.w.oracle: the key 'strength' is missing"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        with_project project = {0};
        if (project_parse(span_of_string(cases[i].text), "f", &project, &err) == 0 ||
            !strstr(err.msg, cases[i].wanted)) {
            fail_msg("'%s': '%s'", cases[i].text, err.msg);
        }
        assert_false(project.present);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

struct place {
    char dir[64];
    char file[96];
};

static struct place make_place(void)
{
    struct place place = {.dir = "/tmp/berm-project-XXXXXX"};
    assert_non_null(mkdtemp(place.dir));
    (void)snprintf(place.file, sizeof place.file, "%s/berm.yaml", place.dir);
    return place;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_place(const struct place *place)
{
    (void)unlink(place->file);
    assert_int_equal(rmdir(place->dir), 0);
}

static void assert_refused(const struct place *place, const char *wanted)
{
    struct err err = {0};
    with_project project = {0};
    if (project_read(place->dir, &project, &err) == 0 || !strstr(err.msg, wanted)) {
        fail_msg("%d, '%s' instead of '%s'", project.present, err.msg, wanted);
    }
}

static void no_file_is_no_project(void **state)
{
    struct place place = make_place();
    struct err err = {0};
    with_project project = {0};
    assert_int_equal(project_read(place.dir, &project, &err), 0);
    assert_false(project.present);
    write_file(place.file, "schema: 1\n");
    assert_int_equal(project_read(place.dir, &project, &err), 0);
    assert_true(project.present);
    assert_string_equal(project.path, place.file);
    assert_string_equal(project.root, place.dir);
    remove_place(&place);
}

/* FS-4: what is in the place of the file and is no plain one of ours is refused, and nothing blocks. */
static void odd_files_are_refused(void **state)
{
    struct place place = make_place();
    char other[128];
    (void)snprintf(other, sizeof other, "%s/other", place.dir);
    write_file(other, "schema: 1\n");
    assert_int_equal(symlink("other", place.file), 0);
    assert_refused(&place, "a symbolic link");
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(symlink("nowhere", place.file), 0);
    assert_refused(&place, "a symbolic link");
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(link(other, place.file), 0);
    assert_refused(&place, "2 hard links");
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(place.file, 0600), 0);
    assert_refused(&place, "not a regular file");
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(mkdir(place.file, 0700), 0);
    assert_refused(&place, "not a regular file");
    assert_int_equal(rmdir(place.file), 0);
    write_file(place.file, "schema: 1\n");
    assert_int_equal(truncate(place.file, (128 << 10) + 1), 0);
    assert_refused(&place, "more than 131072");
    remove_place(&place);
}

/* A file that somebody else could have written says nothing to this user. */
static void a_file_of_others_is_refused(void **state)
{
    struct place place = make_place();
    write_file(place.file, "schema: 1\n");
    assert_int_equal(chmod(place.file, 0646), 0);
    assert_refused(&place, "everybody may write it (mode 0646): chmod o-w");
    assert_int_equal(chmod(place.file, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(place.file, 12345, 0), 0);
        assert_refused(&place, "it belongs to user 12345");
        struct err err = {0};
        with_project project = {0};
        assert_int_equal(chown(place.dir, 12345, 0), 0); /* root in that user's project */
        assert_int_equal(project_read(place.dir, &project, &err), 0);
        assert_true(project.present);
    }
    remove_place(&place);
}

/* What happens between the look at the file and its bytes. */
static void (*meanwhile)(void);
static struct place moving;

ssize_t __real_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset);

ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset)
{
    void (*act)(void) = meanwhile;
    meanwhile = NULL;
    if (act) {
        act();
    }
    return __real_os_pread(fd, bytes, n, offset);
}

static void write_again(void)
{
    write_file(moving.file, "schema: 1\nrequire: []\n");
}

static void put_another_there(void)
{
    char other[128];
    (void)snprintf(other, sizeof other, "%s/other", moving.dir);
    write_file(other, "schema: 1\n");
    assert_int_equal(rename(other, moving.file), 0);
}

/* FS-2: a file that is changed or exchanged while it is read is not believed. */
static void a_file_that_changes_meanwhile_is_refused(void **state)
{
    static void (*const acts[])(void) = {write_again, put_another_there};
    moving = make_place();
    for (size_t i = 0; i < countof(acts); i++) {
        write_file(moving.file, "schema: 1\nrequire: [managed]\n");
        meanwhile = acts[i];
        struct err err = {0};
        with_project project = {0};
        assert_int_equal(project_read(moving.dir, &project, &err), -1);
        assert_int_equal(err.code, ERR_CHANGED);
        assert_null(meanwhile);
    }
    remove_place(&moving);
}

/* The place of the file is the nearest folder with .git or .berm, or else the working folder itself. */
static void the_nearest_repository_counts(void **state)
{
    struct place place = make_place();
    struct err err = {0};
    with_string git = memory_format("%s/.git", place.dir);
    with_string sub = memory_format("%s/sub", place.dir);
    with_string deep = memory_format("%s/sub/deep", place.dir);
    with_string berm = memory_format("%s/sub/.berm", place.dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    const struct {
        const char *make;
        mode_t mode; /* of place.dir */
        const char *wanted;
    } steps[] = {
        {NULL, 0700, deep},  {git, 0700, place.dir},  {NULL, 0777, deep},
        {NULL, 01777, deep}, {NULL, 0700, place.dir}, {berm, 0700, sub},
    };
    for (size_t i = 0; i < countof(steps); i++) {
        if (steps[i].make) {
            assert_int_equal(mkdir(steps[i].make, 0700), 0);
        }
        assert_int_equal(chmod(place.dir, steps[i].mode), 0);
        with_string root = NULL;
        assert_int_equal(project_find(deep, &root, &err), 0);
        if (strcmp(root, steps[i].wanted) != 0) {
            fail_msg("step %zu: %s", i, root);
        }
    }
    with_string top = NULL;
    assert_int_equal(project_find("/", &top, &err), 0);
    assert_string_equal(top, "/");
    assert_int_equal(rmdir(berm), 0);
    assert_int_equal(rmdir(git), 0);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(sub), 0);
    remove_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_is_read),
        cmocka_unit_test(what_does_not_fit_together_is_refused),
        cmocka_unit_test(no_file_is_no_project),
        cmocka_unit_test(odd_files_are_refused),
        cmocka_unit_test(a_file_of_others_is_refused),
        cmocka_unit_test(a_file_that_changes_meanwhile_is_refused),
        cmocka_unit_test(the_nearest_repository_counts),
    };
    return cmocka_run_group_tests_name("preflight/project", tests, NULL, NULL);
}
