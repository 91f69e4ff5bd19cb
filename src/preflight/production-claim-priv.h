/* production-claim-priv.h
 *
 * Claims of the production lock (production-lock.h), in a folder that everybody may add to.
 *
 * A claim is a symbolic link `berm-production-UID` whose target is the text: it is there whole or not at all, can be
 * read by everybody whatever the umask, belongs to whom made it, and nobody follows it.
 *
 * Calling sequence
 *   claims_open(paths, &folder, err)              the first folder that is right
 *   claims_read(&folder, boot_id, &claims, err)   those of this boot
 *   claims_find_scope(root_fd, name, &path, err)  1: a cgroup of that name is in the tree; 0: none is
 *   claim_make(), claim_remove()                  the own one
 *
 * Errors       production-lock.h
 * Limitations  a claim of an earlier boot is none: nobody of it lives.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "bfs.h"
#include "err.h"
#include "proc.h"

enum { CLAIM_TEXT_SIZE = 64, CLAIM_NAME_SIZE = 40 };

struct claim {
    uint32_t uid;
    struct proc_identity process;
    char boot_id[CLAIM_TEXT_SIZE];
    char run_id[CLAIM_TEXT_SIZE];
    char scope[CLAIM_TEXT_SIZE];
    char since[CLAIM_TEXT_SIZE];
};
struct claims {
    struct claim *list;
    size_t count;
};

int claims_open(const char *const *paths, struct bfs_dir *ret_folder, struct err *err) must_check;
int claims_read(const struct bfs_dir *folder, const char *boot_id, struct claims *ret_claims,
                struct err *err) must_check;
void claims_done(struct claims *claims);
#define with_claims cleanup(claims_done) struct claims

int claims_find_scope(int root_fd, const char *name, char **ret_path, struct err *err) must_check;

void claim_name(uint32_t uid, char name[CLAIM_NAME_SIZE]);
/* In the place of an earlier one of this user. */
int claim_make(const struct bfs_dir *folder, const struct claim *claim, struct err *err) must_check;
int claim_remove(const struct bfs_dir *folder, const char *name, struct err *err) must_check;
