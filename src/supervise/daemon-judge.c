/* MD-6: who may be there when the first process has ended, and what is left of a daemon's objects when everybody
 * has. */
#include "daemon-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

/* --- processes ---------------------------------------------------------------------------------- */

static bool objects_stand(const struct daemons *daemons, const struct managed *daemon)
{
    const struct supervise_daemon *told = daemon->told;
    struct daemon_object socket = {0};
    struct daemon_object lock = {0};
    with_daemon_place place = {0};
    return daemon_place_open(daemons->sandbox, daemon->wish->folder, &place) == 0 &&
           place.identity.device == daemon->folder.device &&
           place.identity.inode == daemon->folder.inode &&
           daemon_object_look(&place, daemon->wish->socket, &socket) == 0 &&
           daemon_object_look(&place, daemon->wish->lock, &lock) == 0 &&
           daemon_object_same(&told->socket, &socket) && daemon_object_same(&told->lock, &lock);
}

static const char *why_not_accepted(const struct daemons *daemons, const struct managed *daemon)
{
    return daemon->told->state != DAEMON_SEALED ? "it was bound and not sealed"
           : !daemon_process_executes(&daemon->process, daemon->wish->executable)
               ? "it executes something else than what was bound"
           : !objects_stand(daemons, daemon) ? "its socket or its lock is not what was sealed"
                                             : NULL;
}

static bool is_root(const struct daemons *daemons, const struct member *member)
{
    for (size_t i = 0; i < daemons->count; i++) {
        const struct managed *daemon = &daemons->list[i];
        if (daemon->accepted && daemon->process.who.pid == member->pid &&
            daemon->process.who.start_ticks == member->start_ticks) {
            return true;
        }
    }
    return false;
}

/* Parents as they are now: who left its daemon's family belongs to nobody. */
static bool belongs(const struct daemons *daemons, struct tree *tree, const struct member *member)
{
    for (int depth = 0; member && !member->infrastructure && depth < DAEMON_DEPTH; depth++) {
        if (is_root(daemons, member)) {
            return true;
        }
        member = tree_member(tree, member->stat.parent);
    }
    return false;
}

static const char *judge_daemons(struct daemons *daemons)
{
    const char *first = NULL;
    for (size_t i = 0; i < daemons->count; i++) {
        struct managed *daemon = &daemons->list[i];
        if (daemon->told->pid == 0) {
            continue;
        }
        bool lives = daemon_process_lives(&daemon->process);
        daemon->told->why = lives ? why_not_accepted(daemons, daemon) : NULL;
        daemon->accepted = lives && !daemon->told->why;
        daemon->told->fate = !lives             ? DAEMON_FATE_GONE
                             : daemon->accepted ? DAEMON_FATE_NONE
                                                : DAEMON_FATE_REFUSED;
        first = first ? first : daemon->told->why;
    }
    return first;
}

bool daemons_judge(struct daemons *daemons, struct tree *tree, const char **ret_why)
{
    const char *why = judge_daemons(daemons);
    if (!why && (tree->overlooked || tree->extra.processes > 0)) {
        why = "more processes are there than can be told apart";
    }
    for (int i = 0; i < tree->member_limit && !why; i++) {
        const struct member *member = &tree->members[i];
        if (member_alive(member) && !member->infrastructure && !belongs(daemons, tree, member)) {
            why = "a process is left that is neither a sealed daemon nor a descendant of one";
        }
    }
    *ret_why = why;
    return !why;
}

void daemons_note_ends(struct daemons *daemons, bool ended)
{
    for (size_t i = 0; i < daemons->count; i++) {
        struct managed *daemon = &daemons->list[i];
        if (daemon->told->fate != DAEMON_FATE_NONE || daemon->told->pid == 0) {
            continue;
        }
        daemon->told->fate = !daemon->accepted ? (ended ? DAEMON_FATE_GONE : DAEMON_FATE_NONE)
                             : ended           ? DAEMON_FATE_ENDED
                                               : DAEMON_FATE_OUTLIVED;
    }
}

/* --- objects ------------------------------------------------------------------------------------ */

/* Of a daemon that was never sealed: what it was allowed to make, with the reservation in it. */
static bool is_its_lock(const struct managed *daemon, const struct daemon_place *place)
{
    char text[DAEMON_LOCK_BYTES];
    int64_t pid;
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
    struct daemon_object ignored;
    ssize_t length =
        daemon_lock_read(place, daemon->wish->lock, daemon->process.user, text, &ignored);
    bool allowed = daemon->told->state == DAEMON_STARTED || daemon->told->state == DAEMON_CREATED;
    return allowed && length >= 0 &&
           daemon_lock_parse(span_of(text, (size_t)length), &pid, reservation) &&
           memcmp(reservation, daemon->reservation, sizeof reservation) == 0 &&
           (pid == daemon->process.who.pid || pid == daemon->process.namespace_pid);
}

/* True: it is gone. */
static bool clear(const struct managed *daemon, const struct daemon_place *place, const char *name,
                  const struct daemon_object *sealed, mode_t type, bool is_its)
{
    struct daemon_object seen;
    struct err ignored = {0};
    with_string path = memory_copy_string(daemon->wish->folder);
    const struct bfs_dir folder = {.fd = place->folder, .path = path}; /* lent */
    int result = daemon_object_look(place, name, &seen);
    if (result < 0) {
        return result == -ENOENT;
    }
    const struct bfs_facts expected = {.device = seen.device, .inode = seen.inode};
    bool may = sealed->inode != 0
                   ? daemon_object_same(sealed, &seen)
                   : is_its && (seen.mode & S_IFMT) == type && seen.owner == daemon->process.user;
    return may && bfs_remove(&folder, name, &expected, &ignored) == 0;
}

static void clear_daemon(struct daemons *daemons, struct managed *daemon)
{
    struct supervise_daemon *told = daemon->told;
    with_daemon_place place = {0};
    int result = daemon_place_open(daemons->sandbox, daemon->wish->folder, &place);
    if (result == -ENOENT || (result == 0 && place.is_private)) {
        return; /* the private file system ends with the run */
    }
    bool same = result == 0 && place.identity.device == daemon->folder.device &&
                place.identity.inode == daemon->folder.inode;
    bool is_its = same && is_its_lock(daemon, &place);
    told->socket_left =
        !same || !clear(daemon, &place, daemon->wish->socket, &told->socket, S_IFSOCK, is_its);
    told->lock_left =
        !same || !clear(daemon, &place, daemon->wish->lock, &told->lock, S_IFREG, is_its);
}

void daemons_clear(struct daemons *daemons)
{
    for (size_t i = 0; i < daemons->count; i++) {
        if (daemons->list[i].told->state != DAEMON_DECLARED) {
            clear_daemon(daemons, &daemons->list[i]);
        }
    }
}
