/* scope-wait-priv.h
 *
 * Waiting with a deadline, and for no longer than whoever asked berm to stop has patience (struct
 * scope_patience): asked once, SCOPE_SETTLE_MS more; asked again, not at all.
 *
 * Calling sequence
 *   struct patience patience = {.who = ...}
 *   while (nothing came) {
 *       if (now >= patience_until(&patience, deadline)) ...    over: see patience_is_lost()
 *       patience_wait(&patience, fd, POLLIN, deadline)          may come back for nothing
 *   }
 *   patience_renew(&patience)                     for another matter: what was asked before does not count
 *
 * Limitations  who asks is heard in a wait and between two, not in a call that blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"
#include "scope.h"

struct patience {
    struct scope_patience who;
    int before;
    int64_t cut_ns; /* no wait goes on after it; 0: nobody asked */
};

void patience_renew(struct patience *patience);
/* Somebody asked to stop. */
bool patience_is_lost(struct patience *patience);
int64_t patience_until(struct patience *patience, int64_t deadline_ns) must_check;
/* The revents of the descriptor, or 0; -errno. */
int patience_wait(struct patience *patience, int fd, short events, int64_t deadline_ns) must_check;
