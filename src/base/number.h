/* number.h
 *
 * The smaller, the larger, and nothing below zero.
 */
#pragma once

#include <stdint.h>

static inline int64_t number_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t number_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t number_not_below_zero(int64_t value)
{
    return number_most(value, 0);
}
