/* A request becomes a state only when all of this holds: it comes in its turn, from whom it may, the kernel
 * shows what it claims, and the next state is durable. */
#include "daemon-priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "boundary.h"
#include "file.h"
#include "process.h"

/* What one request is about. */
struct asking {
    struct daemons *daemons;
    struct managed *daemon;
    const struct daemon_request *request;
    struct proc_identity asker;
    int proc_dir;
    struct daemon_place place;
    struct supervise_daemon next; /* what is on record when it is granted */
    struct daemon_process found;
    struct err failure; /* of the watchdog, when the step is not on record */
};

static enum daemon_refusal refusal_of(int result)
{
    return result == 0        ? DAEMON_REFUSED_NONE
           : result == -ESRCH ? DAEMON_REFUSED_GONE
                              : DAEMON_REFUSED_UNKNOWN;
}

/* --- the folder --------------------------------------------------------------------------------- */

static bool same_folder(const struct daemon_object *a, const struct daemon_object *b)
{
    return a->device == b->device && a->inode == b->inode && a->owner == b->owner;
}

static enum daemon_refusal open_folder(struct asking *asking, bool first)
{
    const struct managed *daemon = asking->daemon;
    int result = daemon_place_open(asking->daemons->sandbox, daemon->wish->folder, &asking->place);
    bool known = first || same_folder(&daemon->folder, &asking->place.identity);
    return result < 0 || !known ? DAEMON_REFUSED_FOLDER : DAEMON_REFUSED_NONE;
}

/* A link that leads nowhere is there as well. */
static enum daemon_refusal check_absent(const struct asking *asking)
{
    struct daemon_object seen;
    const char *const names[] = {asking->daemon->wish->socket, asking->daemon->wish->lock};
    for (size_t i = 0; i < countof(names); i++) {
        int result = daemon_object_look(&asking->place, names[i], &seen);
        if (result != -ENOENT) {
            return result == 0 ? DAEMON_REFUSED_PRESENT : DAEMON_REFUSED_UNKNOWN;
        }
    }
    return DAEMON_REFUSED_NONE;
}

/* --- processes ---------------------------------------------------------------------------------- */

static enum daemon_refusal check_asker(const struct asking *asking)
{
    const struct daemon_process *process = &asking->daemon->process;
    if (!daemon_process_lives(process) ||
        !daemon_process_executes(process, asking->daemon->wish->executable)) {
        return DAEMON_REFUSED_GONE;
    }
    return daemon_process_descends(asking->proc_dir, asking->asker, process->who)
               ? DAEMON_REFUSED_NONE
               : DAEMON_REFUSED_NOT_BOUND;
}

static bool is_taken(const struct daemons *daemons, const struct proc_identity *who)
{
    for (size_t i = 0; i < daemons->count; i++) {
        const struct proc_identity *other = &daemons->list[i].process.who;
        if (other->pid == who->pid && other->start_ticks == who->start_ticks) {
            return true;
        }
    }
    return false;
}

static enum daemon_refusal check_cwd(struct asking *asking)
{
    struct stat cwd;
    int result = daemon_process_cwd(&asking->found, asking->next.cwd, &cwd);
    if (result < 0) {
        return refusal_of(result);
    }
    return asking->place.is_private &&
                   !daemon_place_is_beneath(asking->daemons->sandbox, asking->daemon->wish->folder,
                                            cwd.st_dev, cwd.st_ino)
               ? DAEMON_REFUSED_CWD
               : DAEMON_REFUSED_NONE;
}

static enum daemon_refusal judge_process(struct asking *asking)
{
    const struct daemon_process *found = &asking->found;
    if (!daemon_process_is_member(found, asking->daemons->leaf)) {
        return DAEMON_REFUSED_NO_PROCESS;
    }
    struct daemon_process parent = {0};
    int result = daemon_process_read(asking->proc_dir, found->parent, &parent);
    daemon_process_done(&parent);
    /* Whoever lost its parent has the first process of the sandbox, which is everybody's ancestor. */
    if (result < 0 || !daemon_process_descends(asking->proc_dir, asking->asker, parent.who)) {
        return DAEMON_REFUSED_PARENT;
    }
    if (found->who.start_ticks < asking->daemon->reserved_ticks) {
        return DAEMON_REFUSED_TOO_OLD;
    }
    if (is_taken(asking->daemons, &found->who)) {
        return DAEMON_REFUSED_TAKEN;
    }
    /* Whoever starts it may be faster than its execve. */
    if (found->forked_only && asking->daemon->waits < DAEMON_WAITS) {
        asking->daemon->waits++;
        return DAEMON_REFUSED_NOT_YET;
    }
    return daemon_process_executes(found, asking->daemon->wish->executable)
               ? DAEMON_REFUSED_NONE
               : DAEMON_REFUSED_EXECUTABLE;
}

/* --- the steps ---------------------------------------------------------------------------------- */

static enum daemon_refusal on_reserve(struct asking *asking)
{
    struct managed *daemon = asking->daemon;
    enum daemon_refusal refusal = open_folder(asking, true);
    refusal = refusal == DAEMON_REFUSED_NONE ? check_absent(asking) : refusal;
    if (refusal != DAEMON_REFUSED_NONE) {
        return refusal;
    }
    if (os_getrandom(daemon->reservation, sizeof daemon->reservation) < 0) {
        return DAEMON_REFUSED_UNKNOWN;
    }
    daemon->folder = asking->place.identity;
    daemon->reserved_ticks =
        (uint64_t)(asking->daemons->clock->boottime_ns() / (NS_PER_S / os_ticks_per_second()));
    return DAEMON_REFUSED_NONE;
}

static enum daemon_refusal on_bind(struct asking *asking)
{
    int64_t pid = asking->request->pid;
    enum daemon_refusal refusal = open_folder(asking, false);
    refusal = refusal == DAEMON_REFUSED_NONE ? check_absent(asking) : refusal;
    if (refusal != DAEMON_REFUSED_NONE) {
        return refusal;
    }
    int result = pid > 0 && pid <= INT32_MAX
                     ? daemon_process_find(asking->proc_dir, asking->daemons->leaf_fd, (pid_t)pid,
                                           &asking->found)
                     : -ESRCH;
    if (result < 0) {
        return result == -ESRCH ? DAEMON_REFUSED_NO_PROCESS : DAEMON_REFUSED_UNKNOWN;
    }
    refusal = judge_process(asking);
    refusal = refusal == DAEMON_REFUSED_NONE ? check_cwd(asking) : refusal;
    if (refusal != DAEMON_REFUSED_NONE) {
        return refusal;
    }
    asking->next.pid = asking->found.who.pid;
    asking->next.namespace_pid = asking->found.namespace_pid;
    asking->next.start_ticks = asking->found.who.start_ticks;
    return refusal_of(daemon_process_command(&asking->found, &asking->next));
}

static enum daemon_refusal on_start(struct asking *asking)
{
    enum daemon_refusal refusal = check_asker(asking);
    refusal = refusal == DAEMON_REFUSED_NONE ? open_folder(asking, false) : refusal;
    return refusal == DAEMON_REFUSED_NONE ? check_absent(asking) : refusal;
}

static enum daemon_refusal check_lock(struct asking *asking)
{
    const struct managed *daemon = asking->daemon;
    char text[DAEMON_LOCK_BYTES];
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
    struct supervise_daemon *next = &asking->next;
    ssize_t length = daemon_lock_read(&asking->place, daemon->wish->lock, daemon->process.user,
                                      text, &next->lock);
    bool good = length >= 0 &&
                daemon_lock_parse(span_of(text, (size_t)length), &next->lock_pid, reservation) &&
                memcmp(reservation, daemon->reservation, sizeof reservation) == 0 &&
                (next->lock_pid == daemon->process.who.pid ||
                 next->lock_pid == daemon->process.namespace_pid);
    return good ? DAEMON_REFUSED_NONE : DAEMON_REFUSED_LOCK;
}

/* The record has no objects before they are sealed. */
static enum daemon_refusal on_lock_ready(struct asking *asking)
{
    enum daemon_refusal refusal = check_asker(asking);
    refusal = refusal == DAEMON_REFUSED_NONE ? open_folder(asking, false) : refusal;
    refusal = refusal == DAEMON_REFUSED_NONE ? check_lock(asking) : refusal;
    asking->next.lock = (struct daemon_object){0};
    return refusal;
}

static enum daemon_refusal on_seal(struct asking *asking)
{
    struct managed *daemon = asking->daemon;
    struct daemon_object *socket = &asking->next.socket;
    if (!daemon_process_lives(&daemon->process) ||
        !daemon_process_executes(&daemon->process, daemon->wish->executable)) {
        return DAEMON_REFUSED_GONE;
    }
    enum daemon_refusal refusal = open_folder(asking, false);
    refusal = refusal == DAEMON_REFUSED_NONE ? check_lock(asking) : refusal;
    if (refusal != DAEMON_REFUSED_NONE) {
        return refusal;
    }
    int result = daemon_object_look(&asking->place, daemon->wish->socket, socket);
    return result == 0 && S_ISSOCK(socket->mode) && socket->owner == daemon->process.user
               ? DAEMON_REFUSED_NONE
               : DAEMON_REFUSED_SOCKET;
}

static enum daemon_refusal (*const steps[DAEMON_EVENT_COUNT])(struct asking *asking) = {
    [DAEMON_RESERVE] = on_reserve,       [DAEMON_BIND] = on_bind, [DAEMON_START] = on_start,
    [DAEMON_LOCK_READY] = on_lock_ready, [DAEMON_SEAL] = on_seal,
};

static void pass_boundary(enum daemon_state state)
{
    switch (state) {
    case DAEMON_RESERVED:
        os_boundary(BOUNDARY_DAEMON_RESERVED);
        break;
    case DAEMON_BOUND:
        os_boundary(BOUNDARY_DAEMON_BOUND);
        break;
    case DAEMON_CREATED:
        os_boundary(BOUNDARY_DAEMON_CREATED);
        break;
    case DAEMON_SEALED:
        os_boundary(BOUNDARY_DAEMON_SEALED);
        break;
    case DAEMON_DECLARED:
    case DAEMON_STARTED: /* nothing is there yet that was not before */
    case DAEMON_STATE_COUNT:
    default:
        break;
    }
}

/* --- a request ---------------------------------------------------------------------------------- */

static struct managed *find(struct daemons *daemons, const struct daemon_request *request)
{
    for (size_t i = 0; i < daemons->count; i++) {
        const char *name = daemons->list[i].told->name;
        if (strncmp(name, request->name, sizeof request->name) == 0) {
            return &daemons->list[i];
        }
    }
    return NULL;
}

static enum daemon_refusal judge_turn(const struct managed *daemon, enum daemon_event event,
                                      const struct daemon_request *request)
{
    struct daemon_step step = daemon_next(daemon->told->state, event);
    if (daemon->told->refused >= DAEMON_TRIES) {
        return DAEMON_REFUSED_TOO_MANY;
    }
    if (event != DAEMON_RESERVE && daemon->told->state != DAEMON_DECLARED &&
        memcmp(request->reservation, daemon->reservation, sizeof daemon->reservation) != 0) {
        return DAEMON_REFUSED_RESERVATION;
    }
    return step.refusal;
}

/* --- durable ------------------------------------------------------------------------------------ */

static struct watch_object object_of(const struct daemon_object *seen)
{
    return (struct watch_object){.self = {seen->device, seen->inode, seen->owner, 0},
                                 .size_bytes = seen->size_bytes,
                                 .mode = seen->mode};
}

/* The watchdog has it in writing before anybody is answered (WD-4). */
static enum daemon_refusal note(struct asking *asking)
{
    struct daemons *daemons = asking->daemons;
    const struct supervise_daemon *next = &asking->next;
    struct watch_daemon *record = &daemons->record;
    if (!daemons->watchdog) {
        return DAEMON_REFUSED_NONE;
    }
    *record = (struct watch_daemon){
        .state = (uint32_t)next->state,
        .on_host = !asking->place.is_private,
        .process = {next->pid, next->start_ticks},
        .namespace_pid = next->namespace_pid,
        .socket = object_of(&next->socket),
        .lock = object_of(&next->lock),
        .place.parent = {asking->place.identity.device, asking->place.identity.inode,
                         asking->place.identity.owner, 0},
    };
    memcpy(record->reservation, asking->daemon->reservation, sizeof record->reservation);
    memcpy(record->place.path, next->folder, sizeof record->place.path);
    memcpy(record->place.name, next->socket_name, sizeof record->place.name);
    memcpy(record->lock_name, next->lock_name, sizeof record->lock_name);
    int folder = asking->place.is_private ? -1 : fd_num(&asking->place.folder);
    size_t which = (size_t)(asking->daemon - daemons->list);
    return watchdog_note_daemon(daemons->watchdog, which, record, folder, &asking->failure) < 0
               ? DAEMON_REFUSED_UNRECORDED
               : DAEMON_REFUSED_NONE;
}
_Static_assert((int)WATCH_DAEMON_SEALED == (int)DAEMON_SEALED, "the same states");
_Static_assert((int)WATCH_DAEMONS == (int)DAEMON_COUNT, "room for each");
_Static_assert((int)WATCH_RESERVATION_BYTES == (int)DAEMON_RESERVATION_BYTES, "the same number");
_Static_assert((int)WATCH_LOCK_BYTES == (int)DAEMON_LOCK_BYTES, "the same lock");

static enum daemon_refusal go(struct asking *asking, enum daemon_event event)
{
    struct managed *daemon = asking->daemon;
    asking->next = *daemon->told;
    enum daemon_refusal refusal = steps[event](asking);
    if (refusal != DAEMON_REFUSED_NONE) {
        return refusal;
    }
    asking->next.state = daemon_next(daemon->told->state, event).next;
    refusal = note(asking);
    if (refusal != DAEMON_REFUSED_NONE) {
        return refusal;
    }
    *daemon->told = asking->next;
    if (event == DAEMON_BIND) {
        daemon->process = asking->found;
        asking->found.dir = (struct fd){0};
    }
    pass_boundary(daemon->told->state);
    return DAEMON_REFUSED_NONE;
}

static void say_refusal(struct daemon_answer *answer, const struct asking *asking,
                        enum daemon_event event)
{
    const struct daemon_request *request = asking->request;
    const struct managed *daemon = asking->daemon;
    int at = snprintf(answer->text, sizeof answer->text, "daemon '%.*s': %s",
                      (int)strnlen(request->name, sizeof request->name), request->name,
                      daemon_refusal_text((enum daemon_refusal)answer->refusal));
    if (answer->refusal == DAEMON_REFUSED_UNRECORDED && at > 0) {
        (void)snprintf(answer->text + at, sizeof answer->text - (size_t)at, ": %s",
                       asking->failure.msg);
    }
    if (daemon && answer->refusal == DAEMON_REFUSED_ORDER && at > 0) {
        enum daemon_state state = daemon->told->state;
        (void)snprintf(answer->text + at, sizeof answer->text - (size_t)at,
                       ": '%s', and it is %s; then comes '%s'", daemon_event_name(event),
                       daemon_state_name(state),
                       state < DAEMON_SEALED ? daemon_event_name((enum daemon_event)state)
                                             : "nothing");
    }
}

static void fill_answer(const struct managed *daemon, bool granted, struct daemon_answer *answer)
{
    const struct supervise_daemon *told = daemon->told;
    answer->state = told->state;
    if (!granted) {
        return;
    }
    memcpy(answer->reservation, daemon->reservation, sizeof answer->reservation);
    answer->pid = told->pid;
    answer->namespace_pid = told->namespace_pid;
    answer->start_ticks = told->start_ticks;
    (void)snprintf(answer->socket, sizeof answer->socket, "%s/%s", daemon->wish->folder,
                   daemon->wish->socket);
    (void)snprintf(answer->lock, sizeof answer->lock, "%s/%s", daemon->wish->folder,
                   daemon->wish->lock);
}

void daemons_answer(struct daemons *daemons, int proc_dir, struct proc_identity asker,
                    const struct daemon_request *request, struct daemon_answer *ret_answer)
{
    struct asking asking = {.daemons = daemons,
                            .daemon = daemons ? find(daemons, request) : NULL,
                            .request = request,
                            .asker = asker,
                            .proc_dir = proc_dir};
    enum daemon_event event = (enum daemon_event)(request->head.operation - CONTEXT_DAEMON);
    enum daemon_refusal refusal =
        asking.daemon ? judge_turn(asking.daemon, event, request) : DAEMON_REFUSED_NOT_DECLARED;
    if (refusal == DAEMON_REFUSED_NONE) {
        refusal = go(&asking, event);
    }
    daemon_place_done(&asking.place);
    daemon_process_done(&asking.found);
    ret_answer->refusal = refusal;
    if (refusal != DAEMON_REFUSED_NONE) {
        say_refusal(ret_answer, &asking, event);
    }
    if (asking.daemon) {
        asking.daemon->told->refused +=
            refusal != DAEMON_REFUSED_NONE && refusal != DAEMON_REFUSED_NOT_YET;
        fill_answer(asking.daemon, refusal == DAEMON_REFUSED_NONE, ret_answer);
    }
}

/* --- all of them -------------------------------------------------------------------------------- */

void daemons_init(struct daemons *daemons, const struct daemons_request *request)
{
    BUG_IF(request->count > DAEMON_COUNT);
    *daemons = (struct daemons){.count = request->count,
                                .sandbox = request->sandbox,
                                .clock = request->clock,
                                .watchdog = request->watchdog,
                                .leaf_fd = request->leaf_fd,
                                .leaf = request->leaf};
    for (size_t i = 0; i < request->count; i++) {
        const struct daemon_wish *wish = &request->wishes[i];
        struct supervise_daemon *told = &request->told[i];
        daemons->list[i] = (struct managed){.wish = wish, .told = told};
        *told = (struct supervise_daemon){0};
        (void)snprintf(told->name, sizeof told->name, "%s", wish->name);
        (void)snprintf(told->folder, sizeof told->folder, "%s", wish->folder);
        (void)snprintf(told->socket_name, sizeof told->socket_name, "%s", wish->socket);
        (void)snprintf(told->lock_name, sizeof told->lock_name, "%s", wish->lock);
    }
}

void daemons_done(struct daemons *daemons)
{
    for (size_t i = 0; i < daemons->count; i++) {
        daemon_process_done(&daemons->list[i].process);
    }
}
