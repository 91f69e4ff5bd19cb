/* cgroupfs.h
 *
 * Control groups of version 2: folders and files of the kernel's cgroup file system, and what their
 * texts say. A cgroup is a descriptor of its folder (O_PATH), never a path that is opened again.
 *
 * Calling sequence
 *   os_cgroup_open(path) or os_cgroup_new(parent, name)   the folder; on another file system -EXDEV
 *   os_cgroup_write(cgroup, "memory.max", "4096")         one write; -EIO: not all of it was taken
 *   os_cgroup_read(cgroup, "memory.max", text, size)      what the kernel has: written is not set
 *
 * Allocates    nothing, and uses no stdio: the helper program reads cgroups too.
 * Errors       -errno. Of a removed cgroup a new open answers -ENOENT and a file that was open before
 *              -ENODEV. The kernel removes no cgroup with a process in it, so either proves, on a
 *              descriptor that was held all the time, that it is empty (cgroup_is_gone()).
 * Limitations  a file is read up to the size of the caller's buffer; those that are read here are small.
 * Source       the kernel's admin-guide/cgroup-v2.rst; cgroups(7).
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"

enum { CGROUP_TEXT_SIZE = 8192, CGROUP_PATH_SIZE = 1024 };

int os_cgroup_open(const char *path) must_check;
int os_cgroup_open_beneath(int cgroup_fd, const char *name) must_check; /* one component */
int os_cgroup_new(int parent_fd, const char *name) must_check;
int os_cgroup_remove(int parent_fd, const char *name) must_check;

int os_cgroup_write(int cgroup_fd, const char *file, const char *text) must_check;
ssize_t os_cgroup_read(int cgroup_fd, const char *file, char *text, size_t size) must_check;
/* For epoll (EPOLLPRI), and to be read again from its start with os_cgroup_reread(). */
int os_cgroup_open_file(int cgroup_fd, const char *file) must_check;
ssize_t os_cgroup_reread(int file_fd, char *text, size_t size) must_check;
/* SIGKILL to every process in it and beneath, those that are just forked too (Linux 5.14). */
int os_cgroup_kill(int cgroup_fd) must_check;
/* A process moves in with all its threads. */
int os_cgroup_move(int cgroup_fd, pid_t pid) must_check;
/* This process itself: no number that could be another's by then. The first move for a while, of whomever, waits for
 * every fork and exit that is under way (seen: 14 to 30 ms; cgroup-v2.rst, favordynmods). */
int os_cgroup_join(int cgroup_fd) must_check;
/* 1: a living process is in it or beneath; 0: none. A zombie does not count. */
int os_cgroup_populated(int events_fd) must_check;
/* The path of a process, whose folder of /proc is proc_fd, in the tree that this process sees. */
int os_cgroup_of(int proc_fd, char path[CGROUP_PATH_SIZE]) must_check;

static inline bool cgroup_is_gone(int error)
{
    return error == -ENOENT || error == -ENODEV;
}

/* --- what the texts say --- */

/* Of /proc/PID/cgroup: the line of version 2. -ENODATA: none, -ENOENT: that cgroup was removed,
 * -EINVAL: it is no such text. */
int cgroup_path_parse(const char *text, char path[CGROUP_PATH_SIZE]) must_check;
/* The path has a component of that name. */
bool cgroup_path_names(const char *path, const char *name) must_check;
/* A number, or CGROUP_NO_LIMIT for "max"; -1: neither, or too large. */
#define CGROUP_NO_LIMIT INT64_MAX
int64_t cgroup_number(const char *text) must_check;
/* Of lines "key number": the number of a key; -1: it is not there. */
int64_t cgroup_value(const char *text, const char *key) must_check;
/* Of lines "name key=number ...": the sum over those lines whose name begins so ("" for all); -1: none. */
int64_t cgroup_nested_sum(const char *text, const char *name, const char *key) must_check;
/* A word of one line, words being separated by blanks. */
bool cgroup_has_word(const char *text, const char *word) must_check;
