/* help.h
 *
 * What `berm help` prints, from the option tables: at most 80 columns, no trailing blanks.
 */
#pragma once

#include "buf.h"
#include "options.h"

enum { HELP_COLUMNS = 80, HELP_BYTES = 65536 };

void help_overview(struct buf *out);
void help_verb(const struct verb *verb, struct buf *out);
void help_all(struct buf *out);
