/* kill-at - SIGKILL a process from outside, stopped right before one of its system calls
 *
 *   kill-at [OPTION...] OUT COMMAND [ARGUMENT...]
 *
 *     --duty WORD     not COMMAND itself, but the helper among its descendants whose duty that is
 *     --nth N         at its Nth system call (of the kind that --call names); 0: never, only count (0)
 *     --call NUMBER   only system calls of this number count
 *     --point N       at its boundary of that number (src/os/boundary.h); with --nth, the Nth time
 *     --points        write down which boundaries it came to, and nanoseconds since its first instruction
 *     --too           and COMMAND at the same moment, with --duty
 *     --beside        with --duty, the calls of COMMAND count; it goes on, or with --too dies, when the helper is
 *                     no more
 *     --instead WORDS while it is stopped there `sh -c WORDS` runs to its end; then it goes on, and nobody is killed
 *     --cgroup        with COMMAND, everything in its control group: as when a terminal's session is killed
 *
 * OUT gets one line: "calls N" when it ended by itself, or "killed NUMBER" ("met NUMBER" with --instead) with the
 * number of the system call that it was about to make. Processes that the target makes are not stopped, and live on. For boundaries a seccomp
 * filter picks them out, so that nothing else is slower than without; then COMMAND may have no new privileges.
 * Exit: as COMMAND; 128 + 9 when it was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attributes.h"
#include "boundary.h"

static const char *duty, *instead;
static long nth, call = -1, point, counted;
static bool too, points, beside, cgroup;
static pid_t command, target;
static bool command_ended, target_ended;
static int result;
static long long began_ns;
static FILE *out;

static long long now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

no_return static void die(const char *what)
{
    fprintf(stderr, "kill-at: %s: %s\n", what, strerror(errno));
    exit(125);
}

static bool has_duty(pid_t pid)
{
    char path[40];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    close(fd);
    const char *word = got > 0 ? memchr(text, '\0', (size_t)got) : NULL;
    return word && duty && strcmp(word + 1, duty) == 0;
}

static void detach(pid_t pid)
{
    if (ptrace(PTRACE_DETACH, pid, 0, 0) < 0 && errno != ESRCH) {
        die("detach");
    }
}

static bool by_boundary(void)
{
    return points || point > 0;
}

/* True: it is stopped right before the call that it must not make. */
static bool is_the_one(pid_t pid)
{
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 ||
        (info.op != PTRACE_SYSCALL_INFO_ENTRY && info.op != PTRACE_SYSCALL_INFO_SECCOMP)) {
        return false;
    }
    unsigned long long number = by_boundary() ? info.seccomp.nr : info.entry.nr;
    long which = by_boundary() ? (long)info.seccomp.args[1] : 0;
    if (points) {
        fprintf(out, "point %ld %lld\n", which, now_ns() - began_ns);
        return false;
    }
    if ((call >= 0 && (long)number != call) || which != point) {
        return false;
    }
    counted++;
    if (counted != nth) {
        return false;
    }
    fprintf(out, "%s %llu\n", instead ? "met" : "killed", number);
    return true;
}

/* Of the v2 hierarchy, and never this process's own. */
static void kill_cgroup(pid_t pid)
{
    char path[2][64];
    char text[2][4096] = {"", ""};
    snprintf(path[0], sizeof path[0], "/proc/%d/cgroup", pid);
    snprintf(path[1], sizeof path[1], "/proc/self/cgroup");
    for (int i = 0; i < 2; i++) {
        int fd = open(path[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, text[i], sizeof text[i] - 1) <= 0) {
            die(path[i]);
        }
        close(fd);
    }
    const char *line = strstr(text[0], "0::/");
    if (!line || strcmp(text[0], text[1]) == 0) {
        errno = EINVAL;
        die("--cgroup: COMMAND has none of its own");
    }
    char file[4200];
    snprintf(file, sizeof file, "/sys/fs/cgroup%.*s/cgroup.kill", (int)strcspn(line + 3, "\n"),
             line + 3);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "1", 1) != 1) {
        die(file);
    }
    close(fd);
}

static void on_stop(pid_t pid, int status);

/* False: there is nobody left to wait for. */
static bool wait_for_next(void)
{
    int status;
    pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0) {
        return false;
    }
    if (WIFSTOPPED(status)) {
        on_stop(pid, status);
        return true;
    }
    target_ended = target_ended || pid == target;
    if (pid == command) {
        command_ended = true;
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return true;
}

/* COMMAND is stopped meanwhile: it made the helper, which may not have become itself yet. */
static void kill_beside(void)
{
    while (!target && wait_for_next()) {
    }
    if (target && !target_ended) {
        kill(target, SIGKILL);
    }
    while (target && !target_ended && wait_for_next()) {
    }
}

static void run_instead(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execlp("sh", "sh", "-euc", instead, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        errno = status ? ECHILD : errno;
        die("--instead");
    }
}

/* True: COMMAND is to go on. */
static bool kill_now(pid_t pid)
{
    if (instead) {
        run_instead();
        return true;
    }
    if (cgroup) {
        kill_cgroup(command);
        return false;
    }
    if (beside) {
        kill_beside();
    } else {
        kill(pid, SIGKILL);
    }
    if (too) {
        kill(command, SIGKILL);
    }
    return beside && !too;
}

static void on_stop(pid_t pid, int status)
{
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    bool counts = pid == (beside ? command : target);
    int pass = 0;
    if (event == PTRACE_EVENT_EXEC && duty && pid != command) {
        if (has_duty(pid)) {
            target = pid;
            counts = !beside;
        } else {
            detach(pid);
            return;
        }
    } else if (signal == (SIGTRAP | 0x80) || event == PTRACE_EVENT_SECCOMP) {
        if (counts && is_the_one(pid) && !kill_now(pid)) {
            return;
        }
    } else if (event == 0 && signal != SIGTRAP) {
        pass = signal;
    } else if (event == PTRACE_EVENT_STOP &&
               (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
        (void)ptrace(PTRACE_LISTEN, pid, 0, 0); /* a stop of the group, as it should be */
        return;
    }
    (void)ptrace(counts && !by_boundary() ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, pass);
}

static const struct {
    const char *word;
    bool *flag;         /* either it takes no value */
    long *number;       /* or a number */
    const char **value; /* or a word */
} options[] = {
    {"--duty", .value = &duty},    {"--nth", .number = &nth},     {"--call", .number = &call},
    {"--point", .number = &point}, {"--points", .flag = &points}, {"--too", .flag = &too},
    {"--beside", .flag = &beside}, {"--cgroup", .flag = &cgroup}, {"--instead", .value = &instead},
};

/* Where the options end. */
static int read_options(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        size_t i = 0;
        while (i < countof(options) && strcmp(argv[at], options[i].word) != 0) {
            i++;
        }
        if (i == countof(options) || (!options[i].flag && at + 1 == argc)) {
            errno = EINVAL;
            die(argv[at]);
        }
        if (options[i].flag) {
            *options[i].flag = true;
        } else if (options[i].number) {
            *options[i].number = strtol(argv[++at], NULL, 10);
        } else {
            *options[i].value = argv[++at];
        }
    }
    nth = point > 0 && nth == 0 ? 1 : nth;
    if (argc - at < 2 || (beside && !duty)) {
        errno = EINVAL;
        die("OUT COMMAND");
    }
    return at;
}

/* For boundaries only: no other call stops. Who is not traced gets ENOSYS there, and does not look. */
static void pick_out_boundaries(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BOUNDARY_MAGIC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = countof(filter), .filter = filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)) {
        die("seccomp");
    }
}

/* It is traced from its first instruction on. */
static void begin(char **argv)
{
    int start[2];
    if (pipe2(start, O_CLOEXEC) < 0) {
        die("pipe");
    }
    command = fork();
    if (command == 0) {
        char byte;
        close(start[1]);
        (void)!read(start[0], &byte, 1);
        if (by_boundary()) {
            pick_out_boundaries();
        }
        execvp(argv[0], argv);
        _exit(127);
    }
    close(start[0]);
    long trace = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP;
    if (duty) {
        trace |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    } else {
        target = command;
    }
    if (ptrace(PTRACE_SEIZE, command, 0, trace) < 0 ||
        ptrace(PTRACE_INTERRUPT, command, 0, 0) < 0) {
        die("ptrace");
    }
    began_ns = now_ns();
    close(start[1]);
}

int main(int argc, char **argv)
{
    int at = read_options(argc, argv);
    out = fopen(argv[at], "we");
    if (!out) {
        die(argv[at]);
    }
    begin(argv + at + 1);
    while ((!command_ended || (target && !target_ended)) && wait_for_next()) {
    }
    if (nth == 0 || counted < nth) {
        fprintf(out, "calls %ld\n", counted);
    }
    fclose(out);
    return result;
}
