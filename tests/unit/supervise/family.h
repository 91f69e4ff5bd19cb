/* family.h
 *
 * Real processes in place of a payload: children and grandchildren that wait until they are told.
 *
 *   pid_t child = family_child(body)         runs body() in a child, which then waits to be ended
 *   family_told()                            in a body: a number for the parent (a pid)
 *   family_hear()                            the next number that somebody told
 *   family_end()                             everybody is ended and reaped
 */
#pragma once

#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree-priv.h"

static int family_pipe[2];
static pid_t family_pids[64];
static int family_count;

static unused void family_tell(int number)
{
    if (write(family_pipe[1], &number, sizeof number) != sizeof number) {
        _exit(98);
    }
}

static unused int family_hear(void)
{
    int number;
    assert_int_equal(read(family_pipe[0], &number, sizeof number), sizeof number);
    if (family_count < (int)countof(family_pids)) {
        family_pids[family_count++] = number;
    }
    return number;
}

static unused void family_wait(void)
{
    alarm(60);
    for (;;) {
        pause();
    }
}

static unused pid_t family_child(void (*body)(void))
{
    if (family_pipe[0] == 0) {
        assert_int_equal(pipe2(family_pipe, O_CLOEXEC), 0);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (body) {
            body();
        }
        family_wait();
    }
    assert_true(family_count < (int)countof(family_pids));
    family_pids[family_count++] = pid;
    return pid;
}

static unused void family_tell_self(void)
{
    family_tell(getpid());
}

static unused void family_have_child(void)
{
    if (fork() == 0) {
        family_tell(getpid());
        family_wait();
    }
}

static unused void family_end(void)
{
    for (int i = 0; i < family_count; i++) {
        kill(family_pids[i], SIGKILL);
    }
    family_count = 0;
    while (waitpid(-1, NULL, 0) > 0) {
    }
    assert_int_equal(errno, ECHILD);
}

/* A tree whose leader is pid; whoever lives already is foreign. */
static unused struct tree family_tree(pid_t leader, struct supervise_ending *ending, bool strangers)
{
    struct tree tree;
    struct err err = {0};
    struct proc_stat stat;
    assert_int_equal(tree_init(&tree, ending, 1024, &err), 0);
    tree.strangers = strangers;
    with_fd file = fd_adopt(os_proc_stat_open(leader));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    struct proc_identity identity = {leader, stat.start_ticks};
    assert_int_equal(tree_lead(&tree, identity, 0), 0);
    assert_int_equal(tree_survey(&tree, 0), 0);
    return tree;
}

static unused struct supervise_ending *family_ending(void)
{
    return calloc(1, sizeof(struct supervise_ending));
}
