/* production-claim-priv.h
 *
 * Claims of the production lock (production-lock.h), in folders that everybody may add to.
 *
 * A claim is a symbolic link `berm-production-UID` whose target is the text: it is there whole or not at all, can be
 * read by everybody whatever the umask, belongs to whom made it, and nobody follows it.
 *
 * Calling sequence
 *   claims_open(paths, owner, &folder, err)           the first folder that is right, for the own one
 *   claims_read(paths, owner, boot_id, &claims, err)  those of this boot, in all folders of that owner
 *   claim_find_scope(root_fd, &claim, &path, err)     1: his cgroup of that name is in the tree; 0: none is
 *   claim_make(), claim_remove()                      the own one
 *
 * Who could forge one
 *   Only its owner makes, changes and removes a link in a sticky folder; the name says whose it is. What another user put
 *   under the name is no claim: the user of the name is refused, with the name, and everybody else goes on. A
 *   folder of another owner (a mount of one's own) is not looked at. The scope must be called as berm calls
 *   them, and be the claimer's: nobody keeps others out with a cgroup that is always there, or with one that
 *   somebody else left.
 *
 * Errors       production-lock.h
 * At most      CLAIMS_MAX claims; other names in the folders cost only a look, and there may be four million.
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

int claims_open(const char *const *paths, uint32_t owner, struct bfs_dir *ret_folder,
                struct err *err) must_check;
int claims_read(const char *const *paths, uint32_t owner, const char *boot_id,
                struct claims *ret_claims, struct err *err) must_check;
void claims_done(struct claims *claims);
#define with_claims cleanup(claims_done) struct claims

int claim_find_scope(int root_fd, const struct claim *claim, char **ret_path,
                     struct err *err) must_check;

/* Of bytes that anybody may have written; `text` is cut to pieces. */
bool claim_parse(char *text, struct claim *claim) must_check;
void claim_name(uint32_t uid, char name[CLAIM_NAME_SIZE]);
/* In the place of an earlier one of this user. */
int claim_make(const struct bfs_dir *folder, const struct claim *claim, struct err *err) must_check;
int claim_remove(const struct bfs_dir *folder, const char *name, struct err *err) must_check;
