#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "archive.h"
#include "clock.h"
#include "contain.h"
#include "envelope.h"
#include "file.h"
#include "lookup.h"
#include "process.h"
#include "promotion.h"
#include "qualification.h"
#include "say.h"
#include "text.h"
#include "units.h"
#include "verb.h"

enum { TEXT_BYTES = 65536 };

static void add_size(struct buf *out, const json_t *envelope, const char *path)
{
    int64_t bytes = lookup_number(envelope, path);
    if (bytes < 0) {
        buf_add_string(out, "unknown");
    } else {
        units_add_bytes(out, bytes);
    }
}

static void add_text(struct buf *out, const json_t *envelope, const char *path)
{
    const char *text = lookup_text(envelope, path);
    text_neutralise(out, span_of_string(text ? text : "unknown"));
}

static void add_guarantees(struct buf *out, const json_t *envelope)
{
    const json_t *guarantees = lookup(envelope, "adapter.guarantees");
    const char *name;
    json_t *guarantee;
    json_object_foreach((json_t *)(uintptr_t)guarantees, name, guarantee) {
        buf_add_format(out, "  %-16s %-9s", name, lookup_text(guarantee, "level"));
        const char *why = lookup_text(guarantee, "why");
        if (why) {
            buf_add_char(out, ' ');
            text_neutralise(out, span_of_string(why));
        }
        buf_add_char(out, '\n');
    }
}

/* The same words as a refusal has. */
static void add_with_sandbox(struct buf *out, const json_t *envelope)
{
    buf_add_string(out, "with ");
    add_text(out, envelope, "adapter.with_sandbox.option");
    buf_add_char(out, ':');
    size_t i;
    json_t *name;
    const json_t *enforced = lookup(envelope, "adapter.with_sandbox.enforced");
    json_array_foreach((json_t *)(uintptr_t)enforced, i, name) {
        buf_add_format(out, " %s", json_string_value(name));
    }
    if (json_array_size(enforced) == 0) {
        buf_add_string(out, " nothing more");
    }
    buf_add_char(out, '\n');
    static const char *const whys[] = {"saw", "remedy"};
    for (i = 0; i < countof(whys); i++) {
        const char *text = lookup_text(lookup(envelope, "adapter.with_sandbox"), whys[i]);
        if (text) {
            buf_add_format(out, "  %-6s ", whys[i]);
            text_neutralise(out, span_of_string(text));
            buf_add_char(out, '\n');
        }
    }
}

static void add_attestation(struct buf *out, const json_t *envelope)
{
    bool valid = json_is_true(lookup(envelope, "attestation.valid"));
    buf_add_format(out, "attested   %s", valid ? "since " : "no: ");
    add_text(out, envelope, valid ? "attestation.value.tested_at" : "attestation.reason");
    buf_add_char(out, '\n');
}

static void add_promotions(struct buf *out, const json_t *envelope)
{
    size_t i;
    json_t *one;
    json_array_foreach((json_t *)(uintptr_t)lookup(envelope, "promotion.completed"), i, one) {
        buf_add_string(out, i == 0 ? "promoted   " : ", ");
        add_text(out, one, "workload");
        buf_add_char(out, ' ');
        add_text(out, one, "tier");
    }
    buf_add_string(out, i == 0 ? "promoted   nothing\n" : "\n");
}

static void describe(struct buf *out, const json_t *envelope)
{
    buf_add_string(out, "host       ");
    add_text(out, envelope, "hostname");
    buf_add_string(out, ", Linux ");
    add_text(out, envelope, "kernel_release");
    buf_add_format(out, ", %lld processors\nmemory     ",
                   (long long)lookup_number(envelope, "processors"));
    add_size(out, envelope, "available_memory_bytes");
    buf_add_string(out, " available of ");
    add_size(out, envelope, "total_memory_bytes");
    buf_add_string(out, ", bound by ");
    add_text(out, envelope, "memory_bound_by");
    buf_add_string(out, "\ndisk       ");
    add_size(out, envelope, "free_disk_bytes");
    buf_add_string(out, " free here, ");
    add_size(out, envelope, "temporary_free_disk_bytes");
    buf_add_string(out, " in ");
    add_text(out, envelope, "temporary_disk_target");
    buf_add_string(out, "\ncgroups    ");
    add_text(out, envelope, "cgroup.layout");
    buf_add_string(out, "; controllers: ");
    const char *controllers = lookup_text(envelope, "cgroup.controllers");
    text_neutralise(out, span_of_string(controllers && *controllers ? controllers : "none"));
    buf_add_string(out, "\nplain runs --memory up to ");
    add_size(out, envelope, "plain.memory_bytes");
    buf_add_format(out, ", --tasks %lld, no time limit\ntiers      ",
                   (long long)lookup_number(envelope, "plain.tasks"));
    add_size(out, envelope, "limits.memory_max_bytes");
    buf_add_format(out, ", %lld tasks, one run at a time\nadapter    ",
                   (long long)lookup_number(envelope, "limits.pids_max"));
    add_text(out, envelope, "adapter.id");
    buf_add_string(out, "\nlabel      ");
    add_text(out, envelope, "adapter.label");
    buf_add_char(out, '\n');
    add_guarantees(out, envelope);
    add_with_sandbox(out, envelope);
    add_attestation(out, envelope);
    add_promotions(out, envelope);
}

static int say(const struct options *options, const json_t *envelope, struct err *err)
{
    if (options_given(options, OPTION_JSON)) {
        return say_json(envelope, err);
    }
    with_buf text = buf_new(TEXT_BYTES);
    describe(&text, envelope);
    return say_result(&text, err);
}

/* {completed, value}: all of them, and the file; null: there is none. */
static int set_promotions(json_t *envelope, struct err *err)
{
    with_bfs_dir folder = {0};
    with_promotions promotions = {0};
    int there = archive_open_state(os_environment_all(), &folder, err);
    there = there > 0 ? promotions_read(&folder, &promotions, err) : there;
    json_t *value = there > 0 ? record_encode(&promotions_record, &promotions) : NULL;
    json_t *promotion = json_object();
    json_object_set_new(promotion, "completed",
                        value ? json_incref(json_object_get(value, "promotions")) : json_array());
    json_object_set_new(promotion, "value", value ? value : json_null());
    json_object_set_new(envelope, "promotion", promotion);
    return there < 0 ? -1 : 0;
}

int verb_envelope(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    with_fd cwd = fd_adopt(os_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0));
    if (!fd_is_open(&cwd)) {
        return err_sys(err, fd_error(&cwd), "open the working folder");
    }
    char name[PATH_MAX];
    if (os_readlinkat(AT_FDCWD, "/proc/self/cwd", name, sizeof name) < 0) {
        memcpy(name, ".", sizeof ".");
    }
    struct envelope envelope;
    if (envelope_read(fd_num(&cwd), os_clock_real.realtime_ns(), &envelope, err) < 0) {
        return -1;
    }
    const struct scope_question question = {
        .runtime_dir = text_variable(os_environment_all(), "XDG_RUNTIME_DIR")};
    struct scope_offer offer;
    scope_probe(&question, &offer);
    struct contain contain;
    contain_choose(&offer, &contain);
    if (offer.adapter != SCOPE_NONE) {
        contain_hold(false, true, &contain.guarantees);
    }
    with_json could = contain_with_sandbox(&offer, os_environment_all());
    contain.could = could;
    with_json json = envelope_to_json(&envelope, name);
    contain_add_to_envelope(&contain, json);
    /* An attestation, or promotions, that cannot be believed are told with the rest, and are an error all the same. */
    struct err unbelievable = {0};
    with_qualification qualification = {0};
    int believed = qualification_read(os_environment_all(), &offer, &qualification, &unbelievable);
    json_object_set_new(json, "attestation", qualification_to_json(&qualification));
    believed = set_promotions(json, believed < 0 ? NULL : &unbelievable) < 0 ? -1 : believed;
    if (say(options, json, err) < 0) {
        return -1;
    }
    return believed < 0 ? err_set(err, unbelievable.code, "%s", unbelievable.msg) : 0;
}
