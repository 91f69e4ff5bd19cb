/* The reader and the validator of reports (RP-3): whatever bytes come in, the answer is faults or
 * none; what is valid is valid again after it was written and read; each fault names a path. Of a
 * valid record of berm's own, the report inside is valid by itself. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef size_t validate(const json_t *json, struct strvec *faults);

static bool is_valid(validate *check, const json_t *json)
{
    with_strvec faults = {0};
    size_t count = check(json, &faults);
    BUG_IF(count != faults.count);
    for (size_t i = 0; i < faults.count; i++) {
        BUG_IF(!strstr(faults.strings[i], ": "));
    }
    return count == 0;
}

static json_t *again(const json_t *json, enum json_style style)
{
    struct err err = {0};
    with_buf text = buf_new(1 << 20);
    BUG_IF(json_write(json, style, &text, &err) < 0);
    json_t *back = json_read(buf_span(&text), &json_budget_report, &err);
    BUG_IF(!back);
    return back;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    with_json json = json_read(span_of((const char *)data, size), &json_budget_report, &err);
    if (!json) {
        return 0;
    }
    with_json canonical = again(json, JSON_CANONICAL);
    with_json readable = again(canonical, JSON_READABLE);
    bool report = is_valid(validate_report, json);
    BUG_IF(report != is_valid(validate_report, readable));
    bool record = is_valid(validate_run_record, json);
    BUG_IF(record != is_valid(validate_run_record, readable));
    BUG_IF(record && !is_valid(validate_report, json_object_get(json, "report")));
    return 0;
}
