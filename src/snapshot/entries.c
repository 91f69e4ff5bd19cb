#include "snapshot-priv.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "encoding-priv.h"
#include "memory.h"

/* The clock of a local filesystem ticks every 10 ms at most; network filesystems of whole seconds exist. */
static const int64_t YOUNG_NS = 2 * NS_PER_S;

/* '/' sorts before every byte of a name. */
static int rank(char c)
{
    return c == '/' ? 0 : (unsigned char)c;
}

int entry_order(const char *a, const char *b)
{
    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    if (*a == '\0' || *b == '\0') {
        return (*a != '\0') - (*b != '\0');
    }
    return rank(*a) - rank(*b);
}

bool entry_is_file(const struct entry *entry)
{
    return entry->kind == ENTRY_FILE || entry->kind == ENTRY_EXECUTABLE;
}

struct entry *entries_add(struct entries *entries, const char *path, enum entry_kind kind)
{
    if (entries->count == entries->capacity) {
        entries->capacity = entries->capacity ? entries->capacity * 2 : 256;
        entries->items = memory_resize(entries->items, entries->capacity * sizeof *entries->items);
    }
    struct entry *entry = &entries->items[entries->count++];
    *entry = (struct entry){.path = memory_copy_string(path), .kind = kind};
    return entry;
}

static void entry_done(struct entry *entry)
{
    memory_free(entry->path);
    memory_free(entry->target);
}

void entries_drop_last(struct entries *entries)
{
    entry_done(&entries->items[--entries->count]);
}

const struct entry *entries_find(const struct entries *entries, const char *path)
{
    size_t low = 0;
    size_t high = entries->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = entry_order(path, entries->items[middle].path);
        if (order == 0) {
            return &entries->items[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

void entries_done(struct entries *entries)
{
    if (!entries) {
        return;
    }
    for (size_t i = 0; i < entries->count; i++) {
        entry_done(&entries->items[i]);
    }
    memory_free(entries->items);
    *entries = (struct entries){0};
}

int64_t entry_now_ns(void)
{
    return os_clock_real.realtime_ns();
}

bool entry_is_young(const struct entry *entry)
{
    /* A clock that was set back since makes nothing young that is not: the other times would differ. */
    return entry->source.ctime_ns > entry->read_ns - YOUNG_NS;
}

void entries_digest(const struct entries *entries, char hex[HASH_HEX_SIZE])
{
    struct encoding encoding;
    encoding_init(&encoding, "berm.source/1");
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        if (entry->kind == ENTRY_DIRECTORY) {
            continue;
        }
        encoding_number(&encoding, (uint64_t)entry->kind);
        encoding_string(&encoding, entry->path);
        if (entry->kind == ENTRY_LINK) {
            encoding_string(&encoding, entry->target);
        } else {
            encoding_number(&encoding, (uint64_t)entry->source.size_bytes);
            encoding_string(&encoding, entry->sha256);
        }
    }
    encoding_hex(&encoding, hex);
}
