#include "inputs-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"
#include "path.h"
#include "process.h"
#include "snapshot-priv.h"

const char *inputs_relative(const struct frozen_inputs *inputs, const char *path)
{
    size_t length = strlen(inputs->root_path);
    return path_is_beneath(path, inputs->root_path) && path[length] == '/' ? path + length + 1
                                                                           : NULL;
}

static struct input *add(struct frozen_inputs *inputs, size_t argument, const char *path)
{
    inputs->items = memory_resize(inputs->items, (inputs->count + 1) * sizeof *inputs->items);
    const char *relative = path[0] == '/' ? inputs_relative(inputs, path) : path;
    struct input *input = &inputs->items[inputs->count++];
    *input = (struct input){
        .argument = argument,
        .inside = relative != NULL,
        .path = memory_copy_string(relative ? relative : path),
    };
    if (relative) {
        strvec_push(&inputs->include, relative);
    }
    return input;
}

static int hash_input(struct input *input, const struct bfs_file *file, struct err *err)
{
    input->facts = file->facts;
    input->read_ns = entry_now_ns();
    return bfs_file_hash(file, input->sha256, err) < 0 ? err_wrap(err, "read '%s'", input->path)
                                                       : 0;
}

/* --- file arguments --------------------------------------------------------------------------- */

static int count_argument(struct frozen_inputs *inputs, const char *word,
                          const struct bfs_facts *facts, struct err *err)
{
    inputs->argument_files++;
    inputs->argument_bytes += (uint64_t)facts->size_bytes;
    if (inputs->argument_files > FROZEN_ARGUMENT_FILES ||
        inputs->argument_bytes > FROZEN_ARGUMENT_BYTES) {
        return err_set(
            err, ERR_OVER_BUDGET,
            "with '%s' the file arguments are %zu files of %llu bytes, and %d of %llu (%llu "
            "MiB) may be: name a folder, or declare it as a sealed input",
            word, inputs->argument_files, (unsigned long long)inputs->argument_bytes,
            FROZEN_ARGUMENT_FILES, (unsigned long long)FROZEN_ARGUMENT_BYTES,
            (unsigned long long)(FROZEN_ARGUMENT_BYTES >> 20));
    }
    return 0;
}

/* 1: found is open (O_PATH), 0: the word names no regular file. */
static int find_argument(const struct frozen_work *work, const char *word, struct fd *found,
                         struct bfs_facts *ret_facts, struct err *err)
{
    *found = fd_adopt(os_openat(bfs_dir_fd(work->cwd), word, O_PATH, 0));
    switch (fd_error(found)) {
    case 0:
        break;
    case -ENOENT:
    case -ENOTDIR:
    case -ENAMETOOLONG:
    case -ELOOP:
    case -EACCES: /* what berm cannot reach, the payload cannot either */
        return 0;
    default:
        return err_sys(err, fd_error(found), "look for '%s'", word);
    }
    if (bfs_facts_of(fd_num(found), ret_facts, err) < 0) {
        return -1;
    }
    return S_ISREG(ret_facts->mode);
}

static int physical_path(int fd, char path[PATH_MAX], struct err *err)
{
    char entry[32];
    (void)snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
    ssize_t length = os_readlinkat(AT_FDCWD, entry, path, PATH_MAX);
    return length < 0 ? err_sys(err, (int)length, "ask /proc for the path of a file") : 0;
}

static int read_argument(struct frozen_inputs *inputs, const struct frozen_work *work,
                         size_t argument, struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = FROZEN_ARGUMENT_BYTES, .allow_links = true};
    const char *word = work->argv[argument];
    char path[PATH_MAX];
    with_fd found = {0};
    struct bfs_facts facts;
    int is_file = find_argument(work, word, &found, &facts, err);
    if (is_file <= 0) {
        return is_file;
    }
    if (count_argument(inputs, word, &facts, err) < 0 ||
        physical_path(fd_num(&found), path, err) < 0) {
        return -1;
    }
    struct input *input = add(inputs, argument, path);
    if (input->inside) {
        return 0;
    }
    with_bfs_file file = {0};
    return bfs_file_open_fd(fd_num(&found), path, &rule, &file, err) < 0
               ? -1
               : hash_input(input, &file, err);
}

/* --- sealed inputs ---------------------------------------------------------------------------- */

/* The word as a path of the repository, by its text: links are refused when it is opened. */
static char *sealed_path(const struct frozen_inputs *inputs, const struct frozen_work *work,
                         const char *word)
{
    if (word[0] == '/') {
        return memory_copy_or_null(inputs_relative(inputs, word));
    }
    if (strcmp(work->cwd->path, inputs->root_path) == 0) {
        return memory_copy_string(word);
    }
    const char *below = inputs_relative(inputs, work->cwd->path);
    return below ? memory_format("%s/%s", below, word) : NULL;
}

static bool is_digest(const char *text)
{
    return strlen(text) == HASH_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == HASH_HEX_SIZE - 1;
}

static int judge_sealed(const struct frozen_sealed *sealed, const struct bfs_facts *facts,
                        const char *path, struct err *err)
{
    if (facts->owner != 0 && facts->owner != os_geteuid()) {
        return err_set(err, ERR_REFUSED, "the sealed input '%s' belongs to user %u", path,
                       facts->owner);
    }
    if (sealed->executable && !(facts->mode & S_IXUSR)) {
        return err_set(err, ERR_REFUSED, "the sealed input '%s' must be executable: chmod u+x it",
                       path);
    }
    if (sealed->size_bytes >= 0 && sealed->size_bytes != facts->size_bytes) {
        return err_set(err, ERR_REFUSED,
                       "the sealed input '%s' has %lld bytes, and its manifest says %lld", path,
                       (long long)facts->size_bytes, (long long)sealed->size_bytes);
    }
    if (sealed->sha256 && !is_digest(sealed->sha256)) {
        return err_set(err, ERR_REFUSED,
                       "the digest of the sealed input '%s' is not 64 lowercase hexadecimal digits",
                       path);
    }
    return 0;
}

static int read_sealed(struct frozen_inputs *inputs, const struct frozen_work *work,
                       const struct bfs_dir *root, const struct frozen_sealed *sealed,
                       struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = sealed->maximum_bytes};
    const char *word = work->argv[sealed->argument];
    with_string path = sealed_path(inputs, work, word);
    with_bfs_file file = {0};
    BUG_IF(sealed->maximum_bytes > FROZEN_SEALED_BYTES);
    if (!path) {
        return err_set(err, ERR_REFUSED, "the sealed input '%s' does not lie in '%s'", word,
                       inputs->root_path);
    }
    if (bfs_file_open(root, path, &rule, &file, err) < 0) {
        return err_wrap(err, "open the sealed input '%s'", word);
    }
    struct input *input = add(inputs, sealed->argument, path);
    input->sealed = true;
    if (judge_sealed(sealed, &file.facts, path, err) < 0 || hash_input(input, &file, err) < 0) {
        return -1;
    }
    if (sealed->sha256 && strcmp(sealed->sha256, input->sha256) != 0) {
        return err_set(err, ERR_REFUSED,
                       "the sealed input '%s' has the digest %s, and %s is asked for", path,
                       input->sha256, sealed->sha256);
    }
    return 0;
}

static bool is_sealed(const struct frozen_work *work, size_t argument)
{
    for (size_t i = 0; i < work->sealed_count; i++) {
        if (work->sealed[i].argument == argument) {
            return true;
        }
    }
    return false;
}

static int read_inputs(struct frozen_inputs *inputs, const struct frozen_work *work,
                       const struct bfs_dir *root, struct err *err)
{
    for (size_t i = 0; i < work->program_count; i++) {
        const char *relative = inputs_relative(inputs, work->programs[i].path);
        if (relative) {
            strvec_push(&inputs->include, relative);
        }
    }
    for (size_t i = 1; work->argv[i]; i++) {
        if (!is_sealed(work, i) && read_argument(inputs, work, i, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < work->sealed_count; i++) {
        if (read_sealed(inputs, work, root, &work->sealed[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

int frozen_read_inputs(const struct frozen_work *work, const struct bfs_dir *root,
                       struct frozen_inputs **ret_inputs, struct err *err)
{
    with_frozen_inputs inputs = memory_new(sizeof *inputs);
    inputs->root_path = memory_copy_string(root->path);
    if (read_inputs(inputs, work, root, err) < 0) {
        return -1;
    }
    *ret_inputs = inputs;
    inputs = NULL;
    return 0;
}

const char *const *frozen_include(const struct frozen_inputs *inputs)
{
    return (const char *const *)strvec_argv(&inputs->include);
}

static int check_outside(const struct input *input, struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = (uint64_t)input->facts.size_bytes,
                                  .allow_links = true};
    const struct entry as_entry = {.read_ns = input->read_ns, .source = input->facts};
    char hex[HASH_HEX_SIZE];
    with_fd found = fd_adopt(os_openat(AT_FDCWD, input->path, O_PATH | O_NOFOLLOW, 0));
    with_bfs_file file = {0};
    if (!fd_is_open(&found) ||
        bfs_file_open_fd(fd_num(&found), input->path, &rule, &file, err) < 0 ||
        !bfs_facts_equal(&file.facts, &input->facts)) {
        return -1;
    }
    return entry_is_young(&as_entry) &&
                   (bfs_file_hash(&file, hex, err) < 0 || strcmp(hex, input->sha256) != 0)
               ? -1
               : 0;
}

int inputs_check(const struct frozen_inputs *inputs, struct err *err)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->items[i];
        if (!input->inside && check_outside(input, NULL) < 0) {
            return err_set(err, ERR_CHANGED, "the argument '%s' is not the file that was read",
                           input->path);
        }
    }
    return 0;
}

void frozen_inputs_free(struct frozen_inputs *inputs)
{
    if (!inputs) {
        return;
    }
    for (size_t i = 0; i < inputs->count; i++) {
        memory_free(inputs->items[i].path);
    }
    memory_free(inputs->items);
    memory_free(inputs->root_path);
    strvec_done(&inputs->include);
    memory_free(inputs);
}
