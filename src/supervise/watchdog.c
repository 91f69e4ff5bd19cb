#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "anchor-message.h"
#include "boundary.h"
#include "detach-priv.h"
#include "event.h"
#include "file.h"
#include "memory.h"
#include "process.h"
#include "watch-host.h"
#include "watch-send-priv.h"

enum {
    ANSWER_MS = 10000,
    NOTE_MS = 2000,  /* while a payload runs */
    END_MS = 10000,  /* for a process that was told to end */
    LEAVE_MS = 1000, /* from its last word to its end */
    RANDOM_BYTES = 16,
};

struct watchdog {
    const struct watchdog_request *request;
    struct detached detached;
    struct proc_identity process;
    struct watch_manifest manifest;    /* what was asked for and what was reported */
    struct fd made[WATCH_DIRECTORIES]; /* the directories */
    struct watch_packet packet;        /* nothing is allocated when it is filled */
    int notes_owed;                    /* answers that were not waited for any longer */
    bool arming;                       /* its answer to that is yet to come */
    struct err not_armed;              /* it was that it could not */
    bool over;                         /* disarmed, or what it left was removed */
};

/* --- words -------------------------------------------------------------------------------------- */

static int send_packet(struct watchdog *watchdog, size_t body_bytes, const int *fds)
{
    return watch_send(fd_num(&watchdog->detached.channel), &watchdog->packet, body_bytes, fds);
}

static void note_made(struct watchdog *watchdog, const struct watch_word *word, struct fd *came)
{
    if (word->index == WATCH_MANIFEST_INDEX) {
        watchdog->manifest.file.self = word->made;
    } else if (word->index < WATCH_DIRECTORIES && fd_is_open(came)) {
        watchdog->manifest.directories[word->index].self = word->made;
        watchdog->made[word->index] = fd_take(came);
        os_boundary(BOUNDARY_DIRECTORY_MADE);
    }
}

static int say_failed(struct watch_word *word, struct err *err)
{
    word->text[sizeof word->text - 1] = '\0';
    int result = err_sys(err, word->sys, "the watchdog cannot %s", word->text);
    if (word->sys == EWOULDBLOCK && err) {
        err->code = ERR_CONFLICT;
    }
    return result;
}

/* The next word but what it made, and late answers: the first that come belong to the questions that were given
 * up. An end of the channel is an error. */
static int hear(struct watchdog *watchdog, int64_t wait_ns, struct watch_word *ret_word,
                struct err *err)
{
    int64_t until_ns = watchdog->request->clock->monotonic_ns() + wait_ns;
    int channel = fd_num(&watchdog->detached.channel);
    for (;;) {
        int64_t left_ns = until_ns - watchdog->request->clock->monotonic_ns();
        with_fd came = {0};
        ssize_t got = os_recv_fds(channel, ret_word, sizeof *ret_word, &came, 1);
        if (got == -EAGAIN && left_ns > 0) {
            int ready = os_poll(channel, POLLIN, (int)(left_ns / NS_PER_MS) + 1);
            if (ready < 0 && ready != -EINTR) {
                return err_sys(err, ready, "cannot wait for the watchdog");
            }
        } else if (got == -EAGAIN) {
            return err_set(err, ERR_TIMEOUT,
                           "the watchdog gave no answer within %lld ms; try again when this "
                           "machine is less busy",
                           (long long)(wait_ns / NS_PER_MS));
        } else if (got != (ssize_t)sizeof *ret_word) {
            return got < 0 && got != -ECONNRESET
                       ? err_sys(err, (int)got, "cannot hear the watchdog")
                       : err_set(err, ERR_UNAVAILABLE, "the watchdog is gone");
        } else if (ret_word->said == WATCH_NOTED && watchdog->notes_owed > 0) {
            watchdog->notes_owed--;
        } else if (ret_word->said != WATCH_MADE) {
            return 0;
        } else {
            note_made(watchdog, ret_word, &came);
        }
    }
}

/* The answer to the order to arm, whoever hears it: answers come in the order of the questions. */
static bool take_arming(struct watchdog *watchdog, struct watch_word *word)
{
    if (!watchdog->arming || (word->said != WATCH_ARMED && word->said != WATCH_FAILED)) {
        return false;
    }
    watchdog->arming = false;
    if (word->said == WATCH_ARMED) {
        os_boundary(BOUNDARY_ARMED);
    } else if (say_failed(word, &watchdog->not_armed) < 0) {
        /* It is told to whoever asks whether it is armed. */
    }
    return true;
}

static int expect(struct watchdog *watchdog, enum watch_said said, int64_t wait_ns,
                  struct watch_word *ret_word, struct err *err)
{
    do {
        *ret_word = (struct watch_word){.said = said}; /* of what is not heard nothing was said */
        if (hear(watchdog, wait_ns, ret_word, err) < 0) {
            return -1;
        }
    } while (take_arming(watchdog, ret_word));
    if (ret_word->said == WATCH_FAILED) {
        return say_failed(ret_word, err);
    }
    return ret_word->said == said
               ? 0
               : err_set(err, ERR_CORRUPT, "the watchdog said something unexpected");
}

/* --- what it is told to watch over -------------------------------------------------------------- */

static int copy_text(char *place, size_t size, const char *text, struct err *err)
{
    size_t n = strlen(text);
    if (n >= size) {
        return err_set(err, ERR_OVER_BUDGET,
                       "'%.200s' has %zu bytes, and the watchdog takes %zu: use a shorter path",
                       text, n, size - 1);
    }
    memcpy(place, text, n + 1);
    return 0;
}

static struct watch_identity identity_of(const struct bfs_facts *facts)
{
    return (struct watch_identity){facts->device, facts->inode, facts->owner, 0};
}

static int fill_entry(struct watch_entry *entry, const struct bfs_dir *parent, const char *name,
                      struct err *err)
{
    entry->parent = identity_of(&parent->facts);
    return copy_text(entry->path, sizeof entry->path, parent->path, err) < 0 ||
                   copy_text(entry->name, sizeof entry->name, name, err) < 0
               ? -1
               : 0;
}

static int fill_lock(struct watch_entry *lock, const struct watchdog_request *request,
                     struct err *err)
{
    struct bfs_facts claim;
    if (request->lock_fd < 0) {
        return 0;
    }
    if (!request->claim_folder) {
        return copy_text(lock->path, sizeof lock->path, request->lock_path, err) < 0 ||
                       copy_text(lock->name, sizeof lock->name, "lock", err) < 0
                   ? -1
                   : 0;
    }
    if (bfs_stat(request->claim_folder, request->claim, &claim, err) < 0) {
        return -1;
    }
    lock->self = identity_of(&claim);
    return fill_entry(lock, request->claim_folder, request->claim, err);
}

/* Nobody can guess it, so nobody can have put anything there. */
static int unpredictable_name(const char *run_id, const char *suffix, char name[WATCH_NAME_SIZE],
                              struct err *err)
{
    unsigned char random[RANDOM_BYTES];
    int result = os_getrandom(random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "ask for random bytes");
    }
    int at = snprintf(name, WATCH_NAME_SIZE, "berm-%s-", run_id);
    for (size_t i = 0; i < sizeof random; i++) {
        at += snprintf(name + at, WATCH_NAME_SIZE - (size_t)at, "%02x", random[i]);
    }
    (void)snprintf(name + at, WATCH_NAME_SIZE - (size_t)at, "%s", suffix);
    return 0;
}

static int identify_self(struct watch_manifest *manifest, struct err *err)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(os_getpid()));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    if (result < 0) {
        return err_sys(err, result, "cannot tell who this process is");
    }
    manifest->controller = (struct watch_process){os_getpid(), stat.start_ticks};
    return watch_host_read(&manifest->host, err);
}

/* Until it is armed only the names are known of it. */
static int fill_scope(struct watch_leaf *leaf, const char *path, struct err *err)
{
    leaf->flags = WATCH_LEAF_SCOPE_IS_OURS;
    return copy_text(leaf->path, sizeof leaf->path, path, err) < 0 ||
                   copy_text(leaf->name, sizeof leaf->name, ANCHOR_LEAF_NAME, err) < 0 ||
                   copy_text(leaf->anchor_name, sizeof leaf->anchor_name, ANCHOR_OWN_LEAF_NAME,
                             err) < 0
               ? -1
               : 0;
}

static int fill_manifest(struct watchdog *watchdog, struct err *err)
{
    const struct watchdog_request *request = watchdog->request;
    struct watch_manifest *manifest = &watchdog->manifest;
    char name[WATCH_NAME_SIZE];
    memcpy(manifest->magic, WATCH_MAGIC, sizeof manifest->magic);
    manifest->version = WATCH_VERSION;
    manifest->bytes = sizeof *manifest;
    if (copy_text(manifest->run_id, sizeof manifest->run_id, request->run_id, err) < 0 ||
        copy_text(manifest->unit, sizeof manifest->unit, request->unit ? request->unit : "", err) <
            0 ||
        copy_text(manifest->leaf.unit, sizeof manifest->leaf.unit,
                  request->scope_unit ? request->scope_unit : "", err) < 0 ||
        identify_self(manifest, err) < 0 ||
        unpredictable_name(request->run_id, ".watch", name, err) < 0 ||
        fill_entry(&manifest->file, request->folder, name, err) < 0 ||
        (request->scope_path && fill_scope(&manifest->leaf, request->scope_path, err) < 0)) {
        return -1;
    }
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        const struct watchdog_slot *slot = &request->slots[i];
        if (slot->parent && fill_entry(&manifest->slots[i], slot->parent, slot->name, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES && request->directories[i]; i++) {
        if (unpredictable_name(request->run_id, "", name, err) < 0 ||
            fill_entry(&manifest->directories[i], request->directories[i], name, err) < 0) {
            return -1;
        }
    }
    return fill_lock(&manifest->lock, request, err);
}

int watchdog_seal_reports(const struct span texts[WATCH_SLOTS][WATCH_ENDINGS],
                          struct fd *ret_reports, struct err *err)
{
    struct watch_reports head = {0};
    struct span parts[1 + WATCH_SLOTS * WATCH_ENDINGS] = {
        span_of((const char *)&head, sizeof head)};
    uint32_t at = sizeof head;
    for (size_t i = 0; i < WATCH_SLOTS * WATCH_ENDINGS; i++) {
        const struct span *text = &texts[i / WATCH_ENDINGS][i % WATCH_ENDINGS];
        if (text->n > WATCH_REPORTS_BYTES - at) {
            return err_set(err, ERR_OVER_BUDGET, "the reports of a crash take more than %d bytes",
                           WATCH_REPORTS_BYTES);
        }
        head.texts[i / WATCH_ENDINGS][i % WATCH_ENDINGS] =
            (struct watch_text){.offset = at, .bytes = (uint32_t)text->n};
        at += (uint32_t)text->n;
        parts[1 + i] = *text;
    }
    int result = watch_seal(parts, countof(parts), ret_reports);
    return result < 0 ? err_sys(err, result, "cannot seal the reports of a crash") : 0;
}

/* --- start -------------------------------------------------------------------------------------- */

int watchdog_report(struct watchdog *watchdog, int reports_fd)
{
    return watch_send_reports(fd_num(&watchdog->detached.channel), &watchdog->packet, reports_fd);
}

static int send_start(struct watchdog *watchdog)
{
    const struct watchdog_request *request = watchdog->request;
    int fds[WATCH_FDS];
    watch_fill_fds(fds, bfs_dir_fd(request->folder));
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        if (request->slots[i].parent) {
            fds[WATCH_FD_SLOT + i] = bfs_dir_fd(request->slots[i].parent);
        }
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES && request->directories[i]; i++) {
        fds[WATCH_FD_PARENT + i] = bfs_dir_fd(request->directories[i]);
    }
    if (request->lock_fd >= 0) {
        fds[WATCH_FD_LOCK] = request->lock_fd;
    }
    watchdog->packet.head = (struct watch_request){.order = WATCH_START};
    watchdog->packet.body.manifest = watchdog->manifest;
    return send_packet(watchdog, sizeof watchdog->manifest, fds);
}

static int wait_until_ready(struct watchdog *watchdog, struct err *err)
{
    struct watch_word word;
    if (expect(watchdog, WATCH_READY, watchdog->request->ready_ns, &word, err) < 0) {
        return -1;
    }
    watchdog->process = (struct proc_identity){(pid_t)word.watchdog.pid, word.watchdog.start_ticks};
    for (size_t i = 0; i < WATCH_DIRECTORIES && watchdog->request->directories[i]; i++) {
        if (!fd_is_open(&watchdog->made[i])) {
            return err_set(err, ERR_CORRUPT, "the watchdog reported no directory");
        }
    }
    return 0;
}

/* It is no more when this returns, so nothing is removed behind its back. */
static void end_process(struct watchdog *watchdog)
{
    int pidfd = fd_num(&watchdog->detached.pidfd);
    (void)!os_pidfd_signal(pidfd, SIGKILL);
    (void)!os_poll(pidfd, POLLIN, END_MS);
}

/* What it said before it ended may not have been read yet. */
static void hear_the_rest(struct watchdog *watchdog)
{
    struct watch_word word;
    struct err ignored = {0};
    while (hear(watchdog, 0, &word, &ignored) == 0) {
    }
}

static int remove_entry(const struct watch_entry *entry, const struct bfs_dir *parent,
                        struct err *err)
{
    const struct bfs_facts expected = {.device = entry->self.device, .inode = entry->self.inode};
    struct err failure = {0};
    if (entry->self.inode == 0 || bfs_remove(parent, entry->name, &expected, &failure) == 0 ||
        failure.code == ERR_NOT_FOUND || failure.code == ERR_CHANGED) {
        return 0;
    }
    return err_set(err, failure.code, "%s", failure.msg);
}

void watchdog_remove_unfinished(const struct bfs_dir *folder, const char *name)
{
    struct err ignored = {0};
    with_string next = memory_format("%s" WATCH_UNFINISHED, name);
    if (bfs_remove(folder, next, NULL, &ignored) < 0) {
        /* Nearly always there is none. */
    }
}

/* Its last manifest may have got its name, and its death have come before it told of the file. What is there
 * is its own when it names this run: nobody else was given that name, and it has ended. */
static void remove_untold(const struct watchdog *watchdog)
{
    const struct bfs_dir *folder = watchdog->request->folder;
    const char *name = watchdog->manifest.file.name;
    struct err ignored = {0};
    struct stat stat;
    char run[WATCH_ID_SIZE];
    with_fd file =
        fd_adopt(os_openat(bfs_dir_fd(folder), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0));
    if (!fd_is_open(&file) || os_fstat(fd_num(&file), &stat) < 0 ||
        os_pread(fd_num(&file), run, sizeof run, offsetof(struct watch_manifest, run_id)) !=
            sizeof run ||
        strncmp(run, watchdog->manifest.run_id, sizeof run) != 0) {
        return;
    }
    const struct bfs_facts expected = {.device = stat.st_dev, .inode = stat.st_ino};
    if (bfs_remove(folder, name, &expected, &ignored) < 0) {
        /* `berm recover` finds it. */
    }
}

/* WD-3: exactly what was reported. */
static int remove_reported(struct watchdog *watchdog, struct err *err)
{
    const struct watchdog_request *request = watchdog->request;
    int result = 0;
    for (size_t i = 0; i < WATCH_DIRECTORIES && request->directories[i]; i++) {
        if (watchdog->manifest.directories[i].self.inode == 0) {
            /* It may have been made all the same: only the manifest knows. */
            result = err_set(err, ERR_UNAVAILABLE, "the watchdog reported no directory");
        } else if (remove_entry(&watchdog->manifest.directories[i], request->directories[i], err) <
                   0) {
            result = -1;
        }
    }
    /* As long as a directory is left, the manifest says so. */
    if (result < 0 || remove_entry(&watchdog->manifest.file, request->folder, err) < 0) {
        return -1;
    }
    remove_untold(watchdog);
    watchdog_remove_unfinished(request->folder, watchdog->manifest.file.name);
    return 0;
}

/* A word of its failure comes after it removed everything itself. */
static void abandon(struct watchdog *watchdog)
{
    struct err ignored = {0};
    end_process(watchdog);
    hear_the_rest(watchdog);
    if (remove_reported(watchdog, &ignored) < 0) {
        /* The manifest stays, and `berm recover` reads it. */
    }
    watchdog->over = true;
}

struct watchdog *watchdog_start(const struct watchdog_request *request, struct err *err)
{
    with_watchdog watchdog = memory_new(sizeof *watchdog);
    watchdog->request = request;
    watchdog->over = true; /* there is nothing yet */
    const struct detach_request detach = {.duty = "watchdog", .environment = request->environment};
    if (fill_manifest(watchdog, err) < 0 || detach_begin(&detach, &watchdog->detached, err) < 0) {
        return NULL;
    }
    struct watchdog *started = watchdog;
    watchdog = NULL;
    return started;
}

int watchdog_watch(struct watchdog *watchdog, int reports_fd, struct err *err)
{
    if (detach_finish(&watchdog->detached, err) < 0) {
        return -1;
    }
    os_boundary(BOUNDARY_WATCHDOG_STARTED);
    watchdog->over = false;
    int sent = watchdog_report(watchdog, reports_fd);
    sent = sent < 0 ? sent : send_start(watchdog);
    if (sent < 0 && sent != -EPIPE) { /* it may have ended with a word */
        (void)err_sys(err, sent, "cannot give the watchdog its orders");
        abandon(watchdog);
        return -1;
    }
    return 0;
}

int watchdog_ready(struct watchdog *watchdog, struct err *err)
{
    if (wait_until_ready(watchdog, err) < 0) {
        abandon(watchdog);
        return -1;
    }
    os_boundary(BOUNDARY_WATCHDOG_READY);
    return 0;
}

struct proc_identity watchdog_process(const struct watchdog *watchdog)
{
    return watchdog->process;
}

int watchdog_fd(const struct watchdog *watchdog)
{
    return fd_num(&watchdog->detached.channel);
}

int watchdog_directory_fd(const struct watchdog *watchdog, size_t index)
{
    return fd_num(&watchdog->made[index]);
}

const char *watchdog_directory_name(const struct watchdog *watchdog, size_t index)
{
    return watchdog->manifest.directories[index].name;
}

/* --- a run on its way --------------------------------------------------------------------------- */

static int fill_leaf(struct watch_leaf *leaf, const struct watchdog_leaf *given, struct err *err)
{
    struct bfs_facts scope;
    struct bfs_facts self;
    *leaf = (struct watch_leaf){
        .gate = {given->gate.pid, given->gate.start_ticks},
        .flags = (given->scope_parent_fd >= 0 ? WATCH_LEAF_SCOPE_IS_OURS : 0) |
                 (given->anchor_fd >= 0 ? WATCH_LEAF_HAS_ANCHOR : 0) |
                 (given->gate_pidfd >= 0 ? WATCH_LEAF_HAS_GATE : 0),
    };
    if (copy_text(leaf->path, sizeof leaf->path, given->path, err) < 0 ||
        copy_text(leaf->name, sizeof leaf->name, given->name, err) < 0 ||
        copy_text(leaf->anchor_name, sizeof leaf->anchor_name,
                  given->anchor_name ? given->anchor_name : "", err) < 0 ||
        copy_text(leaf->unit, sizeof leaf->unit, given->unit ? given->unit : "", err) < 0 ||
        bfs_facts_of(given->scope_fd, &scope, err) < 0 ||
        bfs_facts_of(given->leaf_fd, &self, err) < 0) {
        return -1;
    }
    leaf->scope = identity_of(&scope);
    leaf->self = identity_of(&self);
    return 0;
}

int watchdog_arm(struct watchdog *watchdog, const struct watchdog_leaf *leaf, struct err *err)
{
    int fds[WATCH_FDS];
    watch_fill_fds(fds, leaf->leaf_fd);
    const int given[] = {[WATCH_FD_SCOPE] = leaf->scope_fd,
                         [WATCH_FD_SCOPE_PARENT] = leaf->scope_parent_fd,
                         [WATCH_FD_ANCHOR] = leaf->anchor_fd,
                         [WATCH_FD_GATE] = leaf->gate_pidfd,
                         [WATCH_FD_KEPT] = leaf->kept_fd};
    for (size_t i = WATCH_FD_SCOPE; i < countof(given); i++) {
        fds[i] = given[i] >= 0 ? given[i] : fds[i];
    }
    watchdog->packet.head = (struct watch_request){.order = WATCH_ARM};
    if (fill_leaf(&watchdog->packet.body.leaf, leaf, err) < 0) {
        return -1;
    }
    int sent = send_packet(watchdog, sizeof watchdog->packet.body.leaf, fds);
    if (sent < 0 && sent != -EPIPE) {
        return err_sys(err, sent, "cannot arm the watchdog");
    }
    watchdog->arming = true;
    return 0;
}

int watchdog_armed(struct watchdog *watchdog, struct err *err)
{
    struct watch_word word;
    if (watchdog->arming && hear(watchdog, ANSWER_MS * NS_PER_MS, &word, err) < 0) {
        return -1;
    }
    if (watchdog->arming && !take_arming(watchdog, &word)) {
        return err_set(err, ERR_CORRUPT, "the watchdog said something unexpected");
    }
    const struct err *failure = &watchdog->not_armed;
    return failure->code == ERR_NONE ? 0 : err_set(err, failure->code, "%s", failure->msg);
}

int watchdog_note_daemon(struct watchdog *watchdog, size_t which, const struct watch_daemon *daemon,
                         int folder_fd, struct err *err)
{
    struct watch_word word;
    int fds[WATCH_FDS];
    watch_fill_fds(fds, folder_fd >= 0 ? folder_fd : fd_num(&watchdog->detached.pidfd));
    watchdog->packet.head = (struct watch_request){.order = WATCH_DAEMON, .value = (int64_t)which};
    watchdog->packet.body.daemon = *daemon;
    int sent = send_packet(watchdog, sizeof watchdog->packet.body.daemon, fds);
    if (sent < 0 && sent != -EPIPE) {
        return err_sys(err, sent, "cannot tell the watchdog of a daemon");
    }
    struct err failure = {0};
    int result = expect(watchdog, WATCH_NOTED, NOTE_MS * NS_PER_MS, &word, &failure);
    watchdog->notes_owed += result < 0 && failure.code == ERR_TIMEOUT;
    return result < 0 ? err_set(err, failure.code, "%s", failure.msg) : 0;
}

bool watchdog_is_lost(struct watchdog *watchdog)
{
    struct watch_word word;
    struct err err = {0};
    int heard = 0;
    do {
        heard = hear(watchdog, 0, &word, &err);
    } while (heard == 0 && take_arming(watchdog, &word));
    return heard == 0 || err.code != ERR_TIMEOUT;
}

int watchdog_set_deadline(struct watchdog *watchdog, int64_t monotonic_ns)
{
    watchdog->packet.head = (struct watch_request){.order = WATCH_DEADLINE, .value = monotonic_ns};
    return send_packet(watchdog, 0, NULL);
}

int watchdog_asked(struct watchdog *watchdog, int64_t until_ns)
{
    watchdog->packet.head = (struct watch_request){.order = WATCH_ASKED, .value = until_ns};
    return send_packet(watchdog, 0, NULL);
}

int watchdog_let_go(struct watchdog *watchdog)
{
    watchdog->packet.head = (struct watch_request){.order = WATCH_LET_GO};
    return send_packet(watchdog, 0, NULL);
}

int watchdog_disarm(struct watchdog *watchdog, struct err *err)
{
    struct watch_word word;
    struct err failure = {0};
    if (watchdog->over) {
        return 0;
    }
    watchdog->packet.head = (struct watch_request){.order = WATCH_DISARM};
    (void)!send_packet(watchdog, 0, NULL); /* the answer says whether it arrived */
    word.said = WATCH_DISARMED;
    int result = expect(watchdog, WATCH_DISARMED, ANSWER_MS * NS_PER_MS, &word, &failure);
    if (result < 0 && word.said == WATCH_FAILED && word.left == 0) {
        return err_set(err, failure.code, "%s", failure.msg); /* and goes on watching */
    }
    watchdog->over = true;
    if (result == 0) { /* it leaves, unless systemd has yet to move it to its scope */
        siginfo_t ended;
        (void)!os_poll(fd_num(&watchdog->detached.pidfd), POLLIN, LEAVE_MS);
        /* A berm that orphans come to has it for a child after all. */
        (void)!os_waitid(P_PIDFD, fd_num(&watchdog->detached.pidfd), &ended, WEXITED | WNOHANG,
                         NULL);
        os_boundary(BOUNDARY_DISARMED);
        return 0;
    }
    /* It is lost, or in no state to go on: what it had reported is removed here. */
    end_process(watchdog);
    hear_the_rest(watchdog);
    struct err left = {0};
    if (remove_reported(watchdog, &left) < 0) {
        return err_set(err, left.code, "%s; %s; `berm recover --runs` heals it", failure.msg,
                       left.msg);
    }
    return failure.code == ERR_UNAVAILABLE ? 0 : err_set(err, failure.code, "%s", failure.msg);
}

void watchdog_free(struct watchdog *watchdog)
{
    if (!watchdog) {
        return;
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        fd_close(&watchdog->made[i]);
    }
    struct err ignored = {0};
    if (!detach_is_finished(&watchdog->detached)) {
        (void)!detach_finish(&watchdog->detached, &ignored); /* it has no orders, and leaves */
    }
    fd_close(&watchdog->detached.channel);
    fd_close(&watchdog->detached.pidfd);
    memory_free(watchdog);
}
