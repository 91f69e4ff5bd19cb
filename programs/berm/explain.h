/* explain.h
 *
 * What `berm run --explain` says, in words, from the object that run_explain() makes.
 */
#pragma once

#include "buf.h"
#include "json.h"

enum { EXPLAIN_BYTES = 1 << 20 };

void explain_render(const json_t *explained, struct buf *out);
