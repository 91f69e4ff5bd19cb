#include "limit.h"

#include <string.h>

#include "attributes.h"
#include "clock.h"

enum { bytes, count, ms };
enum { MOST, LEAST, FULL };

static const struct limit rows[LIMIT_COUNT] = {
#define X(enumerator, name_, told_, key_, unit_, member_, bound_, gauge_, option_, remedy_)        \
    [enumerator] = {.name = (name_),                                                               \
                    .told = (told_),                                                               \
                    .key = (key_),                                                                 \
                    .unit = #unit_,                                                                \
                    .option = (option_),                                                           \
                    .remedy = (remedy_),                                                           \
                    .least = (bound_) == LEAST,                                                    \
                    .full = (bound_) == FULL,                                                      \
                    .is_time = (unit_) == ms,                                                      \
                    .offset = offsetof(struct supervise_limits, member_)},
    SUPERVISE_LIMITS(X)
#undef X
        [LIMIT_NONE] = {.name = ""},
    [LIMIT_OUTPUT_IO] = {.name = "output_io"},
    [LIMIT_DETACHED] = {.name = "detached_descendant"},
    [LIMIT_DAEMON] = {.name = "managed_descendant_cleanup"},
    [LIMIT_LINKS] = {.name = "temporary_symlink"},
};

const struct limit *supervise_limit(enum supervise_limit limit)
{
    BUG_IF(limit >= LIMIT_COUNT);
    return &rows[limit];
}

static int64_t scale_of(const struct limit *row)
{
    return row->is_time ? NS_PER_MS : 1;
}

int64_t supervise_limit_value(const struct supervise_limits *limits, enum supervise_limit limit)
{
    const struct limit *row = supervise_limit(limit);
    int64_t value;
    BUG_IF(!row->told);
    memcpy(&value, (const char *)limits + row->offset, sizeof value);
    return value / scale_of(row);
}

void supervise_limit_set(struct supervise_limits *limits, enum supervise_limit limit, int64_t value)
{
    const struct limit *row = supervise_limit(limit);
    BUG_IF(!row->told);
    int64_t scaled = value * scale_of(row);
    memcpy((char *)limits + row->offset, &scaled, sizeof scaled);
}
