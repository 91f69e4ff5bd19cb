#include "toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "file.h"
#include "kept-priv.h"
#include "memory.h"
#include "repository-priv.h"
#include "source-priv.h"

static const char folder_name[] = "toolchains";
static const char record_name[] = "record.json";
enum { RECORD_BYTES = 1 << 20, REMOVED_MAXIMUM = 1 << 22 };
static const struct snapshot_limits limits = {.maximum_bytes = TOOLCHAIN_BYTES,
                                              .maximum_entries = TOOLCHAIN_ENTRIES};

/* --- the record --------------------------------------------------------------------------------- */

static const struct record_field ancestor_fields[] = {
    FIELD(struct toolchain_ancestor, path, FIELD_STRING, SENSITIVITY_PATH, .maximum = 4096),
    FIELD(struct toolchain_ancestor, mode, FIELD_INT, SENSITIVITY_PUBLIC),
    FIELD(struct toolchain_ancestor, owner, FIELD_INT, SENSITIVITY_PUBLIC),
    FIELD(struct toolchain_ancestor, group, FIELD_INT, SENSITIVITY_PUBLIC),
};
static const struct record ancestor_record =
    RECORD(struct toolchain_ancestor, "ancestor", ancestor_fields,
           .doc = "A folder above what was staged, as it was then.");

#define DIGEST .minimum = HASH_HEX_SIZE - 1, .maximum = HASH_HEX_SIZE - 1
static const struct record_field toolchain_fields[] = {
    FIELD_FIXED("schema", "berm.toolchain/v1", .doc = "names this format"),
    FIELD(struct toolchain_facts, name, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = 1,
          .maximum = 64, .doc = "what berm.yaml calls it"),
    FIELD(struct toolchain_facts, source, FIELD_STRING, SENSITIVITY_PATH, .minimum = 1,
          .maximum = 4096, .doc = "what it is a copy of, and where a command sees it"),
    FIELD(struct toolchain_facts, staged_realtime_ns, FIELD_INT, SENSITIVITY_PUBLIC, .doc = "when"),
    FIELD(struct toolchain_facts, source_digest, FIELD_STRING, SENSITIVITY_PUBLIC, DIGEST,
          .doc = "of the source, read after the copy was made"),
    FIELD(struct toolchain_facts, digest, FIELD_STRING, SENSITIVITY_PUBLIC, DIGEST,
          .doc = "of the copy"),
    FIELD(struct toolchain_facts, entries, FIELD_INT, SENSITIVITY_PUBLIC,
          .doc = "files, links and folders of it"),
    FIELD(struct toolchain_facts, bytes, FIELD_INT, SENSITIVITY_PUBLIC, .doc = "of its files"),
    FIELD(struct toolchain_facts, ancestors, FIELD_OBJECTS, SENSITIVITY_PUBLIC,
          .record = &ancestor_record, .maximum = 2048, .doc = "the folders above the source"),
};
const struct record toolchain_record =
    RECORD(struct toolchain_facts, "berm.toolchain/v1", toolchain_fields,
           .doc = "A staged runtime: what it is and where it came from.");

void toolchain_facts_done(struct toolchain_facts *facts)
{
    if (facts) {
        record_done(&toolchain_record, facts);
        *facts = (struct toolchain_facts){0};
    }
}

static int write_record(const struct bfs_dir *folder, const struct toolchain_facts *facts,
                        struct err *err)
{
    with_json json = record_encode(&toolchain_record, facts);
    with_buf text = buf_new(RECORD_BYTES);
    with_bfs_stage stage = {0};
    return json_write(json, JSON_READABLE, &text, err) < 0 ||
                   bfs_stage_open(folder, 0600, 0, &stage, err) < 0 ||
                   bfs_stage_write(&stage, buf_span(&text), err) < 0
               ? -1
               : bfs_stage_create(&stage, record_name, err);
}

static int read_record(const struct bfs_dir *folder, struct toolchain_facts *ret_facts,
                       struct err *err)
{
    static const struct bfs_rule rule = {.maximum_bytes = RECORD_BYTES};
    with_buf text = buf_new(RECORD_BYTES);
    if (bfs_read(folder, record_name, &rule, &text, NULL, err) < 0) {
        return -1;
    }
    with_json json = json_read(buf_span(&text), &json_budget_control, err);
    return json && record_decode(&toolchain_record, json, ret_facts, err) == 0
               ? 0
               : err_wrap(err, "'%s/%s'", folder->path, record_name);
}

/* --- staging ------------------------------------------------------------------------------------ */

/* Who could write on the way to it. */
static int look_above(const struct bfs_dir *root, struct object_list *ret_list, struct err *err)
{
    size_t count = 0;
    struct toolchain_ancestor *list = memory_new((strlen(root->path) + 1) * sizeof *list);
    *ret_list = (struct object_list){list, 0};
    for (const char *slash = root->path; slash; slash = strchr(slash + 1, '/')) {
        with_bfs_dir dir = {0};
        with_string path = memory_format("%.*s", (int)(slash - root->path), root->path);
        if (bfs_dir_open(AT_FDCWD, path[0] ? path : "/", BFS_TRUST_ANY, &dir, err) < 0) {
            return -1;
        }
        list[count] = (struct toolchain_ancestor){.path = memory_copy_string(dir.path),
                                                  .mode = dir.facts.mode & 07777,
                                                  .owner = dir.facts.owner,
                                                  .group = dir.facts.group};
        ret_list->count = ++count;
    }
    return 0;
}

/* The copy was made of what is there still: all of it is read once more. */
static int hash_source(const struct bfs_dir *root, char digest[HASH_HEX_SIZE], struct err *err)
{
    static const struct bfs_rule rule = {.maximum_bytes = INT64_MAX, .allow_links = true};
    with_entries entries = {0};
    if (source_list_all(root, &limits, &entries, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < entries.count; i++) {
        struct entry *entry = &entries.items[i];
        with_bfs_file file = {0};
        if (!entry_is_file(entry)) {
            continue;
        }
        if (bfs_file_open(root, entry->path, &rule, &file, err) < 0) {
            return -1;
        }
        if (!bfs_facts_equal(&file.facts,
                             &entry->source)) { /* what the listing counted is what is read */
            return err_set(err, ERR_CHANGED, "'%s' changed while it was staged", entry->path);
        }
        if (bfs_file_hash(&file, entry->sha256, err) < 0) {
            return -1;
        }
    }
    entries_digest(&entries, digest);
    return 0;
}

static int list_source(const struct bfs_dir *root, struct entries *ret_entries, struct err *err)
{
    struct err why = {0};
    if (source_list_all(root, &limits, ret_entries, &why) == 0) {
        return 0;
    }
    return why.code == ERR_OVER_BUDGET
               ? err_set(err, ERR_OVER_BUDGET,
                         "'%s' has more than %d files, links and folders, or %llu MiB: name the "
                         "folder of one runtime, and not of all",
                         root->path, TOOLCHAIN_ENTRIES, (unsigned long long)(TOOLCHAIN_BYTES >> 20))
               : err_set(err, why.code, "%s", why.msg);
}

static int copy_into(const struct bfs_dir *folder, const struct bfs_dir *root,
                     struct toolchain_facts *facts, struct err *err)
{
    char boot_id[BOOT_ID_SIZE];
    char digest[HASH_HEX_SIZE];
    char source[HASH_HEX_SIZE];
    with_kept kept = {0};
    with_entries entries = {0};
    struct snapshot_figures figures = {0};
    if (list_source(root, &entries, err) < 0 || kept_boot_id(boot_id, err) < 0 ||
        kept_open(folder, boot_id, &kept, err) < 0 ||
        kept_update(&kept, root, &entries, &figures, err) < 0 || kept_check_links(&kept, err) < 0 ||
        hash_source(root, source, err) < 0) {
        return -1;
    }
    entries_digest(&kept.ledger.entries, digest);
    if (strcmp(digest, source) != 0) {
        return err_set(err, ERR_CHANGED, "'%s' changed while it was copied: stage it again",
                       root->path);
    }
    facts->digest = memory_copy_string(digest);
    facts->source_digest = memory_copy_string(source);
    facts->entries = (int64_t)figures.entries;
    facts->bytes = (int64_t)figures.bytes;
    return write_record(folder, facts, err);
}

static char *temporary_name(const char *name)
{
    return memory_format(".%s.new", name);
}

/* Under a name of its own until it is complete. */
static int stage_under(const struct bfs_dir *all, const struct bfs_dir *root,
                       struct toolchain_facts *facts, struct err *err)
{
    with_string temporary = temporary_name(facts->name);
    with_bfs_dir folder = {0};
    if (bfs_dir_make_beneath(all, temporary, 0700, &folder, err) < 0) {
        return -1;
    }
    if (copy_into(&folder, root, facts, err) < 0 ||
        bfs_rename(all, temporary, all, facts->name, BFS_RENAME_NEW, err) < 0) {
        (void)!bfs_tree_remove(all, temporary, REMOVED_MAXIMUM, NULL); /* the next does it */
        return -1;
    }
    return 0;
}

/* Its bin is put into PATH, by both paths. */
static int check_path(const char *path, struct err *err)
{
    return strchr(path, ':') ? err_set(err, ERR_REFUSED,
                                       "'%s' has a ':', which no PATH can hold: give it a name "
                                       "without one",
                                       path)
                             : 0;
}

/* Of one that ended before it was complete; nobody stages but who holds the lock. */
static int remove_leftover(const struct bfs_dir *all, const char *name, struct err *err)
{
    with_string temporary = temporary_name(name);
    return bfs_tree_remove(all, temporary, REMOVED_MAXIMUM, err);
}

/* What is not complete counts: the next one of its name removes it, before it asks for room. */
static int check_room(const struct bfs_dir *all, struct err *err)
{
    struct err why = {0};
    with_strvec names = {0};
    if (bfs_list(all, TOOLCHAIN_COUNT - 1, &names, &why) == 0) {
        return 0;
    }
    return why.code == ERR_OVER_BUDGET
               ? err_set(
                     err, ERR_OVER_BUDGET,
                     "'%s' has %d toolchains, and may have no more: remove one that is not used",
                     all->path, TOOLCHAIN_COUNT)
               : err_set(err, why.code, "%s", why.msg);
}

static int check_free(const struct bfs_dir *all, const char *name, struct err *err)
{
    struct bfs_facts facts;
    struct err why = {0};
    int result = os_flock(bfs_dir_fd(all), LOCK_EX | LOCK_NB);
    if (result == -EWOULDBLOCK) {
        return err_set(err, ERR_CONFLICT, "another toolchain is being staged: wait for its end");
    }
    if (result < 0) {
        return err_sys(err, result, "cannot lock '%s'", all->path);
    }
    if (bfs_stat(all, name, &facts, &why) == 0) {
        return err_set(err, ERR_CONFLICT,
                       "there is a toolchain '%s': take another name, or remove '%s/%s' first",
                       name, all->path, name);
    }
    return why.code == ERR_NOT_FOUND ? 0 : err_set(err, why.code, "%s", why.msg);
}

int toolchain_stage(const struct bfs_dir *state, const char *path, const char *name,
                    int64_t realtime_ns, struct toolchain_facts *ret_facts, struct err *err)
{
    with_bfs_dir all = {0};
    with_bfs_dir root = {0};
    if (bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &root, err) < 0 ||
        check_path(root.path, err) < 0 || check_path(state->path, err) < 0 ||
        repository_check_root(root.path, state->path, err) < 0 ||
        bfs_dir_make_beneath(state, folder_name, 0700, &all, err) < 0 ||
        check_free(&all, name, err) < 0 || remove_leftover(&all, name, err) < 0 ||
        check_room(&all, err) < 0) {
        return -1;
    }
    with_toolchain_facts facts = {.name = memory_copy_string(name),
                                  .source = memory_copy_string(root.path),
                                  .staged_realtime_ns = realtime_ns};
    if (look_above(&root, &facts.ancestors, err) < 0 || stage_under(&all, &root, &facts, err) < 0) {
        return err_wrap(err, "stage '%s'", root.path);
    }
    *ret_facts = facts;
    facts = (struct toolchain_facts){0};
    return 0;
}

/* --- use ---------------------------------------------------------------------------------------- */

struct toolchain {
    struct bfs_dir folder;
    char boot_id[BOOT_ID_SIZE];
    struct toolchain_facts facts;
    struct kept kept;
};

static int open_folder(const struct bfs_dir *state, const char *name, struct bfs_dir *ret_folder,
                       struct err *err)
{
    struct err why = {0};
    with_string path = memory_format("%s/%s", folder_name, name);
    if (name[0] != '\0' && name[0] != '.' && !strchr(name, '/') &&
        bfs_dir_open_beneath(state, path, ret_folder, &why) == 0) {
        return 0;
    }
    return why.code == ERR_NOT_FOUND || why.code == ERR_NONE
               ? err_set(err, ERR_NOT_FOUND, "no toolchain '%s' is staged", name)
               : err_set(err, why.code, "%s", why.msg);
}

int toolchain_read(const struct bfs_dir *state, const char *name, struct toolchain_facts *ret_facts,
                   struct err *err)
{
    with_bfs_dir folder = {0};
    return open_folder(state, name, &folder, err) < 0 ? -1 : read_record(&folder, ret_facts, err);
}

static int open_all(const struct bfs_dir *state, const char *name, struct toolchain *toolchain,
                    struct err *err)
{
    char digest[HASH_HEX_SIZE];
    if (open_folder(state, name, &toolchain->folder, err) < 0 ||
        read_record(&toolchain->folder, &toolchain->facts, err) < 0 ||
        check_path(toolchain->facts.source, err) < 0 || kept_boot_id(toolchain->boot_id, err) < 0) {
        return -1;
    }
    const struct bfs_dir *folder = &toolchain->folder;
    if (!kept_find(folder, toolchain->boot_id, &toolchain->kept) &&
        kept_read(folder, toolchain->boot_id, &limits, &toolchain->kept, err) < 0) {
        return -1;
    }
    entries_digest(&toolchain->kept.ledger.entries, digest);
    return strcmp(digest, toolchain->facts.digest) == 0
               ? 0
               : err_set(err, ERR_CHANGED,
                         "the toolchain '%s' is not what was staged: remove '%s', and stage it "
                         "again",
                         name, folder->path);
}

int toolchain_open(const struct bfs_dir *state, const char *name, struct toolchain **ret_toolchain,
                   struct err *err)
{
    with_toolchain toolchain = memory_new(sizeof *toolchain);
    if (open_all(state, name, toolchain, err) < 0) {
        return -1;
    }
    *ret_toolchain = toolchain;
    toolchain = NULL;
    return 0;
}

const struct toolchain_facts *toolchain_facts(const struct toolchain *toolchain)
{
    return &toolchain->facts;
}

const struct bfs_dir *toolchain_tree(const struct toolchain *toolchain)
{
    return &toolchain->kept.tree;
}

int toolchain_check(const struct toolchain *toolchain, struct err *err)
{
    return kept_check(&toolchain->kept, err) < 0
               ? err_wrap(err, "the toolchain '%s'", toolchain->facts.name)
               : 0;
}

void toolchain_free(struct toolchain *toolchain)
{
    if (!toolchain) {
        return;
    }
    kept_done(&toolchain->kept);
    toolchain_facts_done(&toolchain->facts);
    bfs_dir_done(&toolchain->folder);
    memory_free(toolchain);
}

int toolchain_names(const struct bfs_dir *state, struct strvec *ret_names, struct err *err)
{
    with_bfs_dir all = {0};
    with_strvec names = {0};
    struct err why = {0};
    if (bfs_dir_open_beneath(state, folder_name, &all, &why) < 0) {
        return why.code == ERR_NOT_FOUND ? 0 : err_set(err, why.code, "%s", why.msg);
    }
    if (bfs_list(&all, TOOLCHAIN_COUNT, &names, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        if (names.strings[i][0] != '.') { /* what is not complete */
            strvec_push(ret_names, names.strings[i]);
        }
    }
    return 0;
}
