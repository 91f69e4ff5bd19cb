#include "daemon-priv.h"

#include "attributes.h"

#define ORDER(state)                                                                               \
    {                                                                                              \
        state, DAEMON_REFUSED_ORDER                                                                \
    }
#define GO(state)                                                                                  \
    {                                                                                              \
        state, DAEMON_REFUSED_NONE                                                                 \
    }

/* clang-format off */
static const struct daemon_step table[DAEMON_STATE_COUNT][DAEMON_EVENT_COUNT] = {
    [DAEMON_DECLARED] = {
        [DAEMON_RESERVE]    = GO(DAEMON_RESERVED),
        [DAEMON_BIND]       = ORDER(DAEMON_DECLARED),
        [DAEMON_START]      = ORDER(DAEMON_DECLARED),
        [DAEMON_LOCK_READY] = ORDER(DAEMON_DECLARED),
        [DAEMON_SEAL]       = ORDER(DAEMON_DECLARED),
    },
    [DAEMON_RESERVED] = {
        [DAEMON_RESERVE]    = ORDER(DAEMON_RESERVED),
        [DAEMON_BIND]       = GO(DAEMON_BOUND),
        [DAEMON_START]      = {DAEMON_RESERVED, DAEMON_REFUSED_NOT_YET},
        [DAEMON_LOCK_READY] = ORDER(DAEMON_RESERVED),
        [DAEMON_SEAL]       = ORDER(DAEMON_RESERVED),
    },
    [DAEMON_BOUND] = {
        [DAEMON_RESERVE]    = ORDER(DAEMON_BOUND),
        [DAEMON_BIND]       = ORDER(DAEMON_BOUND),
        [DAEMON_START]      = GO(DAEMON_STARTED),
        [DAEMON_LOCK_READY] = ORDER(DAEMON_BOUND),
        [DAEMON_SEAL]       = ORDER(DAEMON_BOUND),
    },
    [DAEMON_STARTED] = {
        [DAEMON_RESERVE]    = ORDER(DAEMON_STARTED),
        [DAEMON_BIND]       = ORDER(DAEMON_STARTED),
        [DAEMON_START]      = ORDER(DAEMON_STARTED),
        [DAEMON_LOCK_READY] = GO(DAEMON_CREATED),
        [DAEMON_SEAL]       = ORDER(DAEMON_STARTED),
    },
    [DAEMON_CREATED] = {
        [DAEMON_RESERVE]    = ORDER(DAEMON_CREATED),
        [DAEMON_BIND]       = ORDER(DAEMON_CREATED),
        [DAEMON_START]      = ORDER(DAEMON_CREATED),
        [DAEMON_LOCK_READY] = ORDER(DAEMON_CREATED),
        [DAEMON_SEAL]       = GO(DAEMON_SEALED),
    },
    [DAEMON_SEALED] = {
        [DAEMON_RESERVE]    = ORDER(DAEMON_SEALED),
        [DAEMON_BIND]       = ORDER(DAEMON_SEALED),
        [DAEMON_START]      = ORDER(DAEMON_SEALED),
        [DAEMON_LOCK_READY] = ORDER(DAEMON_SEALED),
        [DAEMON_SEAL]       = ORDER(DAEMON_SEALED),
    },
};
/* clang-format on */

struct daemon_step daemon_next(enum daemon_state state, enum daemon_event event)
{
    BUG_IF(state >= DAEMON_STATE_COUNT || event >= DAEMON_EVENT_COUNT);
    return table[state][event];
}

const char *daemon_state_name(enum daemon_state state)
{
    static const char *const names[DAEMON_STATE_COUNT] = {
        [DAEMON_DECLARED] = "declared", [DAEMON_RESERVED] = "reserved", [DAEMON_BOUND] = "bound",
        [DAEMON_STARTED] = "started",   [DAEMON_CREATED] = "created",   [DAEMON_SEALED] = "sealed"};
    BUG_IF(state >= DAEMON_STATE_COUNT);
    return names[state];
}

const char *daemon_fate_name(enum daemon_fate fate)
{
    static const char *const names[DAEMON_FATE_COUNT] = {[DAEMON_FATE_NONE] = "none",
                                                         [DAEMON_FATE_GONE] = "gone",
                                                         [DAEMON_FATE_ENDED] = "ended",
                                                         [DAEMON_FATE_REFUSED] = "refused",
                                                         [DAEMON_FATE_OUTLIVED] = "outlived"};
    BUG_IF(fate >= DAEMON_FATE_COUNT);
    return names[fate];
}

const char *daemon_event_name(enum daemon_event event)
{
    static const char *const names[DAEMON_EVENT_COUNT] = {[DAEMON_RESERVE] = "reserve",
                                                          [DAEMON_BIND] = "bind",
                                                          [DAEMON_START] = "start",
                                                          [DAEMON_LOCK_READY] = "lock-ready",
                                                          [DAEMON_SEAL] = "seal"};
    BUG_IF(event >= DAEMON_EVENT_COUNT);
    return names[event];
}

const char *daemon_refusal_text(enum daemon_refusal refusal)
{
    static const char *const texts[DAEMON_REFUSAL_COUNT] = {
#define X(name, text) [DAEMON_REFUSED_##name] = (text),
        DAEMON_REFUSALS(X)
#undef X
    };
    BUG_IF(refusal >= DAEMON_REFUSAL_COUNT);
    return texts[refusal];
}
