#include "streams-priv.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "event.h"
#include "file.h"
#include "memory.h"
#include "watch-priv.h"

/* So many reads for one event, before timers and signals are looked at again. */
enum { READS_AT_ONCE = 4 };

/* Pipes, terminals and sockets that are the same on both streams need one queue. */
static bool same_place(const struct sink *a, const struct sink *b)
{
    struct stat first;
    struct stat second;
    return (a->kind == SINK_OWN || a->kind == SINK_SOCKET || a->kind == SINK_POLLED) &&
           a->kind == b->kind && os_fstat(a->fd, &first) == 0 && os_fstat(b->fd, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

void streams_open(struct streams *streams, const struct supervise_request *request,
                  struct supervise_ending *ending, int epoll_fd)
{
    *streams = (struct streams){
        .epoll_fd = epoll_fd,
        .observer = &request->observer,
        .output_limit = request->limits.output_bytes,
        .keep_limit = request->keep_bytes,
        .memory = memory_new(STREAM_COUNT * STREAM_BUFFER_BYTES + STREAM_BUFFER_ALIGN),
    };
    uintptr_t first = (uintptr_t)streams->memory + STREAM_BUFFER_ALIGN - 1;
    first -= first % STREAM_BUFFER_ALIGN;
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &streams->stream[i];
        stream->facts = &ending->stream[i];
        tail_open(stream->facts, request->tail_bytes[i] ? request->tail_bytes[i] : TAIL_BYTES);
        stream->keep_fd = request->keep_fd[i];
        stream->buffer = (char *)first + i * STREAM_BUFFER_BYTES;
        stream->sink = i;
        sink_open(&streams->sinks[i], request->pass_fd[i]);
    }
    if (same_place(&streams->sinks[STREAM_STDOUT], &streams->sinks[STREAM_STDERR])) {
        streams->stream[STREAM_STDERR].sink = STREAM_STDOUT;
    }
}

static int watch(struct streams *streams, int i)
{
    struct stream *stream = &streams->stream[i];
    if (stream->watched || !fd_is_open(&stream->source)) {
        return 0;
    }
    int result = os_epoll_add(streams->epoll_fd, fd_num(&stream->source), EPOLLIN,
                              (uint64_t)(WATCH_STREAM + i));
    stream->watched = result == 0;
    return result;
}

/* Removed, not silenced: a hang-up is reported for as long as a descriptor is registered. */
static int unwatch(struct streams *streams, int i)
{
    struct stream *stream = &streams->stream[i];
    if (!stream->watched) {
        return 0;
    }
    stream->watched = false;
    return os_epoll_remove(streams->epoll_fd, fd_num(&stream->source));
}

int streams_adopt(struct streams *streams, struct fd sources[STREAM_COUNT], struct err *err)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &streams->stream[i];
        stream->source = fd_take(&sources[i]);
        int result = os_set_nonblocking(fd_num(&stream->source), true);
        result = result < 0 ? result : watch(streams, i);
        if (result < 0) {
            return err_sys(err, result, "cannot watch the payload's output");
        }
        /* More room means fewer switches; a user's share of pipe memory may be spent. */
        (void)!os_pipe_grow(fd_num(&stream->source), STREAM_PIPE_BYTES);
    }
    return 0;
}

static int end_stream(struct streams *streams, int i)
{
    streams->stream[i].watched = false; /* epoll forgets what is closed */
    fd_close(&streams->stream[i].source);
    return 0;
}

/* The way onward is closed for good and what waits is lost. The payload learns of it as it would
 * without us: by a pipe that nobody reads. When it is gone, the rest is still counted; so it is from
 * the start when the caller had closed the stream (D12): that asks for silence, not for SIGPIPE. */
static int fail_onward(struct streams *streams, int i, int sys)
{
    struct stream *stream = &streams->stream[i];
    stream->facts->pass_error = sys;
    stream->waiting = 0;
    if (streams->concluding || sys == EBADF) {
        streams->sinks[stream->sink].kind = SINK_NONE;
        return 0;
    }
    return end_stream(streams, i);
}

/* Write what waits; -EAGAIN when the sink is full, other errors are berm's own. */
static int push(struct streams *streams, int i)
{
    struct stream *stream = &streams->stream[i];
    struct sink *sink = &streams->sinks[stream->sink];
    const struct supervise_observer *observer = streams->observer;
    if (stream->waiting > 0 && observer->before_output && sink->kind != SINK_NONE) {
        observer->before_output(observer->context, i);
    }
    ssize_t written = 0;
    while (stream->waiting > 0) {
        const char *bytes = stream->buffer + stream->waiting_at;
        written = sink_write(sink, bytes, stream->waiting);
        if (written < 0) {
            break;
        }
        stream->waiting -= (size_t)written;
        stream->waiting_at += (size_t)written;
        stream->facts->passed_bytes += sink->kind == SINK_NONE ? 0 : written;
    }
    if (stream->waiting_at > 0 && observer->after_output && sink->kind != SINK_NONE) {
        observer->after_output(observer->context, i, stream->buffer[stream->waiting_at - 1]);
    }
    if (written < 0 && written != -EAGAIN) {
        return fail_onward(streams, i, (int)-written);
    }
    return stream->waiting > 0 ? -EAGAIN : 0;
}

static void keep(struct streams *streams, int i, size_t n)
{
    struct stream *stream = &streams->stream[i];
    int64_t room = streams->keep_limit - stream->facts->kept_bytes;
    if (stream->keep_fd < 0 || room <= 0 || streams->keep_error < 0) {
        return;
    }
    size_t part = (int64_t)n < room ? n : (size_t)room;
    int result = os_write_all(stream->keep_fd, stream->buffer, part);
    if (result < 0) {
        streams->keep_error = result;
        return;
    }
    stream->facts->kept_bytes += (int64_t)part;
}

/* Account for n bytes that were read; how many of them lie within the limit. */
static size_t account(struct streams *streams, int i, size_t n)
{
    struct supervise_stream *facts = streams->stream[i].facts;
    tail_add(facts, streams->stream[i].buffer, n);
    facts->bytes += (int64_t)n;
    int64_t before = streams->total_bytes;
    streams->total_bytes += (int64_t)n;
    if (streams->output_limit == 0 || streams->total_bytes <= streams->output_limit) {
        return n;
    }
    streams->over_limit = true;
    return before < streams->output_limit ? (size_t)(streams->output_limit - before) : 0;
}

/* The sink is full: nobody who shares it reads until it has room. */
static int pause_at(struct streams *streams, int index)
{
    struct sink *sink = &streams->sinks[index];
    int result = 0;
    for (int i = 0; i < STREAM_COUNT && result == 0; i++) {
        result = streams->stream[i].sink == index ? unwatch(streams, i) : 0;
    }
    if (sink->watched || result < 0) {
        return result;
    }
    result = os_epoll_add(streams->epoll_fd, sink->fd, EPOLLOUT, (uint64_t)(WATCH_SINK + index));
    sink->watched = result == 0;
    return result;
}

static int pass(struct streams *streams, int i, size_t n)
{
    struct stream *stream = &streams->stream[i];
    stream->waiting = n;
    stream->waiting_at = 0;
    int result = push(streams, i);
    if (result == -EAGAIN) {
        streams->sinks[stream->sink].holder = i;
        return pause_at(streams, stream->sink);
    }
    return result;
}

/* No writer of the tree is left. Whoever still holds the pipe stands outside, and what it writes
 * is none of the run's: the bytes that were there when the tree ended are the last. */
static int end_of_rest(struct streams *streams, int i)
{
    struct stream *stream = &streams->stream[i];
    int events = os_poll(fd_num(&stream->source), POLLIN, 0);
    if (events == -EINTR) {
        return 0;
    }
    if (events < 0) {
        return events;
    }
    stream->facts->held_open = !(events & POLLHUP) || (events & POLLIN);
    return end_stream(streams, i);
}

int streams_read(struct streams *streams, int i)
{
    struct stream *stream = &streams->stream[i];
    for (int reads = 0; reads < READS_AT_ONCE; reads++) {
        if (!fd_is_open(&stream->source) || streams->sinks[stream->sink].holder >= 0) {
            return 0;
        }
        size_t room = STREAM_BUFFER_BYTES;
        if (streams->concluding) {
            if (stream->rest <= 0) {
                return end_of_rest(streams, i);
            }
            room = stream->rest < (int64_t)room ? (size_t)stream->rest : room;
        }
        ssize_t got = os_read(fd_num(&stream->source), stream->buffer, room);
        if (got == -EAGAIN) {
            stream->rest = 0;
            return streams->concluding ? end_of_rest(streams, i) : 0;
        }
        if (got < 0) {
            return (int)got;
        }
        if (got == 0) {
            return end_stream(streams, i);
        }
        stream->rest -= got;
        size_t within = account(streams, i, (size_t)got);
        keep(streams, i, within);
        int result = pass(streams, i, within);
        if (result < 0) {
            return result;
        }
        if (!streams->concluding && (size_t)got < room) {
            return 0; /* very likely that was all: leave it to the next event */
        }
    }
    return 0;
}

int streams_flush(struct streams *streams, int index)
{
    struct sink *sink = &streams->sinks[index];
    int result = sink->holder >= 0 ? push(streams, sink->holder) : 0;
    if (result == -EAGAIN) {
        return 0;
    }
    sink->holder = -1;
    if (sink->watched) {
        sink->watched = false;
        int removed = os_epoll_remove(streams->epoll_fd, sink->fd);
        result = result < 0 ? result : removed;
    }
    for (int i = 0; i < STREAM_COUNT && result == 0; i++) {
        result = streams->stream[i].sink == index ? watch(streams, i) : 0;
    }
    return result;
}

int streams_conclude(struct streams *streams)
{
    streams->concluding = true;
    int result = 0;
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &streams->stream[i];
        if (!fd_is_open(&stream->source)) {
            continue;
        }
        int unread = os_pipe_unread(fd_num(&stream->source));
        stream->rest = unread < 0 ? STREAM_PIPE_BYTES : unread;
        if (unread < 0) {
            result = unread;
        }
    }
    return result;
}

bool streams_ready(const struct streams *streams)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        const struct stream *stream = &streams->stream[i];
        if (streams->concluding && fd_is_open(&stream->source) &&
            streams->sinks[stream->sink].holder < 0) {
            return true;
        }
    }
    return false;
}

bool streams_over(const struct streams *streams)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (fd_is_open(&streams->stream[i].source) || streams->stream[i].waiting > 0) {
            return false;
        }
    }
    return true;
}

void streams_drop(struct streams *streams, int sys)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &streams->stream[i];
        if (stream->waiting > 0) {
            (void)!fail_onward(streams, i, sys);
            /* The sink is free again: the rest is read and counted. */
            (void)!streams_flush(streams, stream->sink);
        }
    }
}

void streams_done(struct streams *streams)
{
    if (!streams) {
        return;
    }
    for (int i = 0; i < STREAM_COUNT; i++) {
        fd_close(&streams->stream[i].source);
        sink_done(&streams->sinks[i]);
    }
    memory_free(streams->memory);
    *streams = (struct streams){0};
}
