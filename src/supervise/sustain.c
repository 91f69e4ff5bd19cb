#include "sustain-priv.h"

void sustain_begin(struct sustain *sustain, int64_t now_ns)
{
    if (!sustain->noticed) {
        *sustain = (struct sustain){.noticed = true, .last_ns = now_ns};
    }
}

int64_t sustain_look(struct sustain *sustain, int64_t now_ns, int64_t interval_ns, bool so)
{
    if (!so) {
        *sustain = (struct sustain){0};
    } else if (sustain->noticed && now_ns - sustain->last_ns >= interval_ns) {
        sustain->count++;
        sustain->last_ns = now_ns;
    }
    return sustain->count;
}

int64_t sustain_moment(const struct sustain *sustain, int64_t interval_ns)
{
    return sustain->noticed ? sustain->last_ns + interval_ns : INT64_MAX;
}
