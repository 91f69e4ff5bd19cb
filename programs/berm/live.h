/* live.h
 *
 * The live line of a run on a terminal: what has been used so far, redrawn at most four times a
 * second, from the second second on.
 *
 * Calling sequence
 *   live_begin(&live, 2, passes)                before the run; passes[n]: stream n of the payload
 *                                               goes to the terminal as well
 *   request.observer = live_observer(&live)     supervise draws and erases through it
 *   live_end(&live)                             the terminal is as it was
 *
 * The line is erased before payload bytes go to the terminal, and is not drawn while the payload's
 * last byte there was no newline, so that nothing of the payload is ever overwritten. Nothing but
 * \r and erase-to-end-of-line is used. A terminal that takes no bytes (^S), or whose foreground is
 * another program, is left alone: the supervisor never waits for it.
 *
 * Ownership    the descriptor is borrowed; memory is taken in live_begin() only (memory_arm()).
 * Limitations  a payload that opens /dev/tty itself can write over the line.
 */
#pragma once

#include <stdbool.h>

#include "buf.h"
#include "supervise.h"

struct live {
    int fd;
    bool passes[STREAM_COUNT];
    bool drawn;
    bool mid_line;
    int64_t drawn_at_ns; /* elapsed time of the last drawing */
    const char *stopping;
    struct buf line;
};

void live_begin(struct live *live, int fd, const bool passes[STREAM_COUNT]);
struct supervise_observer live_observer(struct live *live);
void live_end(struct live *live);
