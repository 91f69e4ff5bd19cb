/* The launcher's plan, and the sealed descriptors that the gate hands on. */
#include "sandbox-priv.h"

#include <string.h>

#include "buf.h"
#include "file.h"
#include "helper-image.h"
#include "memory.h"

static uint32_t put(struct buf *text, const char *string)
{
    uint32_t offset = (uint32_t)buf_length(text);
    buf_add(text, string, strlen(string) + 1);
    return offset;
}

static uint32_t put_all(struct buf *text, char *const *strings, uint32_t *ret_count)
{
    uint32_t offset = (uint32_t)buf_length(text);
    *ret_count = 0;
    for (char *const *string = strings; *string; string++, (*ret_count)++) {
        (void)put(text, *string);
    }
    return offset;
}

void sandbox_render_items(const struct sandbox *sandbox, struct buf *items, struct buf *text)
{
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        const struct sandbox_rule *rule = &sandbox->rules[i];
        const struct launch_item item = {
            .kind = (uint32_t)rule->kind,
            .path = put(text, rule->path),
            .device = rule->stat.st_dev,
            .inode = rule->stat.st_ino,
            .type = rule->stat.st_mode & S_IFMT,
        };
        buf_add(items, &item, sizeof item);
    }
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        if (sandbox_is_bare(sandbox, i)) {
            const struct launch_item item = {
                .kind = LAUNCH_MASK, .path = put(text, sandbox->mounts[i].path), .type = S_IFDIR};
            buf_add(items, &item, sizeof item);
        }
    }
}

/* The file that is executed is the last of the chain: the interpreter of a script. */
static struct launch_file file_of(const struct sandbox *sandbox, struct buf *text)
{
    const struct binding *binding = sandbox->binding;
    size_t last = binding_file_count(binding) - 1;
    const struct file_identity *identity = binding_file_identity(binding, last);
    with_string path = sandbox_inside(sandbox, binding_file_path(binding, last));
    return (struct launch_file){
        .path = put(text, path),
        .mode = identity->mode,
        .device = identity->device,
        .inode = identity->inode,
        .size_bytes = identity->size_bytes,
        .mtime_ns = identity->mtime_ns,
        .ctime_ns = identity->ctime_ns,
    };
}

int sandbox_render_plan(const struct sandbox *sandbox, struct buf *out, struct err *err)
{
    with_buf text = buf_new(LAUNCH_TEXT_MAX);
    with_buf items = buf_new(LAUNCH_ITEMS_MAX * sizeof(struct launch_item));
    (void)put(&text, "");
    sandbox_render_items(sandbox, &items, &text);
    struct launch_plan plan = {
        .magic = LAUNCH_MAGIC,
        .item_count = (uint32_t)(buf_length(&items) / sizeof(struct launch_item)),
        .filter_count = (uint32_t)sandbox->filter_count,
        .private_bytes = (uint64_t)sandbox->private_bytes,
        .private_inodes = (uint64_t)sandbox->private_inodes,
        .private_path = put(&text, SANDBOX_PRIVATE),
        .home_path = sandbox->home_inside ? put(&text, sandbox->home_inside) : 0,
        .context_path = put(&text, SANDBOX_CONTEXT),
        .file = file_of(sandbox, &text),
        .cwd = put(&text, sandbox->cwd),
        .cwd_device = sandbox->cwd_stat.st_dev,
        .cwd_inode = sandbox->cwd_stat.st_ino,
        .scopes = true,
        .no_links = sandbox->walk != NULL,
    };
    with_strvec arguments = {0};
    for (char *const *word = binding_argv(sandbox->binding); *word; word++) {
        with_string inside = sandbox_inside(sandbox, *word); /* a script that was found in a copy */
        strvec_push(&arguments, inside);
    }
    plan.arguments = put_all(&text, strvec_argv(&arguments), &plan.argument_count);
    plan.variables = put_all(&text, strvec_argv(&sandbox->environment), &plan.variable_count);
    plan.text_bytes = (uint32_t)buf_length(&text);
    plan.total_bytes =
        (uint32_t)(sizeof plan + buf_length(&items) +
                   sandbox->filter_count * sizeof sandbox->filter[0] + buf_length(&text));
    if (!buf_fits(&text) || !buf_fits(&items)) {
        return err_set(err, ERR_OVER_BUDGET,
                       "the sandbox takes at most %d places that stay closed or are opened, and %d "
                       "bytes of arguments, environment and paths; open fewer folders, or pass "
                       "long arguments in a file",
                       LAUNCH_ITEMS_MAX, LAUNCH_TEXT_MAX);
    }
    buf_add(out, &plan, sizeof plan);
    buf_add_span(out, buf_span(&items));
    buf_add(out, sandbox->filter, sandbox->filter_count * sizeof sandbox->filter[0]);
    buf_add_span(out, buf_span(&text));
    return 0;
}

int sandbox_open(struct sandbox *sandbox, struct err *err)
{
    const struct {
        const char *name;
        struct fd *fd;
    } files[] = {{"arguments", &sandbox->args}, {"plan", &sandbox->plan}};
    for (size_t i = 0; i < countof(files); i++) {
        *files[i].fd = fd_adopt(os_memfd(files[i].name));
        if (!fd_is_open(files[i].fd)) {
            return err_sys(err, fd_error(files[i].fd), "cannot make the %s of the sandbox",
                           files[i].name);
        }
    }
    sandbox->image = helper_image_file();
    if (sandbox->image < 0) {
        return err_sys(err, sandbox->image, "cannot make the launcher of the sandbox");
    }
    strvec_push(&sandbox->tool_argv, "bwrap");
    strvec_push(&sandbox->tool_argv, "--args");
    strvec_push_format(&sandbox->tool_argv, "%d", LAUNCH_ARGS_FD);
    strvec_push(&sandbox->tool_argv, "--");
    strvec_push_format(&sandbox->tool_argv, "/proc/self/fd/%d", LAUNCH_IMAGE_FD);
    strvec_push(&sandbox->tool_argv, "launcher");
    return 0;
}

/* Nobody can change what lies in it any more, not even berm. */
static int seal(struct span bytes, const char *name, const struct fd *file, struct err *err)
{
    int result = os_write_all(fd_num(file), bytes.p, bytes.n);
    result = result < 0 ? result : (int)os_lseek(fd_num(file), 0, SEEK_SET);
    result = result < 0 ? result : os_memfd_seal(fd_num(file));
    return result < 0 ? err_sys(err, result, "cannot seal %s of the sandbox", name) : 0;
}

int sandbox_ready(struct sandbox *sandbox, struct err *err)
{
    enum { ARGUMENTS_MAX = 1 << 20 };
    with_buf arguments = buf_new(ARGUMENTS_MAX);
    with_buf plan = buf_new(8 << 20);
    sandbox_render_arguments(sandbox, &arguments);
    if (!buf_fits(&arguments)) {
        return err_set(err, ERR_OVER_BUDGET,
                       "the mounts of the sandbox take more than %d bytes of arguments; open fewer "
                       "folders",
                       ARGUMENTS_MAX);
    }
    if (sandbox_render_plan(sandbox, &plan, err) < 0 ||
        seal(buf_span(&arguments), "arguments", &sandbox->args, err) < 0 ||
        seal(buf_span(&plan), "plan", &sandbox->plan, err) < 0) {
        return -1;
    }
    return 0;
}

const struct binding *sandbox_tool(const struct sandbox *sandbox)
{
    return sandbox->tool;
}

char *const *sandbox_tool_argv(const struct sandbox *sandbox)
{
    return strvec_argv(&sandbox->tool_argv);
}

char *const *sandbox_tool_environment(const struct sandbox *sandbox)
{
    return strvec_argv(&sandbox->tool_environment);
}

int sandbox_plan_fd(const struct sandbox *sandbox)
{
    return fd_num(&sandbox->plan);
}

int sandbox_image_fd(const struct sandbox *sandbox)
{
    return sandbox->image;
}

int sandbox_args_fd(const struct sandbox *sandbox)
{
    return fd_num(&sandbox->args);
}

bool sandbox_becomes(const struct sandbox *sandbox, uid_t *ret_uid, gid_t *ret_gid)
{
    *ret_uid = sandbox->uid;
    *ret_gid = sandbox->gid;
    return sandbox->become;
}
