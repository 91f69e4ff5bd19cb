#include "context-words.h"

#include "guarantee.h"
#include "options.h"
#include "text.h"
#include "units.h"

enum { EXIT_INSIDE = 0, EXIT_OUTSIDE = 3, EXIT_NO_PROOF = 9 };

static const char *const verdict_words[] = {
    [BERM_CONTEXT_OUTSIDE] = "outside",
    [BERM_CONTEXT_INSIDE] = "inside",
    [BERM_CONTEXT_NOT_PROVED] = "not proved",
};
static const char *const why_words[] = {
    [BERM_CONTEXT_WHY_NONE] = "",
    [BERM_CONTEXT_WHY_NO_LEAF] = "no_leaf",
    [BERM_CONTEXT_WHY_NO_BROKER] = "no_broker",
    [BERM_CONTEXT_WHY_NO_MEMBER] = "no_member",
    [BERM_CONTEXT_WHY_KERNEL] = "kernel",
    [BERM_CONTEXT_WHY_PEER_INSIDE] = "peer_inside",
    [BERM_CONTEXT_WHY_PEER_STRANGE] = "peer_strange",
    [BERM_CONTEXT_WHY_PLACE] = "place",
    [BERM_CONTEXT_WHY_TIMEOUT] = "timeout",
    [BERM_CONTEXT_WHY_PROTOCOL] = "protocol",
    [BERM_CONTEXT_WHY_REFUSED] = "refused",
    [BERM_CONTEXT_WHY_CGROUP] = "cgroup",
    [BERM_CONTEXT_WHY_LIMITS] = "limits",
};

/* X(member, name, in bytes) */
#define NUMBERS(X)                                                                                 \
    X(memory_max_bytes, "memory", true)                                                            \
    X(memory_high_bytes, "memory high", true)                                                      \
    X(swap_max_bytes, "swap", true)                                                                \
    X(pids_max, "tasks", false)                                                                    \
    X(timeout_ms, "time, ms", false)                                                               \
    X(output_bytes, "output", true)                                                                \
    X(temporary_bytes, "temporary", true)                                                          \
    X(temporary_inodes, "its files", false)

static bool is_too_low(const struct berm_context *context, int minimum_tier)
{
    return context->verdict == BERM_CONTEXT_INSIDE && context->tier < minimum_tier;
}

int context_exit(const struct berm_context *context, int minimum_tier)
{
    switch (context->verdict) {
    case BERM_CONTEXT_INSIDE:
        return is_too_low(context, minimum_tier) ? EXIT_NO_PROOF : EXIT_INSIDE;
    case BERM_CONTEXT_OUTSIDE:
        return EXIT_OUTSIDE;
    default:
        return EXIT_NO_PROOF;
    }
}

static void add_line(struct buf *out, const char *name, const char *text)
{
    buf_add_format(out, "%-11s ", name);
    text_neutralise(out, span_of_string(text));
    buf_add_char(out, '\n');
}

static void add_number(struct buf *out, const char *name, uint64_t number, bool bytes)
{
    if (number == BERM_CONTEXT_UNKNOWN) {
        return;
    }
    buf_add_format(out, "%-11s ", name);
    if (number == BERM_CONTEXT_UNLIMITED) {
        buf_add_string(out, "no limit");
    } else if (bytes) {
        units_add_bytes(out, (int64_t)number);
    } else {
        buf_add_format(out, "%llu", (unsigned long long)number);
    }
    buf_add_char(out, '\n');
}

void context_add_words(struct buf *out, const struct berm_context *context, int minimum_tier)
{
    add_line(out, verdict_words[context->verdict], context->text);
    if (context->verdict != BERM_CONTEXT_INSIDE) {
        return;
    }
    if (is_too_low(context, minimum_tier)) {
        buf_add_format(out, "%-11s tier %s is asked for, and this is %s\n", "too low",
                       option_tier_words[minimum_tier], option_tier_words[context->tier]);
    }
    add_line(out, "run", context->run);
    add_line(out, "unit", context->unit);
    add_line(out, "adapter", context->adapter);
    add_line(out, "tier", option_tier_words[context->tier]);
    add_line(out, "label", containment_name((enum containment)context->containment));
#define X(member, name, bytes) add_number(out, name, context->member, bytes);
    NUMBERS(X)
#undef X
    for (int i = 0; i < context->guarantee_count; i++) {
        buf_add_string(out, "  ");
        text_neutralise(out, span_of_string(context->guarantees[i].name));
        buf_add_format(out, ": %s\n", guarantee_level_name(context->guarantees[i].level));
    }
}

static json_t *number_of(uint64_t number)
{
    return number > INT64_MAX ? json_null() : json_integer((json_int_t)number);
}

json_t *context_to_json(const struct berm_context *context, int minimum_tier)
{
    bool inside = context->verdict == BERM_CONTEXT_INSIDE;
    json_t *result = json_object();
    json_object_set_new(result, "schema", json_string("berm.context/v1"));
    json_object_set_new(result, "verdict",
                        json_string(context->verdict == BERM_CONTEXT_NOT_PROVED
                                        ? "not_proved"
                                        : verdict_words[context->verdict]));
    json_object_set_new(result, "why", json_string(why_words[context->why]));
    json_object_set_new(result, "sufficient",
                        json_boolean(context_exit(context, minimum_tier) == EXIT_INSIDE));
    json_object_set_new(result, "cgroup", json_text(span_of_string(context->cgroup)));
    if (!inside) {
        return result;
    }
    json_object_set_new(result, "run", json_text(span_of_string(context->run)));
    json_object_set_new(result, "unit", json_text(span_of_string(context->unit)));
    json_object_set_new(result, "adapter", json_text(span_of_string(context->adapter)));
    json_object_set_new(result, "tier", json_string(option_tier_words[context->tier]));
    json_object_set_new(result, "containment",
                        json_string(containment_name((enum containment)context->containment)));
    json_t *limits = json_object();
#define X(member, name, bytes) json_object_set_new(limits, #member, number_of(context->member));
    NUMBERS(X)
#undef X
    json_object_set_new(result, "limits", limits);
    json_t *guarantees = json_object();
    for (int i = 0; i < context->guarantee_count; i++) {
        const char *level = guarantee_level_name(context->guarantees[i].level);
        json_object_set_new(guarantees, context->guarantees[i].name, json_string(level));
    }
    json_object_set_new(result, "guarantees", guarantees);
    return result;
}
