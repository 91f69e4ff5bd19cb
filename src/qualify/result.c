/* What a self-test came to, and what it is when nothing was run. */
#include "qualify.h"

#include "memory.h"
#include "text.h"

enum { MESSAGE_MAX = 500 };

struct attestation_error *qualify_error(const char *code, const struct buf *message)
{
    struct attestation_error *error = memory_new(sizeof *error);
    size_t n = buf_length(message) < MESSAGE_MAX ? buf_length(message) : MESSAGE_MAX;
    with_buf text = buf_new(2 * MESSAGE_MAX);
    text_to_utf8(&text, span_of(buf_string(message), n));
    buf_cut(&text, buf_length(&text) < MESSAGE_MAX ? buf_length(&text) : MESSAGE_MAX);
    error->code = memory_copy_string(code);
    error->message = memory_copy_string(buf_string(&text));
    return error;
}

void qualify_skip_cases(struct attestation *attestation)
{
    struct attestation_case *cases = memory_new(CASE_COUNT * sizeof *cases);
    attestation->cases.objects = cases;
    attestation->cases.count = CASE_COUNT;
    for (int id = 0; id < CASE_COUNT; id++) {
        cases[id] = (struct attestation_case){.id = id,
                                              .skipped = true,
                                              .cleanup_verified = true,
                                              .outcome = memory_copy_string("preflight_refused")};
    }
}

json_t *qualify_to_json(const struct qualify_result *result)
{
    const struct attestation *attestation = &result->attestation;
    with_json whole = record_encode(&attestation_record, attestation);
    json_t *json = json_object();
    json_object_set_new(json, "schema", json_string("lamina.safe-runner-self-test/v1"));
    static const char *const members[] = {"passed", "qualified_for_production_tiers", "adapter",
                                          "cases", "refusal"};
    for (size_t i = 0; i < countof(members); i++) {
        json_t *member = json_object_get(whole, members[i]);
        json_object_set(json, members[i], member);
    }
    json_object_set_new(json, "attestation",
                        result->path ? json_text(span_of_string(result->path)) : json_null());
    return json;
}

void qualify_result_done(struct qualify_result *result)
{
    if (result) {
        attestation_done(&result->attestation);
        memory_free(result->path);
        *result = (struct qualify_result){0};
    }
}
