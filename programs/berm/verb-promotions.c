#include "archive.h"
#include "process.h"
#include "promotion.h"
#include "say.h"
#include "text.h"
#include "verb.h"

enum { TEXT_BYTES = 1 << 20, SHOWN_DIGITS = 12 };

static int say_as_words(const struct promotions *promotions, struct err *err)
{
    const struct promotion *list = promotions->promotions.objects;
    with_buf text = buf_new(TEXT_BYTES);
    for (size_t i = 0; i < promotions->promotions.count; i++) {
        const struct promotion *one = &list[i];
        buf_add_format(&text, "%-6s  ", promotion_tier_name((enum promotion_tier)one->tier));
        say_add(&text, one->workload);
        buf_add_string(&text, "  ");
        say_add(&text, one->recorded_at);
        buf_add_string(&text, "  run ");
        say_add(&text, one->run_id);
        buf_add_string(&text, "  work ");
        text_neutralise(&text, span_of(one->frozen_digest, SHOWN_DIGITS));
        buf_add_string(&text, "  ");
        say_add(&text, one->repository);
        buf_add_char(&text, '\n');
    }
    buf_add_format(&text, "%zu promotion%s\n", promotions->promotions.count,
                   promotions->promotions.count == 1 ? "" : "s");
    return say_result(&text, err);
}

int verb_promotions(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    with_bfs_dir folder = {0};
    with_promotions promotions = {0};
    int there = archive_open_state(os_environment_all(), &folder, err);
    if (there < 0 || (there > 0 && promotions_read(&folder, &promotions, err) < 0)) {
        return -1;
    }
    if (options_given(options, OPTION_JSON)) {
        with_json json = record_encode(&promotions_record, &promotions);
        return say_json(json, err);
    }
    return say_as_words(&promotions, err);
}
