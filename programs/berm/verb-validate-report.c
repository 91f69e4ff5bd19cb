#include "exits.h"
#include "json-file.h"
#include "lookup.h"
#include "say.h"
#include "text.h"
#include "validate.h"
#include "verb.h"

enum { TEXT_BYTES = 4 << 20 };

static int say_as_json(const char *path, const struct strvec *faults, struct err *err)
{
    json_t *errors = json_array();
    for (size_t i = 0; i < faults->count; i++) {
        json_array_append_new(errors, json_text(span_of_string(faults->strings[i])));
    }
    with_json result = json_object();
    json_object_set_new(result, "file", json_text(span_of_string(path)));
    json_object_set_new(result, "valid", json_boolean(faults->count == 0));
    json_object_set_new(result, "errors", errors);
    json_object_set_new(result, "schema",
                        json_string("https://lamina.dev/schemas/safe-runner-report-v1.json"));
    return say_json(result, err);
}

static int say_as_words(const char *path, const struct strvec *faults, struct err *err)
{
    with_buf text = buf_new(TEXT_BYTES);
    for (size_t i = 0; i < faults->count; i++) {
        text_neutralise(&text, span_of_string(faults->strings[i]));
        buf_add_char(&text, '\n');
    }
    text_neutralise(&text, span_of_string(path));
    if (faults->count == 0) {
        buf_add_string(&text, ": valid\n");
    } else {
        buf_add_format(&text, ": not valid, %zu fault%s\n", faults->count,
                       faults->count == 1 ? "" : "s");
    }
    return say_result(&text, err);
}

int verb_validate_report(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    const char *path = options->values[OPTION_FILE].text;
    with_strvec faults = {0};
    with_json value = json_file_read(path, err);
    if (!value) {
        /* Bytes that are no JSON are no valid report; a file that cannot be read is no answer. */
        if (err->code != ERR_CORRUPT && err->code != ERR_OVER_BUDGET) {
            return -1;
        }
        strvec_push(&faults, err->msg);
    } else if (json_is_object(lookup(value, "report"))) {
        (void)validate_run_record(value, &faults);
    } else {
        (void)validate_report(value, &faults);
    }
    ret_end->exit_code = faults.count == 0 ? EXIT_OK : EXIT_NEGATIVE;
    return options_given(options, OPTION_JSON) ? say_as_json(path, &faults, err)
                                               : say_as_words(path, &faults, err);
}
