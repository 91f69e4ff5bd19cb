/* context-words.h
 *
 * What `berm context` says of a context that libberm-context read (berm-context.h is its manual).
 */
#pragma once

#include "berm-context.h"
#include "buf.h"
#include "json.h"

/* 0: inside, and of that tier at least; 3: outside; 9: not proved, or the tier is too low. */
int context_exit(const struct berm_context *context, int minimum_tier);
void context_add_words(struct buf *out, const struct berm_context *context, int minimum_tier);
json_t *context_to_json(const struct berm_context *context, int minimum_tier) must_check;
