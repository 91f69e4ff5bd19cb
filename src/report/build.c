#include "memory.h"
#include "redact.h"
#include "run-v1-priv.h"
#include "validate.h"

/* A record that its own validator refuses is never written. */
static int check(const json_t *record, struct err *err)
{
    with_strvec faults = {0};
    if (validate_run_record(record, &faults) == 0) {
        return 0;
    }
    return err_set(err, ERR_INTERNAL, "the record of the run is not valid: %s", faults.strings[0]);
}

json_t *report_build(const struct report_facts *facts, struct err *err)
{
    struct verdict verdict;
    report_decide(facts, &verdict);
    struct run_record record = {0};
    run_record_fill(&record, facts);
    report_v1_fill(&record.report, facts, &verdict);
    with_json encoded = record_encode(&run_v1_record, &record);
    record_done(&run_v1_record, &record);
    with_json redacted = redact_record(&run_v1_record, encoded);
    if (check(redacted, err) < 0) {
        return NULL;
    }
    return json_incref(redacted);
}
