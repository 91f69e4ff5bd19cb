/* summary.h
 *
 * A run in words, from its berm.run/v1 record alone, so that `berm show` prints what the run printed.
 * A bare report (lamina.safe-runner-report/v1) is shown as far as it goes.
 *
 * Every line begins with "berm: " and ends in a newline; text out of the record is neutralised.
 *
 * Limitations  total: a record that says nothing still gives a summary, and one that lies is
 *              believed. Check it first (validate.h) when it comes from somewhere else.
 */
#pragma once

#include <stdbool.h>

#include "buf.h"
#include "json.h"

enum { SUMMARY_BYTES = 262144 };

struct summary_view {
    const char *place;  /* where the record lies; NULL: not said */
    const char *report; /* where the report lies; NULL: where it was wanted, by the record */
    const char *home;   /* shown as ~; NULL: not shortened */
    int exit_code;      /* what berm really answers (--exit-mode); -1: what the record says */
    bool colour;
};

void summary_render(const json_t *record, const struct summary_view *view, struct buf *out);
bool summary_is_success(const json_t *record);
