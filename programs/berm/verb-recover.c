#include "clock.h"
#include "exits.h"
#include "process.h"
#include "production-lock.h"
#include "recover.h"
#include "say.h"
#include "text.h"
#include "verb.h"

static json_t *one_as_json(const struct recovered *one)
{
    json_t *made = json_object();
    json_object_set_new(made, "run_id",
                        one->run_id[0] ? json_text(span_of_string(one->run_id)) : json_null());
    json_object_set_new(made, "state", json_string(recover_state_name(one->state)));
    json_object_set_new(made, "what", json_text(span_of_string(one->what)));
    return made;
}

static int say_as_json(const struct recovery *recovery, struct err *err)
{
    with_json result = json_object();
    for (enum recover_state state = 0; state < RECOVER_STATE_COUNT; state++) {
        json_object_set_new(result, recover_state_name(state),
                            json_integer(recovery->counts[state]));
    }
    json_t *runs = json_array();
    for (size_t i = 0; i < recovery->count; i++) {
        json_array_append_new(runs, one_as_json(&recovery->runs[i]));
    }
    json_object_set_new(result, "runs", runs);
    return say_json(result, err);
}

static int say_as_words(const struct recovery *recovery, struct err *err)
{
    with_buf text = buf_new(1 << 20);
    for (size_t i = 0; i < recovery->count; i++) {
        const struct recovered *one = &recovery->runs[i];
        text_neutralise(&text, span_of_string(one->run_id[0] ? one->run_id : "?"));
        buf_add_format(&text, "  %s  ", recover_state_name(one->state));
        text_neutralise(&text, span_of_string(one->what));
        buf_add_char(&text, '\n');
    }
    buf_add_format(&text, "healed %lld, left %lld, active %lld, elsewhere %lld\n",
                   (long long)recovery->counts[RECOVER_HEALED],
                   (long long)recovery->counts[RECOVER_LEFT],
                   (long long)recovery->counts[RECOVER_ACTIVE],
                   (long long)recovery->counts[RECOVER_ELSEWHERE]);
    return say_result(&text, err);
}

int verb_recover(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    with_recovery recovery = {0};
    if (recover_runs(os_environment_all(), &os_clock_real, RECOVER_WAIT_MS, &recovery, err) < 0) {
        return -1;
    }
    struct err claimed = {0};
    bool claim_is_left =
        production_lock_forget(&production_host, &claimed) < 0 && claimed.code != ERR_UNAVAILABLE;
    if (claim_is_left) {
        say_error(&claimed);
    }
    ret_end->exit_code =
        recovery.counts[RECOVER_LEFT] > 0 || claim_is_left ? EXIT_NEGATIVE : EXIT_OK;
    return options_given(options, OPTION_JSON) ? say_as_json(&recovery, err)
                                               : say_as_words(&recovery, err);
}
