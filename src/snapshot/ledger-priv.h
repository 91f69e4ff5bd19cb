/* ledger-priv.h
 *
 * What is known of a kept copy: written when it is complete, removed before it is changed, so that a copy without a
 * ledger is none.
 *
 * Format       "berm snapshot ledger 1\n", the boot id, the facts of the tree itself, the number of entries, the
 *              entries in their order, and the digest of all that. Numbers of eight bytes, least significant
 *              first; strings behind their length.
 * Errors       ledger_decode(): ERR_CORRUPT, or ERR_CHANGED for one of another boot.
 * Limitations  the digest tells accidents, and no forger who may write the state folder
 */
#pragma once

#include "snapshot-priv.h"

enum { LEDGER_BYTES = 512 << 20 };

struct ledger {
    struct bfs_facts tree;
    struct entries entries;
};

void ledger_encode(const struct ledger *ledger, const char *boot_id, struct buf *out);
int ledger_decode(struct span bytes, const char *boot_id, struct ledger *ret_ledger,
                  struct err *err) must_check;
void ledger_done(struct ledger *ledger);
#define with_ledger cleanup(ledger_done) struct ledger
