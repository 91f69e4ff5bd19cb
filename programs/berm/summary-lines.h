/* summary-lines.h
 *
 * The lines of a summary behind the first, each a function that writes whole lines or nothing.
 * summary.c says which of them a summary has.
 */
#pragma once

#include "summary.h"

struct summary {
    const json_t *record; /* berm.run/v1, or {"report": ...} */
    const struct summary_view *view;
    struct buf *out;
};

void summary_cpu(const struct summary *summary);
void summary_used(const struct summary *summary);
void summary_held(const struct summary *summary);
void summary_here(const struct summary *summary);
void summary_env(const struct summary *summary);
/* What became of each daemon that was declared. */
void summary_daemons(const struct summary *summary);
void summary_left(const struct summary *summary);
void summary_lost(const struct summary *summary); /* output that could not be passed on */
void summary_kept(const struct summary *summary);
void summary_note(const struct summary *summary);
void summary_reason(const struct summary *summary);
void summary_limit(const struct summary *summary);
void summary_checks(const struct summary *summary);
void summary_next(const struct summary *summary);
void summary_run(const struct summary *summary);

/* For the writers of lines: "berm: used   ", or the same width of blanks where the word is "". */
void summary_begin(const struct summary *summary, const char *word);
void summary_end(const struct summary *summary);
const json_t *summary_find_limit(const struct summary *summary, const char *name); /* or NULL */
void summary_add_text(const struct summary *summary, const char *text);            /* neutralised */
void summary_add_words(const struct summary *summary, const char *name); /* "a_b" as "a b" */
