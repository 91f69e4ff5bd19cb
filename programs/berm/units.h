/* units.h
 *
 * Sizes, durations and counts as people write and read them.
 *
 * Written      sizes   2G 2GiB 512M 1.5G 1024        (1024-based; bytes when there is no letter)
 *              spans   30s 500ms 1.5m 2h 7d          (a bare number is refused: which unit?)
 *              counts  64
 * Read         units_add_bytes() and units_add_ns() round for a person; units_add_exact_*() write
 *              what the parsers read, without loss.
 *
 * Errors       ERR_USAGE: not one of these forms, with the remedy; ERR_RANGE: too large for 64 bits.
 * Limitations  a fraction has at most three digits and needs a unit. GB and MB are refused, since
 *              half the world reads them as powers of ten.
 */
#pragma once

#include <stdint.h>

#include "attributes.h"
#include "buf.h"
#include "err.h"

int units_parse_size(const char *text, int64_t *ret_bytes, struct err *err) must_check;
int units_parse_duration(const char *text, int64_t *ret_ms, struct err *err) must_check;
int units_parse_count(const char *text, int64_t *ret_count, struct err *err) must_check;

void units_add_bytes(struct buf *out, int64_t bytes); /* "2.1 MiB", "512 B" */
/* "1.9/13.2 GiB"; "2.1 MiB/13.2 GiB" when one unit would hide the first; limit 0: "2.1 MiB". */
void units_add_bytes_of(struct buf *out, int64_t bytes, int64_t limit_bytes);
void units_add_ns(struct buf *out, int64_t ns);      /* "3.5 ms", "0.19 s", "12 min 04 s" */
void units_add_seconds(struct buf *out, int64_t ns); /* "0.19 s", "301.2 s": no minutes */
void units_add_exact_size(struct buf *out, int64_t bytes);
void units_add_exact_duration(struct buf *out, int64_t ms);
