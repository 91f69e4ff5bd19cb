#include "ledger-priv.h"

#include <limits.h>
#include <string.h>

#include "memory.h"

static const char magic[] = "berm snapshot ledger 1\n";

static void put_number(struct buf *out, uint64_t number)
{
    char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(number >> (8 * i));
    }
    buf_add(out, bytes, sizeof bytes);
}

static void put_string(struct buf *out, const char *string)
{
    struct span span = span_of_string(string);
    put_number(out, span.n);
    buf_add_span(out, span);
}

static void put_facts(struct buf *out, const struct bfs_facts *facts)
{
    const uint64_t numbers[] = {
        facts->device,
        facts->inode,
        facts->links,
        facts->mode,
        facts->owner,
        facts->group,
        (uint64_t)facts->size_bytes,
        (uint64_t)facts->mtime_ns,
        (uint64_t)facts->ctime_ns,
    };
    for (size_t i = 0; i < countof(numbers); i++) {
        put_number(out, numbers[i]);
    }
}

static void digest_of(struct span bytes, char hex[HASH_HEX_SIZE])
{
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, bytes.p, bytes.n);
    hash_hex(&hash, hex);
}

void ledger_encode(const struct ledger *ledger, const char *boot_id, struct buf *out)
{
    char hex[HASH_HEX_SIZE];
    buf_add_string(out, magic);
    put_string(out, boot_id);
    put_facts(out, &ledger->tree);
    put_number(out, ledger->entries.count);
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct entry *entry = &ledger->entries.items[i];
        put_number(out, (uint64_t)entry->kind);
        put_string(out, entry->path);
        put_string(out, entry->target);
        put_string(out, entry->sha256);
        put_number(out, (uint64_t)entry->read_ns);
        put_facts(out, &entry->source);
        put_facts(out, &entry->copy);
    }
    digest_of(buf_span(out), hex);
    buf_add_string(out, hex);
}

/* What is left to read; a read beyond it makes it fail for good. */
struct reading {
    struct span rest;
    bool failed;
};

static struct span take(struct reading *reading, size_t n)
{
    if (reading->failed || n > reading->rest.n) {
        reading->failed = true;
        return span_of("", 0);
    }
    struct span taken = span_of(reading->rest.p, n);
    reading->rest = span_of(reading->rest.p + n, reading->rest.n - n);
    return taken;
}

static uint64_t take_number(struct reading *reading)
{
    struct span bytes = take(reading, 8);
    uint64_t number = 0;
    for (size_t i = bytes.n; i-- > 0;) {
        number = number << 8 | (unsigned char)bytes.p[i];
    }
    return number;
}

static struct span take_string(struct reading *reading, size_t maximum)
{
    uint64_t length = take_number(reading);
    if (length > maximum) {
        reading->failed = true;
    }
    struct span string = take(reading, reading->failed ? 0 : (size_t)length);
    if (string.n > 0 && memchr(string.p, '\0', string.n)) {
        reading->failed = true;
    }
    return string;
}

static uint32_t take_small_number(struct reading *reading)
{
    uint64_t number = take_number(reading);
    reading->failed = reading->failed || number > UINT32_MAX;
    return (uint32_t)number;
}

static struct bfs_facts take_facts(struct reading *reading)
{
    struct bfs_facts facts = {0};
    facts.device = take_number(reading);
    facts.inode = take_number(reading);
    facts.links = take_number(reading);
    facts.mode = take_small_number(reading);
    facts.owner = take_small_number(reading);
    facts.group = take_small_number(reading);
    facts.size_bytes = (int64_t)take_number(reading);
    facts.mtime_ns = (int64_t)take_number(reading);
    facts.ctime_ns = (int64_t)take_number(reading);
    return facts;
}

static bool is_kind(uint64_t kind)
{
    return kind == ENTRY_FILE || kind == ENTRY_EXECUTABLE || kind == ENTRY_LINK ||
           kind == ENTRY_DIRECTORY;
}

static void take_entry(struct reading *reading, struct entries *entries)
{
    uint64_t kind = take_number(reading);
    struct span path = take_string(reading, PATH_MAX - 1);
    struct span target = take_string(reading, PATH_MAX - 1);
    struct span sha256 = take_string(reading, HASH_HEX_SIZE - 1);
    bool is_file = kind == ENTRY_FILE || kind == ENTRY_EXECUTABLE;
    if (reading->failed || !is_kind(kind) || path.n == 0 ||
        sha256.n != (is_file ? HASH_HEX_SIZE - 1 : 0) || (target.n > 0 && kind != ENTRY_LINK)) {
        reading->failed = true;
        return;
    }
    with_string text = memory_format("%.*s", (int)path.n, path.p);
    if (entries->count > 0 && entry_order(entries->items[entries->count - 1].path, text) >= 0) {
        reading->failed = true;
        return;
    }
    struct entry *entry = entries_add(entries, text, (enum entry_kind)kind);
    if (kind == ENTRY_LINK) {
        entry->target = memory_format("%.*s", (int)target.n, target.p);
    }
    memcpy(entry->sha256, sha256.p, sha256.n);
    entry->read_ns = (int64_t)take_number(reading);
    entry->source = take_facts(reading);
    entry->copy = take_facts(reading);
    entries->bytes += is_file ? (uint64_t)entry->source.size_bytes : 0;
}

static int check_digest(struct span bytes, struct span *ret_body, struct err *err)
{
    char hex[HASH_HEX_SIZE];
    size_t tail = HASH_HEX_SIZE - 1;
    if (bytes.n < tail) {
        return err_set(err, ERR_CORRUPT, "the ledger is too short");
    }
    struct span body = span_of(bytes.p, bytes.n - tail);
    digest_of(body, hex);
    if (memcmp(bytes.p + body.n, hex, tail) != 0) {
        return err_set(err, ERR_CORRUPT, "the ledger is not what was written");
    }
    *ret_body = body;
    return 0;
}

int ledger_decode(struct span bytes, const char *boot_id, struct ledger *ret_ledger,
                  struct err *err)
{
    struct span body;
    if (check_digest(bytes, &body, err) < 0) {
        return -1;
    }
    struct reading reading = {.rest = body};
    with_ledger ledger = {0};
    if (!span_equals(take(&reading, strlen(magic)), magic)) {
        return err_set(err, ERR_CORRUPT, "the ledger is of another version");
    }
    if (!span_equals(take_string(&reading, 64), boot_id)) {
        return err_set(err, ERR_CHANGED, "the ledger is of another boot");
    }
    ledger.tree = take_facts(&reading);
    uint64_t count = take_number(&reading);
    for (uint64_t i = 0; i < count && !reading.failed; i++) {
        take_entry(&reading, &ledger.entries);
    }
    if (reading.failed || reading.rest.n > 0) {
        return err_set(err, ERR_CORRUPT, "the ledger holds what none can");
    }
    *ret_ledger = ledger;
    ledger = (struct ledger){0};
    return 0;
}

void ledger_done(struct ledger *ledger)
{
    if (!ledger) {
        return;
    }
    entries_done(&ledger->entries);
    *ledger = (struct ledger){0};
}
