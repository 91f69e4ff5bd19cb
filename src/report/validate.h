/* validate.h
 *
 * The independent check of a report (RP-3): the closed schema of lamina.safe-runner-report/v1, from
 * the same record table that writes it, and the cross-field rules that no schema can say
 * (docs/formats/report-v1.md lists both). A berm.run/v1 record is checked with its report inside.
 *
 * Limitations  says whether a report is consistent, not whether it is true.
 */
#pragma once

#include "buf.h"
#include "json.h"
#include "record.h"
#include "strvec.h"

/* What schema/ and docs/formats/ are generated from. */
extern const struct record report_v1_record;
extern const struct record run_v1_record;

/* 0 faults: valid. Each fault is "path: what is wrong". */
size_t validate_report(const json_t *report, struct strvec *faults);
size_t validate_run_record(const json_t *record, struct strvec *faults);
/* Its format is a later version of berm.run: it may be right, and this berm cannot tell. */
bool validate_is_of_later_berm(const json_t *record);

/* The rules as markdown tables, for docs/formats/. */
void validate_document_report(struct buf *out);
void validate_document_run(struct buf *out);
