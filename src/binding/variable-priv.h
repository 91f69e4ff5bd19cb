/* variable-priv.h
 *
 * What berm thinks of one environment variable, by its name (and, for a few, its value). All of it
 * is tables in variable.c; each refused row says what the variable would do.
 *
 * Limitations  it cannot know what a program that berm has never heard of reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "span.h"

/* Why EV-2 refuses NAME=VALUE, in words that follow "because it"; NULL when it does not. A value of
 * NULL stands for any value: names whose exception depends on the value are refused then. */
const char *variable_refusal(struct span name, const char *value);
bool variable_is_credential(struct span name);
/* Passed to the child without being asked for (EV-1, the default of plain runs). */
bool variable_is_listed(struct span name, const char *value);
/* May stand in a record, name and value (EV-1, EV-3). */
bool variable_is_recorded(struct span name);
