#include "proof-priv.h"

#include <errno.h>
#include <signal.h>

#include "clock.h"
#include "process.h"

/* A storm of zombies must not keep timers and signals waiting (T9). */
enum { REAPED_AT_ONCE = 512 };

/* Nobody else can make one: the type is complete only here. */
struct proof_tree_empty {
    int waited;
};
static const struct proof_tree_empty proof = {1};

static void add_usage(struct supervise_ending *ending, const struct rusage *usage)
{
    ending->cpu_user_ns += clock_timeval_ns(usage->ru_utime);
    ending->cpu_system_ns += clock_timeval_ns(usage->ru_stime);
    int64_t largest = usage->ru_maxrss * 1024;
    if (largest > ending->largest_rss_bytes) {
        ending->largest_rss_bytes = largest;
    }
}

/* What the launcher counted: without bubblewrap's own part, and its own. */
static void take_usage(struct supervise_ending *ending, const struct launch_word *usage)
{
    ending->cpu_user_ns += usage->user_ns;
    ending->cpu_system_ns += usage->system_ns;
    if (usage->largest_rss_bytes > ending->largest_rss_bytes) {
        ending->largest_rss_bytes = usage->largest_rss_bytes;
    }
}

static void leader_ended(struct reaper *reaper, const siginfo_t *info)
{
    reaper->leader_gone = true;
    if (info->si_code == CLD_EXITED) {
        reaper->exit_code = info->si_status;
    } else {
        reaper->exit_signal = info->si_status;
    }
}

/* Look at the child that ended before it is reaped: its last figures stand in /proc until then. */
static bool is_payloads(struct reaper *reaper, pid_t pid, int64_t now_ms)
{
    struct tree *tree = reaper->tree;
    with_fd file = fd_adopt(os_proc_stat_open(pid));
    struct proc_stat stat;
    if (!fd_is_open(&file) || os_proc_stat_read(fd_num(&file), &stat) < 0) {
        return !tree->strangers;
    }
    struct member *member = tree_member(tree, pid);
    if (member && member->start_ticks == stat.start_ticks) {
        if (pid == tree->leader.pid) {
            reaper->leader_executed = stat.forked_only ? EXECUTED_NO : EXECUTED_YES;
        }
        member_update(tree, member, &stat, now_ms);
        return true;
    }
    return tree_claim(tree, &stat) == CLAIM_PAYLOAD;
}

/* 1: reaped one, 0: nothing to reap now, -ECHILD: no child at all. */
static int reap_one(struct reaper *reaper, int64_t now_ms)
{
    siginfo_t info;
    struct rusage usage;
    bool payloads = true;
    bool look = reaper->tree->strangers || !reaper->leader_gone;
    int options = WEXITED | WNOHANG | __WALL;
    if (look) {
        int result = os_waitid(P_ALL, 0, &info, options | WNOWAIT, NULL);
        if (result < 0 || info.si_pid == 0) {
            return result;
        }
        payloads = is_payloads(reaper, info.si_pid, now_ms);
    }
    int result = look ? os_waitid(P_PID, info.si_pid, &info, options, &usage)
                      : os_waitid(P_ALL, 0, &info, options, &usage);
    if (result < 0 || info.si_pid == 0) {
        return result;
    }
    struct member *member = tree_member(reaper->tree, info.si_pid);
    if (info.si_pid == reaper->tree->leader.pid && !reaper->leader_gone) {
        leader_ended(reaper, &info);
    }
    if (payloads) {
        bool told = reaper->launch && reaper->launch->empty;
        if (told && info.si_pid == reaper->tree->leader.pid) {
            take_usage(reaper->ending, &reaper->launch->usage);
        } else {
            add_usage(reaper->ending, &usage);
        }
    }
    if (member) {
        member_gone(reaper->tree, member);
    }
    return 1;
}

/* Reap what there is. */
static int reap_all(struct reaper *reaper, int64_t now_ms)
{
    int result = 1;
    for (int i = 0; i < REAPED_AT_ONCE && result == 1; i++) {
        result = reap_one(reaper, now_ms);
    }
    return result;
}

void proof_reap_some(struct reaper *reaper, int64_t now_ms)
{
    reaper->more = reap_all(reaper, now_ms) == 1;
}

static bool only_foreign_left(struct reaper *reaper, int64_t now_ms, int *ret_result)
{
    struct tree *tree = reaper->tree;
    if (!reaper->leader_gone || tree->member_limit > 0) {
        return false;
    }
    tree_forget(tree);
    *ret_result = tree_look(tree, now_ms);
    if (*ret_result < 0 || tree->member_limit > 0 || tree->extra.processes > 0 ||
        tree->overlooked) {
        return false;
    }
    *ret_result = reap_one(reaper, now_ms);
    bool nothing_moved = *ret_result == 0 || *ret_result == -ECHILD;
    reaper->only_unclaimed = nothing_moved && tree->unclaimed > 0;
    return nothing_moved && tree->unclaimed == 0;
}

const struct proof_tree_empty *proof_reap(struct reaper *reaper, int64_t now_ms, int *ret_result)
{
    int result = reap_all(reaper, now_ms);
    reaper->more = result == 1;
    reaper->only_unclaimed = false;
    *ret_result = result < 0 && result != -ECHILD ? result : 0;
    if (result == -ECHILD) {
        return &proof;
    }
    if (result == 0 && reaper->tree->strangers && only_foreign_left(reaper, now_ms, &result)) {
        return &proof;
    }
    if (result < 0 && result != -ECHILD) {
        *ret_result = result;
    }
    return NULL;
}
