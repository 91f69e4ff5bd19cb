/* The record of a run into its places: the named report, the state folder, the fallback where one of them
 * failed; the same for every ending. */
#include "run-priv.h"

#include <string.h>

#include "boundary.h"
#include "memory.h"

int run_render(const json_t *value, struct buf *out, struct err *err)
{
    buf_clear(out);
    if (json_write(value, JSON_READABLE, out, err) < 0) {
        return -1;
    }
    return buf_fits(out) ? 0
                         : err_set(err, ERR_OVER_BUDGET, "a record may hold at most %d bytes",
                                   RUN_RECORD_MAX_BYTES);
}

const json_t *run_inner_report(const json_t *record)
{
    return json_object_get(record, "report");
}

static void gather(struct run *run)
{
    struct report_facts *facts = &run->facts;
    const struct supervise_ending *ending = run->ending;
    facts->duration_ns = run->request->clock->monotonic_ns() - run->started_ns;
    int64_t payload_ns = ending && ending->released_ns > 0 && ending->exited_ns > 0
                             ? ending->exited_ns - ending->released_ns
                             : 0;
    facts->own_ns = facts->duration_ns - payload_ns;
}

static int publish_part(struct slot *slot, const json_t *part, struct err *err)
{
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    if (run_render(part, &text, err) < 0 || slot_publish(slot, buf_span(&text), err) < 0) {
        return -1;
    }
    os_boundary(BOUNDARY_REPORT_RENAMED);
    return 0;
}

/* The requested place failed: a complete report in the system's temporary folder (RP-4). */
static int publish_fallback(struct run *run, const json_t *record, struct run_result *result,
                            struct err *err)
{
    char path[4096];
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    if (run_render(run_inner_report(record), &text, err) < 0 ||
        slot_fallback(run->id, buf_span(&text), path, sizeof path, err) < 0) {
        return -1;
    }
    memory_free(result->report_path);
    result->report_path = memory_copy_string(path);
    return 0;
}

static bool place_is_missing(const struct run *run)
{
    return run->request->report ? !run->report_slot : !run->record_slot;
}

static json_t *build(struct run *run, struct err *err)
{
    gather(run);
    return report_build(&run->facts, err);
}

enum place { PLACE_REPORT, PLACE_RECORD };

static const json_t *part_for(enum place place, const json_t *record)
{
    return place == PLACE_REPORT ? run_inner_report(record) : record;
}

/* The record is built again to say that its place could not be written. The place itself gets it too
 * where it still can: what was renamed and then not synced must not go on saying something else. */
static int admit(struct run *run, enum place place, struct slot *slot, json_t **record,
                 const struct err *why, struct err *err)
{
    struct err ignored = {0};
    run_fail(run, why);
    run->facts.fallback = true;
    json_drop(record);
    *record = build(run, err);
    if (!*record) {
        return -1;
    }
    (void)!publish_part(slot, part_for(place, *record), &ignored); /* the fallback has it as well */
    return 0;
}

static int publish_place(struct run *run, enum place place, struct slot *slot, char **ret_path,
                         struct run_result *result, struct err *err)
{
    struct err why = {0};
    if (!slot) {
        return 0;
    }
    if (publish_part(slot, part_for(place, result->record), &why) == 0) {
        *ret_path = memory_copy_string(slot_path(slot));
        return 0;
    }
    /* Beside a report that was asked for by name, the state folder's copy is one more. */
    bool needed = place == PLACE_REPORT || !run->request->report;
    return needed ? admit(run, place, slot, &result->record, &why, err) : 0;
}

static void prune(struct run *run)
{
    struct archive_pruned pruned;
    struct err err = {0};
    if (!run->archive || !run->record_slot || !archive_is_due(run->id, run->request->keep_output)) {
        return;
    }
    if (archive_prune(run->archive, false, &pruned, &err) < 0) {
        /* The run itself is published; an old record that stays harms nobody. */
    }
}

int run_publish_again(struct run *run, struct run_result *result, struct err *err)
{
    run_result_done(result);
    return run_publish(run, result, err);
}

int run_publish(struct run *run, struct run_result *result, struct err *err)
{
    /* Who presses Ctrl-C while what is left is being ended still wants the shell's loop to end. */
    run->facts.late_signal = run->ending ? interrupts_pending(&run->interrupts) : 0;
    run->facts.fallback = place_is_missing(run);
    result->record = build(run, err);
    if (!result->record ||
        publish_place(run, PLACE_REPORT, run->report_slot, &result->report_path, result, err) < 0 ||
        publish_place(run, PLACE_RECORD, run->record_slot, &result->record_path, result, err) < 0) {
        return -1;
    }
    if (run->facts.fallback && publish_fallback(run, result->record, result, err) < 0) {
        return -1;
    }
    prune(run);
    return 0;
}
