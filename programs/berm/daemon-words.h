/* daemon-words.h
 *
 * What `berm daemon` says of a step, and its exit status.
 */
#pragma once

#include "berm-daemon.h"
#include "buf.h"
#include "err.h"
#include "json.h"

int daemon_step_of(const char *word, enum berm_daemon_step *ret_step, struct err *err) must_check;
/* 0 done, 3 outside, 9 refused or not proved; and the failure that has this status. */
int daemon_exit(const struct berm_daemon *daemon);
int daemon_fail(const struct berm_daemon *daemon, struct err *err) must_check;
/* What was done: the reservation alone for `reserve`, so that a script can keep it; else a line. */
void daemon_add_words(struct buf *out, enum berm_daemon_step step,
                      const struct berm_daemon *daemon);
json_t *daemon_to_json(const struct berm_daemon *daemon);
