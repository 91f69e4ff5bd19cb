#include "scope-wait-priv.h"

#include <errno.h>
#include <poll.h>

#include "clock.h"
#include "event.h"

static int times_asked(const struct patience *patience)
{
    return patience->who.asked ? patience->who.asked(patience->who.context) - patience->before : 0;
}

void patience_renew(struct patience *patience)
{
    patience->before += times_asked(patience);
    patience->cut_ns = 0;
}

bool patience_is_lost(struct patience *patience)
{
    int asked = times_asked(patience);
    int64_t now_ns = os_clock_real.monotonic_ns();
    if (asked > 1 && (patience->cut_ns == 0 || patience->cut_ns > now_ns)) {
        patience->cut_ns = now_ns;
    } else if (asked == 1 && patience->cut_ns == 0) {
        patience->cut_ns = now_ns + SCOPE_SETTLE_MS * NS_PER_MS;
    }
    return patience->cut_ns != 0;
}

int64_t patience_until(struct patience *patience, int64_t deadline_ns)
{
    return patience_is_lost(patience) && patience->cut_ns < deadline_ns ? patience->cut_ns
                                                                        : deadline_ns;
}

static int left_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - os_clock_real.monotonic_ns();
    const int64_t most = INT64_C(3600000);
    int64_t ms = left_ns <= 0 ? 0 : (left_ns + NS_PER_MS - 1) / NS_PER_MS;
    return (int)(ms < most ? ms : most);
}

/* What stays ready after it was asked about has said all that it can. */
static void forget_the_loud(struct patience *patience)
{
    for (size_t i = 0; i < countof(patience->who.fds); i++) {
        int *fd = &patience->who.fds[i];
        *fd = *fd >= 0 && os_poll(*fd, POLLIN, 0) == 0 ? *fd : -1;
    }
}

int patience_wait(struct patience *patience, int fd, short events, int64_t deadline_ns)
{
    struct pollfd fds[] = {{.fd = fd, .events = events},
                           {.fd = patience->who.fds[0], .events = POLLIN},
                           {.fd = patience->who.fds[1], .events = POLLIN}};
    int64_t until_ns = patience_until(patience, deadline_ns);
    int result = os_poll_all(fds, countof(fds), left_ms(until_ns));
    if (result > 0 && (fds[1].revents || fds[2].revents)) {
        (void)patience_is_lost(patience);
        forget_the_loud(patience);
    }
    return result < 0 && result != -EINTR ? result : fds[0].revents;
}
