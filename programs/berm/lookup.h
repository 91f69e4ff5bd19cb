/* lookup.h
 *
 * Values of a JSON record by dotted path ("report.termination.limit"), for display: whatever is
 * missing or of another type is simply not there.
 *
 * Limitations  names with a point in them cannot be reached; arrays have no path.
 */
#pragma once

#include <stdint.h>

#include "json.h"

const json_t *lookup(const json_t *value, const char *path);    /* NULL: not there; borrowed */
int64_t lookup_number(const json_t *value, const char *path);   /* -1: no integer there */
const char *lookup_text(const json_t *value, const char *path); /* NULL: no string there */
