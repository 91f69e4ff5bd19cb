#include "daemon-words.h"

#include "attributes.h"
#include "text.h"

enum { EXIT_DONE = 0, EXIT_OUTSIDE = 3, EXIT_REFUSED = 9 };

static const char *const step_words[] = {
    [BERM_DAEMON_RESERVE] = "reserve", [BERM_DAEMON_BIND] = "bind",
    [BERM_DAEMON_START] = "start",     [BERM_DAEMON_LOCK_READY] = "lock-ready",
    [BERM_DAEMON_SEAL] = "seal",
};
static const char *const state_words[] = {"declared", "reserved", "bound",
                                          "started",  "created",  "sealed"};
static const char *const result_words[] = {
    [BERM_DAEMON_DONE] = "done",
    [BERM_DAEMON_OUTSIDE] = "outside",
    [BERM_DAEMON_REFUSED] = "refused",
    [BERM_DAEMON_NOT_PROVED] = "not_proved",
};

int daemon_step_of(const char *word, enum berm_daemon_step *ret_step, struct err *err)
{
    for (size_t i = 0; i < countof(step_words); i++) {
        if (strcmp(step_words[i], word) == 0) {
            *ret_step = (enum berm_daemon_step)i;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE,
                   "'%s' is no step: reserve, bind, start, lock-ready or seal is wanted", word);
}

int daemon_exit(const struct berm_daemon *daemon)
{
    return daemon->result == BERM_DAEMON_DONE      ? EXIT_DONE
           : daemon->result == BERM_DAEMON_OUTSIDE ? EXIT_OUTSIDE
                                                   : EXIT_REFUSED;
}

int daemon_fail(const struct berm_daemon *daemon, struct err *err)
{
    bool outside = daemon->result == BERM_DAEMON_OUTSIDE;
    return err_set(err, outside ? ERR_UNAVAILABLE : ERR_REFUSED, "%s", daemon->text);
}

static bool knows_state(const struct berm_daemon *daemon)
{
    return daemon->state >= 0 && (size_t)daemon->state < countof(state_words);
}

void daemon_add_words(struct buf *out, enum berm_daemon_step step, const struct berm_daemon *daemon)
{
    if (step == BERM_DAEMON_RESERVE) {
        buf_add_string(out, daemon->reservation);
    } else {
        buf_add_format(out, "%s: pid %lld, on the host %lld",
                       knows_state(daemon) ? state_words[daemon->state] : "unknown",
                       (long long)daemon->namespace_pid, (long long)daemon->pid);
    }
    buf_add_char(out, '\n');
}

static json_t *number_or_null(int64_t number)
{
    return number > 0 ? json_integer(number) : json_null();
}

json_t *daemon_to_json(const struct berm_daemon *daemon)
{
    bool done = daemon->result == BERM_DAEMON_DONE;
    json_t *result = json_object();
    json_object_set_new(result, "schema", json_string("berm.daemon/v1"));
    json_object_set_new(result, "result", json_string(result_words[daemon->result]));
    json_object_set_new(result, "text", json_text(span_of_string(daemon->text)));
    json_object_set_new(result, "state",
                        knows_state(daemon) ? json_string(state_words[daemon->state])
                                            : json_null());
    if (!done) {
        return result;
    }
    json_object_set_new(result, "reservation", json_string(daemon->reservation));
    json_object_set_new(result, "pid", number_or_null(daemon->pid));
    json_object_set_new(result, "namespace_pid", number_or_null(daemon->namespace_pid));
    json_object_set_new(result, "start_ticks", number_or_null((int64_t)daemon->start_ticks));
    json_object_set_new(result, "socket", json_text(span_of_string(daemon->socket)));
    json_object_set_new(result, "lock", json_text(span_of_string(daemon->lock)));
    return result;
}
