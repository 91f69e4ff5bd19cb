/* streams-priv.h
 *
 * The payload's two output streams: read as fast as they come, counted, kept, remembered at their
 * end and passed on byte for byte, without ever waiting for whoever reads them onward.
 *
 * Calling sequence
 *   streams_open(&streams, request, ending, epoll_fd)         finds out how to write onward
 *   streams_adopt(&streams, sources, err)                     read ends of the payload's pipes
 *   streams_read(&streams, stream) / streams_flush(&streams, sink)   when epoll says so
 *   streams_conclude(&streams)       no writer of the tree is left: what remains is read, and no more
 *   streams_over(&streams)           everything is read and passed on
 *   streams_done(&streams)
 *
 * Backpressure   a stream whose bytes cannot go onward is not read until they can: the payload's
 *                pipe fills, as the native pipe would. Two streams with one destination share one
 *                sink, so that the order of reading is the order of writing.
 * Onward         regular files by plain writes; pipes and terminals through an open file
 *                description of our own (O_NONBLOCK must never be set on the caller's, which it
 *                shares with the shell); sockets by send; anything else by poll and small writes.
 *                An error onward closes the payload's pipe: it gets SIGPIPE, as it would natively.
 *                What the caller had closed (EBADF) goes nowhere, and is counted.
 * Limitations    a regular file blocks as long as its disk does. Where a terminal cannot be opened
 *                anew (it belongs to another user) a write to it may wait while its output is stopped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "fd.h"
#include "supervise.h"

/* The buffers begin at a page: the kernel copies to an odd address three times slower (measured). */
enum {
    STREAM_BUFFER_BYTES = 256 * 1024,
    STREAM_PIPE_BYTES = 1024 * 1024,
    STREAM_BUFFER_ALIGN = 4096,
};

enum sink_kind {
    SINK_NONE,  /* nowhere */
    SINK_PLAIN, /* a write that does not wait for a reader */
    SINK_OWN,   /* a non-blocking description of our own */
    SINK_SOCKET,
    SINK_POLLED, /* the caller's description: only when poll says so, and little at a time */
    SINK_GONE,   /* every write answers `error` */
};

struct sink {
    enum sink_kind kind;
    int fd; /* where it is written */
    struct fd own;
    int holder; /* the stream whose bytes wait here; -1: none */
    bool watched;
    int error; /* SINK_GONE: a positive errno */
};

struct stream {
    struct fd source;
    bool watched;
    int sink; /* its index */
    int keep_fd;
    char *buffer;
    size_t waiting; /* bytes of the buffer that wait for the sink */
    size_t waiting_at;
    int64_t rest; /* concluding: bytes that were still in the pipe when the tree was gone */
    struct supervise_stream *facts;
};

struct streams {
    int epoll_fd;
    const struct supervise_observer *observer;
    int64_t output_limit; /* 0: none */
    int64_t keep_limit;
    int64_t total_bytes;
    bool over_limit;
    int keep_error; /* -errno of the first failed write to a kept file */
    bool concluding;
    char *memory; /* both buffers */
    struct stream stream[STREAM_COUNT];
    struct sink sinks[STREAM_COUNT];
};

void streams_open(struct streams *streams, const struct supervise_request *request,
                  struct supervise_ending *ending, int epoll_fd);
int streams_adopt(struct streams *streams, struct fd sources[STREAM_COUNT],
                  struct err *err) must_check;
/* 0, or -errno of berm's own trouble; what went wrong onward is in the facts. */
int streams_read(struct streams *streams, int stream) must_check;
int streams_flush(struct streams *streams, int sink) must_check;
int streams_conclude(struct streams *streams) must_check;
/* Concluding, and something can be read without an event. */
bool streams_ready(const struct streams *streams);
bool streams_over(const struct streams *streams);
/* Give up on whatever waits: the reader had its time. */
void streams_drop(struct streams *streams, int sys);
void streams_done(struct streams *streams);

/* sink.c */
void sink_open(struct sink *sink, int fd);
/* The number of bytes written, or -errno; -EAGAIN: full. */
ssize_t sink_write(struct sink *sink, const char *bytes, size_t n) must_check;
void sink_done(struct sink *sink);

/* tail.c: the last bytes of a stream, and TAIL_MARGIN_BYTES more, as a ring until tail_straighten(). */
void tail_open(struct supervise_stream *facts, uint32_t bytes);
void tail_add(struct supervise_stream *facts, const char *bytes,
              size_t n); /* before facts->bytes grows */
void tail_straighten(struct supervise_stream *facts);
void tail_done(struct supervise_stream *facts);
