#include "project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bfs.h"
#include "file.h"
#include "memory.h"
#include "process.h"

#define FILE_NAME "berm.yaml"

/* --- where ------------------------------------------------------------------------------------ */

/* 1: there; 0: not, or not to be seen; -1: nobody knows. */
static int has_entry(const char *folder, const char *name, struct err *err)
{
    struct stat stat;
    with_string path = memory_format("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    int result = os_stat_entry(AT_FDCWD, path, &stat);
    if (result == 0) {
        return 1;
    }
    bool absent = result == -ENOENT || result == -ENOTDIR || result == -EACCES;
    return absent ? 0 : err_sys(err, result, "look for '%s'", path);
}

static int is_root(const char *folder, bool above, struct err *err)
{
    int there = has_entry(folder, ".git", err);
    if (there == 0) {
        there = has_entry(folder, ".berm", err);
    }
    struct stat stat;
    if (there <= 0 || !above) {
        return there;
    }
    int result = os_stat_entry(AT_FDCWD, folder, &stat);
    if (result < 0) {
        return err_sys(err, result, "look at '%s'", folder);
    }
    /* What lies there may have been put there by somebody else. */
    return !(stat.st_mode & S_IWOTH);
}

int project_find(const char *cwd_path, char **ret_root, struct err *err)
{
    with_string path = memory_copy_string(cwd_path);
    for (bool above = false;; above = true) {
        int found = is_root(path, above, err);
        if (found < 0) {
            return -1;
        }
        char *slash = strrchr(path, '/');
        if (found > 0) {
            *ret_root = memory_copy_string(path);
            return 0;
        }
        if (!slash || strcmp(path, "/") == 0) {
            *ret_root = memory_copy_string(cwd_path);
            return 0;
        }
        slash[slash == path] = '\0';
    }
}

/* --- what it says ----------------------------------------------------------------------------- */

printf_like(5, 6) static int fail(const char *name, const struct form_item *item, const char *kind,
                                  struct err *err, const char *format, ...)
{
    va_list args;
    char what[300];
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return err_set(err, ERR_USAGE, "%s:%u:%u: %s.%s: %s", name, item->line, item->column, kind,
                   item->name, what);
}

bool project_placeholder(const char *from, struct span *ret_whole, struct span *ret_name)
{
    const char *begin = strchr(from, '{');
    const char *end = begin ? strchr(begin, '}') : NULL;
    if (!end) {
        return false;
    }
    *ret_whole = span_of(begin, (size_t)(end - begin) + 1);
    *ret_name = span_of(begin + 1, (size_t)(end - begin) - 1);
    return true;
}

static const struct project_parameter *find_parameter(const struct form_named *parameters,
                                                      struct span name)
{
    const struct project_parameter *list = parameters->items;
    for (size_t i = 0; i < parameters->count; i++) {
        if (span_equals(name, list[i].item.name)) {
            return &list[i];
        }
    }
    return NULL;
}

/* Every brace belongs to a placeholder, every placeholder to a parameter. */
static int check_word(const char *name, const struct form_item *item, const char *kind,
                      const char *word, const struct form_named *parameters, struct err *err)
{
    const char *rest = word;
    struct span whole;
    struct span parameter;
    for (; project_placeholder(rest, &whole, &parameter); rest = whole.p + whole.n) {
        if (memchr(rest, '}', (size_t)(whole.p - rest))) {
            break;
        }
        if (!find_parameter(parameters, parameter)) {
            return fail(name, item, kind, err,
                        "argv: {%.*s} is no parameter: declare it under parameters",
                        (int)(parameter.n < 64 ? parameter.n : 64), parameter.p);
        }
    }
    return strpbrk(rest, "{}")
               ? fail(name, item, kind, err,
                      "argv: '%.60s' has a brace that belongs to no {PARAMETER}", word)
               : 0;
}

static bool is_used(const char *parameter, const struct strvec *argv)
{
    for (size_t i = 0; i < argv->count; i++) {
        struct span whole;
        struct span name;
        for (const char *rest = argv->strings[i]; project_placeholder(rest, &whole, &name);
             rest = whole.p + whole.n) {
            if (span_equals(name, parameter)) {
                return true;
            }
        }
    }
    return false;
}

static int check_argv(const char *name, const struct form_item *item, const char *kind,
                      const struct strvec *argv, const struct form_named *parameters,
                      struct err *err)
{
    if (argv->strings[0][0] == '\0' || strpbrk(argv->strings[0], "{}")) {
        return fail(name, item, kind, err, "argv: the first word must be a file, written out");
    }
    for (size_t i = 0; i < argv->count; i++) {
        if (check_word(name, item, kind, argv->strings[i], parameters, err) < 0) {
            return -1;
        }
    }
    const struct project_parameter *list = parameters->items;
    for (size_t i = 0; i < parameters->count; i++) {
        if (!is_used(list[i].item.name, argv)) {
            return fail(name, &list[i].item, kind, err,
                        "a parameter of %s that no word of its argv uses: take it out", item->name);
        }
    }
    return 0;
}

/* A thing that opens something is given together with its reason, or not at all. */
static int check_reason(const char *name, const struct form_item *item, const char *what,
                        bool wanted, const char *reason, struct err *err)
{
    if (wanted && !reason) {
        return fail(name, item, "entrypoint", err, "%s needs a %s_reason: say why in a sentence",
                    what, what);
    }
    if (!wanted && reason) {
        return fail(name, item, "entrypoint", err, "%s_reason without %s: take it out", what, what);
    }
    return 0;
}

static int check_digest(const char *name, const struct project_entrypoint *entrypoint,
                        const struct project_sealed *sealed, struct err *err)
{
    const struct project_sealed *target =
        form_find(&entrypoint->sealed, sizeof *sealed, sealed->of);
    if (!target || target->of) {
        return fail(name, &sealed->item, "sealed", err, "of: '%s' is no sealed file of %s",
                    sealed->of, entrypoint->item.name);
    }
    if (sealed->executable || sealed->manifest) {
        return fail(name, &sealed->item, "sealed", err,
                    "a digest is no file: leave out executable and manifest");
    }
    return 0;
}

static int check_sealed(const char *name, const struct project_entrypoint *entrypoint,
                        struct err *err)
{
    const struct project_sealed *list = entrypoint->sealed.items;
    for (size_t i = 0; i < entrypoint->sealed.count; i++) {
        const struct project_sealed *one = &list[i];
        if (one->of && check_digest(name, entrypoint, one, err) < 0) {
            return -1;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(list[j].flag, one->flag) == 0) {
                return fail(name, &one->item, "sealed", err, "flag: '%s' is that of %s already",
                            one->flag, list[j].item.name);
            }
        }
        for (size_t j = 0; j < entrypoint->argv.count; j++) {
            if (strcmp(entrypoint->argv.strings[j], one->flag) == 0) {
                return fail(name, &one->item, "sealed", err,
                            "flag: '%s' stands in argv: take it out there, it follows by itself",
                            one->flag);
            }
        }
    }
    return 0;
}

static int check_variables(const char *name, const struct project_entrypoint *entrypoint,
                           struct err *err)
{
    for (size_t i = 0; i < entrypoint->environment.count; i++) {
        const char *entry = entrypoint->environment.strings[i];
        size_t n = strcspn(entry, "=");
        if (n == 0 || entry[n] != '=') {
            return fail(
                name, &entrypoint->item, "entrypoint", err,
                "environment: '%.60s' must be NAME=VALUE: nothing of the caller's is passed on",
                entry);
        }
    }
    return 0;
}

static int check_entrypoint(const char *name, const struct project_entrypoint *entrypoint,
                            struct err *err)
{
    const struct form_item *item = &entrypoint->item;
    bool network = entrypoint->network == PROJECT_NETWORK_REQUIRED;
    if (check_argv(name, item, "entrypoint", &entrypoint->argv, &entrypoint->parameters, err) < 0 ||
        check_reason(name, item, "network", network, entrypoint->network_reason, err) < 0 ||
        check_reason(name, item, "scratch", entrypoint->scratch != NULL, entrypoint->scratch_reason,
                     err) < 0) {
        return -1;
    }
    const char *first = entrypoint->argv.strings[0];
    if (!form_text_fits(SHAPE_PATH, first)) {
        return fail(name, item, "entrypoint", err,
                    "argv: '%.60s' must be a relative path to a file of the repository", first);
    }
    return check_variables(name, entrypoint, err) < 0 ? -1 : check_sealed(name, entrypoint, err);
}

static int check_workload(const char *name, const struct project_workload *workload,
                          struct err *err)
{
    static const struct form_named none = {0};
    if (check_argv(name, &workload->item, "workload", &workload->argv, &workload->parameters, err) <
        0) {
        return -1;
    }
    struct form_item oracle = workload->oracle.item;
    oracle.name = workload->item.name;
    return oracle.line == 0 ? 0
                            : check_argv(name, &oracle, "oracle of workload",
                                         &workload->oracle.argv, &none, err);
}

static int check_all(const char *name, const struct project *project, struct err *err)
{
    const struct project_entrypoint *entrypoints = project->entrypoint.items;
    for (size_t i = 0; i < project->entrypoint.count; i++) {
        if (check_entrypoint(name, &entrypoints[i], err) < 0) {
            return -1;
        }
    }
    const struct project_workload *workloads = project->workload.items;
    for (size_t i = 0; i < project->workload.count; i++) {
        if (check_workload(name, &workloads[i], err) < 0) {
            return -1;
        }
    }
    const struct project_daemon *daemons = project->daemon.items;
    for (size_t i = 0; i < project->daemon.count; i++) {
        if (strcmp(daemons[i].socket, daemons[i].lock) == 0) {
            return fail(name, &daemons[i].item, "daemon", err, "socket and lock are the same file");
        }
    }
    return 0;
}

int project_parse(struct span text, const char *name, struct project *ret_project, struct err *err)
{
    with_yaml_tree tree = yaml_tree_read(text, name, &yaml_budget_project, err);
    if (!tree) {
        return -1;
    }
    with_project project = {0};
    if (form_decode(&project_form, tree, &project, err) < 0 || check_all(name, &project, err) < 0) {
        return -1;
    }
    project.present = true;
    *ret_project = project;
    project = (struct project){0};
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int check_trust(const struct bfs_facts *facts, const struct bfs_dir *root, const char *path,
                       struct err *err)
{
    struct bfs_facts seen = *facts;
    if (os_geteuid() == 0 && seen.owner == root->facts.owner) {
        seen.owner = 0; /* root looks after other people's projects */
    }
    switch (bfs_writers_of(&seen)) {
    case BFS_WRITERS_OWN:
    case BFS_WRITERS_GROUP:
        return 0;
    case BFS_WRITERS_FOREIGN:
        return err_set(err, ERR_REFUSED,
                       "%s: it belongs to user %u, who is neither you nor root: work in a copy of "
                       "your own",
                       path, facts->owner);
    case BFS_WRITERS_STICKY:
    case BFS_WRITERS_WORLD:
    default:
        return err_set(err, ERR_REFUSED,
                       "%s: everybody may write it (mode %04o): chmod o-w, and look what it says",
                       path, facts->mode & 07777);
    }
}

int project_read(const char *root, struct project *ret_project, struct err *err)
{
    with_bfs_dir dir = {0};
    with_bfs_file file = {0};
    *ret_project = (struct project){0};
    int there = has_entry(root, FILE_NAME, err);
    if (there <= 0) {
        return there;
    }
    const struct bfs_rule rule = {.maximum_bytes = yaml_budget_project.bytes};
    if (bfs_dir_open(AT_FDCWD, root, BFS_TRUST_ANY, &dir, err) < 0) {
        return -1;
    }
    with_string path =
        memory_format("%s/%s", strcmp(dir.path, "/") == 0 ? "" : dir.path, FILE_NAME);
    with_buf text = buf_new(yaml_budget_project.bytes);
    if (bfs_file_open(&dir, FILE_NAME, &rule, &file, err) < 0 ||
        check_trust(&file.facts, &dir, path, err) < 0 || bfs_file_read(&file, &text, err) < 0) {
        return err_wrap(err, "the project's file");
    }
    struct project project = {0};
    if (project_parse(buf_span(&text), path, &project, err) < 0) {
        return -1;
    }
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, buf_span(&text).p, buf_span(&text).n);
    hash_hex(&hash, project.digest);
    project.root = memory_copy_string(dir.path);
    project.path = memory_copy_string(path);
    *ret_project = project;
    return 0;
}

void project_done(struct project *project)
{
    if (!project) {
        return;
    }
    memory_free(project->root);
    memory_free(project->path);
    form_done(&project_form, project);
}
