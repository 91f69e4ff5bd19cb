#include "binding-priv.h"

#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

static int read_shebang(const struct bound_file *bound, struct shebang *ret_shebang,
                        struct err *err)
{
    char head[SHEBANG_BYTES];
    ssize_t got = os_pread(bfs_file_fd(&bound->file), head, sizeof head, 0);
    if (got < 0) {
        return err_sys(err, (int)got, "read the start of '%s'", bound->found.walk.canonical);
    }
    shebang_parse(span_of(head, (size_t)got), ret_shebang);
    return 0;
}

/* argv of the interpreter: its name, the one argument of the #! line, the script, and what the
 * script was given. */
static void put_in_front(struct strvec *argv, const char *interpreter, const char *argument,
                         const char *script)
{
    struct strvec longer = {0};
    strvec_push(&longer, interpreter);
    if (argument) {
        strvec_push(&longer, argument);
    }
    strvec_push(&longer, script);
    if (argv->count > 0) {
        strvec_push_all(&longer, strvec_argv(argv) + 1);
    }
    strvec_done(argv);
    *argv = longer;
}

/* The kernel opens the interpreter without any search: a name without a slash is in the working
 * directory. */
static char *interpreter_path(const struct shebang *shebang)
{
    bool plain = !strchr(shebang->interpreter, '/');
    return memory_format("%s%s", plain ? "./" : "", shebang->interpreter);
}

/* A shell says 126 of an interpreter that is missing, and so does berm: the script is there. */
static int interpreter_fails(const struct bound_file *script, const struct shebang *shebang,
                             struct err *err)
{
    size_t length = strlen(shebang->interpreter);
    bool dos =
        (length > 0 && shebang->interpreter[length - 1] == '\r') || strchr(shebang->argument, '\r');
    if (err && err->code == ERR_NOT_FOUND) {
        err->code = ERR_NOT_EXECUTABLE;
    }
    return err_wrap(err, "'%s' needs an interpreter%s", script->found.walk.canonical,
                    dos ? " (its first line ends in CR LF: remove the CR)" : "");
}

/* `#!/usr/bin/env ...`: env must be there, as the kernel would find it, and with a plain NAME it is
 * passed over for what it would start. *ret_name: that NAME, or NULL. */
static int look_through_env(const struct binding_request *request, struct bound_file *script,
                            const struct shebang *shebang, const char **ret_name, struct err *err)
{
    with_found env = {0};
    *ret_name = NULL;
    if (!shebang_is_env(shebang)) {
        return 0;
    }
    if (search_find(request, shebang->interpreter, &env, err) < 0) {
        return interpreter_fails(script, shebang, err);
    }
    *ret_name = shebang_env_name(shebang);
    if (*ret_name) {
        return 0;
    }
    return policy_weakness(
        request, &script->decision, err,
        "'%s' has env choose its interpreter ('%s'), which is not bound: name one "
        "interpreter on its first line",
        script->found.walk.canonical, shebang->argument);
}

/* The next file of the chain: the interpreter of the last one. *ret_more: there was one. */
static int bind_interpreter(const struct binding_request *request, struct binding *binding,
                            bool *ret_more, struct err *err)
{
    struct bound_file *script = &binding->files[binding->file_count - 1];
    struct shebang shebang;
    const char *env_name = NULL;
    if (read_shebang(script, &shebang, err) < 0) {
        return -1;
    }
    *ret_more = shebang.interpreter[0] != '\0';
    if (!*ret_more) {
        return 0;
    }
    if (binding->file_count == BINDING_FILES_MAX) {
        return err_set(err, ERR_NOT_EXECUTABLE,
                       "'%s' has more than %d interpreters one above another",
                       binding->files[0].found.walk.canonical, BINDING_FILES_MAX - 1);
    }
    if (look_through_env(request, script, &shebang, &env_name, err) < 0) {
        return -1;
    }
    with_string path = interpreter_path(&shebang);
    if (bound_file_make(request, POLICY_TRUSTED_HOST_TOOL, env_name ? env_name : path,
                        &binding->files[binding->file_count], err) < 0) {
        return interpreter_fails(script, &shebang, err);
    }
    binding->file_count++;
    bool has_argument = !env_name && shebang.argument[0] != '\0';
    put_in_front(&binding->argv, env_name ? env_name : shebang.interpreter,
                 has_argument ? shebang.argument : NULL, script->found.exec_path);
    return 0;
}

static int check_request(const struct binding_request *request, struct err *err)
{
    if (request->policy == POLICY_EXACT_PATH && request->name[0] != '/') {
        return err_set(err, ERR_REFUSED, "policy exact_path needs an absolute path, not '%s'",
                       request->name);
    }
    return 0;
}

struct binding *binding_resolve(const struct binding_request *request, struct err *err)
{
    with_binding binding = memory_new(sizeof *binding);
    if (check_request(request, err) < 0 ||
        bound_file_make(request, request->policy, request->name, &binding->files[0], err) < 0) {
        return NULL;
    }
    binding->file_count = 1;
    strvec_push_all(&binding->argv, request->argv);
    for (bool more = true; more;) {
        if (bind_interpreter(request, binding, &more, err) < 0) {
            return NULL;
        }
    }
    struct binding *made = binding;
    binding = NULL;
    return made;
}

int binding_revalidate(const struct binding *binding, struct err *err)
{
    for (size_t i = 0; i < binding->file_count; i++) {
        if (bound_file_recheck(&binding->files[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

int binding_exec_fd(const struct binding *binding)
{
    return bfs_file_fd(&binding->files[binding->file_count - 1].file);
}

char *const *binding_argv(const struct binding *binding)
{
    return strvec_argv(&binding->argv);
}

size_t binding_file_count(const struct binding *binding)
{
    return binding->file_count;
}

const char *binding_file_path(const struct binding *binding, size_t index)
{
    BUG_IF(index >= binding->file_count);
    return binding->files[index].found.walk.canonical;
}

const struct file_identity *binding_file_identity(const struct binding *binding, size_t index)
{
    BUG_IF(index >= binding->file_count);
    return &binding->files[index].identity;
}

void binding_free(struct binding *binding)
{
    if (!binding) {
        return;
    }
    for (size_t i = 0; i < BINDING_FILES_MAX; i++) {
        bound_file_done(&binding->files[i]);
    }
    strvec_done(&binding->argv);
    memory_free(binding);
}
