#include "production-claim-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "process.h"
#include "text.h"

enum {
    ENTRIES_MAX = 1 << 22, /* of a folder, which everybody fills */
    CLAIMS_MAX = 1000,
    FOLDERS_MAX = 100000, /* cgroups that are looked at */
    FIELDS = 8,
    ANYBODY_ADDS = 01777, /* and removes what is his own */
};
#define PREFIX "berm-production-"
#define MARK   "berm-claim"
#define SCOPE  "berm-"

/* --- the folder ---------------------------------------------------------------------------------- */

static bool is_right(const struct bfs_dir *folder, uint32_t owner)
{
    return folder->facts.owner == owner && (folder->facts.mode & 07777) == ANYBODY_ADDS;
}

int claims_open(const char *const *paths, uint32_t owner, struct bfs_dir *ret_folder,
                struct err *err)
{
    with_buf seen = buf_new(1000);
    for (; *paths; paths++) {
        with_bfs_dir folder = {0};
        struct err missing = {0};
        if (bfs_dir_open(AT_FDCWD, *paths, BFS_TRUST_ANY, &folder, &missing) < 0) {
            buf_add_format(&seen, "; %s", missing.msg);
        } else if (!is_right(&folder, owner)) {
            buf_add_format(&seen, "; '%s' belongs to user %u and has mode %04o", *paths,
                           folder.facts.owner, folder.facts.mode & 07777);
        } else {
            *ret_folder = folder;
            folder = (struct bfs_dir){0};
            return 0;
        }
    }
    return err_set(
        err, ERR_UNAVAILABLE,
        "no folder of user %u is there that every user may add to (mode 1777), which the "
        "production lock needs%s",
        owner, buf_string(&seen));
}

/* --- what a claim says --------------------------------------------------------------------------- */

void claim_name(uint32_t uid, char name[CLAIM_NAME_SIZE])
{
    (void)snprintf(name, CLAIM_NAME_SIZE, PREFIX "%u", uid);
}

/* Nothing else has such a name: digits as they are written above. */
static bool uid_of(const char *name, uint32_t *ret_uid)
{
    uint64_t uid = 0;
    char again[CLAIM_NAME_SIZE];
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 ||
        !text_parse_number(span_of_string(name + sizeof PREFIX - 1), UINT32_MAX, &uid)) {
        return false;
    }
    *ret_uid = (uint32_t)uid;
    claim_name(*ret_uid, again);
    return strcmp(name, again) == 0;
}

static bool take_text(const char *field, char text[CLAIM_TEXT_SIZE])
{
    size_t n = strlen(field);
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_@\\";
    if (n == 0 || n >= CLAIM_TEXT_SIZE || strspn(field, allowed) != n) {
        return false;
    }
    memcpy(text, field, n + 1);
    return true;
}

bool claim_parse(char *text, struct claim *claim)
{
    char *fields[FIELDS];
    uint64_t pid = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = strsep(&text, " ");
        if (!fields[i]) {
            return false;
        }
    }
    bool fine =
        !text && strcmp(fields[0], MARK) == 0 && strcmp(fields[1], "1") == 0 &&
        text_parse_number(span_of_string(fields[2]), INT32_MAX, &pid) && pid > 0 &&
        text_parse_number(span_of_string(fields[3]), UINT64_MAX, &claim->process.start_ticks) &&
        take_text(fields[4], claim->boot_id) && take_text(fields[5], claim->run_id) &&
        take_text(fields[6], claim->scope) && take_text(fields[7], claim->since) &&
        strncmp(claim->scope, SCOPE, sizeof SCOPE - 1) == 0;
    claim->process.pid = (pid_t)pid;
    return fine;
}

/* 1; 0: it went meanwhile, or is somebody else's, beside which the user of the name has no claim, and can make
 * none. His own berm says so. */
static int read_one(const struct bfs_dir *folder, const char *name, uint32_t uid,
                    struct claim *claim, struct err *err)
{
    struct bfs_facts facts;
    struct err seen = {0};
    with_string text = NULL;
    bool there = bfs_stat(folder, name, &facts, &seen) == 0;
    if (there && facts.owner != uid && uid != os_geteuid()) {
        return 0;
    }
    if (there && (!S_ISLNK(facts.mode) || facts.owner != uid)) {
        return err_set(err, ERR_REFUSED,
                       "'%s/%s' belongs to user %u and is no claim of user %u: somebody took the "
                       "name; remove it, as root or as its owner",
                       folder->path, name, facts.owner, uid);
    }
    if (seen.code == ERR_NONE && bfs_read_link(folder, name, &text, &seen) == 0) {
        *claim = (struct claim){.uid = uid};
        return claim_parse(text, claim)
                   ? 1
                   : err_set(err, ERR_CORRUPT,
                             "'%s/%s' is no claim that this berm can read: remove "
                             "it when no run of user %u is left",
                             folder->path, name, uid);
    }
    return seen.code == ERR_NOT_FOUND ? 0 : err_set(err, seen.code, "%s", seen.msg);
}

static int read_into(const struct bfs_dir *folder, const char *name, const char *boot_id,
                     struct claims *claims, struct err *err)
{
    uint32_t uid = 0;
    if (!uid_of(name, &uid)) {
        return 0;
    }
    if (claims->count == CLAIMS_MAX) {
        return err_set(err, ERR_OVER_BUDGET,
                       "there are more than %d claims ('%s/" PREFIX
                       "*'): remove those of whom no run is left",
                       CLAIMS_MAX, folder->path);
    }
    if (!claims->list) {
        claims->list = memory_new(CLAIMS_MAX * sizeof *claims->list);
    }
    struct claim *one = &claims->list[claims->count];
    int there = read_one(folder, name, uid, one, err);
    claims->count += there == 1 && strcmp(one->boot_id, boot_id) == 0;
    return there < 0 ? -1 : 0;
}

/* What has another name costs a look at the name and nothing else. */
static int read_folder(const struct bfs_dir *folder, const char *boot_id, struct claims *claims,
                       struct err *err)
{
    _Alignas(struct dirent64) char entries[32768];
    size_t seen = 0;
    ssize_t got = 1;
    with_fd listing = fd_adopt(os_openat(bfs_dir_fd(folder), ".", O_RDONLY | O_DIRECTORY, 0));
    if (!fd_is_open(&listing)) {
        return err_sys(err, fd_error(&listing), "cannot list '%s'", folder->path);
    }
    while ((got = os_getdents(fd_num(&listing), entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < got; seen++) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            at += entry->d_reclen;
            if (read_into(folder, entry->d_name, boot_id, claims, err) < 0) {
                return -1;
            }
        }
        if (seen > ENTRIES_MAX) {
            return err_set(err, ERR_OVER_BUDGET,
                           "'%s' has more than %d entries, and %zu claims ('" PREFIX
                           "*') among those that were seen: remove what fills it",
                           folder->path, ENTRIES_MAX, claims->count);
        }
    }
    return got < 0 ? err_sys(err, (int)got, "cannot list '%s'", folder->path) : 0;
}

int claims_read(const char *const *paths, uint32_t owner, const char *boot_id,
                struct claims *ret_claims, struct err *err)
{
    with_claims claims = {0};
    for (; *paths; paths++) {
        with_bfs_dir folder = {0};
        struct err seen = {0};
        if (bfs_dir_open(AT_FDCWD, *paths, BFS_TRUST_ANY, &folder, &seen) < 0) {
            if (seen.code != ERR_NOT_FOUND) {
                return err_set(err, seen.code, "claims may lie there: %s", seen.msg);
            }
        } else if (folder.facts.owner == owner && read_folder(&folder, boot_id, &claims, err) < 0) {
            return -1;
        }
    }
    *ret_claims = claims;
    claims = (struct claims){0};
    return 0;
}

void claims_done(struct claims *claims)
{
    memory_free(claims->list);
    *claims = (struct claims){0};
}

/* --- the cgroup tree ----------------------------------------------------------------------------- */

/* One that anybody made with the name of another's scope holds nobody's claim. */
static bool is_of(int folder_fd, const char *name, uint32_t uid)
{
    struct stat facts;
    int result = os_stat_entry(folder_fd, name, &facts);
    return result < 0 ? result != -ENOENT && result != -ENODEV : facts.st_uid == uid;
}

/* Folders in `path` go behind the others; 1: one has the name. A folder that went meanwhile has none. */
static int look_into(int root_fd, const char *path, const struct claim *claim,
                     struct strvec *folders, struct err *err)
{
    _Alignas(struct dirent64) char entries[8192];
    with_fd folder = fd_adopt(os_openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    ssize_t got = fd_is_open(&folder) ? 1 : fd_error(&folder);
    while (got > 0) {
        got = os_getdents(fd_num(&folder), entries, sizeof entries);
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            at += entry->d_reclen;
            if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
                strcmp(entry->d_name, "..") == 0) {
                continue;
            }
            strvec_push_format(folders, "%s/%s", path, entry->d_name);
            if (strcmp(entry->d_name, claim->scope) == 0 &&
                is_of(fd_num(&folder), entry->d_name, claim->uid)) {
                return 1;
            }
        }
    }
    return got < 0 && got != -ENOENT && got != -ENODEV
               ? err_sys(err, (int)got, "cannot look at the cgroup '%s'", path)
               : 0;
}

int claim_find_scope(int root_fd, const struct claim *claim, char **ret_path, struct err *err)
{
    with_strvec folders = {0};
    strvec_push(&folders, ".");
    for (size_t i = 0; i < folders.count; i++) {
        if (i == FOLDERS_MAX) {
            return err_set(err, ERR_OVER_BUDGET, "this host has more than %d cgroups", FOLDERS_MAX);
        }
        with_string path = memory_copy_string(folders.strings[i]);
        int found = look_into(root_fd, path, claim, &folders, err);
        if (found != 0) {
            if (found > 0) {
                *ret_path = memory_copy_string(folders.strings[folders.count - 1] + 1);
            }
            return found;
        }
    }
    return 0;
}

/* --- the own one --------------------------------------------------------------------------------- */

int claim_make(const struct bfs_dir *folder, const struct claim *claim, struct err *err)
{
    char name[CLAIM_NAME_SIZE];
    claim_name(claim->uid, name);
    with_string text = memory_format(MARK " 1 %d %llu %s %s %s %s", claim->process.pid,
                                     (unsigned long long)claim->process.start_ticks, claim->boot_id,
                                     claim->run_id, claim->scope, claim->since);
    with_string copy = memory_copy_string(text);
    struct claim again = {.uid = claim->uid};
    BUG_IF(!claim_parse(copy, &again));
    return claim_remove(folder, name, err) < 0 ? -1 : bfs_tree_link(folder, name, text, err);
}

int claim_remove(const struct bfs_dir *folder, const char *name, struct err *err)
{
    struct bfs_facts facts;
    struct err seen = {0};
    int result = bfs_stat(folder, name, &facts, &seen);
    result = result < 0 ? result : bfs_remove(folder, name, &facts, &seen);
    return result == 0 || seen.code == ERR_NOT_FOUND ? 0 : err_set(err, seen.code, "%s", seen.msg);
}
