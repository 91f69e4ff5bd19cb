/* validate.h
 *
 * The independent check of a report (RP-3): the closed schema of lamina.safe-runner-report/v1, from
 * the same record table that writes it, and the cross-field rules that no schema can say
 * (docs/formats/report-v1.md lists both). A berm.run/v1 record is checked with its report inside.
 *
 * Limitations  says whether a report is consistent, not whether it is true.
 */
#pragma once

#include "json.h"
#include "strvec.h"

/* 0 faults: valid. Each fault is "path: what is wrong". */
size_t validate_report(const json_t *report, struct strvec *faults);
size_t validate_run_record(const json_t *record, struct strvec *faults);
