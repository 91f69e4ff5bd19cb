#include "source-priv.h"

#include <string.h>
#include <sys/stat.h>

#include "ignore-priv.h"
#include "memory.h"
#include "repository-priv.h"

enum {
    DEPTH_MAXIMUM = 128,    /* directories; one costs two descriptors and its list of names */
    LOOKED_AT_FOR_ONE = 16, /* entries that are looked at for each that may be taken */
};
static const uint64_t MATCHING_STEPS = UINT64_C(1) << 27; /* a second or two */

struct walk {
    const struct snapshot_limits *limits;
    const struct paths *include;
    struct entries entries;
    struct wildcard_budget budget;
    size_t looked_at;
};

/* What of a directory is taken: what is not left out; or only what is wanted by its name; or the latter, unless
 * it turns out to be a repository of its own (a submodule that an ignore pattern hits). */
enum taking {
    TAKE_ALL,
    TAKE_WANTED,
    TAKE_SUBMODULE,
    TAKE_INCLUDED, /* everything: the directory was asked for by its name */
};

struct here {
    const struct bfs_dir *dir;
    const char *path;                    /* from the root: empty, or it ends in '/' */
    const struct repository *repository; /* NULL: none */
    const struct ignore *rules;
    enum taking taking;
    unsigned depth;
};

static int walk_directory(struct walk *walk, const struct here *here, struct err *err);

static int check_limits(const struct walk *walk, const char *path, struct err *err)
{
    const struct snapshot_limits *limits = walk->limits;
    if (walk->entries.count > limits->maximum_entries) {
        return err_set(err, ERR_OVER_BUDGET,
                       "the source has more than %zu files, links and directories (at '%s'): leave "
                       "out in .gitignore what the work does not need",
                       limits->maximum_entries, path);
    }
    if (walk->entries.bytes > limits->maximum_bytes) {
        return err_set(
            err, ERR_OVER_BUDGET,
            "with '%s' the source has %llu bytes, more than %llu (%llu MiB): leave out in "
            ".gitignore what the work does not need",
            path, (unsigned long long)walk->entries.bytes,
            (unsigned long long)limits->maximum_bytes,
            (unsigned long long)(limits->maximum_bytes >> 20));
    }
    return 0;
}

/* The path as the repository that it lies in names it. */
static const char *own_path(const struct here *here, const char *path)
{
    return here->repository ? path + strlen(here->repository->base) : path;
}

/* Asked for by name: an ignore pattern, or being in a directory that is left out, does not matter. */
static bool is_wanted(const struct walk *walk, const struct here *here, const char *path,
                      bool is_directory, bool *ret_submodule)
{
    const char *own = own_path(here, path);
    const struct paths *tracked = here->repository ? &here->repository->tracked : NULL;
    bool named = tracked && paths_has(tracked, own);
    *ret_submodule = named && is_directory;
    return named || paths_has(walk->include, path) ||
           (is_directory && ((tracked && paths_has_beneath(tracked, own)) ||
                             paths_has_beneath(walk->include, path)));
}

static int add_link(struct walk *walk, const struct here *here, const char *name, const char *path,
                    const struct bfs_facts *facts, struct err *err)
{
    char *target = NULL;
    if (bfs_read_link(here->dir, name, &target, err) < 0) {
        return -1;
    }
    struct entry *entry = entries_add(&walk->entries, path, ENTRY_LINK);
    entry->target = target;
    entry->source = *facts;
    return check_limits(walk, path, err);
}

static int add_file(struct walk *walk, const char *path, const struct bfs_facts *facts,
                    struct err *err)
{
    struct entry *entry =
        entries_add(&walk->entries, path, facts->mode & S_IXUSR ? ENTRY_EXECUTABLE : ENTRY_FILE);
    entry->source = *facts;
    /* Each size is at most INT64_MAX, and the sum before was below the limit. */
    walk->entries.bytes += (uint64_t)facts->size_bytes;
    return check_limits(walk, path, err);
}

static int add_directory(struct walk *walk, const struct here *here, const char *name,
                         const char *path, const struct here *below, struct err *err)
{
    size_t before = walk->entries.count;
    with_bfs_dir dir = {0};
    with_string inside = memory_format("%s/", path);
    struct here there = *below;
    there.dir = &dir;
    there.path = inside;
    there.depth = here->depth + 1;
    if (there.depth > DEPTH_MAXIMUM) {
        return err_set(err, ERR_REFUSED, "'%s' lies more than %d directories deep", path,
                       DEPTH_MAXIMUM);
    }
    if (bfs_dir_open_beneath(here->dir, name, &dir, err) < 0) {
        return -1;
    }
    (void)entries_add(&walk->entries, path, ENTRY_DIRECTORY);
    if (check_limits(walk, path, err) < 0 || walk_directory(walk, &there, err) < 0) {
        return -1;
    }
    if (walk->entries.count == before + 1) {
        entries_drop_last(&walk->entries); /* nothing in it is source */
    }
    return 0;
}

static int refuse_special(const char *path, const struct bfs_facts *facts, struct err *err)
{
    const char *what = S_ISFIFO(facts->mode)   ? "a FIFO"
                       : S_ISSOCK(facts->mode) ? "a socket"
                                               : "a device";
    return err_set(
        err, ERR_REFUSED,
        "'%s' is %s, which no snapshot can hold: remove it, or leave it out in .gitignore", path,
        what);
}

static int walk_entry(struct walk *walk, const struct here *here, const char *name, struct err *err)
{
    with_string path = memory_format("%s%s", here->path, name);
    struct bfs_facts facts;
    if (++walk->looked_at > walk->limits->maximum_entries * LOOKED_AT_FOR_ONE) {
        return err_set(
            err, ERR_OVER_BUDGET,
            "more than %zu files would have to be looked at to find the source (at '%s')",
            walk->limits->maximum_entries * LOOKED_AT_FOR_ONE, path);
    }
    if (bfs_stat(here->dir, name, &facts, err) < 0) {
        return err_wrap(err, "list the source");
    }
    bool is_directory = S_ISDIR(facts.mode);
    bool submodule = false;
    struct here below = *here;
    if (is_directory && paths_has(walk->include, path)) {
        below.taking = TAKE_INCLUDED;
    } else if (here->taking == TAKE_INCLUDED) {
        below.taking = TAKE_INCLUDED;
    } else if (here->taking != TAKE_ALL ||
               ignore_ask(here->rules, path, is_directory, &walk->budget)) {
        if (!is_wanted(walk, here, path, is_directory, &submodule)) {
            return 0;
        }
        below.taking = submodule ? TAKE_SUBMODULE : TAKE_WANTED;
    }
    if (walk->budget.steps == 0) {
        return err_set(err, ERR_OVER_BUDGET,
                       "the ignore patterns take too long to match (at '%s'): use fewer '*'", path);
    }
    if (is_directory) {
        return add_directory(walk, here, name, path, &below, err);
    }
    if (S_ISLNK(facts.mode)) {
        return add_link(walk, here, name, path, &facts, err);
    }
    return S_ISREG(facts.mode) ? add_file(walk, path, &facts, err)
                               : refuse_special(path, &facts, err);
}

static bool has_name(const struct strvec *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->strings[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int walk_directory(struct walk *walk, const struct here *outer, struct err *err)
{
    with_strvec names = {0};
    with_repository own = {0};
    with_ignore rules = {0};
    struct here here = *outer;
    if (bfs_list(here.dir, walk->limits->maximum_entries * LOOKED_AT_FOR_ONE, &names, err) < 0) {
        return -1;
    }
    bool by_own_rules = here.taking == TAKE_ALL || here.taking == TAKE_SUBMODULE;
    if (has_name(&names, ".git") && by_own_rules) {
        if (repository_open(here.dir, here.path, &own, err) < 0) {
            return -1;
        }
        here.repository = &own;
        here.rules = &own.exclude;
        here.taking = TAKE_ALL;
    }
    if (here.taking == TAKE_SUBMODULE) {
        here.taking = TAKE_WANTED;
    }
    if (has_name(&names, ".gitignore") && here.taking == TAKE_ALL) {
        if (ignore_read(here.dir, ".gitignore", here.path, here.rules, &rules, err) < 0) {
            return -1;
        }
        here.rules = &rules;
    }
    for (size_t i = 0; i < names.count; i++) {
        if (strcmp(names.strings[i], ".git") != 0 &&
            walk_entry(walk, &here, names.strings[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int check_include(const struct walk *walk, struct err *err)
{
    for (size_t i = 0; i < walk->include->count; i++) {
        const struct entry *entry = entries_find(&walk->entries, walk->include->items[i]);
        if (!entry || entry->kind == ENTRY_LINK) {
            return err_set(err, ERR_NOT_FOUND,
                           "'%s' is neither a regular file nor a directory with something in it",
                           walk->include->items[i]);
        }
    }
    return 0;
}

int source_list(const struct bfs_dir *root, const struct snapshot_limits *limits,
                const struct paths *include, struct entries *ret_entries, struct err *err)
{
    struct walk walk = {.limits = limits, .include = include, .budget = {.steps = MATCHING_STEPS}};
    const struct here here = {.dir = root, .path = "", .taking = TAKE_ALL};
    if (walk_directory(&walk, &here, err) < 0 || check_include(&walk, err) < 0) {
        entries_done(&walk.entries);
        return -1;
    }
    *ret_entries = walk.entries;
    return 0;
}

int source_list_all(const struct bfs_dir *root, const struct snapshot_limits *limits,
                    struct entries *ret_entries, struct err *err)
{
    static const struct paths none = {0};
    struct walk walk = {.limits = limits, .include = &none, .budget = {.steps = MATCHING_STEPS}};
    const struct here here = {.dir = root, .path = "", .taking = TAKE_INCLUDED};
    if (walk_directory(&walk, &here, err) < 0) {
        entries_done(&walk.entries);
        return -1;
    }
    *ret_entries = walk.entries;
    return 0;
}
