/* A manifest lies in a folder that anything of the same user can write: whatever is in it, what is taken for
 * one has texts that end, names that are names, and reports that lie in its bytes. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "manifest-priv.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_a_name(const struct watch_entry *entry)
{
    BUG_IF(strnlen(entry->path, sizeof entry->path) == sizeof entry->path);
    BUG_IF(strnlen(entry->name, sizeof entry->name) == sizeof entry->name);
    BUG_IF(strchr(entry->name, '/') || strcmp(entry->name, "..") == 0);
    BUG_IF((entry->path[0] == '\0') != (entry->name[0] == '\0'));
}

/* The bytes are changes of a whole one: pairs of two bytes place and one byte value. The sum is made to fit,
 * or nothing but the sum would be tried. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { REPORTS = 100 };
    const size_t whole = sizeof(struct watch_manifest) + sizeof(struct watch_reports) + REPORTS;
    char *bytes = memory_new(whole);
    struct watch_manifest *manifest = (struct watch_manifest *)(void *)bytes;
    memcpy(manifest->magic, WATCH_MAGIC, sizeof manifest->magic);
    manifest->version = WATCH_VERSION;
    manifest->bytes = sizeof *manifest;
    manifest->reports_bytes = sizeof(struct watch_reports) + REPORTS;
    for (size_t i = 0; i + 2 < size; i += 3) {
        bytes[(size_t)(data[i] << 8 | data[i + 1]) % whole] = (char)data[i + 2];
    }
    size_t used = size > 0 && data[0] == 0 ? size % whole : whole;
    if (manifest->reports_bytes <= whole - sizeof *manifest) {
        manifest->sum = watch_manifest_sum(manifest, bytes + sizeof *manifest);
    }
    static struct watch_manifest seen;
    struct span reports = {0};
    struct err err = {0};
    if (manifest_read(span_of(bytes, used), &seen, &reports, &err) == 0) {
        is_a_name(&seen.file);
        is_a_name(&seen.lock);
        for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
            is_a_name(&seen.directories[i]);
        }
        for (size_t i = 0; i < WATCH_DAEMONS; i++) {
            const struct watch_daemon *daemon = &seen.daemons[i];
            is_a_name(&daemon->place);
            BUG_IF(daemon->state >= WATCH_DAEMON_STATE_COUNT ||
                   (daemon->place.path[0] &&
                    !watch_is_name(daemon->lock_name, sizeof daemon->lock_name)));
        }
        struct watch_reports head;
        memcpy(&head, reports.p, sizeof head);
        for (size_t i = 0; i < WATCH_SLOTS * WATCH_ENDINGS; i++) {
            const struct watch_text *text = &head.texts[i / WATCH_ENDINGS][i % WATCH_ENDINGS];
            BUG_IF(text->offset > reports.n || text->bytes > reports.n - text->offset);
        }
    }
    memory_free(bytes);
    return 0;
}
