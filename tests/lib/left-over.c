/* left-over - run a command as a careless parent would, and say what it leaves behind
 *
 *   left-over [-s SIGNAL [-w MS]] FILE COMMAND [ARG...]
 *
 * COMMAND is started and waited for, nothing more. A line of its output that begins with "ready" is
 * waited for first when -s is given; then COMMAND (it alone) gets SIGNAL. As soon as COMMAND has
 * gone, the kernel is asked whether there is still a child: this program is a subreaper, so that
 * whatever COMMAND started and did not end has become one. A COMMAND that has not ended MS after its
 * signal is left over itself. FILE gets one JSON object:
 *
 *   status signal   how COMMAND ended (-1 each: it had to be killed)
 *   left            names of what lived on, as far as they could be read: at least one when any did
 *   zombies         children that had ended and that COMMAND had not reaped
 *   held            whether somebody still held COMMAND's standard output
 *   ready said      whether it said ready, and the number behind the word
 *   ms stop_ms      from the start, from the signal, to the end of COMMAND
 *
 * What was left is ended. Exit: 0 nothing was left, 1 something was, 2 it could not be found out.
 *
 * Source: wait(2), prctl(2) PR_SET_CHILD_SUBREAPER. Limitations: what another subreaper or pid
 * namespace took is not seen; a set-uid left-over cannot be ended by an ordinary user.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_MS = 60000, END_MS = 30000, NAMES_MAX = 64, SAID_BYTES = 256, CANNOT = 2 };

struct asked {
    int signal;
    long long wait_ms;
};

struct seen {
    int status;
    int signal;
    bool alive; /* something was: the kernel's word */
    char names[NAMES_MAX][40];
    int name_count;
    int zombies;
    bool held;
    char said[SAID_BYTES]; /* the beginning of the output */
    size_t said_length;
    long long ms;
    long long stop_ms;
};

static void cannot(const char *what)
{
    (void)fprintf(stderr, "left-over: %s: %s\n", what, strerror(errno));
    exit(CANNOT);
}

static long long now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static const char *ready_line(const struct seen *seen)
{
    const char *at = strstr(seen->said, "ready");
    return at && strchr(at, '\n') ? at : NULL;
}

/* What there is to read now; false at the end of the file. */
static bool hear(struct seen *seen, int output)
{
    char block[65536];
    ssize_t got = read(output, block, sizeof block);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    size_t room = SAID_BYTES - 1 - seen->said_length;
    size_t part = (size_t)got < room ? (size_t)got : room;
    memcpy(seen->said + seen->said_length, block, part);
    seen->said_length += part;
    return got > 0;
}

static void name_one(struct seen *seen, int pid)
{
    char path[32];
    char name[20] = "?";
    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof name, file)) {
            name[strcspn(name, "\n\"\\")] = '\0';
        }
        (void)fclose(file);
    }
    (void)snprintf(seen->names[seen->name_count++], sizeof seen->names[0], "%d %s", pid, name);
}

/* Only children are signalled: nobody else reaps them, so that the number stays theirs. */
static void end_children(struct seen *seen, bool kill_them)
{
    char path[64];
    int pid;
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *file = fopen(path, "re");
    if (!file) {
        cannot(path);
    }
    while (fscanf(file, "%d", &pid) == 1) {
        if (kill_them) {
            (void)kill(pid, SIGKILL);
        } else if (seen->name_count < NAMES_MAX) {
            name_one(seen, pid);
        }
    }
    (void)fclose(file);
}

/* False when COMMAND did not end in time. */
static bool attend(struct seen *seen, pid_t pid, int pidfd, int output, const struct asked *asked)
{
    struct pollfd watched[] = {{.fd = pidfd, .events = POLLIN}, {.fd = output, .events = POLLIN}};
    long long start = now_ms();
    long long until = start + DEADLINE_MS;
    long long sent = -1;
    bool in_time = true;
    while (in_time && !(watched[0].revents & POLLIN)) {
        long long left = until - now_ms();
        in_time = left > 0 && poll(watched, 2, (int)left) > 0;
        if (watched[1].revents && !hear(seen, output)) {
            watched[1].fd = -1;
        }
        if (sent < 0 && asked->signal > 0 && ready_line(seen)) {
            sent = now_ms();
            until = sent + asked->wait_ms;
            (void)kill(pid, asked->signal); /* our own child, not reaped yet */
        }
    }
    seen->ms = now_ms() - start;
    seen->stop_ms = sent < 0 ? -1 : now_ms() - sent;
    return in_time;
}

static void reap_command(struct seen *seen, pid_t pid)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) {
        cannot("wait for the command");
    }
    if (!seen->alive) {
        seen->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        seen->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
}

/* The anchor and the watchdog of a run are no children of berm's, so that its death does not touch them:
 * whoever is above berm reaps them. They have ended all the same, or they would be left over. */
static bool is_helper(pid_t pid)
{
    char path[40];
    char name[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    bool is = file && fgets(name, sizeof name, file) && strncmp(name, "berm-", 5) == 0;
    if (file) {
        (void)fclose(file);
    }
    return is;
}

/* Children that have ended are reaped and counted. True while a living one is there. */
static bool reap(int *count)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
            return false;
        }
        if (info.si_pid == 0) {
            return true;
        }
        *count += !is_helper(info.si_pid);
        (void)waitpid(info.si_pid, NULL, __WALL);
    }
}

static void end_all(struct seen *seen)
{
    const struct timespec pause = {.tv_nsec = 100000};
    long long until = now_ms() + END_MS;
    int ended = 0;
    while (reap(&ended)) {
        if (now_ms() > until) {
            errno = ETIMEDOUT;
            cannot("end what was left");
        }
        end_children(seen, true);
        (void)nanosleep(&pause, NULL);
    }
}

static void write_report(const struct seen *seen, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file) {
        cannot(path);
    }
    const char *ready = ready_line(seen);
    (void)fprintf(file, "{\"status\": %d, \"signal\": %d, \"left\": [", seen->status, seen->signal);
    for (int i = 0; i < seen->name_count; i++) {
        (void)fprintf(file, "%s\"%s\"", i > 0 ? ", " : "", seen->names[i]);
    }
    (void)fprintf(file,
                  "%s], \"zombies\": %d, \"held\": %s, \"ready\": %s, \"said\": %ld, \"ms\": %lld, "
                  "\"stop_ms\": %lld}\n",
                  seen->alive && seen->name_count == 0 ? "\"? gone too fast\"" : "", seen->zombies,
                  seen->held ? "true" : "false", ready ? "true" : "false",
                  ready ? strtol(ready + 5, NULL, 10) : 0, seen->ms, seen->stop_ms);
    if (fclose(file) != 0) {
        cannot(path);
    }
}

/* The words in front of FILE. */
static char **read_options(char **words, struct asked *asked)
{
    while (words[0] && words[1] && words[0][0] == '-') {
        if (strcmp(words[0], "-s") == 0) {
            asked->signal = atoi(words[1]);
        } else if (strcmp(words[0], "-w") == 0) {
            asked->wait_ms = atoll(words[1]);
        }
        words += 2;
    }
    if (!words[0] || !words[1]) {
        (void)fprintf(stderr, "usage: left-over [-s SIGNAL [-w MS]] FILE COMMAND [ARG...]\n");
        exit(CANNOT);
    }
    return words;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct seen seen = {0};
    struct asked asked = {.wait_ms = DEADLINE_MS};
    char **words = read_options(argv + 1, &asked);
    int ends[2];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        cannot("prepare");
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execvp(words[1], words + 1);
        cannot(words[1]);
    }
    close(ends[1]);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pid < 0 || pidfd < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
        cannot("start the command");
    }
    if (!attend(&seen, pid, pidfd, ends[0], &asked)) {
        seen.alive = true;
        seen.status = seen.signal = -1;
        end_children(&seen, false);
        (void)kill(pid, SIGKILL);
    }
    reap_command(&seen, pid);
    if (reap(&seen.zombies) && !seen.alive) {
        seen.alive = true;
        end_children(&seen, false);
    }
    while (hear(&seen, ends[0])) {
        struct pollfd more = {.fd = ends[0], .events = POLLIN};
        if (poll(&more, 1, 0) == 0) {
            seen.held = true;
            break;
        }
    }
    end_all(&seen);
    write_report(&seen, words[0]);
    return seen.alive ? 1 : 0;
}
