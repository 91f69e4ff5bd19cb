/* state-file-priv.h
 *
 * A small record in berm's state folder that several berms read and change: read whole, replaced whole, changed by
 * one at a time.
 *
 * Calling sequence, reading
 *   state_file_read(&folder, &file, &value, err)       1; 0: there is none, *value is untouched
 * Calling sequence, changing
 *   state_file_lock(&folder, err)
 *   state_file_read(), change the value, state_file_write()
 *   state_file_unlock(&folder)
 *
 * The lock      is the folder's (flock), and is waited for at most STATE_FILE_WAIT_MS; it ends with the process too.
 * Ownership     a value that was read ends with record_done().
 * Errors        ERR_CORRUPT: it is there and is none; ERR_REFUSED: it is another user's, or others may write it;
 *               ERR_CONFLICT: another berm holds the lock; ERR_OVER_BUDGET. An error is never "none", and
 *               names the file and the remedy. What cannot be read (ERR_SYS), or changed meanwhile (ERR_CHANGED), may be
 *               as good as ever: the remedy is not to move it away.
 * Limitations   whoever writes files as this user can write it.
 */
#pragma once

#include "bfs.h"
#include "err.h"
#include "record.h"

enum { STATE_FILE_BYTES = 1 << 20, STATE_FILE_WAIT_MS = 5000 };

struct state_file {
    const char *name;
    const struct record *record;
    const char *remedy; /* what to do when it cannot be believed */
};

int state_file_read(const struct bfs_dir *folder, const struct state_file *file, void *value,
                    struct err *err) must_check;
/* Mode 0600, synced, atomic. */
int state_file_write(const struct bfs_dir *folder, const struct state_file *file, const void *value,
                     struct err *err) must_check;
int state_file_lock(const struct bfs_dir *folder, struct err *err) must_check;
void state_file_unlock(const struct bfs_dir *folder);
