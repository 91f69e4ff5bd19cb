#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "owner-priv.h"
#include "promotion.h"
#include "text.h"
#include "validate.h"

enum {
    ID_LENGTH = RUN_ID_SIZE - 2, /* six characters and the NUL; one byte spare */
    RECORD_MAXIMUM_BYTES = 16 << 20,
    ENTRIES_MAXIMUM = 100000,
    NEW_ID_TRIES = 64,
    CANDIDATES_SHOWN = 8,
    RUNS_IN_A_TICK = 16,
};

/* No letter that is read as another: i, l, o, u are left out. */
static const char id_alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
_Static_assert(sizeof id_alphabet == 33, "five bits choose a character");

struct archive {
    struct bfs_dir dir;
};

/* XDG Base Directory Specification: a relative path is to be ignored, like an empty one. */
static const char *absolute_variable(char *const *environment, const char *name)
{
    const char *value = text_variable(environment, name);
    return value && value[0] == '/' ? value : NULL;
}

char *archive_state_folder(char *const *environment, struct err *err)
{
    const char *state = absolute_variable(environment, "XDG_STATE_HOME");
    const char *home = absolute_variable(environment, "HOME");
    if (!state && !home) {
        (void)err_set(err, ERR_UNAVAILABLE,
                      "neither XDG_STATE_HOME nor HOME names a folder for the records of runs; "
                      "set one of them to an absolute path");
        return NULL;
    }
    return state ? memory_format("%s/berm", state) : memory_format("%s/.local/state/berm", home);
}

int archive_open_state(char *const *environment, struct bfs_dir *ret_folder, struct err *err)
{
    struct err seen = {0};
    with_string path = archive_state_folder(environment, &seen);
    if (path && bfs_dir_open(AT_FDCWD, path, BFS_TRUST_OWN, ret_folder, &seen) == 0) {
        return 1;
    }
    return path && seen.code == ERR_NOT_FOUND ? 0 : err_set(err, seen.code, "%s", seen.msg);
}

struct archive *archive_open(char *const *environment, struct err *err)
{
    with_string above = archive_state_folder(environment, err);
    if (!above) {
        return NULL;
    }
    with_string folder = memory_format("%s/runs", above);
    with_archive archive = memory_new(sizeof *archive);
    if (bfs_dir_make(AT_FDCWD, folder, 0700, BFS_TRUST_OWN, &archive->dir, err) < 0) {
        (void)err_wrap(err, "cannot keep records of runs in '%s'", folder);
        return NULL;
    }
    struct archive *opened = archive;
    archive = NULL;
    return opened;
}

const char *archive_folder(const struct archive *archive)
{
    return archive->dir.path;
}

void archive_free(struct archive *archive)
{
    if (archive) {
        bfs_dir_done(&archive->dir);
        memory_free(archive);
    }
}

static char *record_name(const char *id)
{
    return memory_format("%s.json", id);
}

/* Ids. */

static bool is_id_text(const char *text, size_t n)
{
    return n > 0 && n <= ID_LENGTH && strspn(text, id_alphabet) >= n;
}

/* The id that a file name begins with; false: it is no file of a run. */
static bool id_of_file(const char *name, char id[RUN_ID_SIZE])
{
    size_t n = strcspn(name, ".");
    if (n != ID_LENGTH || name[n] != '.' || !is_id_text(name, n)) {
        return false;
    }
    memcpy(id, name, n);
    id[n] = '\0';
    return true;
}

static bool is_record_file(const char *name)
{
    return strcmp(name + strcspn(name, "."), ".json") == 0;
}

static int invent_id(char id[RUN_ID_SIZE], struct err *err)
{
    unsigned char random[ID_LENGTH];
    int result = os_getrandom(random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "ask for random bytes");
    }
    for (size_t i = 0; i < ID_LENGTH; i++) {
        id[i] = id_alphabet[random[i] & 31];
    }
    id[ID_LENGTH] = '\0';
    return 0;
}

int archive_new_id(struct archive *archive, char id[RUN_ID_SIZE], struct err *err)
{
    for (int i = 0; i < NEW_ID_TRIES; i++) {
        if (invent_id(id, err) < 0) {
            return -1;
        }
        with_string name = record_name(id);
        struct bfs_facts there;
        struct err seen = {0};
        if (bfs_stat(&archive->dir, name, &there, &seen) < 0) {
            return seen.code == ERR_NOT_FOUND ? 0 : err_set(err, seen.code, "%s", seen.msg);
        }
    }
    return err_set(err, ERR_CONFLICT, "no free run id in '%s'", archive->dir.path);
}

char *archive_path(const struct archive *archive, const char *id, const char *suffix)
{
    return memory_format("%s/%s%s", archive->dir.path, id, suffix);
}

int archive_create(struct archive *archive, const char *id, const char *suffix, struct fd *ret_fd,
                   struct err *err)
{
    with_string name = memory_format("%s%s", id, suffix);
    return bfs_create(&archive->dir, name, 0600, ret_fd, err);
}

/* What lies there, by run. */

struct entry {
    char id[RUN_ID_SIZE];
    bool has_record;
    int64_t newest_ns;
    int64_t bytes;
};

struct entries {
    struct entry *list;
    size_t count;
};

static void entries_done(struct entries *entries)
{
    memory_free(entries->list);
    *entries = (struct entries){0};
}
#define with_entries cleanup(entries_done) struct entries

static int newest_first(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    if (left->newest_ns != right->newest_ns) {
        return left->newest_ns > right->newest_ns ? -1 : 1;
    }
    return strcmp(left->id, right->id);
}

static void note_file(struct entry *entry, const char *name, const struct bfs_facts *facts)
{
    bool record = is_record_file(name);
    entry->has_record |= record;
    entry->bytes += facts->size_bytes;
    if (record || (!entry->has_record && facts->mtime_ns > entry->newest_ns)) {
        entry->newest_ns = facts->mtime_ns;
    }
}

static json_t *read_json(const struct archive *archive, const char *id, struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = RECORD_MAXIMUM_BYTES, .allow_links = true};
    with_string name = record_name(id);
    with_buf text = buf_new(RECORD_MAXIMUM_BYTES);
    if (bfs_read(&archive->dir, name, &rule, &text, NULL, err) < 0) {
        return NULL;
    }
    return json_read(buf_span(&text), &json_budget_report, err);
}

static char *started_at(const struct archive *archive, const struct entry *entry)
{
    struct err ignored = {0};
    with_json json = entry->has_record ? read_json(archive, entry->id, &ignored) : NULL;
    const char *text = json_string_value(json_object_get(json, "started_at"));
    return memory_copy_string(text ? text : "");
}

/* The time of a file has the grain of a kernel's tick, and two runs can end in one: the one that
 * started last is the last. */
static void put_latest_first(const struct archive *archive, struct entries *entries)
{
    struct entry *list = entries->list;
    if (entries->count < 2 || list[1].newest_ns != list[0].newest_ns) {
        return;
    }
    size_t best = 0;
    with_string best_start = started_at(archive, &list[0]);
    for (size_t i = 1; i < entries->count && i < RUNS_IN_A_TICK; i++) {
        if (list[i].newest_ns != list[0].newest_ns) {
            break;
        }
        with_string start = started_at(archive, &list[i]);
        if (strcmp(start, best_start) > 0) {
            memory_free(best_start);
            best_start = start;
            start = NULL;
            best = i;
        }
    }
    struct entry latest = list[best];
    list[best] = list[0];
    list[0] = latest;
}

/* Names come sorted, so the files of a run stand together. A file that goes away meanwhile (another
 * berm prunes) is not there. */
static int read_entries(const struct archive *archive, struct entries *ret_entries, struct err *err)
{
    with_strvec names = {0};
    if (bfs_list(&archive->dir, ENTRIES_MAXIMUM, &names, err) < 0) {
        return -1;
    }
    with_entries entries = {.list = memory_new((names.count + 1) * sizeof *entries.list)};
    for (size_t i = 0; i < names.count; i++) {
        char id[RUN_ID_SIZE];
        struct bfs_facts facts;
        struct err gone = {0};
        if (!id_of_file(names.strings[i], id) ||
            bfs_stat(&archive->dir, names.strings[i], &facts, &gone) < 0) {
            continue;
        }
        struct entry *last = entries.count > 0 ? &entries.list[entries.count - 1] : NULL;
        if (!last || strcmp(last->id, id) != 0) {
            last = &entries.list[entries.count++];
            *last = (struct entry){0};
            memcpy(last->id, id, sizeof last->id);
        }
        note_file(last, names.strings[i], &facts);
    }
    if (entries.count > 1) {
        qsort(entries.list, entries.count, sizeof *entries.list, newest_first);
    }
    put_latest_first(archive, &entries);
    *ret_entries = entries;
    entries = (struct entries){0};
    return 0;
}

int archive_list(struct archive *archive, struct strvec *ids, struct err *err)
{
    with_entries entries = {0};
    if (read_entries(archive, &entries, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < entries.count; i++) {
        if (entries.list[i].has_record) {
            strvec_push(ids, entries.list[i].id);
        }
    }
    return 0;
}

static int take_id(const char *found, char id[RUN_ID_SIZE])
{
    memcpy(id, found, ID_LENGTH + 1);
    return 0;
}

static int ambiguous(const char *text, const struct strvec *matches, struct err *err)
{
    with_buf names = buf_new(256);
    for (size_t i = 0; i < matches->count && i < CANDIDATES_SHOWN; i++) {
        buf_add_format(&names, "%s%s", i > 0 ? ", " : "", matches->strings[i]);
    }
    return err_set(err, ERR_CONFLICT, "'%s' begins the names of %zu runs: %s%s", text,
                   matches->count, buf_string(&names),
                   matches->count > CANDIDATES_SHOWN ? ", ..." : "");
}

int archive_find(struct archive *archive, const char *text, char id[RUN_ID_SIZE], struct err *err)
{
    with_strvec ids = {0};
    if (archive_list(archive, &ids, err) < 0) {
        return -1;
    }
    if (strcmp(text, "last") == 0) {
        return ids.count > 0 ? take_id(ids.strings[0], id)
                             : err_set(err, ERR_NOT_FOUND, "there is no run on record in '%s'",
                                       archive->dir.path);
    }
    with_strvec matches = {0};
    size_t n = strlen(text);
    for (size_t i = 0; i < ids.count && is_id_text(text, n); i++) {
        if (strncmp(ids.strings[i], text, n) == 0) {
            strvec_push(&matches, ids.strings[i]);
        }
    }
    if (matches.count == 0) {
        return err_set(err, ERR_NOT_FOUND, "no run '%s' on record in '%s'", text,
                       archive->dir.path);
    }
    return matches.count == 1 ? take_id(matches.strings[0], id) : ambiguous(text, &matches, err);
}

json_t *archive_read(struct archive *archive, const char *id, struct err *err)
{
    with_json json = read_json(archive, id, err);
    if (!json) {
        return NULL;
    }
    with_strvec faults = {0};
    if (validate_run_record(json, &faults) > 0) {
        bool later = validate_is_of_later_berm(json);
        (void)err_set(err, later ? ERR_UNAVAILABLE : ERR_CORRUPT,
                      "the record of run %s in '%s' %s: %s", id, archive->dir.path,
                      later ? "cannot be read" : "is damaged", faults.strings[0]);
        return NULL;
    }
    return json_incref(json);
}

/* Pruning. */

/* A provisional record whose controller may live belongs to a run that is going on. */
static bool is_alive(const struct archive *archive, const struct entry *entry)
{
    struct err ignored = {0};
    with_json json = entry->has_record ? read_json(archive, entry->id, &ignored) : NULL;
    return json_is_true(json_object_get(json, "in_progress")) &&
           owner_may_live(json_object_get(json, "controller"));
}

static int remove_run(const struct archive *archive, const char *id, struct err *err)
{
    with_strvec names = {0};
    if (bfs_list(&archive->dir, ENTRIES_MAXIMUM, &names, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        char other[RUN_ID_SIZE];
        struct err gone = {0};
        if (id_of_file(names.strings[i], other) && strcmp(other, id) == 0 &&
            bfs_remove(&archive->dir, names.strings[i], NULL, &gone) < 0 &&
            gone.code != ERR_NOT_FOUND) {
            return err_set(err, gone.code, "%s", gone.msg);
        }
    }
    return 0;
}

bool archive_is_due(const char *id, bool grew)
{
    _Static_assert(sizeof id_alphabet - 1 == ARCHIVE_DUE_EVERY, "each of its letters is as likely");
    return grew || id[ID_LENGTH - 1] == id_alphabet[0];
}

/* What a promotion rests on: who uses it compares the report again. */
static int read_promotions(const struct archive *archive, struct promotions *ret_promotions,
                           struct err *err)
{
    with_bfs_dir state = {0};
    return bfs_dir_open(bfs_dir_fd(&archive->dir), "..", BFS_TRUST_ANY, &state, err) < 0
               ? -1
               : promotions_read(&state, ret_promotions, err);
}

static bool is_promoted(const struct promotions *promotions, const char *id)
{
    const struct promotion *list = promotions->promotions.objects;
    for (size_t i = 0; i < promotions->promotions.count; i++) {
        if (strcmp(list[i].run_id, id) == 0) {
            return true;
        }
    }
    return false;
}

int archive_prune(struct archive *archive, int dry_run, struct archive_pruned *ret_pruned,
                  struct err *err)
{
    *ret_pruned = (struct archive_pruned){0};
    with_entries entries = {0};
    with_promotions promotions = {0};
    if (read_promotions(archive, &promotions, err) < 0 ||
        read_entries(archive, &entries, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < entries.count; i++) {
        const struct entry *entry = &entries.list[i];
        bool fits = ret_pruned->kept_runs < ARCHIVE_KEEP_RUNS &&
                    ret_pruned->kept_bytes + entry->bytes <= ARCHIVE_KEEP_BYTES;
        if (fits || i == 0 || is_promoted(&promotions, entry->id) || is_alive(archive, entry)) {
            ret_pruned->kept_runs++;
            ret_pruned->kept_bytes += entry->bytes;
            continue;
        }
        if (!dry_run && remove_run(archive, entry->id, err) < 0) {
            return -1;
        }
        ret_pruned->runs++;
        ret_pruned->bytes += entry->bytes;
    }
    return !dry_run && ret_pruned->runs > 0 ? bfs_dir_sync(&archive->dir, err) : 0;
}
