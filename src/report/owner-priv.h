/* owner-priv.h
 *
 * The process that owns a run, by pid, start time and boot: together they name one process for good. A home may
 * be shared by machines, of which each has boots of its own: the machine says whose they are.
 *
 * Limitations  the record does not say of which PID namespace its numbers are. Of containers that share a machine id
 *              and a state folder, each takes the runs of the other for its own. Without a machine id here, or in
 *              the record, what cannot be told lives until the next boot.
 * Source       machine-id(5); random(4): boot_id; namespaces(7).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

enum { BOOT_ID_SIZE = 48, MACHINE_ID_SIZE = 40 };

struct owner {
    int64_t pid;
    int64_t start_ticks;              /* -1: could not be read */
    char boot_id[BOOT_ID_SIZE];       /* "": could not be read */
    char machine_id[MACHINE_ID_SIZE]; /* likewise; machine-id(5) */
};

void owner_read_self(struct owner *ret_owner);
/* May the process that the record's `controller` names still live? What cannot be read does not; of another machine
 * nobody here can tell. */
bool owner_may_live(const json_t *controller);
