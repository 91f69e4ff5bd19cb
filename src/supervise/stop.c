#include "stop-priv.h"

#include "attributes.h"

#define STAY(state)                                                                                \
    {                                                                                              \
        state, ACTION_NONE                                                                         \
    }

/* clang-format off */
static const struct stop_step table[STOP_STATE_COUNT][STOP_EVENT_COUNT] = {
    [STOP_GATED] = {
        [EVENT_RELEASED]    = {STOP_RUNNING, ACTION_NONE},
        [EVENT_LEADER_GONE] = {STOP_KILLING, ACTION_KILL},
        [EVENT_STOP]        = {STOP_KILLING, ACTION_KILL},
        [EVENT_KILL]        = {STOP_KILLING, ACTION_KILL},
        [EVENT_GRACE_OVER]  = STAY(STOP_GATED),
        [EVENT_BUDGET_OVER] = STAY(STOP_GATED),
        [EVENT_EMPTY]       = {STOP_EMPTY, ACTION_CONCLUDE},
    },
    [STOP_RUNNING] = {
        [EVENT_RELEASED]    = STAY(STOP_RUNNING),
        [EVENT_LEADER_GONE] = {STOP_TERMINATING, ACTION_TERMINATE},
        [EVENT_STOP]        = {STOP_TERMINATING, ACTION_TERMINATE},
        [EVENT_KILL]        = {STOP_KILLING, ACTION_KILL},
        [EVENT_GRACE_OVER]  = STAY(STOP_RUNNING),
        [EVENT_BUDGET_OVER] = STAY(STOP_RUNNING),
        [EVENT_EMPTY]       = {STOP_EMPTY, ACTION_CONCLUDE},
    },
    [STOP_TERMINATING] = {
        [EVENT_RELEASED]    = STAY(STOP_TERMINATING),
        [EVENT_LEADER_GONE] = STAY(STOP_TERMINATING),
        [EVENT_STOP]        = STAY(STOP_TERMINATING),
        [EVENT_KILL]        = {STOP_KILLING, ACTION_KILL},
        [EVENT_GRACE_OVER]  = {STOP_KILLING, ACTION_KILL},
        [EVENT_BUDGET_OVER] = STAY(STOP_TERMINATING),
        [EVENT_EMPTY]       = {STOP_EMPTY, ACTION_CONCLUDE},
    },
    [STOP_KILLING] = {
        [EVENT_RELEASED]    = STAY(STOP_KILLING),
        [EVENT_LEADER_GONE] = STAY(STOP_KILLING),
        [EVENT_STOP]        = STAY(STOP_KILLING),
        [EVENT_KILL]        = STAY(STOP_KILLING),
        [EVENT_GRACE_OVER]  = STAY(STOP_KILLING),
        [EVENT_BUDGET_OVER] = {STOP_GIVEN_UP, ACTION_GIVE_UP},
        [EVENT_EMPTY]       = {STOP_EMPTY, ACTION_CONCLUDE},
    },
    [STOP_EMPTY] = {
        [EVENT_RELEASED]    = STAY(STOP_EMPTY),
        [EVENT_LEADER_GONE] = STAY(STOP_EMPTY),
        [EVENT_STOP]        = STAY(STOP_EMPTY),
        [EVENT_KILL]        = STAY(STOP_EMPTY),
        [EVENT_GRACE_OVER]  = STAY(STOP_EMPTY),
        [EVENT_BUDGET_OVER] = STAY(STOP_EMPTY),
        [EVENT_EMPTY]       = STAY(STOP_EMPTY),
    },
    [STOP_GIVEN_UP] = {
        [EVENT_RELEASED]    = STAY(STOP_GIVEN_UP),
        [EVENT_LEADER_GONE] = STAY(STOP_GIVEN_UP),
        [EVENT_STOP]        = STAY(STOP_GIVEN_UP),
        [EVENT_KILL]        = STAY(STOP_GIVEN_UP),
        [EVENT_GRACE_OVER]  = STAY(STOP_GIVEN_UP),
        [EVENT_BUDGET_OVER] = STAY(STOP_GIVEN_UP),
        [EVENT_EMPTY]       = {STOP_EMPTY, ACTION_CONCLUDE},
    },
};
/* clang-format on */

struct stop_step stop_next(enum stop_state state, enum stop_event event)
{
    BUG_IF(state >= STOP_STATE_COUNT || event >= STOP_EVENT_COUNT);
    return table[state][event];
}
