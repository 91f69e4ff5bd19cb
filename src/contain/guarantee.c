#include "guarantee.h"

#include <string.h>

#include "buf.h"

static const char *const guarantee_names[] = {
#define X(enumerator, name, promise) [enumerator] = name,
    GUARANTEES(X)
#undef X
};

const char *guarantee_name(enum guarantee guarantee)
{
    return guarantee_names[guarantee];
}

const char *guarantee_level_name(enum guarantee_level level)
{
    static const char *const names[] = {[LEVEL_NONE] = "none",
                                        [LEVEL_OBSERVED] = "observed",
                                        [LEVEL_LIMITED] = "limited",
                                        [LEVEL_ENFORCED] = "enforced"};
    return names[level];
}

const char *containment_name(enum containment containment)
{
    static const char *const names[] = {[CONTAINMENT_UNCONTAINED] = "uncontained",
                                        [CONTAINMENT_PARTIAL] = "partial",
                                        [CONTAINMENT_MANAGED] = "managed"};
    return names[containment];
}

static int unknown(struct span word, struct err *err)
{
    with_buf known = buf_new(512);
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        buf_add_format(&known, " %s", guarantee_names[i]);
    }
    return err_set(err, ERR_USAGE, "unknown guarantee '%.*s'; known: managed%s",
                   (int)(word.n < 64 ? word.n : 64), word.p, buf_string(&known));
}

static int parse_word(struct span word, uint32_t *set, struct err *err)
{
    if (span_equals(word, "managed")) {
        *set |= GUARANTEE_ALL;
        return 0;
    }
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        if (span_equals(word, guarantee_names[i])) {
            *set |= UINT32_C(1) << i;
            return 0;
        }
    }
    return unknown(word, err);
}

int guarantee_parse_set(const char *text, uint32_t *ret_set, struct err *err)
{
    uint32_t set = 0;
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        if (parse_word(span_of(p, n), &set, err) < 0) {
            return -1;
        }
        p += n;
        if (*p == '\0') {
            break;
        }
    }
    *ret_set = set;
    return 0;
}

enum containment guarantees_label(const struct guarantees *held)
{
    size_t enforced = 0;
    size_t some = 0;
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        enforced += held->level[i] == LEVEL_ENFORCED;
        some += held->level[i] >= LEVEL_LIMITED;
    }
    return enforced == GUARANTEE_COUNT ? CONTAINMENT_MANAGED
           : some > 0                  ? CONTAINMENT_PARTIAL
                                       : CONTAINMENT_UNCONTAINED;
}

json_t *guarantees_to_json(const struct guarantees *held)
{
    json_t *json = json_object();
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        json_t *entry = json_object();
        json_object_set_new(entry, "level", json_string(guarantee_level_name(held->level[i])));
        json_object_set_new(entry, "why", held->why[i] ? json_string(held->why[i]) : json_null());
        json_object_set_new(json, guarantee_names[i], entry);
    }
    return json;
}
