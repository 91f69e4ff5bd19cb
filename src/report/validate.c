/* validate.c
 *
 * Three steps, each only when the one before found nothing: the closed schema (the record tables),
 * what the published schema demands beyond types, and its rules between fields (both in rules.c).
 * Where berm holds itself to more, the rule stands in own_rules[] and is asked of berm.run/v1
 * records only.
 */
#include "validate.h"

#include <string.h>

#include "rules-priv.h"
#include "run-v1-priv.h"

/* For JSON Schema a number without a fraction is an integer however it was written. */
static void make_whole(json_t *value);

static json_t *whole_or_same(json_t *value)
{
    double number = json_real_value(value);
    if (json_is_real(value) && number > -0x1p63 && number < 0x1p63 &&
        (double)(json_int_t)number == number) {
        return json_integer((json_int_t)number);
    }
    make_whole(value);
    return json_incref(value);
}

static void make_whole(json_t *value)
{
    const char *name;
    json_t *member;
    void *next;
    json_object_foreach_safe(value, next, name, member)
    {
        (void)json_object_set_new(value, name, whole_or_same(member));
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        (void)json_array_set_new(value, i, whole_or_same(json_array_get(value, i)));
    }
}

/* The published schema knows the member as an object only; the table, to leave it out, as null. */
static size_t null_abort(const json_t *report, const char *prefix, struct strvec *faults)
{
    const json_t *cleanup = json_object_get(report, "cleanup");
    if (!json_is_null(json_object_get(cleanup, "oracle_quota_abort"))) {
        return 0;
    }
    strvec_push_format(faults, "%scleanup.oracle_quota_abort: must be an object, not null", prefix);
    return 1;
}

size_t validate_report(const json_t *json, struct strvec *faults)
{
    with_json whole = json_deep_copy(json);
    make_whole(whole);
    size_t found = record_faults(&report_v1_record, whole, faults) + null_abort(whole, "", faults);
    if (found > 0) {
        return found;
    }
    struct report_v1 report;
    BUG_IF(record_decode(&report_v1_record, whole, &report, NULL) < 0);
    found = rules_ask(&report, "", faults);
    record_done(&report_v1_record, &report);
    return found;
}

/* What berm holds itself to. */

struct own_rule {
    const char *name;
    const char *path;
    const char *demand;
    bool (*holds)(const struct run_record *record);
};

static bool is_success(const struct run_record *record)
{
    return record->report.outcome == (int)OUTCOME_SUCCESS;
}

static bool is_the_run_of_its_report(const struct run_record *record)
{
    return strcmp(record->run_id, record->report.run_id) == 0;
}

static bool agrees_on_progress(const struct run_record *record)
{
    return record->in_progress == rules_say_in_progress(&record->report);
}

/* A signal may come while the rest of a successful run is being ended: the outcome stands, and berm
 * dies of the signal all the same. */
static bool exits_with_zero_only_on_success(const struct run_record *record)
{
    return (record->exit.code == 0) == (is_success(record) && !record->exit.signal);
}

static bool succeeds_without_error(const struct run_record *record)
{
    return !is_success(record) || !record->report.error;
}

static bool fails_with_a_reason(const struct run_record *record)
{
    return is_success(record) || record->report.error;
}

static bool succeeds_with_zero(const struct run_record *record)
{
    const struct maybe_int *code = &record->report.termination.child_exit_code;
    return !is_success(record) || (code->known && code->value == 0);
}

static bool names_every_survivor(const struct run_record *record)
{
    return record->survivors.count == record->report.cleanup.descendants_remaining.count;
}

static const struct own_rule own_rules[] = {
    {"run-id", "report.run_id", "must be the record's", is_the_run_of_its_report},
    {"progress", "in_progress", "must agree with the report's error code", agrees_on_progress},
    {"exit-code", "exit.code",
     "must be 0 for a success that no signal cut short, and for nothing else",
     exits_with_zero_only_on_success},
    {"success-error", "report.error", "must be null for a success", succeeds_without_error},
    {"error", "report.error", "must say why there was no success", fails_with_a_reason},
    {"success-code", "report.termination.child_exit_code", "must be 0 for a success",
     succeeds_with_zero},
    {"survivors", "survivors", "must be as many as the report's remaining descendants",
     names_every_survivor},
};

static size_t ask_own(const struct run_record *record, struct strvec *faults)
{
    size_t found = 0;
    for (size_t i = 0; i < countof(own_rules); i++) {
        if (!own_rules[i].holds(record)) {
            strvec_push_format(faults, "%s: %s [%s]", own_rules[i].path, own_rules[i].demand,
                               own_rules[i].name);
            found++;
        }
    }
    return found;
}

bool validate_is_of_later_berm(const json_t *json)
{
    static const char family[] = "berm.run/v";
    const char *schema = json_string_value(json_object_get(json, "schema"));
    return schema && strncmp(schema, family, strlen(family)) == 0 &&
           strcmp(schema, run_v1_record.name) != 0;
}

size_t validate_run_record(const json_t *json, struct strvec *faults)
{
    if (validate_is_of_later_berm(json)) {
        strvec_push_format(faults, "schema: is %s, which a later berm wrote; this one reads %s",
                           json_string_value(json_object_get(json, "schema")), run_v1_record.name);
        return 1;
    }
    const json_t *inner = json_object_get(json, "report");
    size_t found =
        record_faults(&run_v1_record, json, faults) + null_abort(inner, "report.", faults);
    if (found > 0) {
        return found;
    }
    struct run_record record;
    BUG_IF(record_decode(&run_v1_record, json, &record, NULL) < 0);
    found = rules_ask(&record.report, "report.", faults);
    found += ask_own(&record, faults);
    record_done(&run_v1_record, &record);
    return found;
}

void validate_document_run(struct buf *out)
{
    buf_add_string(out, "| rule | demands |\n| --- | --- |\n");
    for (size_t i = 0; i < countof(own_rules); i++) {
        buf_add_format(out, "| `%s` | `%s` %s |\n", own_rules[i].name, own_rules[i].path,
                       own_rules[i].demand);
    }
}
