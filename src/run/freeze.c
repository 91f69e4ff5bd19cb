/* What a run at a tier runs, frozen: the identity of the work and the copy of its source, which stands in the place of
 * the repository. What the run is called afterwards is what was frozen before, whatever became of the checkout. */
#include "qualification.h"
#include "run-priv.h"

#include <string.h>

#include "archive.h"
#include "boundary.h"
#include "memory.h"
#include "process.h"

enum { PROGRAMS = 8, COPIES_KEPT = 16, SCRATCH_ENTRIES = 10000 };

static void refuse(struct run *run, const char *saw, const struct err *err, const char *remedy)
{
    checks_add_take(&run->preparation.checks, CHECK_FROZEN, false, memory_copy_string(err->msg),
                    memory_copy_string(saw), memory_copy_string(remedy));
}

/* Beside what the message itself says to that. */
static const char *remedy_of(enum err_code code)
{
    static const char *const remedies[ERR_CODE_COUNT] = {
        [ERR_CHANGED] =
            "let nobody change the repository or what is sealed meanwhile, and run it again",
        [ERR_OVER_BUDGET] =
            "leave out of the source what the work does not need: name it in a .gitignore",
        [ERR_CONFLICT] = "wait until the other berm has ended, and run it again",
        [ERR_NOT_FOUND] =
            "make what is named and is not there, or leave it out of berm.yaml or the command",
        [ERR_CORRUPT] =
            "mend what is named, or move it away when it lies in berm's state folder; and run it "
            "again",
    };
    return remedies[code] ? remedies[code]
                          : "change what is named, in the repository, in berm.yaml or in the "
                            "command, and run it again";
}

/* What berm could not do is its own failure, everything else an answer to what was asked. */
static int answer(struct run *run, const struct err *why, struct err *err)
{
    if (strcmp(err_code_family(why->code), "failed") == 0) {
        return err_set(err, why->code, "%s", why->msg);
    }
    refuse(run, "", why, remedy_of(why->code));
    return 0;
}

/* The user of a sandbox that root makes cannot reach root's own state, where the copy lies. */
static bool is_ordinary_user(struct run *run)
{
    if (os_geteuid() != 0) {
        return true;
    }
    struct err err = {0};
    (void)err_set(&err, ERR_REFUSED, "root starts no work at a tier");
    refuse(run, "the frozen copy lies in berm's state, which is root's alone", &err,
           "run berm itself as the user that the work is of");
    return false;
}

static int open_places(struct run *run, struct err *err)
{
    struct run_freeze *freeze = &run->tier.freeze;
    int cwd_fd = fd_num(&run->preparation.cwd);
    with_string state = archive_state_folder(run->request->environment, err);
    return state && bfs_dir_open(AT_FDCWD, state, BFS_TRUST_OWN, &freeze->state, err) == 0 &&
                   snapshot_find_root(cwd_fd, &freeze->state, &freeze->root, err) == 0
               ? bfs_dir_open(cwd_fd, ".", BFS_TRUST_ANY, &freeze->cwd, err)
               : -1;
}

/* Where the working folder lies in the repository: empty, or without a slash at its end. */
static const char *way_down(const struct run_freeze *freeze)
{
    const char *below = freeze->cwd.path + strlen(freeze->root.path);
    return below + strspn(below, "/");
}

/* --- the identity ------------------------------------------------------------------------------- */

/* By the paths that the command knows: berm's own state is in no identity. */
static size_t list_programs(const struct preparation *preparation, struct strvec *ret_paths,
                            struct frozen_program *programs)
{
    const struct binding *binding = preparation->binding;
    size_t count = binding_file_count(binding);
    BUG_IF(count > PROGRAMS);
    for (size_t i = 0; i < count; i++) {
        with_string path = sandbox_inside(preparation->sandbox, binding_file_path(binding, i));
        strvec_push(ret_paths, path);
    }
    for (size_t i = 0; i < count; i++) {
        programs[i] = (struct frozen_program){ret_paths->strings[i],
                                              binding_file_identity(binding, i)->sha256};
    }
    return count;
}

static void include(const struct run_freeze *freeze, const char *path, struct strvec *ret_paths)
{
    const char *below = way_down(freeze);
    strvec_push_format(ret_paths, "%s%s%s", below, below[0] ? "/" : "", path);
}

/* Ignored or not: what the work is told by, and what its declaration names. */
static void list_included(const struct run *run, const struct sealed_inputs *sealed,
                          struct strvec *ret_paths)
{
    const struct run_freeze *freeze = &run->tier.freeze;
    const struct strvec *dependencies = &run->preparation.entrypoint->dependencies;
    strvec_push_all(ret_paths, (char *const *)(uintptr_t)frozen_include(freeze->inputs));
    include(freeze, "berm.yaml", ret_paths);
    for (size_t i = 0; i < sealed->manifests.count; i += 2) {
        include(freeze, sealed->manifests.strings[i], ret_paths);
    }
    for (size_t i = 0; i < dependencies->count; i++) {
        include(freeze, dependencies->strings[i], ret_paths);
    }
}

static int check_held(const struct run_freeze *freeze, const char *name, const char *digest,
                      struct err *err)
{
    bool executable = false;
    with_strvec path = {0};
    include(freeze, name, &path);
    const char *held = snapshot_file(freeze->snapshot, path.strings[0], &executable);
    return held && strcmp(held, digest) == 0
               ? 0
               : err_set(err, ERR_CHANGED, "'%s' changed while it was frozen: run it again",
                         path.strings[0]);
}

/* What the work was declared by, and the pins of its sealed inputs, are what the copy holds (EP-1, SI-4). */
static int check_declared(const struct run *run, const struct sealed_inputs *sealed,
                          struct err *err)
{
    const struct run_freeze *freeze = &run->tier.freeze;
    int result = check_held(freeze, "berm.yaml", run->preparation.project.digest, err);
    for (size_t i = 0; i < sealed->manifests.count && result == 0; i += 2) {
        result =
            check_held(freeze, sealed->manifests.strings[i], sealed->manifests.strings[i + 1], err);
    }
    return result;
}

/* Each run writes another one, and would be other work than the one before. */
static int check_report(const struct run *run, struct err *err)
{
    const struct run_freeze *freeze = &run->tier.freeze;
    const char *report = run->facts.report_file;
    size_t n = strlen(freeze->root.path);
    bool executable = false;
    return report && strncmp(report, freeze->root.path, n) == 0 && report[n] == '/' &&
                   snapshot_file(freeze->snapshot, report + n + 1, &executable)
               ? err_set(
                     err, ERR_REFUSED,
                     "the report '%s' is a file of the source that is frozen: put it outside of "
                     "the repository, or where .gitignore leaves it out",
                     report)
               : 0;
}

static int take(struct run *run, const struct sealed_inputs *sealed, struct err *err)
{
    struct run_freeze *freeze = &run->tier.freeze;
    with_strvec included = {0};
    list_included(run, sealed, &included);
    const struct snapshot_request wanted = {
        .root = &freeze->root,
        .state = &freeze->state,
        .limits = SNAPSHOT_LIMITS,
        .include = (const char *const *)strvec_argv(&included),
    };
    if (snapshot_take(&wanted, &freeze->snapshot, err) < 0) {
        return -1;
    }
    os_boundary(BOUNDARY_SNAPSHOT_TAKEN);
    return check_report(run, err) < 0 ? -1 : check_declared(run, sealed, err);
}

static int identify(struct run *run, struct err *err)
{
    struct run_freeze *freeze = &run->tier.freeze;
    const struct preparation *preparation = &run->preparation;
    struct frozen_program programs[PROGRAMS];
    with_sealed_inputs sealed = {0};
    with_strvec paths = {0};
    const struct toolchain *toolchain = preparation->toolchain;
    with_string build = qualification_build(err);
    if (!build || run_sealed_read(preparation->entrypoint, run->request->argv, &freeze->cwd,
                                  &sealed, err) < 0) {
        return -1;
    }
    const struct frozen_work work = {
        .argv = run->request->argv,
        .programs = programs,
        .program_count = list_programs(preparation, &paths, programs),
        .cwd = &freeze->cwd,
        .sealed = sealed.list,
        .sealed_count = sealed.count,
        .environment = environment_envp(&preparation->environment),
        .toolchain = toolchain ? toolchain_facts(toolchain)->digest : NULL,
        .runner_build = build,
        /* Its name is no part: it is the caller's to choose, and would lead around a fence. Promotions are kept
         * under it beside the identity. */
        .workload = NULL,
    };
    if (frozen_read_inputs(&work, &freeze->root, &freeze->inputs, err) < 0 ||
        take(run, &sealed, err) < 0) {
        return -1;
    }
    return frozen_identity(&work, freeze->inputs, freeze->snapshot, run->tier.frozen, err);
}

/* --- the copy ----------------------------------------------------------------------------------- */

static int open_copy(struct run_freeze *freeze, struct err *err)
{
    const char *below = way_down(freeze);
    int top = snapshot_tree_fd(freeze->snapshot);
    if (bfs_dir_open(top, ".", BFS_TRUST_ANY, &freeze->copy, err) < 0) {
        return -1;
    }
    return below[0] ? bfs_dir_open_beneath(&freeze->copy, below, &freeze->copy_cwd, err)
                    : bfs_dir_open(top, ".", BFS_TRUST_ANY, &freeze->copy_cwd, err);
}

/* What was found in the checkout is found in the copy, with the same interpreters. */
static int compare_programs(const struct binding *binding, const struct strvec *before,
                            struct err *err)
{
    size_t count = binding_file_count(binding);
    for (size_t i = 0; i < count && count == before->count; i++) {
        if (strcmp(binding_file_identity(binding, i)->sha256, before->strings[i]) != 0) {
            return err_set(err, ERR_CHANGED, "'%s' changed while it was frozen",
                           binding_file_path(binding, i));
        }
    }
    return count == before->count
               ? 0
               : err_set(err, ERR_CHANGED, "what interprets '%s' changed while it was frozen",
                         binding_file_path(binding, 0));
}

/* SB-3: what lies in the scratch is seen as it is now. So nothing of it may be what was frozen, but the files that
 * keep the folder. */
static int check_scratch(const struct run *run, struct err *err)
{
    static const char *const keepers[] = {".gitignore", ".gitkeep", ".keep"};
    const char *scratch = run->preparation.entrypoint->scratch;
    with_bfs_dir frozen = {0};
    with_strvec names = {0};
    if (!run->preparation.scratch.path) {
        return 0;
    }
    if (bfs_dir_open_beneath(&run->tier.freeze.copy_cwd, scratch, &frozen, NULL) < 0) {
        return 0; /* the plan says that there is no place for it */
    }
    if (bfs_list(&frozen, SCRATCH_ENTRIES, &names, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        bool keeps = false;
        for (size_t j = 0; j < countof(keepers); j++) {
            keeps = keeps || strcmp(names.strings[i], keepers[j]) == 0;
        }
        if (!keeps) {
            return err_set(
                err, ERR_REFUSED,
                "'%s/%s' is a part of the source that is frozen, and the scratch holds only "
                "what git ignores: move it, or name it in a .gitignore",
                scratch, names.strings[i]);
        }
    }
    return 0;
}

static int plan_again(struct run *run, struct err *err)
{
    struct run_freeze *freeze = &run->tier.freeze;
    struct preparation *preparation = &run->preparation;
    with_strvec before = {0};
    for (size_t i = 0; i < binding_file_count(preparation->binding); i++) {
        strvec_push(&before, binding_file_identity(preparation->binding, i)->sha256);
    }
    preparation->frozen = (struct frozen_place){
        .source = {.fd = bfs_dir_fd(&freeze->copy),
                   .copy = freeze->copy.path,
                   .place = freeze->root.path,
                   .is_project = true},
        .cwd_fd = bfs_dir_fd(&freeze->copy_cwd),
        .cwd_path = freeze->copy_cwd.path,
    };
    prepare_frozen(preparation);
    return preparation->binding ? compare_programs(preparation->binding, &before, err) : 0;
}

static void tell(struct run *run, int64_t began_ns)
{
    struct report_frozen *facts = &run->tier.freeze.facts;
    const struct snapshot *snapshot = run->tier.freeze.snapshot;
    struct snapshot_figures figures = snapshot_figures(snapshot);
    *facts = (struct report_frozen){
        .entries = (int64_t)figures.entries,
        .bytes = (int64_t)figures.bytes,
        .files_read = (int64_t)figures.files_read,
        .files_copied = (int64_t)figures.files_copied,
        .took_ns = run->request->clock->monotonic_ns() - began_ns,
    };
    memcpy(facts->identity, run->tier.frozen, sizeof facts->identity);
    memcpy(facts->source, snapshot_digest(snapshot), sizeof facts->source);
    run->facts.frozen = facts;
}

int run_freeze(struct run *run, struct err *err)
{
    struct err why = {0};
    int64_t began_ns = run->request->clock->monotonic_ns();
    if (!is_ordinary_user(run)) {
        return 0;
    }
    if (open_places(run, &why) < 0 || identify(run, &why) < 0 ||
        open_copy(&run->tier.freeze, &why) < 0 || check_scratch(run, &why) < 0) {
        return answer(run, &why, err);
    }
    if (!run_project_judge_copy(run->request, &run->preparation, &run->tier.freeze.copy_cwd)) {
        return 0; /* what was audited in the checkout is another */
    }
    tell(run, began_ns);
    return plan_again(run, &why) < 0 ? answer(run, &why, err) : 0;
}

static int check_toolchain(const struct run *run, struct err *err)
{
    const struct toolchain *toolchain = run->preparation.toolchain;
    return toolchain ? toolchain_check(toolchain, err) : 0;
}

int run_freeze_check(struct run *run, struct err *err)
{
    struct run_freeze *freeze = &run->tier.freeze;
    int64_t began_ns = run->request->clock->monotonic_ns();
    int result = frozen_check(freeze->inputs, freeze->snapshot, err);
    result = result < 0 ? result : check_toolchain(run, err);
    freeze->facts.check_ns = run->request->clock->monotonic_ns() - began_ns;
    return result;
}

int run_freeze_ended(struct run *run, struct err *err)
{
    struct run_freeze *freeze = &run->tier.freeze;
    freeze->facts.copy_changed =
        snapshot_check_tree(freeze->snapshot, err) < 0 || check_toolchain(run, err) < 0;
    return freeze->facts.copy_changed ? -1 : 0;
}

void run_freeze_prune(const struct run *run)
{
    struct err ignored = {0};
    const struct bfs_dir *state = &run->tier.freeze.state;
    if (fd_is_open(&state->fd)) {
        (void)!snapshot_prune(state, COPIES_KEPT, &ignored); /* the next run tries again */
    }
}

void run_freeze_done(struct run_freeze *freeze)
{
    snapshot_free(freeze->snapshot);
    frozen_inputs_free(freeze->inputs);
    bfs_dir_done(&freeze->copy_cwd);
    bfs_dir_done(&freeze->copy);
    bfs_dir_done(&freeze->cwd);
    bfs_dir_done(&freeze->root);
    bfs_dir_done(&freeze->state);
    *freeze = (struct run_freeze){0};
}
