#include <string.h>

#include "exits.h"
#include "process.h"
#include "qualify.h"
#include "say.h"
#include "verb.h"

enum { WORDS_BYTES = 4096, TEXT_BYTES = 65536 };

/* On stderr, as soon as it is known. */
static void say_case(void *context, int number, const struct attestation_case *one)
{
    with_buf text = buf_new(WORDS_BYTES);
    buf_add_format(&text, "berm: case   %2d/%d %s: ", number, CASE_COUNT,
                   attestation_case_name((enum attestation_case_id)one->id));
    if (one->error) {
        buf_add_string(&text, "FAILED: ");
        say_add(&text, one->error->message);
    } else {
        buf_add_format(&text, "passed, %lld.%03lld s", (long long)(one->duration_ms / 1000),
                       (long long)(one->duration_ms % 1000));
    }
    buf_add_char(&text, '\n');
    say_words(&text);
}

static int say_as_words(const struct qualify_result *result, struct err *err)
{
    const struct attestation *attestation = &result->attestation;
    const struct attestation_case *cases = attestation->cases.objects;
    int passed = 0;
    for (size_t i = 0; i < attestation->cases.count; i++) {
        passed += cases[i].passed;
    }
    with_buf text = buf_new(TEXT_BYTES);
    buf_add_format(&text, "self-test  %s: %d of %d cases passed\nadapter    ",
                   attestation->passed ? "passed"
                   : result->refused   ? "refused"
                                       : "not passed",
                   passed, CASE_COUNT);
    say_add(&text, attestation->adapter);
    buf_add_format(&text, "\nqualified  %s\n",
                   attestation->qualified_for_production_tiers ? "for production tiers, until the "
                                                                 "host or berm changes"
                                                               : "no");
    if (attestation->refusal) {
        buf_add_string(&text, "why        ");
        say_add(&text, attestation->refusal->message);
        buf_add_char(&text, '\n');
    }
    if (result->path) {
        buf_add_string(&text, "file       ");
        say_add(&text, result->path);
        buf_add_char(&text, '\n');
    }
    return say_result(&text, err);
}

static int exit_code_of(const struct options *options, const struct qualify_result *result)
{
    const struct attestation *attestation = &result->attestation;
    bool needs_production = options_given(options, OPTION_REQUIRE_PRODUCTION);
    bool good =
        attestation->passed && (!needs_production || attestation->qualified_for_production_tiers);
    return result->refused ? exit_of(ERR_UNAVAILABLE) : good ? EXIT_OK : EXIT_NEGATIVE;
}

int verb_self_test(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    const struct qualify_request request = {
        .environment = os_environment_all(),
        .user = options->values[OPTION_USER].text,
        .cgroup_parent = options->values[OPTION_CGROUP_PARENT].text,
        .clock = &os_clock_real,
        .on_case = options_given(options, OPTION_QUIET) ? NULL : say_case,
    };
    with_qualify_result result = {0};
    if (qualify_run(&request, &result, err) < 0) {
        return -1;
    }
    if (result.die_of) {
        ret_end->die_of = result.die_of;
        return 0;
    }
    ret_end->exit_code = exit_code_of(options, &result);
    if (options_given(options, OPTION_JSON)) {
        with_json json = qualify_to_json(&result);
        return say_json(json, err);
    }
    return say_as_words(&result, err);
}
