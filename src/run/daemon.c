/* What a run declares as its daemons: NAME=EXEC,SOCKET,LOCK, or the NAME of one that its project declares; judged
 * before anything is started. */
#include "run-priv.h"

#include <errno.h>
#include <string.h>

#include "memory.h"

/* Its paths are of the project's folder. */
static int take_declared(const struct project *project, const struct run_daemon *daemon,
                         char *parts[RUN_DAEMON_PARTS], struct err *err)
{
    const struct project_daemon *declared =
        project->present ? form_find(&project->daemon, sizeof *declared, daemon->name) : NULL;
    if (!declared) {
        return project->present
                   ? err_set(err, ERR_REFUSED, "'%s' declares no such daemon", project->path)
                   : err_set(err, ERR_REFUSED, "there is no berm.yaml that declares it");
    }
    parts[PART_EXEC] = memory_format("%s/%s", project->root, declared->exec);
    parts[PART_SOCKET] = memory_format("%s/%s", project->root, declared->socket);
    parts[PART_LOCK] = memory_format("%s/%s", project->root, declared->lock);
    return 0;
}

/* --- places ------------------------------------------------------------------------------------- */

/* Folder and name of a path, which starts at cwd when it is relative. */
static int split(const char *cwd, const char *path, char **ret_folder, char **ret_name,
                 struct err *err)
{
    with_string whole =
        path[0] == '/' ? memory_copy_string(path) : memory_format("%s/%s", cwd, path);
    char *slash = strrchr(whole, '/');
    const char *name = slash + 1;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strlen(name) >= DAEMON_FILE_NAME_SIZE || strlen(whole) >= DAEMON_PATH_SIZE) {
        return err_set(err, ERR_REFUSED, "'%s' is no name of a file, or is too long", path);
    }
    *ret_name = memory_copy_string(name);
    *slash = '\0';
    *ret_folder = memory_copy_string(slash == whole ? "/" : whole);
    return 0;
}

static int place(const struct preparation *preparation, struct run_daemon *daemon,
                 char *const parts[RUN_DAEMON_PARTS], struct err *err)
{
    with_string other = NULL;
    const char *rest = NULL;
    int fd = -1;
    if (split(preparation->cwd_path, parts[PART_SOCKET], &daemon->folder, &daemon->socket, err) <
            0 ||
        split(preparation->cwd_path, parts[PART_LOCK], &other, &daemon->lock, err) < 0) {
        return -1;
    }
    if (strcmp(daemon->folder, other) != 0 || strcmp(daemon->socket, daemon->lock) == 0) {
        return err_set(err, ERR_REFUSED,
                       "socket and lock must be two names in one folder, not '%s' "
                       "and '%s'",
                       parts[PART_SOCKET], parts[PART_LOCK]);
    }
    return sandbox_place_of(preparation->sandbox, daemon->folder, &fd, &rest) == SANDBOX_NOWHERE
               ? err_set(
                     err, ERR_REFUSED,
                     "'%s' is no folder that may hold its socket: one of --writable, or /tmp of "
                     "the sandbox, by its physical path and outside of .git and .berm",
                     daemon->folder)
               : 0;
}

/* TR-5: it cannot be adopted. */
static int check_absent(const struct preparation *preparation, const struct run_daemon *daemon,
                        struct err *err)
{
    const char *name = NULL;
    const struct daemon_wish wish = {
        .folder = daemon->folder, .socket = daemon->socket, .lock = daemon->lock};
    int result = daemon_look_absent(preparation->sandbox, &wish, &name);
    return result == 0 ? 0
           : result == -EEXIST
               ? err_set(err, ERR_REFUSED,
                         "'%s/%s' is there already: it runs outside of this run, or died without "
                         "removing it",
                         daemon->folder, name)
               : err_sys(err, result, "cannot look whether '%s/%s' is there", daemon->folder, name);
}

/* --- the program -------------------------------------------------------------------------------- */

static int bind_program(const struct run_request *request, const struct preparation *preparation,
                        struct run_daemon *daemon, char *exec, struct err *err)
{
    char *const argv[] = {exec, NULL};
    const struct binding_request wanted = {
        .name = exec,
        .argv = argv,
        .cwd_fd = fd_num(&preparation->cwd),
        .cwd_path = preparation->cwd_path,
        .environment = environment_envp(&preparation->environment),
        .policy = request->authority == AUTHORITY_PERSON ? POLICY_TRUSTED_HOST_TOOL
                                                         : POLICY_PROJECT_BOUND,
        .roots = (const char *const *)request->roots,
        .own_authority = request->authority == AUTHORITY_PERSON,
    };
    daemon->binding = binding_resolve(&wanted, err);
    if (!daemon->binding) {
        return -1;
    }
    return binding_file_count(daemon->binding) == 1
               ? 0
               : err_set(
                     err, ERR_REFUSED,
                     "'%s' is a script, and of a script the kernel shows its interpreter: declare "
                     "'%s'",
                     exec,
                     binding_file_path(daemon->binding, binding_file_count(daemon->binding) - 1));
}

/* --- all of them -------------------------------------------------------------------------------- */

/* *reterr_remedy: of what failed. */
static int prepare_one(const struct run_request *request, const struct preparation *preparation,
                       const char *text, struct run_daemon *daemon, const char **reterr_remedy,
                       struct err *err)
{
    char *parts[RUN_DAEMON_PARTS] = {0};
    *reterr_remedy = "declare it as NAME=EXEC,SOCKET,LOCK, or under daemon: in berm.yaml";
    int result = run_daemon_parse(text, daemon, parts, err);
    if (result == 0 && !parts[PART_EXEC]) {
        result = take_declared(&preparation->project, daemon, parts, err);
    }
    if (result == 0) {
        *reterr_remedy = "declare another place for its socket and its lock";
        result = place(preparation, daemon, parts, err);
    }
    if (result == 0) {
        result = check_absent(preparation, daemon, err);
        *reterr_remedy = err->code == ERR_SYS ? "declare a place that you may look into"
                                              : "end what runs already and remove its socket and "
                                                "lock, or declare another place";
    }
    if (result == 0) {
        *reterr_remedy = "declare a program that is there and may be executed";
        result = bind_program(request, preparation, daemon, parts[PART_EXEC], err);
    }
    for (int i = 0; i < RUN_DAEMON_PARTS; i++) {
        memory_free(parts[i]);
    }
    return result;
}

static void refuse(struct preparation *preparation, const char *name, const char *what,
                   const char *remedy)
{
    checks_add_take(&preparation->checks, CHECK_DAEMON, false,
                    memory_format("daemon '%s': %s", name, what), memory_copy_string(""),
                    memory_copy_string(remedy));
}

void run_daemons_prepare(const struct run_request *request, struct preparation *preparation)
{
    bool has_scope = preparation->offer && preparation->offer->adapter != SCOPE_NONE;
    for (size_t i = 0; request->daemons && request->daemons[i]; i++) {
        struct run_daemon *daemon = &preparation->daemons[preparation->daemon_count++];
        struct err err = {0};
        const char *remedy = NULL;
        if (prepare_one(request, preparation, request->daemons[i], daemon, &remedy, &err) < 0) {
            refuse(preparation, daemon->name ? daemon->name : "", err.msg, remedy);
        } else if (!has_scope) {
            refuse(preparation, daemon->name,
                   "no scope holds the run, so nobody can tell who it is",
                   "name a cgroup with --cgroup-parent; `berm envelope` says what is missing");
        }
        preparation->wishes[i] = (struct daemon_wish){
            .name = daemon->name,
            .executable = daemon->binding ? binding_file_identity(daemon->binding, 0) : NULL,
            .folder = daemon->folder,
            .socket = daemon->socket,
            .lock = daemon->lock};
    }
}

void run_daemons_done(struct preparation *preparation)
{
    for (size_t i = 0; i < preparation->daemon_count; i++) {
        struct run_daemon *daemon = &preparation->daemons[i];
        memory_free(daemon->name);
        memory_free(daemon->folder);
        memory_free(daemon->socket);
        memory_free(daemon->lock);
        binding_free(daemon->binding);
        *daemon = (struct run_daemon){0};
    }
    preparation->daemon_count = 0;
}
