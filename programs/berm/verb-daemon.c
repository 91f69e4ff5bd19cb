#include "daemon-words.h"
#include "say.h"
#include "verb.h"

enum { TEXT_BYTES = 65536, PATIENCE_MS = 5000 };

static int check_operands(const struct options *options, enum berm_daemon_step *ret_step,
                          struct err *err)
{
    if (options->operands.count != 2) {
        return err_set(err, ERR_USAGE, "berm daemon wants a step and the name of the daemon");
    }
    if (daemon_step_of(options->operands.strings[0], ret_step, err) < 0) {
        return -1;
    }
    bool wants = *ret_step != BERM_DAEMON_RESERVE;
    if (wants != options_given(options, OPTION_RESERVATION)) {
        return err_set(err, ERR_USAGE,
                       wants ? "--reservation is needed: what reserve printed"
                             : "--reservation is what reserve prints");
    }
    if ((*ret_step == BERM_DAEMON_BIND) != options_given(options, OPTION_PID)) {
        return err_set(err, ERR_USAGE, "--pid belongs to bind, which needs it");
    }
    return 0;
}

int verb_daemon(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    enum berm_daemon_step step = BERM_DAEMON_RESERVE;
    struct berm_daemon daemon;
    if (check_operands(options, &step, err) < 0) {
        return -1;
    }
    const char *name = options->operands.strings[1];
    const char *reservation = options->values[OPTION_RESERVATION].text;
    switch (step) { /* the result stands in it */
    case BERM_DAEMON_RESERVE:
        (void)berm_daemon_reserve(name, &daemon, sizeof daemon, PATIENCE_MS);
        break;
    case BERM_DAEMON_BIND:
        (void)berm_daemon_bind(name, reservation, options->values[OPTION_PID].number, &daemon,
                               sizeof daemon, PATIENCE_MS);
        break;
    case BERM_DAEMON_START:
        (void)berm_daemon_start(name, reservation, &daemon, sizeof daemon, PATIENCE_MS);
        break;
    case BERM_DAEMON_LOCK_READY:
        (void)berm_daemon_lock_ready(name, reservation, &daemon, sizeof daemon, PATIENCE_MS);
        break;
    case BERM_DAEMON_SEAL:
    default:
        (void)berm_daemon_seal(name, reservation, &daemon, sizeof daemon, PATIENCE_MS);
        break;
    }
    ret_end->exit_code = daemon_exit(&daemon);
    if (options_given(options, OPTION_JSON)) {
        with_json json = daemon_to_json(&daemon);
        return say_json(json, err);
    }
    if (daemon.result != BERM_DAEMON_DONE) { /* not into what a script takes for a reservation */
        return daemon_fail(&daemon, err);
    }
    with_buf text = buf_new(TEXT_BYTES);
    daemon_add_words(&text, step, &daemon);
    return say_result(&text, err);
}
