/* rules-priv.h
 *
 * The rules of the published report between its fields.
 */
#pragma once

#include "report-v1-priv.h"

/* The faults of a report whose schema is right; "PREFIXpath: what is wrong [rule]". */
size_t rules_ask(const struct report_v1 *report, const char *prefix, struct strvec *faults);
bool rules_say_in_progress(const struct report_v1 *report);
