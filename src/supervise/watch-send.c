#include "watch-send-priv.h"

#include "file.h"

void watch_fill_fds(int fds[WATCH_FDS], int first)
{
    for (size_t i = 0; i < WATCH_FDS; i++) {
        fds[i] = first;
    }
}

int watch_send(int channel, const struct watch_packet *packet, size_t body_bytes, const int *fds)
{
    size_t bytes = sizeof packet->head + body_bytes;
    ssize_t sent =
        fds ? os_send_fds(channel, packet, bytes, fds, WATCH_FDS) : os_send(channel, packet, bytes);
    return sent < 0 ? (int)sent : 0;
}

int watch_send_reports(int channel, struct watch_packet *packet, int reports_fd)
{
    struct stat facts;
    int fds[WATCH_FDS];
    int result = os_fstat(reports_fd, &facts);
    if (result < 0) {
        return result;
    }
    watch_fill_fds(fds, reports_fd);
    packet->head = (struct watch_request){.order = WATCH_REPORTS, .value = facts.st_size};
    return watch_send(channel, packet, 0, fds);
}

int watch_seal(const struct span *parts, size_t count, struct fd *ret_fd)
{
    with_fd file = fd_adopt(os_memfd("berm-reports"));
    int result = fd_error(&file);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = os_write_all(fd_num(&file), parts[i].p, parts[i].n);
    }
    result = result < 0 ? result : os_memfd_seal(fd_num(&file));
    if (result == 0) {
        *ret_fd = fd_take(&file);
    }
    return result;
}
