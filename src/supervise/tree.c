/* The pass over /proc. */
#include "tree-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "pages.h"
#include "process.h"
#include "text.h"

/* The /proc that is mounted must be the one of our own pid namespace, or every number in it would
 * name another process (T20). */
static int check_proc(const struct tree *tree, struct err *err)
{
    char target[32];
    ssize_t length = os_readlinkat(fd_num(&tree->proc_dir), "self", target, sizeof target);
    uint64_t self = 0;
    if (length < 0) {
        return err_sys(err, (int)length, "cannot read /proc/self");
    }
    if (!text_parse_number(span_of_string(target), INT32_MAX, &self) ||
        (pid_t)self != tree->controller) {
        return err_set(err, ERR_UNAVAILABLE,
                       "/proc belongs to another pid namespace (it calls this "
                       "process %s, it is %d)",
                       target, tree->controller);
    }
    return 0;
}

int tree_init(struct tree *tree, struct supervise_ending *ending, uint64_t files, struct err *err)
{
    *tree = (struct tree){
        .ending = ending,
        .controller = os_getpid(),
        .oom_mark = OOM_MARK_NONE,
        .page_bytes = os_page_bytes(),
        .ms_per_tick = 1000 / os_ticks_per_second(),
        .files_left = files / 2 < KEPT_FILES ? (int)(files / 2) : KEPT_FILES,
    };
    tree->proc_dir = fd_adopt(os_openat(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0));
    if (!fd_is_open(&tree->proc_dir)) {
        return err_sys(err, fd_error(&tree->proc_dir), "cannot open /proc");
    }
    if (check_proc(tree, err) < 0) {
        return -1;
    }
    char path[48];
    (void)snprintf(path, sizeof path, "%d/task/%d/children", tree->controller, tree->controller);
    tree->children_file = fd_adopt(os_openat(fd_num(&tree->proc_dir), path, O_RDONLY, 0));
    tree->memory_file = fd_adopt(os_openat(fd_num(&tree->proc_dir), "meminfo", O_RDONLY, 0));
    void *room = NULL;
    int result = os_pages_new(sizeof *tree->room, &room);
    if (result < 0) {
        return err_sys(err, result, "no room for the processes of the run");
    }
    tree->room = room;
    tree->members = tree->room->members;
    tree->known = tree->room->lists[0];
    tree->next = tree->room->lists[1];
    tree->arrivals = tree->room->arrivals;
    return 0;
}

void tree_done(struct tree *tree)
{
    if (!tree) {
        return;
    }
    for (int i = 0; i < tree->member_limit; i++) {
        fd_close(&tree->members[i].stat_file);
    }
    fd_close(&tree->proc_dir);
    fd_close(&tree->children_file);
    fd_close(&tree->memory_file);
    os_pages_free(tree->room, sizeof *tree->room);
    *tree = (struct tree){0};
}

static struct known *find(struct known *list, size_t count, pid_t pid)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].pid < pid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && list[low].pid == pid ? &list[low] : NULL;
}

static bool has_oom_mark(const struct tree *tree, pid_t pid)
{
    char path[40];
    char text[16];
    (void)snprintf(path, sizeof path, "%d/oom_score_adj", pid);
    ssize_t length = os_read_small(fd_num(&tree->proc_dir), path, text, sizeof text);
    return length > 0 && strtol(text, NULL, 10) == tree->oom_mark;
}

enum tree_claim tree_claim(const struct tree *tree, const struct proc_stat *stat)
{
    if (stat->pid == tree->leader.pid && stat->start_ticks == tree->leader.start_ticks) {
        return CLAIM_PAYLOAD;
    }
    for (int i = 0; i < tree->bystander_count; i++) {
        if (tree->bystanders[i].pid == stat->pid &&
            tree->bystanders[i].start_ticks == stat->start_ticks) {
            return CLAIM_FOREIGN;
        }
    }
    if (!tree->strangers) {
        return CLAIM_PAYLOAD; /* whoever becomes our child now descends from the leader */
    }
    if (stat->start_ticks < tree->leader.start_ticks) {
        return CLAIM_FOREIGN;
    }
    if (stat->session == tree->leader.pid) {
        return CLAIM_PAYLOAD;
    }
    return tree->oom_mark != OOM_MARK_NONE && has_oom_mark(tree, stat->pid) ? CLAIM_PAYLOAD
                                                                            : CLAIM_NONE;
}

static void remember(struct tree *tree, pid_t pid, uint64_t inode, int slot)
{
    if (tree->next_count <
        KNOWN_COUNT) { /* else it is read again in each pass: slower, not wrong */
        tree->next[tree->next_count++] = (struct known){pid, slot, inode};
    }
}

/* Somebody who was not there in the last pass, or whose entry was made anew. */
static void arrive(struct tree *tree, pid_t pid, uint64_t inode)
{
    struct proc_stat stat;
    with_fd file = {0};
    if (tree->surveying && !tree->strangers) {
        remember(tree, pid, inode, SLOT_FOREIGN); /* it was there before the payload was */
        return;
    }
    int result = tree_read_stat(tree, pid, &stat, &file);
    if (result < 0) { /* gone again; or the next pass has better luck */
        tree->overlooked = tree->overlooked || (result != -ENOENT && result != -ESRCH);
        return;
    }
    if (tree->surveying) {
        if (stat.parent == tree->controller && tree->bystander_count < BYSTANDER_COUNT) {
            tree->bystanders[tree->bystander_count++] =
                (struct proc_identity){pid, stat.start_ticks};
        }
        remember(tree, pid, inode, SLOT_FOREIGN);
        return;
    }
    if (tree->arrival_count == ARRIVAL_COUNT || tree->next_count == KNOWN_COUNT) {
        tree->overlooked = true;
        return;
    }
    struct arrival *arrival = &tree->arrivals[tree->arrival_count++];
    *arrival = (struct arrival){.stat = stat, .place = tree->next_count};
    if (tree->files_left > 0 && stat_alive(&stat)) {
        arrival->stat_file = fd_take(&file);
        tree->files_left--;
    }
    remember(tree, pid, inode, SLOT_ARRIVAL);
}

/* One entry of /proc, in ascending order; *at walks the list of the last pass beside it. */
static void visit(struct tree *tree, pid_t pid, uint64_t inode, size_t *at, int64_t now_ms)
{
    while (*at < tree->known_count && tree->known[*at].pid < pid) {
        (*at)++;
    }
    const struct known *before =
        *at < tree->known_count && tree->known[*at].pid == pid ? &tree->known[*at] : NULL;
    if (before && before->inode == inode && before->slot < 0) {
        tree->unclaimed += before->slot == SLOT_UNCLAIMED;
        remember(tree, pid, inode, before->slot);
        return;
    }
    struct member *member = before && before->slot >= 0 ? &tree->members[before->slot] : NULL;
    if (member && member->pid == pid) {
        struct proc_stat stat;
        if (before->inode == inode) {
            member->seen = true;
            remember(tree, pid, inode, before->slot);
            return;
        }
        /* The same process behind an entry that the kernel made anew? */
        if (tree_read_stat(tree, pid, &stat, NULL) == 0 &&
            stat.start_ticks == member->start_ticks) {
            member_update(tree, member, &stat, now_ms);
            remember(tree, pid, inode, before->slot);
            return;
        }
    }
    if (pid != tree->controller) {
        arrive(tree, pid, inode);
    }
}

static int list(struct tree *tree, int64_t now_ms)
{
    off_t start = os_lseek(fd_num(&tree->proc_dir), 0, SEEK_SET);
    if (start < 0) {
        return (int)start;
    }
    size_t at = 0;
    for (;;) {
        char *entries = tree->room->entries;
        ssize_t got = os_getdents(fd_num(&tree->proc_dir), entries, sizeof tree->room->entries);
        if (got <= 0) {
            return (int)got;
        }
        for (ssize_t offset = 0; offset < got;) {
            const struct dirent64 *entry = (const void *)(entries + offset);
            offset += entry->d_reclen;
            if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
                pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
                visit(tree, pid, entry->d_ino, &at, now_ms);
            }
        }
    }
}

enum { SLOT_PAYLOAD = 0 }; /* stands for "the payload's, still without a place" */

/* What an arrival is, by its parent; SLOT_ARRIVAL when the parent itself is not judged yet. */
static int judge(const struct tree *tree, const struct proc_stat *stat)
{
    if (stat->parent == tree->controller) {
        static const int slots[] = {[CLAIM_PAYLOAD] = SLOT_PAYLOAD,
                                    [CLAIM_FOREIGN] = SLOT_FOREIGN,
                                    [CLAIM_NONE] = SLOT_UNCLAIMED};
        return slots[tree_claim(tree, stat)];
    }
    if (stat->parent == 0) {
        return SLOT_FOREIGN; /* a kernel thread, or from outside the pid namespace */
    }
    const struct known *parent = find(tree->next, tree->next_count, stat->parent);
    if (!parent) {
        return SLOT_UNKNOWN;
    }
    return parent->slot >= 0 || parent->slot == SLOT_UNTRACKED ? SLOT_PAYLOAD : parent->slot;
}

static int admit(struct tree *tree, struct arrival *arrival, int64_t now_ms)
{
    const struct proc_stat *stat = &arrival->stat;
    tree->found++;
    const struct member *member = member_new(tree, stat, &arrival->stat_file, now_ms);
    if (member) {
        return (int)(member - tree->members);
    }
    tree->extra.rss_bytes += (int64_t)stat->rss_pages * tree->page_bytes;
    tree->extra.tasks += (int64_t)stat->threads;
    tree->extra.processes++;
    return SLOT_UNTRACKED;
}

/* Arrivals are judged by their parents, which may have arrived as well: until nothing changes. */
static void settle(struct tree *tree, int64_t now_ms)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < tree->arrival_count; i++) {
            struct arrival *arrival = &tree->arrivals[i];
            struct known *known = &tree->next[arrival->place];
            int slot = known->slot == SLOT_ARRIVAL ? judge(tree, &arrival->stat) : SLOT_ARRIVAL;
            if (slot == SLOT_ARRIVAL) {
                continue;
            }
            changed = true;
            known->slot = slot == SLOT_PAYLOAD ? admit(tree, arrival, now_ms) : slot;
            if (known->slot < SLOT_UNCLAIMED) {
                known->inode = 0; /* matches no entry: not remembered beyond this pass */
            }
            tree->unclaimed += known->slot == SLOT_UNCLAIMED;
        }
    }
}

/* Whoever was not settled is looked at anew in the next pass; what no member took is closed. */
static void drop_arrivals(struct tree *tree)
{
    for (size_t i = 0; i < tree->arrival_count; i++) {
        struct arrival *arrival = &tree->arrivals[i];
        if (fd_is_open(&arrival->stat_file)) {
            fd_close(&arrival->stat_file);
            tree->files_left++;
        }
        if (tree->next[arrival->place].slot == SLOT_ARRIVAL) {
            tree->next[arrival->place].inode = 0;
        }
    }
    tree->arrival_count = 0;
}

int tree_look(struct tree *tree, int64_t now_ms)
{
    tree->next_count = 0;
    tree->arrival_count = 0;
    tree->found = 0;
    tree->unclaimed = 0;
    tree->overlooked = false;
    tree->extra = (struct tree_sums){0};
    for (int i = 0; i < tree->member_limit; i++) {
        tree->members[i].seen = false;
        tree->members[i].fresh = false;
    }
    int result = list(tree, now_ms);
    if (result < 0) {
        drop_arrivals(tree);
        return result; /* what was known stays */
    }
    settle(tree, now_ms);
    drop_arrivals(tree);
    for (int i = tree->member_limit - 1; i >= 0; i--) {
        struct member *member = &tree->members[i];
        if (member->pid > 0 && !member->seen) {
            member_gone(tree, member);
        }
    }
    struct known *old = tree->known;
    tree->known = tree->next;
    tree->known_count = tree->next_count;
    tree->next = old;
    return 0;
}

int tree_lead(struct tree *tree, struct proc_identity leader, int64_t now_ms)
{
    struct proc_stat stat;
    with_fd file = {0};
    tree->leader = leader;
    int result = tree_read_stat(tree, leader.pid, &stat, &file);
    if (result < 0) {
        return result;
    }
    BUG_IF(!member_new(tree, &stat, &file, now_ms));
    tree->files_left--;
    /* Its entry of the list without an inode: the first pass finds it by its start time. */
    tree->known[0] = (struct known){.pid = leader.pid, .slot = 0};
    tree->known_count = 1;
    return 0;
}

int tree_survey(struct tree *tree, int64_t now_ms)
{
    tree->surveying = true;
    int result = tree_look(tree, now_ms);
    tree->surveying = false;
    return result;
}

/* Its place in the list of the last pass: without an inode, so the next pass compares the start. */
static bool know(struct tree *tree, pid_t pid, int slot)
{
    size_t at = tree->known_count;
    struct known *surveyed = find(tree->known, tree->known_count, pid);
    if (surveyed) {
        *surveyed = (struct known){.pid = pid, .slot = slot};
        return true;
    }
    if (at == KNOWN_COUNT) {
        return false;
    }
    for (; at > 0 && tree->known[at - 1].pid > pid; at--) {
        tree->known[at] = tree->known[at - 1];
    }
    tree->known[at] = (struct known){.pid = pid, .slot = slot};
    tree->known_count++;
    return true;
}

/* The number alone in a list of the kernel's; 0: there are none, or several. */
static pid_t only_number(char *list)
{
    char *end = list;
    long number = strtol(list, &end, 10);
    return end[strspn(end, " \n")] == '\0' ? (pid_t)number : 0;
}

struct member *tree_adopt_only_child(struct tree *tree, pid_t parent, int64_t now_ms)
{
    char path[48];
    char list[64];
    struct proc_stat stat;
    with_fd file = {0};
    (void)snprintf(path, sizeof path, "%d/task/%d/children", parent, parent);
    ssize_t length = os_read_small(fd_num(&tree->proc_dir), path, list, sizeof list);
    pid_t pid = length > 0 ? only_number(list) : 0;
    if (pid <= 0 || tree->files_left == 0 || tree_read_stat(tree, pid, &stat, &file) < 0 ||
        stat.parent != parent) {
        return NULL;
    }
    struct member *member = member_new(tree, &stat, &file, now_ms);
    if (!member || !know(tree, pid, (int)(member - tree->members))) {
        return NULL;
    }
    tree->files_left--;
    return member;
}

void tree_read(struct tree *tree, int64_t now_ms, struct tree_sums *ret_sums)
{
    *ret_sums = tree->extra;
    for (int i = 0; i < tree->member_limit; i++) {
        struct member *member = &tree->members[i];
        if (member->pid == 0) {
            continue;
        }
        struct proc_stat stat;
        if (!member->fresh && member_alive(member)) {
            int result = fd_is_open(&member->stat_file)
                             ? os_proc_stat_read(fd_num(&member->stat_file), &stat)
                             : tree_read_stat(tree, member->pid, &stat, NULL);
            if (result == 0 && stat.start_ticks == member->start_ticks) {
                member_update(tree, member, &stat, now_ms);
            } else if (result == -ESRCH || result == 0) {
                member_gone(tree, member);
                continue;
            }
        }
        if (!member->infrastructure) {
            ret_sums->rss_bytes += (int64_t)member->stat.rss_pages * tree->page_bytes;
            ret_sums->tasks += (int64_t)member->stat.threads;
            ret_sums->processes++;
        }
    }
}

void tree_forget(struct tree *tree)
{
    for (size_t i = 0; i < tree->known_count; i++) {
        if (tree->known[i].slot < 0) {
            tree->known[i].inode = 0;
        }
    }
}
