/* Members of the tree: places, records, signals. */
#include "detail-priv.h"
#include "tree-priv.h"

#include <errno.h>
#include <signal.h>

#include "process.h"

bool stat_alive(const struct proc_stat *stat)
{
    /* A first thread that has exited shows Z while the others run on. */
    return (stat->state != 'Z' && stat->state != 'X') || stat->threads > 1;
}

bool member_alive(const struct member *member)
{
    return member->pid > 0 && stat_alive(&member->stat);
}

/* A place among the records: a new one, or that of the smallest process that has ended. */
static int new_record(struct supervise_ending *ending)
{
    if (ending->descendant_count < DESCENDANT_COUNT) {
        return ending->descendant_count++;
    }
    int smallest = -1;
    for (int i = 1; i < DESCENDANT_COUNT; i++) { /* the leader's stays */
        const struct supervise_descendant *record = &ending->descendants[i];
        if (record->ended && (smallest < 0 || record->peak_rss_bytes <
                                                  ending->descendants[smallest].peak_rss_bytes)) {
            smallest = i;
        }
    }
    return smallest;
}

static void begin_record(struct tree *tree, struct member *member, int64_t now_ms)
{
    tree->ending->descendant_total++;
    member->record = new_record(tree->ending);
    if (member->record >= 0) {
        tree->ending->descendants[member->record] = (struct supervise_descendant){
            .pid = member->pid,
            .start_ticks = member->start_ticks,
            .first_seen_ms = now_ms,
            .peak_pss_bytes = -1,
            .peak_fds = -1,
            .read_bytes = -1,
            .written_bytes = -1,
        };
    }
}

struct member *member_new(struct tree *tree, const struct proc_stat *stat, struct fd *stat_file,
                          int64_t now_ms)
{
    int place = 0;
    while (place < tree->member_limit && tree->members[place].pid > 0) {
        place++;
    }
    if (place == MEMBER_COUNT) {
        return NULL;
    }
    if (place == tree->member_limit) {
        tree->member_limit++;
    }
    struct member *member = &tree->members[place];
    *member = (struct member){.pid = stat->pid,
                              .start_ticks = stat->start_ticks,
                              .infrastructure = tree->setting_up,
                              .record = -1};
    member->stat_file = fd_take(stat_file);
    if (!member->infrastructure) {
        begin_record(tree, member, now_ms);
    }
    member_update(tree, member, stat, now_ms);
    return member;
}

void tree_promote(struct tree *tree, struct member *member, int64_t now_ms)
{
    const struct proc_stat stat = member->stat;
    member->infrastructure = false;
    begin_record(tree, member, now_ms);
    member_update(tree, member, &stat, now_ms);
}

struct member *tree_only_child(struct tree *tree, pid_t parent)
{
    struct member *only = NULL;
    for (int i = 0; i < tree->member_limit; i++) {
        struct member *member = &tree->members[i];
        if (member->pid > 0 && member->stat.parent == parent) {
            if (only) {
                return NULL;
            }
            only = member;
        }
    }
    return only;
}

static void drop_file(struct tree *tree, struct member *member)
{
    if (fd_is_open(&member->stat_file)) {
        fd_close(&member->stat_file);
        tree->files_left++;
    }
}

void member_update(struct tree *tree, struct member *member, const struct proc_stat *stat,
                   int64_t now_ms)
{
    member->stat = *stat;
    if (stat->state == 'Z' && stat->threads > 1) {
        member->stat.rss_pages = detail_thread_rss(tree, member);
    }
    member->seen = true;
    member->fresh = true;
    if (!member_alive(member)) {
        drop_file(tree, member); /* nothing but its end will change any more */
    }
    if (member->record < 0) {
        return;
    }
    struct supervise_descendant *record = &tree->ending->descendants[member->record];
    record->parent = stat->parent;
    record->state = stat->state;
    record->last_seen_ms = now_ms;
    record->cpu_user_ms = (int64_t)stat->user_ticks * tree->ms_per_tick;
    record->cpu_system_ms = (int64_t)stat->system_ticks * tree->ms_per_tick;
    peak_raise(&record->peak_rss_bytes, (int64_t)member->stat.rss_pages * tree->page_bytes);
    peak_raise(&record->peak_threads, (int64_t)stat->threads);
}

void member_gone(struct tree *tree, struct member *member)
{
    drop_file(tree, member);
    if (member->record >= 0) {
        tree->ending->descendants[member->record].ended = true;
    }
    *member = (struct member){0};
    while (tree->member_limit > 0 && tree->members[tree->member_limit - 1].pid == 0) {
        tree->member_limit--;
    }
}

struct member *tree_member(struct tree *tree, pid_t pid)
{
    for (int i = 0; i < tree->member_limit; i++) {
        if (tree->members[i].pid == pid) {
            return &tree->members[i];
        }
    }
    return NULL;
}

/* For the sake of the one thing that matters. */
static void give_back_files(struct tree *tree)
{
    for (int i = 0; i < tree->member_limit; i++) {
        drop_file(tree, &tree->members[i]);
    }
    for (size_t i = 0; i < tree->arrival_count; i++) {
        fd_close(&tree->arrivals[i].stat_file);
    }
    tree->files_left = 0;
}

static bool no_descriptor_left(int result)
{
    return result == -EMFILE || result == -ENFILE;
}

int tree_read_stat(struct tree *tree, pid_t pid, struct proc_stat *ret_stat, struct fd *ret_file)
{
    int number = os_proc_stat_open(pid);
    if (no_descriptor_left(number)) {
        give_back_files(tree);
        number = os_proc_stat_open(pid);
    }
    with_fd file = fd_adopt(number);
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), ret_stat) : fd_error(&file);
    if (result == 0 && ret_file) {
        *ret_file = fd_take(&file);
    }
    return result;
}

/* The pidfd comes first; when the process of the record still exists afterwards, the number cannot
 * have named another one in between. */
static int open_verified(struct tree *tree, const struct member *member, struct fd *ret_pidfd)
{
    int number = os_pidfd_open(member->pid);
    if (no_descriptor_left(number)) {
        give_back_files(tree);
        number = os_pidfd_open(member->pid);
    }
    with_fd pidfd = fd_adopt(number);
    if (!fd_is_open(&pidfd)) {
        return fd_error(&pidfd);
    }
    struct proc_stat stat;
    int result = fd_is_open(&member->stat_file)
                     ? os_proc_stat_read(fd_num(&member->stat_file), &stat)
                     : tree_read_stat(tree, member->pid, &stat, NULL);
    if (result < 0) {
        return result;
    }
    if (stat.start_ticks != member->start_ticks) {
        return -ESRCH;
    }
    *ret_pidfd = fd_take(&pidfd);
    return 0;
}

int member_signal(struct tree *tree, struct member *member, int signal)
{
    with_fd pidfd = {0};
    int result = open_verified(tree, member, &pidfd);
    if (result == 0) {
        result = os_pidfd_signal(fd_num(&pidfd), signal);
    }
    member->signal_error = result < 0 && result != -ESRCH ? -result : 0;
    return result;
}

int tree_signal_all(struct tree *tree, int signal)
{
    int reached = 0;
    for (int i = 0; i < tree->member_limit; i++) {
        struct member *member = &tree->members[i];
        if (!member_alive(member) || (member->infrastructure && signal != SIGKILL)) {
            continue; /* without bubblewrap or the launcher there would be no grace */
        }
        int result = member_signal(tree, member, signal);
        reached += result == 0;
        if (result == -ESRCH) {
            member_gone(tree, member);
        }
    }
    return reached;
}

int tree_count_alive(const struct tree *tree)
{
    int alive = 0;
    for (int i = 0; i < tree->member_limit; i++) {
        alive += member_alive(&tree->members[i]) && !tree->members[i].infrastructure;
    }
    return alive;
}
