/* banned.h
 *
 * Forced into every compilation of src/ and programs/: names whose use is a compile error, because
 * each has been the root of a known class of faults. What is banned outside os/ only stands below.
 */
#pragma once

/* The real declarations must come first, or poisoning would break the system headers. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef _GNU_SOURCE /* the portable program (docs/adr/0021) has nothing of Linux's */
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#endif

/* clang's fortified headers make a macro of it; a poisoned macro is an error of its own. */
#undef sprintf

/* Unbounded copies, hidden state, silent conversion errors. */
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok
#pragma GCC poison atoi atol atoll atof gmtime localtime ctime asctime gmtime_r localtime_r
#pragma GCC poison mktemp tempnam tmpnam

/* Strings handed to a shell, and searches of PATH that are not binding/'s (EX-3, EX-4). */
#pragma GCC poison system popen execl execlp execle execv execvp execvpe
#pragma GCC poison posix_spawn posix_spawnp vfork

#ifndef BERM_OS_LAYER
/* Calls of the kernel outside os/: they would escape the fault table. */
#pragma GCC poison open openat creat close read pread readv fork kill execve fexecve execveat
#pragma GCC poison syscall waitpid waitid wait4 dup dup2 dup3 pipe pipe2 socketpair
#pragma GCC poison rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link linkat
#pragma GCC poison symlink symlinkat fsync fdatasync ftruncate truncate chmod fchmod fchmodat
#pragma GCC poison fstat fstatat lstat mount umount2 unshare setns prctl mmap munmap
#pragma GCC poison fopen freopen fdopen opendir clock_gettime nanosleep usleep sleep
#pragma GCC poison getenv secure_getenv
#endif
