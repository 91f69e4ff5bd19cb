#include "context-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon-priv.h"
#include "event.h"
#include "file.h"
#include "socket.h"

enum { EVENTS_AT_ONCE = CONTEXT_PEERS + 1, EVENT_LISTENER = CONTEXT_PEERS };

static void fail(struct context *context, int sys, const char *what)
{
    (void)err_sys(&context->failure, sys, "cannot %s", what);
    context_done(context);
}

/* Descriptors that came and were not taken are closed by whoever reads or closes their socket. */
static int no_close_waits(const struct context *context, bool on)
{
    return context->takes_descriptors ? os_waits_end(on ? CONTEXT_CLOSE_MS : 0) : 0;
}

/* --- connections -------------------------------------------------------------------------------- */

/* A descriptor that is closed leaves the set of events by itself. */
static void drop(struct context_peer *peer)
{
    fd_close(&peer->socket);
    fd_close(&peer->pidfd);
    *peer = (struct context_peer){0};
}

/* Whoever does not take it in time has not heard it. */
static void say(const struct context_peer *peer, const void *frame, size_t size)
{
    (void)!os_send(fd_num(&peer->socket), frame, size);
}

static void say_hello(const struct context_peer *peer, enum context_status status)
{
    struct context_hello hello = {
        .magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION, .status = (uint16_t)status};
    memcpy(hello.nonce, peer->nonce, sizeof hello.nonce);
    say(peer, &hello, sizeof hello);
}

static void say_answer(struct context *context, const struct context_peer *peer,
                       enum context_status status)
{
    struct context_answer refusal = {.magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION};
    struct context_answer *answer = status == CONTEXT_OK ? &context->answer : &refusal;
    answer->status = (uint16_t)status;
    memcpy(answer->nonce, peer->nonce, sizeof answer->nonce);
    say(peer, answer, sizeof *answer);
}

/* Larger than a stack frame should be; there is one loop. */
static void say_daemon(struct context *context, const struct context_peer *peer,
                       const struct daemon_request *request)
{
    static struct daemon_answer answer;
    answer = (struct daemon_answer){.magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION};
    memcpy(answer.nonce, peer->nonce, sizeof answer.nonce);
    (void)!no_close_waits(context, false); /* the watchdog may be waited for */
    daemons_answer(context->daemons, fd_num(&context->proc_dir), peer->who, request, &answer);
    (void)!no_close_waits(context, true);
    say(peer, &answer, sizeof answer);
}

static enum context_status welcome(struct context *context, struct context_peer *peer, size_t slot)
{
    int proc_dir = fd_num(&context->proc_dir);
    enum context_status status = context_peer_identify(proc_dir, peer);
    status =
        status == CONTEXT_OK ? context_peer_check(proc_dir, peer, context->answer.leaf) : status;
    if (status != CONTEXT_OK) {
        return status;
    }
    int result = os_socket_name_senders(fd_num(&peer->socket), true);
    result = result < 0 ? result : os_getrandom(peer->nonce, sizeof peer->nonce);
    result = result < 0
                 ? result
                 : os_epoll_add(fd_num(&context->epoll), fd_num(&peer->socket), EPOLLIN, slot);
    return result < 0 ? CONTEXT_FAILED : CONTEXT_OK;
}

static size_t free_slot(const struct context *context)
{
    size_t slot = 0;
    while (slot < CONTEXT_PEERS && fd_is_open(&context->peers[slot].socket)) {
        slot++;
    }
    return slot;
}

static bool may_take(const struct context *context)
{
    return context->taken < CONTEXT_RATE && free_slot(context) < CONTEXT_PEERS;
}

static void take_connections(struct context *context, int64_t now_ns)
{
    for (int i = 0; i < CONTEXT_AT_ONCE && may_take(context); i++) {
        size_t slot = free_slot(context);
        struct context_peer *peer = &context->peers[slot];
        int accepted = os_socket_accept(fd_num(&context->listener));
        if (accepted == -EAGAIN) {
            return;
        }
        if (accepted == -EMFILE || accepted == -ENFILE || accepted == -ENOMEM ||
            accepted == -ENOBUFS) {
            context->taken = CONTEXT_RATE; /* the next try is in the next window */
            return;
        }
        if (accepted < 0 && accepted != -ECONNABORTED && accepted != -EINTR) {
            fail(context, accepted, "accept a connection");
            return;
        }
        context->taken++;
        if (accepted < 0) {
            continue;
        }
        *peer = (struct context_peer){.socket = fd_adopt(accepted),
                                      .until_ns = now_ns + CONTEXT_DEADLINE_NS};
        enum context_status status = welcome(context, peer, slot);
        say_hello(peer, status);
        if (status != CONTEXT_OK) {
            drop(peer);
        }
    }
}

/* Once more, while the connection is open and after the request has shown who it is. */
static enum context_status check_again(const struct context *context,
                                       const struct context_peer *peer)
{
    return context_peer_check(fd_num(&context->proc_dir), peer, context->answer.leaf);
}

/* Who reads is answered at once; a step of a daemon may take its time, and waits for its turn. */
static void hear(struct context *context, struct context_peer *peer)
{
    bool heard = false;
    union context_frame frame;
    if (peer->has_step) {
        return; /* what comes behind its request is not read */
    }
    enum context_status status = context_peer_hear(peer, &frame, &heard);
    if (!heard) {
        return;
    }
    if (status == CONTEXT_OK && frame.head.operation != CONTEXT_READ) {
        peer->has_step = true;
        peer->step = frame.daemon;
        return;
    }
    say_answer(context, peer, status == CONTEXT_OK ? check_again(context, peer) : status);
    drop(peer);
}

/* One at a turn, of who connected first: limits are not looked at meanwhile. */
static void take_step(struct context *context)
{
    struct context_peer *first = NULL;
    for (size_t i = 0; i < CONTEXT_PEERS; i++) {
        struct context_peer *peer = &context->peers[i];
        if (peer->has_step && (!first || peer->until_ns < first->until_ns)) {
            first = peer;
        }
    }
    if (!first) {
        return;
    }
    enum context_status status = check_again(context, first);
    if (status == CONTEXT_OK) {
        say_daemon(context, first, &first->step);
    } else {
        say_answer(context, first, status);
    }
    drop(first);
}

/* --- time --------------------------------------------------------------------------------------- */

static void expire(struct context *context, int64_t now_ns)
{
    for (size_t i = 0; i < CONTEXT_PEERS; i++) {
        struct context_peer *peer = &context->peers[i];
        if (fd_is_open(&peer->socket) && !peer->has_step && now_ns >= peer->until_ns) {
            drop(peer);
        }
    }
    if (now_ns >= context->window_until_ns) {
        context->window_until_ns = now_ns + CONTEXT_WINDOW_NS;
        context->taken = 0;
    }
}

/* What may not be taken is not waited for either, or the loop would never rest. */
static void watch(struct context *context)
{
    bool wanted = may_take(context);
    if (wanted == context->watching) {
        return;
    }
    int epoll = fd_num(&context->epoll);
    int listener = fd_num(&context->listener);
    int result = wanted ? os_epoll_add(epoll, listener, EPOLLIN, EVENT_LISTENER)
                        : os_epoll_remove(epoll, listener);
    if (result < 0) {
        fail(context, result, "wait for connections");
        return;
    }
    context->watching = wanted;
}

int64_t context_moment_ns(const struct context *context)
{
    int64_t moment_ns = INT64_MAX;
    if (!fd_is_open(&context->listener)) {
        return moment_ns;
    }
    for (size_t i = 0; i < CONTEXT_PEERS; i++) {
        const struct context_peer *peer = &context->peers[i];
        if (peer->has_step) {
            return 0; /* its turn is the next */
        }
        if (fd_is_open(&peer->socket) && peer->until_ns < moment_ns) {
            moment_ns = peer->until_ns;
        }
    }
    if (context->taken >= CONTEXT_RATE && context->window_until_ns < moment_ns) {
        moment_ns = context->window_until_ns;
    }
    return moment_ns;
}

static void serve(struct context *context, int64_t now_ns)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = os_epoll_wait(fd_num(&context->epoll), events, EVENTS_AT_ONCE, 0);
    if (count < 0 && count != -EINTR) {
        fail(context, count, "wait for events");
        return;
    }
    bool asked = false;
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == EVENT_LISTENER) {
            asked = true;
        } else {
            hear(context, &context->peers[events[i].data.u64]);
        }
    }
    expire(context, now_ns);
    if (asked) {
        take_connections(context, now_ns);
    }
    take_step(context); /* last: nobody's time runs out behind it unheard */
    if (fd_is_open(&context->listener)) {
        watch(context);
    }
}

void context_serve(struct context *context, int64_t now_ns)
{
    if (!fd_is_open(&context->listener)) {
        return;
    }
    int result = no_close_waits(context, true);
    if (result < 0) {
        fail(context, result, "bound the time of a close");
        return;
    }
    serve(context, now_ns);
    (void)!no_close_waits(context, false); /* a signal more does nothing */
}

/* --- the service -------------------------------------------------------------------------------- */

static bool copy(char *to, size_t size, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length >= size) {
        return false;
    }
    memcpy(to, text ? text : "", length + 1);
    return true;
}

static int fill_answer(const struct context_facts *facts, struct context_answer *answer,
                       struct err *err)
{
    if (!facts->leaf || !context_is_leaf(facts->leaf)) {
        return err_set(err, ERR_UNAVAILABLE, "'%s' is no cgroup of the payload's own",
                       facts->leaf ? facts->leaf : "");
    }
    *answer = (struct context_answer){
        .magic = CONTEXT_MAGIC,
        .version = CONTEXT_VERSION,
        .tier = facts->tier,
        .containment = facts->containment,
        .memory_max_bytes = facts->memory_max_bytes,
        .memory_high_bytes = facts->memory_high_bytes,
        .swap_max_bytes = facts->swap_max_bytes,
        .pids_max = facts->pids_max,
        .timeout_ms = facts->timeout_ms,
        .output_bytes = facts->output_bytes,
        .temporary_bytes = facts->temporary_bytes,
        .temporary_inodes = facts->temporary_inodes,
        .guarantee_count = GUARANTEE_COUNT,
    };
    bool fits = copy(answer->run, sizeof answer->run, facts->run) &&
                copy(answer->unit, sizeof answer->unit, facts->unit) &&
                copy(answer->adapter, sizeof answer->adapter, facts->adapter) &&
                copy(answer->leaf, sizeof answer->leaf, facts->leaf);
    for (int i = 0; i < GUARANTEE_COUNT; i++) {
        struct context_guarantee *guarantee = &answer->guarantees[i];
        fits = fits && copy(guarantee->name, sizeof guarantee->name, guarantee_name(i));
        guarantee->level = (uint8_t)facts->guarantees.level[i];
    }
    return fits ? 0 : err_set(err, ERR_OVER_BUDGET, "a name of the run is too long to be told");
}
_Static_assert((int)GUARANTEE_COUNT <= CONTEXT_GUARANTEES_MAX, "all guarantees fit into an answer");

static int make_listener(struct context *context, struct err *err)
{
    char address[CONTEXT_ADDRESS_SIZE];
    if (!context_address(context->answer.leaf, address)) {
        return err_set(err, ERR_UNAVAILABLE, "no address follows from '%s'", context->answer.leaf);
    }
    context->listener = fd_adopt(os_socket_new());
    if (!fd_is_open(&context->listener)) {
        return err_sys(err, fd_error(&context->listener), "make a socket");
    }
    int result = os_socket_bind(fd_num(&context->listener), address);
    return result < 0 ? err_sys(err, result, "listen at '%s'", address) : 0;
}

static int open_service(struct context *context, struct fd *listener, const char *proc,
                        struct err *err)
{
    context->listener = fd_take(listener);
    if (!fd_is_open(&context->listener) && make_listener(context, err) < 0) {
        return -1;
    }
    context->epoll = fd_adopt(os_epoll_new());
    context->proc_dir = fd_adopt(os_openat(AT_FDCWD, proc, O_PATH | O_DIRECTORY, 0));
    int result = fd_error(&context->epoll);
    result = result < 0 ? result : fd_error(&context->proc_dir);
    int refused = os_socket_refuse_descriptors(fd_num(&context->listener));
    context->takes_descriptors = refused == -ENOPROTOOPT;
    result = result < 0 || context->takes_descriptors ? result : refused;
    /* Also of a socket that another process made: the kernel names as its owner who listens. */
    result = result < 0 ? result : os_socket_listen(fd_num(&context->listener), CONTEXT_BACKLOG);
    result = result < 0 ? result
                        : os_epoll_add(fd_num(&context->epoll), fd_num(&context->listener), EPOLLIN,
                                       EVENT_LISTENER);
    context->watching = true;
    return result < 0 ? err_sys(err, result, "serve programs that ask about their run") : 0;
}

int context_open(struct context *context, const struct context_facts *facts, struct fd *listener,
                 const char *proc, struct err *err)
{
    *context = (struct context){0};
    with_fd taken = fd_take(listener);
    if (fill_answer(facts, &context->answer, err) < 0 ||
        open_service(context, &taken, proc, err) < 0) {
        context_done(context);
        return -1;
    }
    return 0;
}

int context_events(const struct context *context)
{
    return fd_num(&context->epoll);
}

void context_done(struct context *context)
{
    (void)!no_close_waits(context, true); /* without it, a wait is all that can come of it */
    for (size_t i = 0; i < CONTEXT_PEERS; i++) {
        drop(&context->peers[i]);
    }
    fd_close(&context->listener);
    fd_close(&context->epoll);
    fd_close(&context->proc_dir);
    (void)!no_close_waits(context, false);
}
