/* watch-priv.h
 *
 * What the event loop waits for: the number that epoll gives back with an event.
 */
#pragma once

enum watch {
    WATCH_LEADER,
    WATCH_SIGNALS,
    WATCH_FAILURE, /* the gate's report, or end-of-file: it executed */
    WATCH_CANCEL,
    WATCH_CHANNEL,  /* a word of the launcher, or it is gone */
    WATCH_WATCHDOG, /* it is lost */
    WATCH_SCOPE,    /* an event of the leaf */
    WATCH_PRESSURE, /* tasks of the leaf waited for memory */
    WATCH_CONTEXT,  /* a program of the payload asks about the run */
    WATCH_STREAM,   /* and the next: stdout, stderr */
    WATCH_STREAM_LAST,
    WATCH_SINK, /* and the next */
    WATCH_SINK_LAST,
    WATCH_COUNT
};
