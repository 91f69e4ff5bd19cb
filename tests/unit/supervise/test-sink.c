#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "streams-priv.h"

static bool is_nonblocking(int fd)
{
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

/* Fill it until it says that it is full; the number of bytes. */
static int64_t fill(struct sink *sink)
{
    static char block[65536];
    int64_t total = 0;
    for (;;) {
        ssize_t n = sink_write(sink, block, sizeof block);
        if (n < 0) {
            assert_int_equal(n, -EAGAIN);
            return total;
        }
        total += n;
        assert_true(total < 16 << 20);
    }
}

static void nowhere_takes_everything(void **state)
{
    struct sink sink;
    sink_open(&sink, -1);
    assert_int_equal(sink.kind, SINK_NONE);
    assert_int_equal(sink_write(&sink, "abc", 3), 3);
    sink_done(&sink);
}

static void files_and_null_are_written_plainly(void **state)
{
    struct sink sink;
    int file = memfd_create("file", MFD_CLOEXEC);
    sink_open(&sink, file);
    assert_int_equal(sink.kind, SINK_PLAIN);
    assert_int_equal(sink_write(&sink, "abc", 3), 3);
    sink_done(&sink);
    char bytes[4];
    assert_int_equal(pread(file, bytes, sizeof bytes, 0), 3);
    close(file);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sink_open(&sink, null);
    assert_int_equal(sink.kind, SINK_PLAIN);
    sink_done(&sink);
    close(null);
}

static void a_full_disk_is_told(void **state)
{
    struct sink sink;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    sink_open(&sink, full);
    assert_int_equal(sink_write(&sink, "abc", 3), -ENOSPC);
    sink_done(&sink);
    close(full);
}

/* The caller's description is shared with its shell: O_NONBLOCK there would break the shell. */
static void a_pipe_is_never_waited_for_and_stays_as_it_is(void **state)
{
    struct sink sink;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    sink_open(&sink, ends[1]);
    assert_int_equal(sink.kind, SINK_OWN);
    assert_false(is_nonblocking(ends[1]));
    assert_true(fill(&sink) >= 65536);
    assert_false(is_nonblocking(ends[1]));
    char bytes[4096];
    assert_int_equal(read(ends[0], bytes, sizeof bytes), sizeof bytes);
    assert_true(sink_write(&sink, bytes, sizeof bytes) > 0);
    sink_done(&sink);
    close(ends[0]);
    close(ends[1]);
}

static void a_pipe_without_a_reader_is_a_broken_one(void **state)
{
    struct sink sink;
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    sink_open(&sink, ends[1]);
    assert_int_equal(sink_write(&sink, "abc", 3), -EPIPE);
    sink_done(&sink);
    close(ends[1]);

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    sink_open(&sink, ends[1]);
    close(ends[0]);
    assert_int_equal(sink_write(&sink, "abc", 3), -EPIPE);
    sink_done(&sink);
    close(ends[1]);
    signal(SIGPIPE, SIG_DFL);
}

static void a_socket_is_never_waited_for(void **state)
{
    struct sink sink;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    sink_open(&sink, ends[1]);
    assert_int_equal(sink.kind, SINK_SOCKET);
    assert_true(fill(&sink) > 0);
    assert_false(is_nonblocking(ends[1]));
    close(ends[0]);
    assert_int_equal(sink_write(&sink, "abc", 3), -EPIPE); /* and no SIGPIPE */
    sink_done(&sink);
    close(ends[1]);
}

static void a_terminal_is_opened_anew(void **state)
{
    struct sink sink;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    sink_open(&sink, terminal);
    assert_int_equal(sink.kind, SINK_OWN);
    assert_true(fill(&sink) > 0); /* nobody reads the master */
    assert_false(is_nonblocking(terminal));
    sink_done(&sink);
    /* The master opened anew would be another terminal altogether. */
    sink_open(&sink, master);
    assert_int_equal(sink.kind, SINK_POLLED);
    sink_done(&sink);
    close(terminal);
    close(master);
}

static void what_cannot_be_opened_anew_is_polled(void **state)
{
    struct sink sink;
    int event = eventfd(0, EFD_CLOEXEC);
    sink_open(&sink, event);
    assert_int_equal(sink.kind, SINK_POLLED);
    const uint64_t most = UINT64_MAX - 1;
    assert_int_equal(sink_write(&sink, (const char *)&most, sizeof most), sizeof most);
    assert_int_equal(sink_write(&sink, (const char *)&most, sizeof most), -EAGAIN);
    sink_done(&sink);
    close(event);
}

static void a_closed_descriptor_answers_when_it_is_written(void **state)
{
    struct sink sink;
    int file = memfd_create("file", MFD_CLOEXEC);
    close(file);
    sink_open(&sink, file);
    assert_int_equal(sink_write(&sink, "abc", 3), -EBADF);
    sink_done(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nowhere_takes_everything),
        cmocka_unit_test(files_and_null_are_written_plainly),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_pipe_is_never_waited_for_and_stays_as_it_is),
        cmocka_unit_test(a_pipe_without_a_reader_is_a_broken_one),
        cmocka_unit_test(a_socket_is_never_waited_for),
        cmocka_unit_test(a_terminal_is_opened_anew),
        cmocka_unit_test(what_cannot_be_opened_anew_is_polled),
        cmocka_unit_test(a_closed_descriptor_answers_when_it_is_written),
    };
    return cmocka_run_group_tests_name("supervise/sink", tests, NULL, NULL);
}
