/* owner-priv.h
 *
 * The process that owns a run, by pid, start time and boot: together they name one process for good.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

enum { BOOT_ID_SIZE = 48 };

struct owner {
    int64_t pid;
    int64_t start_ticks;        /* -1: could not be read */
    char boot_id[BOOT_ID_SIZE]; /* "": could not be read */
};

void owner_read_self(struct owner *ret_owner);
/* Does the process that the record's `controller` names still live? What cannot be read is not. */
bool owner_is_alive(const json_t *controller);
