/* outcome-priv.h
 *
 * Questions about facts that both the verdict and the exit code ask.
 */
#pragma once

#include "report.h"

/* berm's own failure, inside the ending or outside; NULL: none. */
const struct err *outcome_failure(const struct report_facts *facts);
/* Asked to stop before anything was started. */
bool outcome_was_stopped_early(const struct report_facts *facts);
/* Paths of daemons at which something is left. */
void outcome_paths_left(const struct supervise_ending *ending, struct strvec *ret_paths);
