#include "gate-priv.h"

#include <errno.h>
#include <signal.h>

#include "fault.h"
#include "file.h"
#include "process.h"

static int start_session(struct gate *gate)
{
    int result = os_setsid();
    return result < 0 ? result : 0;
}

/* Before its life is tied to berm's: the kernel forgets that with a change of user (prctl(2)). */
static int become_user(struct gate *gate)
{
    return gate->become ? os_become_user(gate->uid, gate->gid) : 0;
}

static int die_with_controller(struct gate *gate)
{
    int result = os_die_with_parent();
    if (result < 0) {
        return result;
    }
    /* Had it died before the call above, nobody would tell. */
    return os_getppid() == gate->controller ? 0 : -ESRCH;
}

static int reset_signals(struct gate *gate)
{
    for (int signal = 1; signal < NSIG; signal++) {
        if ((gate->ignored >> (signal - 1)) & 1) {
            int result = os_signal_default(signal);
            if (result < 0) {
                return result;
            }
        }
    }
    sigset_t none;
    sigemptyset(&none);
    return os_signal_mask(SIG_SETMASK, &none, NULL);
}

static int enter_cwd(struct gate *gate)
{
    return gate->cwd_fd < 0 ? 0 : os_fchdir(gate->cwd_fd);
}

/* Any of the sources may have any number, that of a target too (the caller may have started us
 * without standard streams): all are moved out of the way first. What is handed on comes first and
 * stays open; the gate's own follow, close-on-exec; one call closes whatever lies above. */
static int place_descriptors(struct gate *gate)
{
    int *sources[GATE_HANDED_MAX + 3];
    int count = 0;
    for (; count < gate->handed_count; count++) {
        sources[count] = &gate->handed[count];
    }
    sources[count++] = &gate->exec_fd;
    sources[count++] = &gate->failure_fd;
    sources[count++] = &gate->release_fd;
    for (int i = 0; i < count; i++) {
        int moved = os_dup_above(*sources[i], count);
        if (moved < 0) {
            return moved;
        }
        *sources[i] = moved;
    }
    for (int i = 0; i < count; i++) {
        int result =
            i < gate->handed_count ? os_dup_to(*sources[i], i) : os_move_to(*sources[i], i);
        if (result < 0) {
            return result;
        }
        *sources[i] = i;
    }
    return os_close_from(count);
}

static int restore_files(struct gate *gate)
{
    return gate->restore_files ? os_setrlimit(RLIMIT_NOFILE, &gate->files) : 0;
}

static int wait_for_release(struct gate *gate)
{
    char byte;
    ssize_t got = os_read(gate->release_fd, &byte, 1);
    if (got == 0) {
        os_exit(GATE_EXIT); /* the controller gave up, or is no more */
    }
    return got < 0 ? (int)got : 0;
}

static const struct {
    int (*run)(struct gate *gate);
    const char *what;
} steps[] = {
    {start_session, "start a session"},
    {become_user, "become the user that was asked for"},
    {die_with_controller, "tie its life to berm's"},
    {reset_signals, "reset signals"},
    {enter_cwd, "enter the working folder"},
    {place_descriptors, "place its descriptors"},
    {restore_files, "restore the limit of open files"},
    {wait_for_release, "wait for its release"},
};

no_return static void fail(const struct gate *gate, int sys, bool execution, const char *what)
{
    struct gate_failure failure = {.execution = execution};
    (void)err_sys(&failure.err, sys, execution ? "%s" : "the first process cannot %s", what);
    /* Nobody is left to tell when this fails; the exit and the missing execution speak. */
    (void)!os_write(gate->failure_fd, &failure, sizeof failure);
    os_exit(GATE_EXIT);
}

void gate_main(struct gate *gate)
{
    fault_role("gate");
    for (size_t i = 0; i < countof(steps); i++) {
        int result = steps[i].run(gate);
        if (result < 0) {
            fail(gate, result, false, steps[i].what);
        }
    }
    int result = os_execveat(gate->exec_fd, gate->argv, gate->environment);
    fail(gate, result, true, "cannot execute");
}
