#include "launch-priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "broker-priv.h"
#include "event.h"
#include "file.h"

static void fail(struct broker *broker, const struct err *err)
{
    decide_broken(broker, err);
}

static void fail_with(struct broker *broker, enum err_code code, const char *what, int sys)
{
    struct err err = {0};
    if (sys != 0) {
        (void)err_sys(&err, sys, "the sandbox cannot be set up: %s", what);
        err.code = code;
    } else {
        (void)err_set(&err, code, "the sandbox cannot be set up: %s", what);
    }
    fail(broker, &err);
}

/* Who is who: bubblewrap has one child, the launcher, which has one, the payload to be. */
static bool find_processes(struct broker *broker, struct member **ret_launcher,
                           struct member **ret_payload)
{
    struct tree *tree = &broker->tree;
    int64_t now_ms = broker_elapsed_ms(broker);
    *ret_launcher = tree_adopt_only_child(tree, tree->leader.pid, now_ms);
    *ret_payload = *ret_launcher ? tree_adopt_only_child(tree, (*ret_launcher)->pid, now_ms) : NULL;
    if (*ret_payload || tree_look(tree, now_ms) < 0) {
        return *ret_payload != NULL;
    }
    *ret_launcher = tree_only_child(tree, tree->leader.pid);
    *ret_payload = *ret_launcher ? tree_only_child(tree, (*ret_launcher)->pid) : NULL;
    return *ret_payload != NULL;
}

static struct proc_identity identity_of(const struct member *member)
{
    return (struct proc_identity){member->pid, member->start_ticks};
}

static void on_ready(struct broker *broker, const struct launch_word *word)
{
    struct launch *launch = &broker->launch;
    struct supervise_ending *ending = broker->ending;
    struct err err = {0};
    if (launch->ready || broker->state != STOP_GATED) {
        return;
    }
    ending->sandbox_ready_ns = broker_now(broker);
    ending->launcher_ns = word->took_ns;
    struct member *launcher = NULL;
    struct member *payload = NULL;
    if (!find_processes(broker, &launcher, &payload)) {
        fail_with(broker, ERR_UNAVAILABLE, "its processes are not those that were expected", 0);
        return;
    }
    if (sandbox_verify(broker->request->sandbox, identity_of(launcher), identity_of(payload), word,
                       &err) < 0 ||
        binding_revalidate(broker->request->binding, &err) < 0) {
        fail(broker, &err);
        return;
    }
    launch->ready = true;
    tree_promote(&broker->tree, payload, broker_elapsed_ms(broker));
    broker->tree.setting_up = false;
    ending->leader_pid = payload->pid;
    ending->leader_start_ticks = payload->start_ticks;
    broker_release(broker);
}

static void on_ended(struct broker *broker, const struct launch_word *word)
{
    struct launch *launch = &broker->launch;
    if (launch->ended) {
        return;
    }
    launch->ended = true;
    decide_payload_ended(broker, word->value, word->extra, word->left);
}

static void on_word(struct broker *broker, struct launch_word *word, struct fd *came)
{
    struct launch *launch = &broker->launch;
    word->text[sizeof word->text - 1] = '\0';
    switch (word->said) {
    case LAUNCH_FAILED:
        fail_with(broker, word->sys == ESTALE ? ERR_CHANGED : ERR_UNAVAILABLE, word->text,
                  word->sys);
        break;
    case LAUNCH_READY:
        on_ready(broker, word);
        break;
    case LAUNCH_EXECUTED:
        launch->executed = true;
        broker->ending->executed_ns = broker_now(broker);
        decide_executed(broker);
        break;
    case LAUNCH_NOT_EXECUTED: {
        struct gate_failure failure = {.execution = true};
        (void)err_sys(&failure.err, word->sys, "cannot execute");
        decide_gate_failure(broker, &failure);
        break;
    }
    case LAUNCH_ENDED:
        on_ended(broker, word);
        break;
    case LAUNCH_CONTEXT:
        fd_close(&broker->context_listener);
        broker->context_listener = fd_take(came);
        break;
    case LAUNCH_EMPTY:
        launch->empty = true;
        launch->usage = *word;
        break;
    default:
        fail_with(broker, ERR_CORRUPT, "its launcher said something unknown", 0);
        break;
    }
}

void launch_hear(struct broker *broker)
{
    struct spawn *spawn = &broker->spawn;
    while (fd_is_open(&spawn->channel) && !broker->launch.heard_all) {
        struct launch_word word;
        with_fd came = {0};
        ssize_t got = os_recv_fds(fd_num(&spawn->channel), &word, sizeof word, &came, 1);
        if (got == -EAGAIN) {
            return;
        }
        if (got == (ssize_t)sizeof word) {
            on_word(broker, &word, &came);
            continue;
        }
        broker->launch.heard_all = true; /* end-of-file, or nothing that could be understood */
        (void)!os_epoll_remove(fd_num(&broker->epoll), fd_num(&spawn->channel));
        if (got != 0 && got != -ECONNRESET) {
            fail_with(broker, ERR_CORRUPT, "its launcher cannot be heard", got < 0 ? (int)got : 0);
        }
    }
}

int launch_say(struct broker *broker, enum launch_order order)
{
    const char byte = (char)order;
    if (!fd_is_open(&broker->spawn.channel) || broker->launch.heard_all) {
        return -EPIPE;
    }
    ssize_t sent = os_send(fd_num(&broker->spawn.channel), &byte, 1);
    return sent < 0 ? (int)sent : 0;
}

void launch_explain_end(struct broker *broker)
{
    char said[LAUNCH_DIAGNOSTICS_BYTES];
    ssize_t got = fd_is_open(&broker->spawn.diagnostics)
                      ? os_read(fd_num(&broker->spawn.diagnostics), said, sizeof said - 1)
                      : 0;
    said[got > 0 ? got : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
    fail_with(broker, ERR_UNAVAILABLE,
              said[0] ? said : "bubblewrap ended before the sandbox was finished", 0);
}
