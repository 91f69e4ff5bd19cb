/* empty-after - how long after a signal to a process a control group is empty
 *
 *   empty-after PID FOLDER [SIGNAL]
 *                                 sends PID the signal (SIGKILL), waits until nobody is in FOLDER, prints nanoseconds
 *   empty-after kill FOLDER       the same of one write to its cgroup.kill: as soon as the kernel can
 *   empty-after -                 prints what a fork, an exec of /bin/true and its end take, for comparison
 *
 * Exit: 1 when it is not empty after a minute.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A cgroup that is gone has nobody in it. */
static int is_empty(int events)
{
    char text[256] = "";
    return pread(events, text, sizeof text - 1, 0) < 0 || strstr(text, "populated 0");
}

/* -1: it could not be ended. */
static int end(char **argv, int number)
{
    char path[4200];
    if (strcmp(argv[1], "kill") != 0) {
        return kill((pid_t)strtol(argv[1], NULL, 10), number);
    }
    snprintf(path, sizeof path, "%s/cgroup.kill", argv[2]);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    return file >= 0 && write(file, "1", 1) == 1 ? 0 : -1;
}

static int fork_and_exec(void)
{
    long long began = now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("%lld\n", now_ns() - began);
    return status != 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-") == 0) {
        return fork_and_exec();
    }
    if (argc != 3 && argc != 4) {
        return 2;
    }
    char path[4200];
    snprintf(path, sizeof path, "%s/cgroup.events", argv[2]);
    int events = open(path, O_RDONLY | O_CLOEXEC);
    if (events < 0 || is_empty(events)) {
        fprintf(stderr, "empty-after: %s: nobody is in it\n", path);
        return 2;
    }
    long long began = now_ns();
    if (end(argv, argc == 4 ? atoi(argv[3]) : SIGKILL) < 0) {
        return 2;
    }
    while (!is_empty(events) && now_ns() - began < 60000000000LL) {
        /* The kernel tells at most each 10 ms; a look costs less than that. */
        struct pollfd polled = {.fd = events, .events = POLLPRI};
        (void)poll(&polled, 1, 1);
    }
    printf("%lld\n", now_ns() - began);
    return is_empty(events) ? 0 : 1;
}
