/* archive.h
 *
 * The state folder's records: every run keeps one, RUNID.json, whether or not a report was asked
 * for. $XDG_STATE_HOME/berm/runs, or ~/.local/state/berm/runs; folders 0700, files 0600.
 *
 * Calling sequence
 *   archive_open_state(environment, &folder, err)   the folder above: berm's own; 1; 0: it is not there
 *   archive_open(environment, err)          makes the folders where they are missing
 *   archive_new_id(archive, id, err)        six letters and digits, not in use
 *   archive_path(archive, id)               give it to slot_take(): the record is a slot like any other
 *   archive_create(archive, id, ".stdout")  a new file of the run beside its record, for kept output
 *   archive_find(archive, "k7f", id, err)   a whole id, an unambiguous beginning, or "last"
 *   archive_read(archive, id, err)          bounded, checked
 *   archive_is_due(id, grew)                whether it is time to look for what to prune
 *   archive_prune(archive, &pruned, err)    the newest records stay, ARCHIVE_KEEP_RUNS at most
 *
 * Errors       ERR_NOT_FOUND, ERR_CONFLICT (ambiguous: the candidates are named), ERR_CORRUPT
 * Limitations  "newest" is by the file's modification time; of runs that ended in one tick of the
 *              kernel's clock, the last is the one that started last. A record of a run that is still
 *              alive, or that was promoted, is never pruned; and nothing is when promotions cannot be read.
 */
#pragma once

#include <stdint.h>

#include "bfs.h"
#include "err.h"
#include "fd.h"
#include "json.h"
#include "strvec.h"

enum { RUN_ID_SIZE = 8 };
/* Plain numbers, since the help tells them. */
#define ARCHIVE_KEEP_RUNS  500
#define ARCHIVE_KEEP_MIB   256
#define ARCHIVE_KEEP_BYTES (INT64_C(1048576) * ARCHIVE_KEEP_MIB)

struct archive;
struct archive_pruned {
    int64_t runs;
    int64_t bytes;
    int64_t kept_runs;
    int64_t kept_bytes;
};

/* The folder above the records: berm's own. Nothing is made. */
char *archive_state_folder(char *const *environment, struct err *err) must_check;
int archive_open_state(char *const *environment, struct bfs_dir *ret_folder,
                       struct err *err) must_check;
struct archive *archive_open(char *const *environment, struct err *err) must_check;
const char *archive_folder(const struct archive *archive);
int archive_new_id(struct archive *archive, char id[RUN_ID_SIZE], struct err *err) must_check;
char *archive_path(const struct archive *archive, const char *id, const char *suffix) must_check;
/* For writing; ERR_CONFLICT when the file is there already. */
int archive_create(struct archive *archive, const char *id, const char *suffix, struct fd *ret_fd,
                   struct err *err) must_check;
int archive_find(struct archive *archive, const char *text, char id[RUN_ID_SIZE],
                 struct err *err) must_check;
json_t *archive_read(struct archive *archive, const char *id, struct err *err) must_check;
/* Ids of all records, newest first. */
int archive_list(struct archive *archive, struct strvec *ids, struct err *err) must_check;
/* Looking at every file of 500 runs takes longer than a run, and their list alone a fiftieth of it: one in
 * ARCHIVE_DUE_EVERY does it, which its random id decides, and each that kept output of its own (grew). Until
 * then there may be a few times that many records more. */
enum { ARCHIVE_DUE_EVERY = 32 };
bool archive_is_due(const char *id, bool grew);
/* With dry_run nothing is removed and the figures say what would be. */
int archive_prune(struct archive *archive, int dry_run, struct archive_pruned *ret_pruned,
                  struct err *err) must_check;
void archive_free(struct archive *archive);

static inline void archive_freep(struct archive **archive)
{
    archive_free(*archive);
    *archive = NULL;
}
#define with_archive cleanup(archive_freep) struct archive *
