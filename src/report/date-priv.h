/* date-priv.h
 *
 * Is a text a date and time by RFC 3339, section 5.6: `2026-11-29T15:54:11.123Z`, any fraction, `Z`
 * or an offset, letters of either case? The day must exist; second 60 is allowed.
 */
#pragma once

#include <stdbool.h>

#include "span.h"

bool date_is_valid(struct span text);
