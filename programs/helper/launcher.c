#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "confine.h"
#include "event.h"
#include "fault.h"
#include "file.h"
#include "helper.h"
#include "process.h"

char *launcher_add_text(char *at, const char *end, const char *text)
{
    size_t length = strnlen(text, (size_t)(end - at));
    memcpy(at, text, length);
    at[length] = '\0';
    return at + length;
}

char *launcher_add_number(char *at, const char *end, uint64_t number)
{
    char digits[24];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return launcher_add_text(at, end, first);
}

void launcher_say(const struct launcher *launcher, enum launch_said said, int value, int extra)
{
    struct launch_word word = {
        .said = said,
        .value = value,
        .extra = extra,
        .took_ns = said == LAUNCH_READY ? os_clock_real.monotonic_ns() - launcher->began_ns : 0,
    };
    (void)!os_send(launcher->channel, &word, sizeof word);
}

void launcher_give_up(const struct launcher *launcher, enum launch_said said, int sys,
                      const char *what)
{
    struct launch_word word = {.said = said, .sys = sys < 0 ? -sys : sys};
    if (what) {
        const char *end = word.text + sizeof word.text - 1;
        char *at = launcher_add_text(word.text, end, "cannot ");
        at = launcher_add_text(at, end, what);
        if (launcher->where) {
            at = launcher_add_text(at, end, ": ");
            (void)launcher_add_text(at, end, launcher->where);
        }
    }
    (void)!os_send(launcher->channel, &word, sizeof word);
    os_exit(HELPER_EXIT_REFUSED);
}

/* --- steps that belong nowhere else ------------------------------------------------------------- */

/* kill(-1) would mean everybody, were this not the first process of a namespace. */
static int be_first(struct launcher *launcher)
{
    return os_getpid() == 1 ? 0 : -EPERM;
}

static int read_plan(struct launcher *launcher)
{
    struct stat facts;
    int result = os_is_sealed(LAUNCH_PLAN_FD);
    result = result < 0 ? result : os_fstat(LAUNCH_PLAN_FD, &facts);
    if (result < 0) {
        return result;
    }
    if (facts.st_size < (off_t)sizeof *launcher->plan) {
        return -EINVAL;
    }
    launcher->plan = os_map_read_only(LAUNCH_PLAN_FD, (size_t)facts.st_size);
    if (!launcher->plan) {
        return -ENOMEM;
    }
    return launch_plan_check(launcher->plan, (size_t)facts.st_size) ? 0 : -EINVAL;
}

static int tie_life(struct launcher *launcher)
{
    return os_die_with_parent();
}

/* The caller may have ignored any of them, SIGCHLD too: then no end could be waited for. All stay
 * blocked here, so that only what cannot be blocked ends the first process. */
static int reset_signals(struct launcher *launcher)
{
    for (int signal = 1; signal < NSIG; signal++) {
        int result = signal == SIGKILL || signal == SIGSTOP ? 0 : os_signal_default(signal);
        if (result < 0) {
            return result;
        }
    }
    sigset_t all;
    sigfillset(&all);
    return os_signal_mask(SIG_SETMASK, &all, NULL);
}

static int take_mask(struct launcher *launcher)
{
    launcher->mask = os_umask(0); /* what is made here has the mode that it is made with */
    return 0;
}

static int give_mask(struct launcher *launcher)
{
    (void)os_umask(launcher->mask);
    return 0;
}

static const struct {
    int (*run)(struct launcher *launcher);
    const char *what;
} steps[] = {
    {be_first, "be the first process of its namespace"},
    {read_plan, "read its plan"},
    {tie_life, "tie its life to its parent's"},
    {reset_signals, "reset signals"},
    {take_mask, "take the file mode mask"},
    {confine_limit_user_namespaces, "close user namespaces"},
    {mounts_cut_off, "have mounts of its own"},
    {offer_context, "make the socket at which programs ask about the run"},
    {devices_take, "take the devices of its /dev"},
    {mounts_make_private, "mount the private file system"},
    {mountinfo_close_others, "close other file systems of memory and of the kernel"},
    {mounts_keep, "keep visible what is asked for"},
    {devices_make, "make a /dev"},
    {mounts_place_private, "put the private file system in place"},
    {devices_close, "close /dev"},
    {mounts_do_items, "close what the plan closes"},
    {mounts_close_kernel, "close what the kernel shows"},
    {mountinfo_cover_others, "cover other mounts of processes"},
    {mounts_limit_files, "limit the number of private files"},
    {mounts_hide_private, "hide the private file system's first mount"},
    {confine_open_payload, "open the payload's file"},
    {confine_enter_cwd, "enter the working folder"},
    {confine_descriptors, "place its descriptors"},
    {confine_limits, "set resource limits"},
    {give_mask, "give the file mode mask back"},
    {confine_capabilities, "give up all capabilities"},
    {confine_landlock, "set Landlock's rules"},
    {confine_filter, "load the system call filter"},
    {confine_no_user_namespace, "close user namespaces: they can still be made"},
    {reaper_fork, "create the payload's process"},
};

static void wait_for_release(struct launcher *launcher)
{
    char order = 0;
    int ready = os_poll(launcher->channel, POLLIN, -1);
    ssize_t got = ready < 0 ? ready : os_recv(launcher->channel, &order, sizeof order);
    if (got != 1 || order != LAUNCH_RELEASE) {
        os_exit(HELPER_EXIT_REFUSED); /* the controller gave up, or is no more */
    }
}

void launcher_main(int argc, char **argv)
{
    fault_role("launcher");
    static struct launcher launcher = {.channel = LAUNCH_CHANNEL_FD, .file_fd = -1};
    launcher.began_ns = os_clock_real.monotonic_ns();
    for (size_t i = 0; i < countof(steps); i++) {
        int result = steps[i].run(&launcher);
        if (result < 0) {
            launcher_give_up(&launcher, LAUNCH_FAILED, result,
                             launcher.what ? launcher.what : steps[i].what);
        }
        launcher.where = NULL;
    }
    launcher_say(&launcher, LAUNCH_READY, launcher.landlock_abi, (int)launcher.facts);
    wait_for_release(&launcher);
    /* Nobody in here may look into this process, or open what it has open. */
    int result = os_set_undumpable();
    if (result < 0) {
        launcher_give_up(&launcher, LAUNCH_FAILED, result, "close itself to others");
    }
    reaper_main(&launcher);
}
