#include "interrupts.h"

#include <errno.h>
#include <sys/signalfd.h>

#include "event.h"
#include "process.h"

/* What arrives on the descriptor beside SIGCHLD. Those that ask berm to end come first. */
static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT};
enum { INTERRUPTING = 4 };

static bool was_ignored(const struct interrupts *interrupts, int signal)
{
    return (interrupts->caller_ignored >> (signal - 1)) & 1;
}

static bool is_interrupting(int signal)
{
    for (int i = 0; i < INTERRUPTING; i++) {
        if (signal == watched[i]) {
            return true;
        }
    }
    return false;
}

/* A blocked signal is queued even when it is ignored (signal(7)): what the caller ignored must not
 * be blocked, or it would come. Only SIGCHLD is needed in any case. */
static sigset_t watched_set(const struct interrupts *interrupts)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < countof(watched); i++) {
        if (!was_ignored(interrupts, watched[i])) {
            sigaddset(&set, watched[i]);
        }
    }
    return set;
}

/* Best effort by nature: a disposition that cannot be put back has no other place to go. */
static void restore(const struct interrupts *interrupts)
{
    (void)!(was_ignored(interrupts, SIGPIPE) ? 0 : os_signal_default(SIGPIPE));
    (void)!(was_ignored(interrupts, SIGCHLD) ? os_signal_ignore(SIGCHLD) : 0);
    (void)!os_signal_mask(SIG_SETMASK, &interrupts->caller_mask, NULL);
}

int interrupts_begin(struct interrupts *interrupts, struct err *err)
{
    struct interrupts begun = {0};
    int result = os_signals_ignored(&begun.caller_ignored);
    if (result < 0) {
        return err_sys(err, result, "cannot learn which signals are ignored");
    }
    sigset_t set = watched_set(&begun);
    result = os_signal_mask(SIG_BLOCK, &set, &begun.caller_mask);
    if (result < 0) {
        return err_sys(err, result, "cannot block signals");
    }
    /* Ignored SIGCHLD would let the kernel reap children behind our back (T15). */
    result = os_signal_ignore(SIGPIPE);
    result = result < 0 ? result : os_signal_default(SIGCHLD);
    if (result == 0) {
        begun.signal_fd = fd_adopt(os_signalfd(&set));
        result = fd_error(&begun.signal_fd);
    }
    if (result < 0) {
        restore(&begun);
        return err_sys(err, result, "cannot receive signals as data");
    }
    *interrupts = begun;
    return 0;
}

int interrupts_next(struct interrupts *interrupts)
{
    struct signalfd_siginfo info;
    int result = os_signalfd_read(fd_num(&interrupts->signal_fd), &info);
    if (result < 0) {
        return result == -EAGAIN ? 0 : result;
    }
    int signal = (int)info.ssi_signo;
    if (is_interrupting(signal)) {
        interrupts->first = interrupts->first ? interrupts->first : signal;
        interrupts->count++;
    }
    return signal;
}

int interrupts_pending(struct interrupts *interrupts)
{
    int signal;
    while ((signal = interrupts_next(interrupts)) > 0) {
        if (signal == SIGTSTP) {
            (void)!os_stop_self(); /* the caller's terminal asked; go on when it says so */
        }
    }
    return interrupts->first;
}

void interrupts_end(struct interrupts *interrupts)
{
    if (!interrupts || !fd_is_open(&interrupts->signal_fd)) {
        return;
    }
    fd_close(&interrupts->signal_fd);
    restore(interrupts);
    *interrupts = (struct interrupts){.first = interrupts->first};
}
