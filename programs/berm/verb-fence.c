#include <string.h>

#include "archive.h"
#include "clock.h"
#include "fence.h"
#include "process.h"
#include "say.h"
#include "text.h"
#include "verb.h"

enum { TEXT_BYTES = 1 << 20 };

static void add_fence(struct buf *out, const struct fence *fence)
{
    text_neutralise(out, span_of(fence->frozen_digest, FENCE_ID_LENGTH));
    buf_add_format(out, "  %s", fence_state_name((enum fence_state)fence->state));
    if (fence->limit) {
        buf_add_char(out, ' ');
        say_add(out, fence->limit);
    }
    buf_add_string(out, "  ");
    say_add(out, fence->workload);
    buf_add_string(out, "  ");
    say_add(out, fence->tier);
    buf_add_string(out, "  ");
    say_add(out, fence->since);
    buf_add_string(out, "  run ");
    say_add(out, fence->run_id);
    buf_add_string(out, "  ");
    say_add(out, fence->repository);
    buf_add_char(out, '\n');
}

static void add_clearing(struct buf *out, const struct fence_clearing *clearing)
{
    buf_add_string(out, "cleared ");
    say_add(out, clearing->cleared_at);
    buf_add_string(out, ": ");
    say_add(out, clearing->reason);
    buf_add_string(out, "\n  ");
    add_fence(out, &clearing->fence);
}

static int list(const struct options *options, struct err *err)
{
    with_bfs_dir folder = {0};
    with_fences fences = {0};
    int there = archive_open_state(os_environment_all(), &folder, err);
    if (there < 0 || (there > 0 && fences_read(&folder, &fences, err) < 0)) {
        return -1;
    }
    if (options_given(options, OPTION_JSON)) {
        with_json json = record_encode(&fences_record, &fences);
        return say_json(json, err);
    }
    with_buf text = buf_new(TEXT_BYTES);
    const struct fence *standing = fences.standing.objects;
    for (size_t i = 0; i < fences.standing.count; i++) {
        add_fence(&text, &standing[i]);
    }
    const struct fence_clearing *cleared = fences.cleared.objects;
    for (size_t i = 0; i < fences.cleared.count; i++) {
        add_clearing(&text, &cleared[i]);
    }
    buf_add_format(&text, "%zu standing, %lld cleared\n", fences.standing.count,
                   (long long)fences.cleared.count + (long long)fences.cleared_before);
    return say_result(&text, err);
}

static int say_cleared(const struct options *options, const struct fence_clearing *cleared,
                       struct err *err)
{
    if (options_given(options, OPTION_JSON)) {
        with_json json = record_encode(&fence_clearing_record, cleared);
        return say_json(json, err);
    }
    with_buf text = buf_new(TEXT_BYTES);
    add_clearing(&text, cleared);
    return say_result(&text, err);
}

static int clear(const struct options *options, struct err *err)
{
    const char *id = options->operands.count > 1 ? options->operands.strings[1] : NULL;
    const char *reason = options->values[OPTION_REASON].text;
    with_bfs_dir folder = {0};
    if (!id || !reason) {
        return err_set(err, ERR_USAGE,
                       "fence clear: say which and why: berm fence clear ID "
                       "--reason TEXT");
    }
    int there = archive_open_state(os_environment_all(), &folder, err);
    if (there <= 0) {
        return there < 0 ? -1 : err_set(err, ERR_NOT_FOUND, "there is no fence: no state folder");
    }
    struct fence_clearing cleared = {0};
    if (fence_clear(&folder, id, reason, os_clock_real.realtime_ns(), &cleared, err) < 0) {
        return -1;
    }
    int result = say_cleared(options, &cleared, err);
    record_done(&fence_clearing_record, &cleared);
    return result;
}

int verb_fence(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    const char *what = options->operands.count > 0 ? options->operands.strings[0] : "";
    bool listing = strcmp(what, "list") == 0;
    if (listing && (options->operands.count > 1 || options_given(options, OPTION_REASON))) {
        return err_set(err, ERR_USAGE, "fence list takes neither an id nor a reason");
    }
    if (listing || strcmp(what, "clear") == 0) {
        return listing ? list(options, err) : clear(options, err);
    }
    return err_set(err, ERR_USAGE,
                   "fence %s: there are fence list, and fence clear ID --reason "
                   "TEXT",
                   what);
}
