/* watchdog.c
 *
 * Invariants
 *   1. The leaf is killed before anything else is done for a controller that died.
 *   2. What is made stands in a durable manifest before it is made; `armed` is durable before it is said.
 *   3. Nothing is removed that does not have the recorded identity.
 *   4. The manifest goes last, and only when nothing is left.
 */
#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "clock.h"
#include "confine.h"
#include "event.h"
#include "fault.h"
#include "file.h"
#include "helper.h"
#include "launcher.h"
#include "proc.h"
#include "process.h"

enum {
    FIRST_WORD_MS = 10000, /* for the controller to begin */
    AFTER_WARNING_MS = 10000,
    UNIT_PAUSE_MS = 20,
    OWN_MASK = 077,
    DEAF_MAX = 16,
};

/* --- small things ------------------------------------------------------------------------------- */

int64_t watch_now(void)
{
    return os_clock_real.monotonic_ns();
}

void watch_pause(int ms)
{
    (void)!os_poll(-1, 0, ms);
}

static struct watch_identity identity_in(const struct stat *facts)
{
    return (struct watch_identity){facts->st_dev, facts->st_ino, facts->st_uid, 0};
}

struct watch_identity watch_identity_of(int fd)
{
    struct stat facts = {0};
    return os_fstat(fd, &facts) < 0 ? (struct watch_identity){0} : identity_in(&facts);
}

/* What the kernel says to have told is believed only with an inode: 0 is none. */
int watch_look(int folder, const char *name, struct watch_identity *ret_identity)
{
    struct stat facts = {0};
    int result = os_stat_entry(folder, name, &facts);
    *ret_identity = identity_in(&facts);
    return result < 0 ? result : facts.st_ino == 0 ? -EIO : 0;
}

bool watch_same(const struct watch_identity *a, const struct watch_identity *b)
{
    return a->inode != 0 && a->device == b->device && a->inode == b->inode && a->owner == b->owner;
}

bool watch_is_at(int folder, const char *name, int fd)
{
    struct watch_identity there;
    struct watch_identity wanted = watch_identity_of(fd);
    return watch_look(folder, name, &there) == 0 && watch_same(&there, &wanted);
}

bool watch_is_nowhere(int folder, const char *name)
{
    struct watch_identity there;
    return watch_look(folder, name, &there) == -ENOENT;
}

int watchdog_say(const struct watch_word *word, int fd)
{
    ssize_t sent = fd < 0 ? os_send(WATCH_CHANNEL_FD, word, sizeof *word)
                          : os_send_fds(WATCH_CHANNEL_FD, word, sizeof *word, &fd, 1);
    return sent < 0 ? (int)sent : 0;
}

static void say(enum watch_said said, int sys, uint32_t left, const char *text)
{
    struct watch_word word = {.said = said, .sys = sys < 0 ? -sys : sys, .left = left};
    if (text) {
        const char *end = word.text + sizeof word.text - 1;
        (void)launcher_add_text(word.text, end, text);
    }
    (void)!watchdog_say(&word, -1); /* nobody is left to tell when it cannot be sent */
}

/* --- the end ------------------------------------------------------------------------------------ */

/* systemd may be about to put this process into its scope: once it is gone, its pid could be another's
 * by then. */
static void wait_for_unit(const struct watchdog *watchdog)
{
    char text[WATCH_PATH_SIZE];
    while (watch_now() < watchdog->unit_until_ns) {
        ssize_t got = os_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof text);
        if (got > 0 && strstr(text, watchdog->manifest.unit)) {
            return;
        }
        watch_pause(UNIT_PAUSE_MS);
    }
}

no_return static void leave(const struct watchdog *watchdog, int status)
{
    wait_for_unit(watchdog);
    os_exit(status);
}

/* The controller may have let go of it before it died, and another run may have it by now. */
static bool holds_lock(const struct watchdog *watchdog)
{
    return !fd_is_open(&watchdog->lock) ||
           os_flock(fd_num(&watchdog->lock), LOCK_EX | LOCK_NB) == 0;
}

/* What the controller would have done, and the report that it did not. */
no_return static void end_run(struct watchdog *watchdog)
{
    uint32_t left = leaf_end(watchdog);
    left |= tree_remove_directories(watchdog);
    if (!(left & WATCH_LEFT_PROCESSES)) { /* else a daemon may still be there, and listen */
        left |= daemon_remove_objects(watchdog);
    }
    if (left == 0 && holds_lock(watchdog)) {
        tree_remove_claim(watchdog); /* while nobody can make another */
    }
    if (left == 0) {
        fd_close(&watchdog->lock); /* nobody else holds it: the controller is no more */
    }
    left |= slot_write_reports(watchdog, left == 0 ? WATCH_NOTHING_LEFT : WATCH_SOMETHING_LEFT);
    if (left == 0 && manifest_remove(watchdog) < 0) {
        left |= WATCH_LEFT_MANIFEST;
    }
    say(WATCH_FINISHED, 0, left, NULL);
    leave(watchdog, left == 0 ? 0 : HELPER_EXIT_REFUSED);
}

/* --- the words of the controller ---------------------------------------------------------------- */

/* What a handler answers but 0 and -errno: it is over. */
enum { OVER = 1 };

static bool says_nothing(const struct watch_reports *reports)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < WATCH_SLOTS * WATCH_ENDINGS; i++) {
        bytes += reports->texts[i / WATCH_ENDINGS][i % WATCH_ENDINGS].bytes;
    }
    return bytes == 0;
}

static int on_reports(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    int64_t bytes = packet->head.value;
    struct stat facts;
    int file = fd_num(&fds[WATCH_FD_REPORTS]);
    int result = os_is_sealed(file);
    result = result < 0 ? result : os_fstat(file, &facts);
    if (result < 0 || bytes < (int64_t)sizeof(struct watch_reports) || facts.st_size != bytes ||
        bytes > WATCH_REPORTS_BYTES) {
        return watchdog_fail(watchdog, result < 0 ? result : -EINVAL, "take the reports");
    }
    const struct watch_reports *reports = os_map_read_only(file, (size_t)bytes);
    if (!reports || !watch_reports_check(reports, (size_t)bytes)) {
        return watchdog_fail(watchdog, reports ? -EINVAL : -ENOMEM, "read the reports");
    }
    watchdog->reports = reports; /* the one before stays mapped: there are few */
    watchdog->reports_bytes = (size_t)bytes;
    /* Silence is for whoever goes on after this process as well: what was published stands. */
    bool durable = watchdog->manifest.file.self.inode != 0 && !watchdog->adopted;
    return durable && says_nothing(reports) ? manifest_write(watchdog, watchdog->manifest.state)
                                            : 0;
}

/* Its pid may be another's by now. */
static int hold_controller(struct watchdog *watchdog)
{
    const struct watch_process *wanted = &watchdog->manifest.controller;
    char path[40] = "/proc/";
    const char *end = path + sizeof path - 1;
    char *at = launcher_add_number(path + strlen(path), end, (uint64_t)wanted->pid);
    (void)launcher_add_text(at, end, "/stat");
    watchdog->controller = fd_adopt(os_pidfd_open((pid_t)wanted->pid));
    if (!fd_is_open(&watchdog->controller)) {
        return fd_error(&watchdog->controller);
    }
    struct proc_stat stat;
    with_fd file = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY, 0));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    return result < 0 ? result : stat.start_ticks == wanted->start_ticks ? 0 : -ESRCH;
}

static int on_start(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    if (!watch_manifest_check(&packet->body.manifest)) {
        return watchdog_fail(watchdog, -EINVAL, "read its orders");
    }
    watchdog->manifest = packet->body.manifest;
    watchdog->adopted = packet->head.adopt != 0;
    watchdog->scope_ms = watchdog->adopted ? packet->head.value : 0;
    if (watchdog->dying || watchdog->adopted) {
        int result = start_take(watchdog, fds);
        if (result == 0 && !watchdog->dying) {
            say(WATCH_READY, 0, 0, NULL);
        }
        return result;
    }
    int result = hold_controller(watchdog);
    if (result < 0) {
        return watchdog_fail(watchdog, result, "find the controller");
    }
    result = start_prepare(watchdog, fds);
    if (result < 0) {
        return result;
    }
    const struct watch_word word = {.said = WATCH_READY, .watchdog = watchdog->manifest.watchdog};
    return watchdog_say(&word, -1);
}

static int on_arm(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    if (!watch_leaf_check(&packet->body.leaf)) {
        return watchdog_fail(watchdog, -EINVAL, "read which leaf it is");
    }
    leaf_take(watchdog, &packet->body.leaf, fds);
    bool held = fd_is_open(&watchdog->leaf);
    struct watch_identity leaf =
        held ? watch_identity_of(fd_num(&watchdog->leaf)) : packet->body.leaf.self;
    struct watch_identity scope = watch_identity_of(fd_num(&watchdog->scope));
    if (!watch_same(&leaf, &packet->body.leaf.self) ||
        !watch_same(&scope, &packet->body.leaf.scope)) {
        fd_close(&watchdog->leaf); /* it is not to be ended for what it is not */
        fd_close(&watchdog->scope);
        return watchdog_fail(watchdog, -ESTALE, "hold the leaf that it was told of");
    }
    if (watchdog->dying) {
        return 0;
    }
    int result = watchdog->adopted ? 0 : manifest_write(watchdog, WATCH_IS_ARMED);
    if (result == 0) {
        say(WATCH_ARMED, 0, 0, NULL);
    }
    return result;
}

/* Its folder is held from here on; in a sandbox's own file system it holds none. */
static int on_daemon(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    const struct watch_daemon *daemon = &packet->body.daemon;
    int64_t which = packet->head.value;
    if (which < 0 || which >= WATCH_DAEMONS || !watch_daemon_check(daemon)) {
        return watchdog_fail(watchdog, -EINVAL, "read which daemon it is");
    }
    if (daemon->on_host) {
        struct watch_identity folder = watch_identity_of(fd_num(&fds[WATCH_FD_DAEMON]));
        if (!watch_same(&folder, &daemon->place.parent)) {
            return watchdog_fail(watchdog, -ESTALE, "hold the folder of a daemon");
        }
        fd_close(&watchdog->daemons[which]);
        watchdog->daemons[which] = fd_take(&fds[WATCH_FD_DAEMON]);
    }
    watchdog->manifest.daemons[which] = *daemon;
    if (watchdog->dying) {
        return 0;
    }
    int result = watchdog->adopted ? 0 : manifest_write(watchdog, watchdog->manifest.state);
    if (result == 0) {
        say(WATCH_NOTED, 0, 0, NULL);
    }
    return result;
}

static int on_deadline(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    watchdog->deadline_ns = packet->head.value > 0 ? packet->head.value : INT64_MAX;
    watchdog->warned = false;
    return 0;
}

static int on_let_go(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    leaf_let_go(watchdog);
    return 0;
}

static int on_asked(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    watchdog->unit_until_ns = watchdog->manifest.unit[0] != '\0' ? packet->head.value : 0;
    return 0;
}

/* Only when what it watches over is no more: else it is the controller that is wrong. */
static int on_disarm(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    const char *there = leaf_left(watchdog);
    if (there) {
        return watchdog_fail(watchdog, -EBUSY, there);
    }
    leaf_let_go(watchdog);
    uint32_t left = tree_remove_directories(watchdog);
    if (left == 0 && manifest_remove(watchdog) < 0) {
        left = WATCH_LEFT_MANIFEST;
    }
    if (left != 0) {
        say(WATCH_FAILED, EBUSY, left, "remove what it had made");
    } else {
        say(WATCH_DISARMED, 0, 0, NULL);
    }
    return OVER;
}

static int on_finish(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds)
{
    end_run(watchdog);
}

#define AFTER(order) (1U << (order))
#define NEVER        (1U << WATCH_ORDER_COUNT)

static const struct {
    size_t bytes; /* behind the head */
    bool fds;
    bool once;
    uint32_t after; /* all of these must have come */
    int (*handle)(struct watchdog *watchdog, const struct watch_packet *packet, struct fd *fds);
} orders[WATCH_ORDER_COUNT] = {
    [WATCH_REPORTS] = {0, true, false, 0, on_reports},
    [WATCH_START] = {sizeof(struct watch_manifest), true, true, AFTER(WATCH_REPORTS), on_start},
    [WATCH_ASKED] = {0, false, false, AFTER(WATCH_START), on_asked},
    [WATCH_ARM] = {sizeof(struct watch_leaf), true, true, AFTER(WATCH_START), on_arm},
    [WATCH_DAEMON] = {sizeof(struct watch_daemon), true, false, AFTER(WATCH_START), on_daemon},
    [WATCH_DEADLINE] = {0, false, false, AFTER(WATCH_START), on_deadline},
    [WATCH_LET_GO] = {0, false, true, AFTER(WATCH_START), on_let_go},
    [WATCH_DISARM] = {0, false, false, AFTER(WATCH_START), on_disarm},
    [WATCH_FINISH] = {0, false, true, AFTER(WATCH_START), on_finish},
};

static int obey(struct watchdog *watchdog, const struct watch_packet *packet, size_t bytes,
                struct fd *fds)
{
    uint32_t order = packet->head.order;
    if (bytes < sizeof packet->head || order >= WATCH_ORDER_COUNT) {
        return watchdog_fail(watchdog, -EPROTO, "understand an order");
    }
    bool fits = bytes == sizeof packet->head + orders[order].bytes &&
                fd_is_open(&fds[0]) == orders[order].fds &&
                (watchdog->told & orders[order].after) == orders[order].after &&
                !(orders[order].once && (watchdog->told & AFTER(order)));
    if (!fits) {
        return watchdog_fail(watchdog, -EPROTO, "expect that order");
    }
    watchdog->told |= AFTER(order);
    return orders[order].handle(watchdog, packet, fds);
}

enum heard { HEARD_NOTHING, HEARD_ORDER, HEARD_OVER, HEARD_END };

/* Of no use any more to a controller that lives, which notices and ends the run itself. The leaf and the
 * slots are the controller's. */
no_return static void give_up(struct watchdog *watchdog, int sys)
{
    uint32_t left = 0;
    if (!watchdog->adopted) { /* else all stays on record, as it was found */
        left = tree_remove_directories(watchdog);
        left |= left == 0 && manifest_remove(watchdog) < 0 ? WATCH_LEFT_MANIFEST : 0;
    }
    say(WATCH_FAILED, sys, left, watchdog->what ? watchdog->what : "hear the controller");
    leave(watchdog, HELPER_EXIT_REFUSED);
}

/* One packet. */
static enum heard hear(struct watchdog *watchdog)
{
    static struct watch_packet packet; /* larger than a stack frame should be */
    struct fd fds[WATCH_FDS] = {0};
    ssize_t got = os_recv_fds(WATCH_CHANNEL_FD, &packet, sizeof packet, fds, WATCH_FDS);
    bool ended = got == 0 || got == -ECONNRESET;
    if (got == -EAGAIN || (got < 0 && !ended && got != -EPROTO && ++watchdog->deaf < DEAF_MAX)) {
        return HEARD_NOTHING; /* it may be the end that could not be read: once more */
    }
    watchdog->deaf = 0;
    int result = got <= 0 ? (int)got : obey(watchdog, &packet, (size_t)got, fds);
    for (size_t i = 0; i < WATCH_FDS; i++) {
        fd_close(&fds[i]);
    }
    if (ended) {
        return HEARD_END;
    }
    if (result == OVER) {
        return HEARD_OVER;
    }
    if (result < 0 && watchdog->dying) {
        return HEARD_END;
    }
    if (result < 0 && !fd_is_open(&watchdog->leaf) && !leaf_left(watchdog)) {
        give_up(watchdog, result);
    }
    if (result < 0) { /* nobody else would end the leaf, should the controller die now */
        say(WATCH_FAILED, result, 0, watchdog->what ? watchdog->what : "hear the controller");
    }
    return HEARD_ORDER;
}

/* --- the loop ----------------------------------------------------------------------------------- */

/* What it sent before it died: a leaf that was handed over and not yet taken is ended as well. */
no_return static void controller_died(struct watchdog *watchdog)
{
    leaf_kill(watchdog);
    watchdog->dying = true;
    enum heard heard = HEARD_ORDER;
    while (heard == HEARD_ORDER) {
        heard = hear(watchdog);
    }
    if (heard == HEARD_OVER) {
        leave(watchdog, 0); /* it was disarmed with its last word */
    }
    end_run(watchdog);
}

/* It is stopped, or hangs: first the payload ends, and the controller sees that when it goes on; then the
 * controller itself. */
static void on_time(struct watchdog *watchdog)
{
    leaf_kill(watchdog);
    if (watchdog->warned && fd_is_open(&watchdog->controller)) {
        (void)!os_pidfd_signal(fd_num(&watchdog->controller), SIGKILL);
    }
    watchdog->warned = true;
    watchdog->deadline_ns = watch_now() + AFTER_WARNING_MS * NS_PER_MS;
}

static int wait_ms(const struct watchdog *watchdog)
{
    if (watchdog->deadline_ns == INT64_MAX) {
        return -1;
    }
    int64_t left_ns = watchdog->deadline_ns - watch_now();
    if (left_ns <= 0) {
        return 0;
    }
    int64_t left_ms = (left_ns + NS_PER_MS - 1) / NS_PER_MS;
    return left_ms < 60000 ? (int)left_ms : 60000;
}

static int become_itself(void)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                  SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t none;
    sigemptyset(&none);
    int result = os_setsid();
    for (size_t i = 0; i < countof(ignored) && result >= 0; i++) {
        result = os_signal_ignore(ignored[i]);
    }
    (void)os_umask(OWN_MASK);
    with_fd root = fd_adopt(os_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0));
    result = result < 0 ? result : fd_is_open(&root) ? os_fchdir(fd_num(&root)) : fd_error(&root);
    return result < 0 ? result : os_signal_mask(SIG_SETMASK, &none, NULL);
}

static int watch_for(int events, int fd)
{
    return os_epoll_add(events, fd, EPOLLIN, 0);
}

/* Whatever woke it: look at what can have happened. */
static void look_around(struct watchdog *watchdog)
{
    bool controller_gone =
        fd_is_open(&watchdog->controller) && os_poll(fd_num(&watchdog->controller), POLLIN, 0) != 0;
    enum heard heard = controller_gone ? HEARD_END : hear(watchdog);
    if (heard == HEARD_END) {
        controller_died(watchdog);
    }
    if (heard == HEARD_OVER) {
        leave(watchdog, 0);
    }
    if (watch_now() >= watchdog->deadline_ns) {
        on_time(watchdog);
    }
}

void watchdog_main(int argc, char **argv)
{
    fault_role("watchdog");
    static struct watchdog watchdog;
    watchdog.deadline_ns = INT64_MAX;
    with_fd events = fd_adopt(os_epoll_new());
    int result = become_itself();
    result = result < 0 ? result : fd_error(&events);
    result = result < 0 ? result : watch_for(fd_num(&events), WATCH_CHANNEL_FD);
    if (result < 0) {
        say(WATCH_FAILED, result, 0, "become itself");
        os_exit(HELPER_EXIT_REFUSED);
    }
    bool holds = false;
    for (;;) {
        struct epoll_event happened[2];
        /* A wait that fails must not become a loop that does nothing but fail. */
        if (os_epoll_wait(fd_num(&events), happened, countof(happened), wait_ms(&watchdog)) < 0) {
            watch_pause(1);
        }
        look_around(&watchdog);
        if (!holds && fd_is_open(&watchdog.controller)) {
            holds = watch_for(fd_num(&events), fd_num(&watchdog.controller)) == 0;
        }
    }
}
