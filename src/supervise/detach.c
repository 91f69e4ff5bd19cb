#include "detach-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>

#include "clock.h"
#include "event.h"
#include "fault.h"
#include "file.h"
#include "helper-image.h"
#include "process.h"

enum {
    CHANNEL_FD = 3,
    IMAGE_FD = 4,
    FIRST_FREE_FD = 5,
    NOT_STARTED = 127,
    WAIT_MS = 10000, /* for two processes to be made */
};

/* What the process in between tells: it made the other, or why not. */
struct made {
    int32_t sys;
    int32_t pid;
};

/* Any of the sources may have any number. */
static int place_descriptors(int channel, int image)
{
    int null = os_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);
    int high[] = {null, channel, image};
    for (size_t i = 0; i < countof(high); i++) {
        high[i] = high[i] < 0 ? high[i] : os_dup_above(high[i], FIRST_FREE_FD);
        if (high[i] < 0) {
            return high[i];
        }
    }
    int result = 0;
    for (int stream = 0; stream < CHANNEL_FD && result >= 0; stream++) {
        result = os_dup_to(high[0], stream);
    }
    result = result < 0 ? result : os_dup_to(high[1], CHANNEL_FD);
    result = result < 0 ? result : os_move_to(high[2], IMAGE_FD);
    return result < 0 ? result : os_close_from(FIRST_FREE_FD);
}

struct descent {
    const struct detach_request *request;
    int channel;
    int image;
};

/* Its end is all that says that it failed: the other end of its channel is closed. */
static int become_helper(const void *argument)
{
    const struct descent *descent = argument;
    const struct detach_request *request = descent->request;
    char name[] = "berm-helper";
    char duty[32];
    size_t n = strnlen(request->duty, sizeof duty - 1);
    memcpy(duty, request->duty, n);
    duty[n] = '\0';
    char *argv[] = {name, duty, NULL};
    char *none[] = {NULL};
    if (place_descriptors(descent->channel, descent->image) >= 0) {
        (void)!os_execveat(IMAGE_FD, argv, request->environment ? request->environment : none);
    }
    return NOT_STARTED;
}

/* A process of its own: berm waits for it only so long, and a lent child for as long as it takes. */
no_return static void stand_between(const struct descent *descent)
{
    fault_role("between");
    struct fd pidfd = {0}; /* goes with the process */
    pid_t pid = os_clone_lent(become_helper, descent, &pidfd);
    struct made made = {.sys = pid < 0 ? (int32_t)pid : 0, .pid = pid};
    int number = fd_is_open(&pidfd) ? fd_num(&pidfd) : -1;
    ssize_t sent = number < 0 ? os_send(descent->channel, &made, sizeof made)
                              : os_send_fds(descent->channel, &made, sizeof made, &number, 1);
    os_exit(sent < 0 ? NOT_STARTED : 0);
}

/* The process in between has ended: what it had to say has been said. */
static int hear(struct detached *detached)
{
    struct made made = {0};
    ssize_t got = os_recv_fds(fd_num(&detached->channel), &made, sizeof made, &detached->pidfd, 1);
    if (got != (ssize_t)sizeof made) {
        return got < 0 ? (int)got : -ESRCH;
    }
    detached->pid = made.pid;
    return made.sys < 0 ? made.sys : fd_is_open(&detached->pidfd) ? 0 : -ESRCH;
}

static int begin(const struct detach_request *request, struct detached *detached)
{
    with_fd far = {0};
    int image = helper_image_file();
    int result = image < 0 ? image : os_socket_pair(&detached->channel, &far);
    if (result < 0) {
        return result;
    }
    const struct descent descent = {request, fd_num(&far), image};
    detached->between_pid = os_clone_child(&detached->between);
    if (detached->between_pid == 0) {
        stand_between(&descent);
    }
    return detached->between_pid < 0 ? (int)detached->between_pid : 0;
}

static int finish(struct detached *detached)
{
    siginfo_t ended;
    int ready = os_poll(fd_num(&detached->between), POLLIN, WAIT_MS);
    if (ready <= 0) {
        (void)!os_pidfd_signal(fd_num(&detached->between), SIGKILL);
    }
    int result = os_waitid(P_PID, detached->between_pid, &ended, WEXITED | __WALL, NULL);
    fd_close(&detached->between);
    return result < 0 ? result : ready <= 0 ? -ETIMEDOUT : hear(detached);
}

static int judge(int result, struct detached *detached, struct err *err)
{
    if (result < 0) {
        fd_close(&detached->channel);
        fd_close(&detached->pidfd);
        return err_sys(err, result, "cannot start the %s", detached->duty);
    }
    return 0;
}

int detach_begin(const struct detach_request *request, struct detached *ret_detached,
                 struct err *err)
{
    *ret_detached = (struct detached){.duty = request->duty};
    return judge(begin(request, ret_detached), ret_detached, err);
}

int detach_finish(struct detached *detached, struct err *err)
{
    return judge(finish(detached), detached, err);
}

bool detach_is_finished(const struct detached *detached)
{
    return !fd_is_open(&detached->between);
}

int detach_helper(const struct detach_request *request, struct detached *ret_detached,
                  struct err *err)
{
    return detach_begin(request, ret_detached, err) < 0 ? -1 : detach_finish(ret_detached, err);
}
