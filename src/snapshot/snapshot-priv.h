/* snapshot-priv.h
 *
 * What the files of snapshot/ share: the entries of a snapshot, in their one order.
 */
#pragma once

#include "snapshot.h"

enum entry_kind {
    ENTRY_FILE = 'f',
    ENTRY_EXECUTABLE = 'x',
    ENTRY_LINK = 'l',
    ENTRY_DIRECTORY = 'd',
};

struct entry {
    char *path; /* relative to the root; any bytes but NUL */
    enum entry_kind kind;
    char *target;               /* of a link, else NULL */
    char sha256[HASH_HEX_SIZE]; /* of a file; empty: not read yet */
    int64_t read_ns;            /* realtime at which reading it began */
    struct bfs_facts source;
    struct bfs_facts copy;
};

/* Sorted as entry_order() says, no path twice; each directory before what it holds. */
struct entries {
    struct entry *items;
    size_t count;
    size_t capacity;
    uint64_t bytes; /* of the files, as their sizes were */
};

/* Component by component, bytewise: the order in which a walk that sorts each directory meets them. */
int entry_order(const char *a, const char *b);
bool entry_is_file(const struct entry *entry);
struct entry *entries_add(struct entries *entries, const char *path, enum entry_kind kind);
void entries_drop_last(struct entries *entries);
const struct entry *entries_find(const struct entries *entries, const char *path);
void entries_done(struct entries *entries);
#define with_entries cleanup(entries_done) struct entries

/* What read_ns is of, asked before the file is opened. */
int64_t entry_now_ns(void);
/* A later change of the file could have left its times as they were when it was read. */
bool entry_is_young(const struct entry *entry);
/* The identity of the source, over files and links. */
void entries_digest(const struct entries *entries, char hex[HASH_HEX_SIZE]);
