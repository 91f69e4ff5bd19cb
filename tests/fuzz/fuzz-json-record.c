/* Records from JSON (EX-5): what decodes has no faults, what has faults does not decode; what was
 * decoded is encoded as a record without faults, which decodes and encodes as itself again. */
#include <stdint.h>
#include <string.h>

#include "../unit/json/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The record that comes back of a record; NULL when json is none. */
static json_t *back(const json_t *json)
{
    struct sample sample;
    struct err err = {0};
    with_strvec faults = {0};
    size_t count = record_faults(&sample_record, json, &faults);
    BUG_IF(count != faults.count);
    if (record_decode(&sample_record, json, &sample, &err) < 0) {
        BUG_IF(count == 0 || (err.code != ERR_USAGE && err.code != ERR_RANGE));
        return NULL;
    }
    BUG_IF(count > 0 || err.code != ERR_NONE);
    json_t *encoded = record_encode(&sample_record, &sample);
    record_done(&sample_record, &sample);
    return encoded;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    with_json json = json_read(span_of((const char *)data, size), &json_budget_control, NULL);
    with_json once = json ? back(json) : NULL;
    if (once) {
        /* Every optional field of the sample has its empty value within its bounds. */
        with_json twice = back(once);
        BUG_IF(!twice || !json_equal(once, twice));
    }
    return 0;
}
