#include "../unit.h"

#include <errno.h>
#include <unistd.h>

#include "confine.h"
#include "file.h"
#include "watch-send-priv.h"

static void parts_become_one_file_that_nobody_changes(void **state)
{
    const struct span parts[] = {span_of("ab", 2), span_of("", 0), span_of("cde", 3)};
    char text[8] = "";
    with_fd file = {0};
    assert_int_equal(watch_seal(parts, countof(parts), &file), 0);
    assert_int_equal(os_pread(fd_num(&file), text, sizeof text, 0), 5);
    assert_string_equal(text, "abcde");
    assert_int_equal(os_is_sealed(fd_num(&file)), 0);
    assert_int_equal(os_write_all(fd_num(&file), "x", 1), -EPERM);
}

/* Every place of a packet with descriptors is used, as the other end expects it. */
static void reports_come_with_their_size(void **state)
{
    static struct watch_packet packet;
    static struct watch_packet came;
    const struct span part = span_of("abc", 3);
    struct fd fds[WATCH_FDS] = {0};
    with_fd here = {0};
    with_fd there = {0};
    with_fd file = {0};
    assert_int_equal(os_socket_pair(&here, &there), 0);
    assert_int_equal(watch_seal(&part, 1, &file), 0);
    assert_int_equal(watch_send_reports(fd_num(&here), &packet, fd_num(&file)), 0);
    assert_int_equal(os_recv_fds(fd_num(&there), &came, sizeof came, fds, WATCH_FDS),
                     sizeof came.head);
    assert_int_equal(came.head.order, WATCH_REPORTS);
    assert_int_equal(came.head.value, 3);
    for (size_t i = 0; i < WATCH_FDS; i++) {
        assert_int_equal(os_is_sealed(fd_num(&fds[i])), 0);
        fd_close(&fds[i]);
    }
}

static void who_is_gone_is_told(void **state)
{
    static struct watch_packet packet;
    with_fd here = {0};
    with_fd there = {0};
    assert_int_equal(os_socket_pair(&here, &there), 0);
    fd_close(&there);
    assert_int_equal(watch_send(fd_num(&here), &packet, 0, NULL), -EPIPE);
    assert_int_equal(watch_send_reports(fd_num(&here), &packet, -1), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_one_file_that_nobody_changes),
        cmocka_unit_test(reports_come_with_their_size),
        cmocka_unit_test(who_is_gone_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
