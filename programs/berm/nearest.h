/* nearest.h
 *
 * The known word that somebody most likely meant: least edits (insert, delete, replace, swap of two
 * neighbours), or a beginning of it.
 *
 * Calling sequence
 *   struct nearest nearest = nearest_to(word);
 *   nearest_offer(&nearest, known);  ...      NULL is fine
 *   nearest_found(&nearest)                   NULL when nothing is near
 *
 * Limitations  compares bytes; words beyond 63 bytes are near to nothing.
 */
#pragma once

#include "span.h"

struct nearest {
    struct span word;
    const char *best;
    size_t edits;
};

struct nearest nearest_to(struct span word);
void nearest_offer(struct nearest *nearest, const char *known);
const char *nearest_found(const struct nearest *nearest);
