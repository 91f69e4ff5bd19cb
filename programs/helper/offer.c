#include <errno.h>

#include "file.h"
#include "launcher.h"
#include "socket.h"

/* The controller listens on it, so that the kernel names the controller as its owner: here it is only
 * put into its place. */
int offer_context(struct launcher *launcher)
{
    const struct launch_plan *plan = launcher->plan;
    if (plan->context_path == 0) {
        return 0;
    }
    const struct launch_word word = {.said = LAUNCH_CONTEXT};
    launcher->where = launch_plan_string(plan, plan->context_path);
    with_fd made = fd_adopt(os_socket_new());
    int result =
        fd_is_open(&made) ? os_socket_bind(fd_num(&made), launcher->where) : fd_error(&made);
    if (result < 0) {
        return result;
    }
    int number = fd_num(&made);
    ssize_t sent = os_send_fds(launcher->channel, &word, sizeof word, &number, 1);
    return sent < 0 ? (int)sent : 0;
}
