/* wildcard-priv.h
 *
 * The patterns of .gitignore: * ? [set] \x, and ** between slashes.
 *
 * Limitations  bytes, not letters: ? is one byte, [:alpha:] is ASCII. A pattern whose set does not end
 *              matches nothing.
 * Source       gitignore(5) "PATTERN FORMAT", fnmatch(3), POSIX.1 2.13 for sets. What these leave open is decided as
 *              git does it, which tests/contract/source.py compares.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What all matching of one walk may take together, in steps; a pattern of many stars takes most. */
struct wildcard_budget {
    uint64_t steps;
};

/* A budget that is used up answers false, and stays at 0. */
bool wildcard_match(const char *pattern, const char *path, struct wildcard_budget *budget);
/* The number of bytes before the first that is more than itself. */
size_t wildcard_literal(const char *pattern);
