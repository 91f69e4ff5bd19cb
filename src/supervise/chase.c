#include "chase-priv.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "process.h"

enum {
    TURNS_MAX = 100,
    LIST_BYTES = 8192, /* some thousand children; the rest come in the next turn */
};

static bool is_payloads(const struct tree *tree, pid_t pid)
{
    if (!tree->strangers) {
        return true;
    }
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(pid));
    return fd_is_open(&file) && os_proc_stat_read(fd_num(&file), &stat) == 0 &&
           tree_claim(tree, &stat) == CLAIM_PAYLOAD;
}

static bool kill_child(const struct tree *tree, pid_t pid)
{
    with_fd pidfd = fd_adopt(os_pidfd_open(pid));
    return fd_is_open(&pidfd) && is_payloads(tree, pid) &&
           os_pidfd_signal(fd_num(&pidfd), SIGKILL) == 0;
}

int chase_children(struct reaper *reaper, int64_t now_ms)
{
    const struct tree *tree = reaper->tree;
    char lists[2][LIST_BYTES] = {"", ""};
    int reached = 0;
    for (int turn = 0; turn < TURNS_MAX && fd_is_open(&tree->children_file); turn++) {
        char *list = lists[turn % 2];
        proof_reap_some(reaper, now_ms);
        ssize_t length = os_pread(fd_num(&tree->children_file), list, LIST_BYTES - 1, 0);
        list[length > 0 ? length : 0] = '\0';
        if (length <= 0 || strcmp(list, lists[(turn + 1) % 2]) == 0) {
            break;
        }
        char *end = list;
        for (pid_t pid; (pid = (pid_t)strtol(end, &end, 10)) > 0;) {
            reached += kill_child(tree, pid);
        }
    }
    return reached;
}
