#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "streams-priv.h"
#include "watch-priv.h"

/* The streams with pipes in place of a payload: write[] is what the payload would hold. */
struct rig {
    struct supervise_request request;
    struct supervise_ending *ending;
    struct streams streams;
    struct fd epoll;
    int write[STREAM_COUNT];
};

static void rig_start(struct rig *rig)
{
    struct err err = {0};
    struct fd sources[STREAM_COUNT];
    rig->ending = calloc(1, sizeof *rig->ending);
    rig->epoll = fd_adopt(epoll_create1(EPOLL_CLOEXEC));
    streams_open(&rig->streams, &rig->request, rig->ending, fd_num(&rig->epoll));
    for (int i = 0; i < STREAM_COUNT; i++) {
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        sources[i] = fd_adopt(ends[0]);
        rig->write[i] = ends[1];
    }
    assert_int_equal(streams_adopt(&rig->streams, sources, &err), 0);
}

static struct rig rig_of(int pass_stdout, int pass_stderr)
{
    return (struct rig){.request = {.pass_fd = {pass_stdout, pass_stderr}, .keep_fd = {-1, -1}}};
}

static void rig_end(struct rig *rig)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (rig->write[i] >= 0) {
            close(rig->write[i]);
        }
    }
    streams_done(&rig->streams);
    fd_close(&rig->epoll);
    supervise_ending_free(rig->ending);
}

/* One turn of the loop: what is ready now, as bits of enum watch. */
static uint32_t turn(struct rig *rig)
{
    struct epoll_event events[8];
    uint32_t ready = 0;
    int count = epoll_wait(fd_num(&rig->epoll), events, 8, 0);
    for (int i = 0; i < count; i++) {
        ready |= 1U << events[i].data.u64;
    }
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (ready & (1U << (WATCH_SINK + i))) {
            assert_int_equal(streams_flush(&rig->streams, i), 0);
        }
        if ((ready & (1U << (WATCH_STREAM + i))) || rig->streams.concluding) {
            assert_int_equal(streams_read(&rig->streams, i), 0);
        }
    }
    return ready;
}

static void put(struct rig *rig, int stream, const char *bytes, size_t n)
{
    assert_int_equal(write(rig->write[stream], bytes, n), n);
}

static void shut(struct rig *rig, int stream)
{
    close(rig->write[stream]);
    rig->write[stream] = -1;
}

/* A small pipe onward. */
static void small_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
}

static void bytes_pass_as_they_come(void **state)
{
    int file = memfd_create("onward", MFD_CLOEXEC);
    struct rig rig = rig_of(file, -1);
    rig_start(&rig);
    put(&rig, STREAM_STDOUT, "a\0b", 3);
    put(&rig, STREAM_STDERR, "xy", 2);
    turn(&rig);
    char bytes[8];
    assert_int_equal(pread(file, bytes, sizeof bytes, 0), 3);
    assert_memory_equal(bytes, "a\0b", 3);
    assert_int_equal(rig.ending->stream[0].bytes, 3);
    assert_int_equal(rig.ending->stream[0].passed_bytes, 3);
    assert_int_equal(rig.ending->stream[1].bytes, 2);
    assert_int_equal(rig.ending->stream[1].passed_bytes, 0);
    assert_false(streams_over(&rig.streams));
    shut(&rig, STREAM_STDOUT);
    shut(&rig, STREAM_STDERR);
    turn(&rig);
    assert_true(streams_over(&rig.streams));
    rig_end(&rig);
    close(file);
}

/* A slow reader slows the payload down, as its own pipe would, and nothing is lost. */
static void a_full_sink_stops_the_reading(void **state)
{
    int ends[2];
    small_pipe(ends);
    struct rig rig = rig_of(ends[1], -1);
    rig_start(&rig);
    static char block[10000];
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] = (char)('a' + i % 26);
    }
    put(&rig, STREAM_STDOUT, block, sizeof block);
    turn(&rig);
    put(&rig, STREAM_STDOUT, block, sizeof block);
    assert_int_equal(turn(&rig) & (1U << WATCH_STREAM),
                     0); /* not looked at while the sink is full */
    assert_int_equal(rig.ending->stream[0].bytes, sizeof block);

    static char got[2 * sizeof block];
    size_t total = 0;
    shut(&rig, STREAM_STDOUT);
    shut(&rig, STREAM_STDERR);
    while (total < sizeof got) {
        ssize_t n = read(ends[0], got + total, sizeof got - total);
        assert_true(n > 0);
        total += (size_t)n;
        turn(&rig);
        turn(&rig);
    }
    assert_memory_equal(got, block, sizeof block);
    assert_memory_equal(got + sizeof block, block, sizeof block);
    assert_int_equal(rig.ending->stream[0].passed_bytes, total);
    turn(&rig);
    assert_true(streams_over(&rig.streams));
    rig_end(&rig);
    close(ends[0]);
    close(ends[1]);
}

/* Two streams into one pipe: what was read first is written first. */
static void one_destination_keeps_the_order(void **state)
{
    int ends[2];
    small_pipe(ends);
    struct rig rig = rig_of(ends[1], ends[1]);
    rig_start(&rig);
    static char block[6000];
    memset(block, 'o', sizeof block);
    put(&rig, STREAM_STDOUT, block, sizeof block);
    turn(&rig);
    put(&rig, STREAM_STDERR, "e", 1);
    turn(&rig);
    assert_int_equal(rig.ending->stream[STREAM_STDERR].bytes, 0); /* its turn has not come */
    char got[8192];
    size_t total = 0;
    while (total < sizeof block + 1) {
        ssize_t n = read(ends[0], got + total, sizeof got - total);
        assert_true(n > 0);
        total += (size_t)n;
        turn(&rig);
        turn(&rig);
    }
    assert_int_equal(got[sizeof block - 1], 'o');
    assert_int_equal(got[sizeof block], 'e');
    rig_end(&rig);
    close(ends[0]);
    close(ends[1]);
}

static void the_limit_is_for_both_and_exact(void **state)
{
    int file = memfd_create("onward", MFD_CLOEXEC);
    struct rig rig = rig_of(file, file);
    rig.request.limits.output_bytes = 5;
    rig_start(&rig);
    put(&rig, STREAM_STDOUT, "123", 3);
    turn(&rig);
    put(&rig, STREAM_STDERR, "45", 2);
    turn(&rig);
    assert_false(rig.streams.over_limit); /* reached is not exceeded */
    put(&rig, STREAM_STDERR, "6789", 4);
    turn(&rig);
    assert_true(rig.streams.over_limit);
    put(&rig, STREAM_STDOUT, "x", 1);
    turn(&rig);
    char bytes[16];
    assert_int_equal(pread(file, bytes, sizeof bytes, 0), 5);
    assert_memory_equal(bytes, "12345", 5);
    assert_int_equal(rig.streams.total_bytes, 10);
    assert_int_equal(rig.ending->stream[STREAM_STDERR].bytes, 6); /* counted all the same */
    rig_end(&rig);
    close(file);
}

static void a_prefix_is_kept(void **state)
{
    int file = memfd_create("kept", MFD_CLOEXEC);
    struct rig rig = rig_of(-1, -1);
    rig.request.keep_fd[STREAM_STDOUT] = file;
    rig.request.keep_bytes = 4;
    rig_start(&rig);
    put(&rig, STREAM_STDOUT, "123", 3);
    turn(&rig);
    put(&rig, STREAM_STDOUT, "456", 3);
    turn(&rig);
    char bytes[16];
    assert_int_equal(pread(file, bytes, sizeof bytes, 0), 4);
    assert_memory_equal(bytes, "1234", 4);
    assert_int_equal(rig.ending->stream[0].kept_bytes, 4);
    assert_int_equal(rig.streams.keep_error, 0);
    rig_end(&rig);
    close(file);
}

static void what_cannot_be_kept_is_told(void **state)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct rig rig = rig_of(-1, -1);
    rig.request.keep_fd[STREAM_STDERR] = full;
    rig.request.keep_bytes = 4;
    rig_start(&rig);
    put(&rig, STREAM_STDERR, "1", 1);
    turn(&rig);
    assert_int_equal(rig.streams.keep_error, -ENOSPC);
    rig_end(&rig);
    close(full);
}

/* yes | head -1: the payload learns that nobody reads any more. */
static void a_reader_that_leaves_closes_the_payloads_pipe(void **state)
{
    int ends[2];
    small_pipe(ends);
    struct rig rig = rig_of(ends[1], -1);
    rig_start(&rig);
    close(ends[0]);
    put(&rig, STREAM_STDOUT, "1", 1);
    turn(&rig);
    assert_int_equal(rig.ending->stream[0].pass_error, EPIPE);
    assert_int_equal(write(rig.write[STREAM_STDOUT], "2", 1), -1);
    assert_int_equal(errno, EPIPE);
    rig_end(&rig);
    close(ends[1]);
}

static void a_reader_that_leaves_while_bytes_wait_is_noticed(void **state)
{
    int ends[2];
    small_pipe(ends);
    struct rig rig = rig_of(ends[1], -1);
    rig_start(&rig);
    static char block[10000];
    put(&rig, STREAM_STDOUT, block, sizeof block);
    turn(&rig);
    close(ends[0]);
    turn(&rig);
    assert_int_equal(rig.ending->stream[0].pass_error, EPIPE);
    assert_int_equal(write(rig.write[STREAM_STDOUT], "2", 1), -1);
    rig_end(&rig);
    close(ends[1]);
}

/* The tree is gone, its last bytes are still in the pipe; somebody outside holds the other end. */
static void an_outside_holder_cannot_hang_the_end(void **state)
{
    struct rig rig = rig_of(-1, -1);
    rig_start(&rig);
    put(&rig, STREAM_STDOUT, "last", 4);
    shut(&rig, STREAM_STDERR);
    assert_int_equal(streams_conclude(&rig.streams), 0);
    put(&rig, STREAM_STDOUT, "foreign", 7); /* none of the tree's */
    assert_true(streams_ready(&rig.streams));
    turn(&rig);
    turn(&rig);
    assert_true(streams_over(&rig.streams));
    assert_int_equal(rig.ending->stream[STREAM_STDOUT].bytes, 4);
    assert_true(rig.ending->stream[STREAM_STDOUT].held_open);
    assert_false(rig.ending->stream[STREAM_STDERR].held_open);
    rig_end(&rig);
}

static void the_rest_is_read_to_its_end(void **state)
{
    struct rig rig = rig_of(-1, -1);
    rig_start(&rig);
    static char block[65536];
    for (int i = 0; i < 15; i++) {
        put(&rig, STREAM_STDOUT, block, sizeof block);
    }
    shut(&rig, STREAM_STDOUT);
    shut(&rig, STREAM_STDERR);
    assert_int_equal(streams_conclude(&rig.streams), 0);
    while (streams_ready(&rig.streams)) {
        turn(&rig);
    }
    assert_true(streams_over(&rig.streams));
    assert_int_equal(rig.ending->stream[STREAM_STDOUT].bytes, 15 * sizeof block);
    assert_false(rig.ending->stream[STREAM_STDOUT].held_open);
    rig_end(&rig);
}

/* A reader that had its time is left; the rest is still counted. */
static void dropping_loses_bytes_but_no_count(void **state)
{
    int ends[2];
    small_pipe(ends);
    struct rig rig = rig_of(ends[1], -1);
    rig_start(&rig);
    static char block[30000];
    put(&rig, STREAM_STDOUT, block, sizeof block);
    turn(&rig);
    put(&rig, STREAM_STDOUT, block, sizeof block);
    shut(&rig, STREAM_STDOUT);
    shut(&rig, STREAM_STDERR);
    assert_int_equal(streams_conclude(&rig.streams), 0);
    turn(&rig);
    assert_false(streams_over(&rig.streams));
    assert_false(streams_ready(&rig.streams)); /* it waits for the reader, without spinning */
    streams_drop(&rig.streams, ETIMEDOUT);
    while (streams_ready(&rig.streams)) {
        turn(&rig);
    }
    assert_true(streams_over(&rig.streams));
    assert_int_equal(rig.ending->stream[0].bytes, 2 * sizeof block);
    assert_int_equal(rig.ending->stream[0].passed_bytes, 4096);
    assert_int_equal(rig.ending->stream[0].pass_error, ETIMEDOUT);
    rig_end(&rig);
    close(ends[0]);
    close(ends[1]);
}

struct heard {
    int before[STREAM_COUNT];
    char last[STREAM_COUNT];
};
static void before_output(void *context, int stream)
{
    ((struct heard *)context)->before[stream]++;
}
static void after_output(void *context, int stream, char last)
{
    ((struct heard *)context)->last[stream] = last;
}

static void the_observer_hears_of_bytes_that_go_onward(void **state)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct heard heard = {0};
    struct rig rig = rig_of(-1, null);
    rig.request.observer = (struct supervise_observer){
        .context = &heard, .before_output = before_output, .after_output = after_output};
    rig_start(&rig);
    put(&rig, STREAM_STDOUT, "x\n", 2);
    put(&rig, STREAM_STDERR, "y\n", 2);
    turn(&rig);
    assert_int_equal(heard.before[STREAM_STDOUT], 0); /* it goes nowhere */
    assert_int_equal(heard.before[STREAM_STDERR], 1);
    assert_int_equal(heard.last[STREAM_STDERR], '\n');
    rig_end(&rig);
    close(null);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_pass_as_they_come),
        cmocka_unit_test(a_full_sink_stops_the_reading),
        cmocka_unit_test(one_destination_keeps_the_order),
        cmocka_unit_test(the_limit_is_for_both_and_exact),
        cmocka_unit_test(a_prefix_is_kept),
        cmocka_unit_test(what_cannot_be_kept_is_told),
        cmocka_unit_test(a_reader_that_leaves_closes_the_payloads_pipe),
        cmocka_unit_test(a_reader_that_leaves_while_bytes_wait_is_noticed),
        cmocka_unit_test(an_outside_holder_cannot_hang_the_end),
        cmocka_unit_test(the_rest_is_read_to_its_end),
        cmocka_unit_test(dropping_loses_bytes_but_no_count),
        cmocka_unit_test(the_observer_hears_of_bytes_that_go_onward),
    };
    return cmocka_run_group_tests_name("supervise/streams", tests, NULL, NULL);
}
