#include "run-priv.h"

#include <fcntl.h>
#include <string.h>

#include "archive.h"
#include "file.h"
#include "memory.h"
#include "path.h"
#include "process.h"
#include "text.h"
#include "user.h"

/* A check that failed is a refusal, whatever error told of it; the error itself is kept only where
 * it says more, so that a command that was not found is answered as a shell answers it. */
static void refuse(struct preparation *preparation, const char *code, const struct err *err,
                   const char *remedy)
{
    checks_add_take(&preparation->checks, code, false, memory_copy_string(err->msg),
                    memory_copy_string(""), memory_copy_string(remedy));
    bool refusal = strcmp(err_code_family(err->code), "refused") == 0 ||
                   strcmp(err_code_family(err->code), "usage") == 0;
    if (refusal && preparation->failure.code == ERR_NONE) {
        preparation->failure = *err;
    }
}

/* The descriptor first; its name is asked of the kernel, so that both are the same folder. */
static int open_cwd(const struct run_request *request, struct preparation *preparation,
                    struct err *err)
{
    const char *wanted = request->cwd ? request->cwd : ".";
    preparation->cwd = fd_adopt(os_openat(AT_FDCWD, wanted, O_PATH | O_DIRECTORY, 0));
    if (!fd_is_open(&preparation->cwd)) {
        return err_sys(err, fd_error(&preparation->cwd), "working folder '%s'", wanted);
    }
    char own_fd[64];
    with_buf text = buf_new(sizeof own_fd);
    buf_add_format(&text, "/proc/self/fd/%d", fd_num(&preparation->cwd));
    ssize_t length = os_readlinkat(AT_FDCWD, buf_string(&text), preparation->cwd_path,
                                   sizeof preparation->cwd_path);
    if (length < 0) {
        return err_sys(err, (int)length, "name of the working folder '%s'", wanted);
    }
    struct stat here;
    struct stat named;
    int result = os_fstat(fd_num(&preparation->cwd), &here);
    if (result < 0) {
        return err_sys(err, result, "working folder '%s'", wanted);
    }
    if (here.st_nlink == 0 || os_stat_entry(AT_FDCWD, preparation->cwd_path, &named) < 0 ||
        named.st_dev != here.st_dev || named.st_ino != here.st_ino) {
        return err_set(err, ERR_CHANGED, "the working folder '%s' was removed", wanted);
    }
    for (char *const *root = request->roots; root && *root; root++) {
        if (path_is_beneath(preparation->cwd_path, *root)) {
            return 0;
        }
    }
    return request->roots ? err_set(err, ERR_REFUSED, "'%s' lies in none of the working roots",
                                    preparation->cwd_path)
                          : 0;
}

static int open_stdin(const struct run_request *request, struct preparation *preparation,
                      struct err *err)
{
    const char *path = "/dev/null";
    switch (request->stdin_mode) {
    case RUN_STDIN_INHERIT:
        preparation->standard_input = fd_adopt(os_dup_above(0, 3));
        if (!fd_is_open(&preparation->standard_input)) {
            return err_sys(err, fd_error(&preparation->standard_input), "--stdin inherit");
        }
        return 0;
    case RUN_STDIN_FILE:
        path = request->stdin_path;
        break;
    case RUN_STDIN_NULL:
    default:
        break;
    }
    /* A FIFO without a writer must not block berm: its reader becomes a blocking one afterwards. */
    preparation->standard_input =
        fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0));
    if (!fd_is_open(&preparation->standard_input)) {
        return err_sys(err, fd_error(&preparation->standard_input), "--stdin '%s'", path);
    }
    struct stat stat;
    int result = os_fstat(fd_num(&preparation->standard_input), &stat);
    if (result < 0) {
        return err_sys(err, result, "--stdin '%s'", path);
    }
    if (S_ISDIR(stat.st_mode)) {
        return err_set(err, ERR_REFUSED, "--stdin '%s' is a folder", path);
    }
    result = os_set_nonblocking(fd_num(&preparation->standard_input), false);
    return result < 0 ? err_sys(err, result, "--stdin '%s'", path) : 0;
}

/* It was staged before, and is what was staged. */
static void prepare_toolchain(const struct run_request *request, struct preparation *preparation)
{
    struct err err = {0};
    with_bfs_dir state = {0};
    const char *name = preparation->entrypoint ? preparation->entrypoint->toolchain : NULL;
    with_string path = name ? archive_state_folder(request->environment, &err) : NULL;
    if (!name) {
        return;
    }
    if (!path || bfs_dir_open(AT_FDCWD, path, BFS_TRUST_OWN, &state, &err) < 0 ||
        toolchain_open(&state, name, &preparation->toolchain, &err) < 0) {
        with_string remedy =
            memory_format("stage it: berm toolchain stage DIR --name %s, DIR with its bin", name);
        refuse(preparation, CHECK_TOOLCHAIN, &err, remedy);
    }
}

static void prepare_environment(const struct run_request *request, struct preparation *preparation)
{
    const struct project_entrypoint *entrypoint = preparation->entrypoint;
    with_strvec declared = {0};
    const struct toolchain *toolchain = preparation->toolchain;
    environment_declare(toolchain ? toolchain_facts(toolchain)->source : NULL, &declared);
    struct environment_request wanted = {
        .inherited = entrypoint ? strvec_argv(&declared) : request->environment,
        .overrides = entrypoint ? &entrypoint->environment : &request->overrides,
        .pass_all = request->env_all};
    struct err err = {0};
    if (environment_build(&wanted, &preparation->environment, &err) < 0) {
        refuse(preparation, CHECK_ENVIRONMENT, &err,
               "leave the variable out of --env; it would steer programs that did not ask for it");
        /* The command is looked for all the same, so that every reason is told and none twice. */
        wanted.overrides = NULL;
        if (environment_build(&wanted, &preparation->environment, &err) < 0) {
            preparation->environment = (struct environment){0};
        }
    }
}

/* Beside what the message itself says to that. */
static const char *remedy_of(const struct preparation *preparation, enum err_code code)
{
    if (preparation->entrypoint) {
        return "an interpreter of another place is staged: berm toolchain stage DIR, and "
               "toolchain: NAME at the entrypoint in berm.yaml";
    }
    static const char *const remedies[ERR_CODE_COUNT] = {
        [ERR_NOT_FOUND] =
            "give the path of a program, or a name that is in one of the folders of PATH",
        [ERR_NOT_EXECUTABLE] = "make it executable, or name the program that runs it before it",
        [ERR_CHANGED] = "let nobody change it meanwhile, and run it again",
    };
    return remedies[code]
               ? remedies[code]
               : "give a program that this user may read and execute, and nobody else may change";
}

/* In the frozen copy when there is one, else in the working folder. */
static void prepare_binding(const struct run_request *request, struct preparation *preparation)
{
    if (request->tier != CONTEXT_TIER_NONE && !preparation->entrypoint) {
        return; /* it is refused already, and nobody would launch what it names */
    }
    const struct frozen_place *frozen = &preparation->frozen;
    const char *const project[] = {
        frozen->source.copy ? frozen->source.copy : preparation->project.root, NULL};
    /* The first word of an entrypoint is a file of the repository, and nothing that PATH would find. */
    with_string own = preparation->entrypoint ? memory_format("./%s", request->argv[0]) : NULL;
    /* The payload has the path of what was staged, and its files are found in the copy. */
    with_strvec staged = {0};
    if (preparation->toolchain) {
        environment_declare(toolchain_tree(preparation->toolchain)->path, &staged);
    }
    struct binding_request wanted = {
        .name = own ? own : request->argv[0],
        .argv = request->argv,
        .cwd_fd = frozen->source.copy ? frozen->cwd_fd : fd_num(&preparation->cwd),
        .cwd_path = frozen->source.copy ? frozen->cwd_path : preparation->cwd_path,
        .environment = preparation->toolchain ? strvec_argv(&staged)
                                              : environment_envp(&preparation->environment),
        .policy = request->authority == AUTHORITY_PERSON ? POLICY_TRUSTED_HOST_TOOL
                                                         : POLICY_PROJECT_BOUND,
        .roots = preparation->entrypoint ? project : (const char *const *)request->roots,
        .own_authority = request->authority == AUTHORITY_PERSON,
    };
    struct err err = {0};
    preparation->binding = binding_resolve(&wanted, &err);
    if (!preparation->binding) {
        refuse(preparation, CHECK_EXECUTABLE, &err, remedy_of(preparation, err.code));
    }
}

/* Root's own sandbox runs as somebody else. */
static int choose_user(const struct run_request *request, struct sandbox_request *wanted,
                       struct checks *checks)
{
    struct user user;
    struct err err = {0};
    if (os_geteuid() != 0 && !request->user) {
        return 0;
    }
    if (user_resolve(request->user, request->environment, &user, &err) < 0) {
        checks_add_take(checks, CHECK_USER, false, memory_copy_string(err.msg),
                        memory_copy_string("uid 0 without capabilities still writes to /proc/sys"),
                        memory_copy_string("name an ordinary user with --user NAME"));
        return -1;
    }
    wanted->become = true;
    wanted->uid = user.uid;
    wanted->gid = user.gid;
    return 0;
}

static void prepare_sandbox(const struct run_request *request, struct preparation *preparation)
{
    const struct frozen_place *frozen = &preparation->frozen;
    char *scratch[] = {preparation->scratch.path, NULL};
    struct sandbox_request wanted = {
        .cwd_fd = frozen->source.copy ? frozen->cwd_fd : fd_num(&preparation->cwd),
        .cwd_path = preparation->cwd_path,
        .writable = scratch[0] ? scratch : request->writable,
        .readable = request->readable,
        .host_network = request->host_network,
        .gpu = request->gpu,
        .inherited = request->environment,
        .environment = environment_envp(&preparation->environment),
        .state_dir = preparation->state_dir,
        .report = request->report,
        .binding = preparation->binding,
        .private_bytes = preparation->limits.values.temporary_bytes,
        .private_inodes = preparation->limits.values.temporary_files,
        .no_links = request->authority == AUTHORITY_DECLARED,
    };
    size_t sources = 0;
    if (frozen->source.copy) {
        wanted.sources[sources++] = frozen->source;
    }
    if (preparation->toolchain) {
        const struct bfs_dir *tree = toolchain_tree(preparation->toolchain);
        wanted.sources[sources] =
            (struct sandbox_source){.fd = bfs_dir_fd(tree),
                                    .copy = tree->path,
                                    .place = toolchain_facts(preparation->toolchain)->source};
    }
    if (choose_user(request, &wanted, &preparation->checks) < 0) {
        return;
    }
    int64_t began_ns = request->clock->monotonic_ns();
    preparation->sandbox = sandbox_plan(&wanted, &preparation->checks);
    preparation->plan_ns = request->clock->monotonic_ns() - began_ns;
    const struct bfs_facts *folder = &preparation->scratch.facts;
    if (scratch[0] && preparation->sandbox && checks_ok(&preparation->checks) &&
        !sandbox_writes_only(preparation->sandbox, folder->device, folder->inode)) {
        checks_add_take(&preparation->checks, CHECK_ROOTS, false,
                        memory_format("'%s' is another folder than a moment ago", scratch[0]),
                        memory_copy_string("it was replaced while the run was prepared"),
                        memory_copy_string("run it again, and leave it in its place"));
    }
    preparation->contain.sandbox = preparation->sandbox;
}

void prepare_promise(const struct preparation *preparation, struct guarantees *guarantees)
{
    if (preparation->sandbox) {
        sandbox_promise(preparation->sandbox, guarantees);
    }
    if (preparation->offer && preparation->offer->adapter != SCOPE_NONE) {
        contain_hold(preparation->sandbox != NULL, true, guarantees);
    }
}

void prepare_offer(const struct run_request *request, struct scope_offer *ret_offer)
{
    const struct scope_question question = {
        .parent = request->cgroup_parent,
        .runtime_dir = text_variable(request->environment, "XDG_RUNTIME_DIR"),
    };
    scope_probe(&question, ret_offer);
}

/* What was required is measured against what the plan promises; that it holds is verified before the
 * release. */
static void prepare_guarantees(const struct run_request *request, struct preparation *preparation)
{
    struct contain promised = preparation->contain;
    prepare_promise(preparation, &promised.guarantees);
    contain_require(&promised, request->require, &preparation->checks);
    const struct scope_offer *offer = preparation->offer;
    if (request->cgroup_parent && offer && offer->adapter == SCOPE_NONE) {
        bool told = offer->obstacle_count > 0;
        checks_add_take(
            &preparation->checks, CHECK_SCOPE, false,
            memory_format("--cgroup-parent '%s' is not possible", request->cgroup_parent),
            memory_copy_string(told ? offer->obstacles[0].saw : ""),
            memory_copy_string(told ? offer->obstacles[0].remedy
                                    : "name a folder of the cgroup tree that is yours to write"));
    }
}

void prepare_frozen(struct preparation *preparation)
{
    const struct run_request *request = &preparation->wanted;
    sandbox_free(preparation->sandbox);
    binding_free(preparation->binding);
    preparation->contain.sandbox = preparation->sandbox = NULL;
    preparation->binding = NULL;
    prepare_binding(request, preparation);
    if (preparation->binding) {
        prepare_sandbox(request, preparation);
    }
}

void prepare(const struct run_request *asked, struct preparation *preparation)
{
    struct err err = {0};
    preparation->wanted = *asked; /* and what the project wants */
    struct run_request *request = &preparation->wanted;
    const struct os_clock *clock = request->clock;
    if (open_cwd(request, preparation, &err) < 0) {
        refuse(preparation, CHECK_CWD, &err, "give an existing folder with --cwd");
    }
    contain_choose(preparation->offer, &preparation->contain);
    bool here = fd_is_open(&preparation->cwd);
    if (here && checks_ok(&preparation->checks)) {
        run_project_apply(request, preparation);
    }
    preparation->require = request->require;
    if (envelope_read(here ? fd_num(&preparation->cwd) : AT_FDCWD, clock->realtime_ns(),
                      &preparation->envelope, &err) < 0) {
        refuse(preparation, CHECK_HOST, &err, "mount /proc");
    } else {
        preparation->envelope_known = true;
        run_limits_decide(request, &preparation->envelope, &preparation->limits,
                          &preparation->checks);
    }
    prepare_toolchain(request, preparation);
    prepare_environment(request, preparation);
    if (here) {
        prepare_binding(request, preparation);
    }
    if (preparation->binding && preparation->envelope_known && run_wants_sandbox(request)) {
        prepare_sandbox(request, preparation);
    }
    if (preparation->sandbox) {
        run_daemons_prepare(request, preparation);
    }
    if (preparation->envelope_known) {
        prepare_guarantees(request, preparation);
    }
    if (open_stdin(request, preparation, &err) < 0) {
        refuse(preparation, CHECK_STDIN, &err, "give a file that can be read");
    }
}

void preparation_done(struct preparation *preparation)
{
    if (!preparation) {
        return;
    }
    run_daemons_done(preparation);
    sandbox_free(preparation->sandbox);
    toolchain_free(preparation->toolchain);
    bfs_dir_done(&preparation->scratch);
    json_decref(preparation->could);
    project_done(&preparation->project);
    binding_free(preparation->binding);
    environment_done(&preparation->environment);
    checks_done(&preparation->checks);
    strvec_done(&preparation->notes);
    fd_close(&preparation->standard_input);
    fd_close(&preparation->cwd);
    *preparation = (struct preparation){0};
}
