#include "../bfs/bfs-test.h"

#include "scope-priv.h"

static void put_events(const struct place *place, const char *memory, const char *pids,
                       const char *cgroup)
{
    put(place, "memory.events.local", memory);
    put(place, "pids.events", pids);
    put(place, "cgroup.events", cgroup);
}

static void done(struct scope *scope)
{
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        fd_close(&scope->events[i]);
    }
    fd_close(&scope->leaf);
}

static void events_are_compared_by_their_values(void **state)
{
    struct place *place = *state;
    struct scope scope = {.leaf = fd_adopt(dup(place->fd))};
    struct scope_events events;
    put_events(place, "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n", "max 0\n",
               "populated 0\nfrozen 0\n");
    assert_int_equal(scope_events_open(&scope), 0);
    assert_int_equal(scope_events_read(&scope, &events), 0);
    put_events(place, "low 0\nhigh 3\nmax 35\noom 1\noom_kill 2\n", "max 7\n",
               "populated 1\nfrozen 0\n");
    assert_int_equal(scope_events_read(&scope, &events), 1);
    assert_int_equal(events.memory_high, 3);
    assert_int_equal(events.memory_max, 35);
    assert_int_equal(events.oom, 1);
    assert_int_equal(events.oom_kill, 2);
    assert_int_equal(events.pids_max, 7);
    assert_int_equal(events.populated, 1);
    assert_int_equal(scope_events_read(&scope, &events), 0);

    /* What cannot be understood is an error, and no empty leaf. */
    put_events(place, "low 0\n", "max 7\n", "populated 0\n");
    assert_int_equal(scope_events_read(&scope, &events), -EIO);
    put_events(place, "oom 1\n", "max 7\n", "");
    assert_int_equal(scope_events_read(&scope, &events), -EIO);
    int result = 0;
    assert_null(scope_leaf_empty(&scope, &result));
    assert_int_equal(result, -EIO);
    done(&scope);
}

/* M11: and never 0. */
static void a_counter_that_is_not_there_is_unknown(void **state)
{
    struct place *place = *state;
    struct scope scope = {.leaf = fd_adopt(dup(place->fd))};
    struct scope_counters counters;
    scope_counters_read(&scope, &counters);
    const int64_t *all = (const int64_t *)&counters;
    for (size_t i = 0; i < sizeof counters / sizeof *all; i++) {
        assert_int_equal(all[i], -1);
    }
    put(place, "memory.peak", "67108864\n");
    put(place, "memory.stat", "anon 10\nfile 20\nkernel 30\nshmem 40\nfile_dirty 5\nslab 6\n");
    put(place, "cpu.stat", "usage_usec 100\nuser_usec 60\nsystem_usec 40\n");
    put(place, "io.stat",
        "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:1 rbytes=10 wbytes=20 rios=30 wios=40\n");
    put(place, "pids.peak", "max\n"); /* what no kernel says of a peak */
    put(place, "memory.pressure", "some avg10=0.00 total=11\nfull avg10=0.00 total=12\n");
    scope_counters_read(&scope, &counters);
    assert_int_equal(counters.memory_peak_bytes, 67108864);
    assert_int_equal(counters.memory_current_bytes, -1);
    assert_int_equal(counters.memory_anon_bytes, 10);
    assert_int_equal(counters.memory_file_bytes, 20);
    assert_int_equal(counters.memory_kernel_bytes, 30);
    assert_int_equal(counters.memory_shmem_bytes, 40);
    assert_int_equal(counters.memory_dirty_bytes, 5);
    assert_int_equal(counters.memory_sock_bytes, -1);
    assert_int_equal(counters.cpu_us, 100);
    assert_int_equal(counters.cpu_system_us, 40);
    assert_int_equal(counters.io_read_bytes, 11);
    assert_int_equal(counters.io_writes, 44);
    assert_int_equal(counters.pids_peak, -1);
    assert_int_equal(counters.memory_some_us, 11);
    assert_int_equal(counters.memory_full_us, 12);
    assert_int_equal(counters.io_full_us, -1);
    put(place, "io.stat", ""); /* it is counted, and nothing was read or written */
    scope_counters_read(&scope, &counters);
    assert_int_equal(counters.io_read_bytes, 0);
    assert_int_equal(counters.io_writes, 0);
    done(&scope);
}

/* What memory.current says as soon as memory.stat was read; NULL: the same. */
static const struct place *at_place;
static const char *current_then;

ssize_t __real_os_cgroup_read(int cgroup_fd, const char *name, char *text, size_t size);
ssize_t __wrap_os_cgroup_read(int cgroup_fd, const char *name, char *text, size_t size);
ssize_t __wrap_os_cgroup_read(int cgroup_fd, const char *name, char *text, size_t size)
{
    ssize_t got = __real_os_cgroup_read(cgroup_fd, name, text, size);
    if (current_then && strcmp(name, "memory.stat") == 0) {
        put(at_place, "memory.current", current_then);
        current_then = NULL;
    }
    return got;
}

/* M4: the parts are younger than one sum and older than the other; the kernel may cache and take back between. */
static void of_two_sums_the_lesser_is_taken(void **state)
{
    static const struct {
        const char *before;
        const char *after;
    } cases[] = {{"1000\n", "400\n"}, {"400\n", "1000\n"}};
    at_place = *state;
    struct scope scope = {.leaf = fd_adopt(dup(at_place->fd))};
    put(at_place, "memory.stat", "active_file 50\ninactive_file 250\nslab_reclaimable 0\n");
    for (size_t i = 0; i < countof(cases); i++) {
        int64_t bytes = -7;
        put(at_place, "memory.current", cases[i].before);
        current_then = cases[i].after;
        assert_int_equal(scope_memory_kept(&scope, &bytes), 0);
        assert_int_equal(bytes, 100);
    }
    done(&scope);
}

/* M4: cached files and such slab can be taken back; locked files, which stand on neither list, cannot. */
static void what_can_be_taken_back_is_not_kept(void **state)
{
    struct place *place = *state;
    struct scope scope = {.leaf = fd_adopt(dup(place->fd))};
    int64_t bytes = -7;
    assert_int_equal(scope_memory_kept(&scope, &bytes), -ENOENT);
    put(place, "memory.current", "1000\n");
    assert_int_equal(scope_memory_kept(&scope, &bytes), -ENOENT);
    put(place, "memory.stat",
        "anon 300\nfile 600\nshmem 100\ninactive_anon 400\nactive_file 50\ninactive_file 350\n"
        "unevictable 100\nslab_reclaimable 20\nslab_unreclaimable 10\n");
    assert_int_equal(scope_memory_kept(&scope, &bytes), 0);
    assert_int_equal(bytes, 580);
    put(place, "memory.current", "100\n"); /* the sum is older than its parts */
    assert_int_equal(scope_memory_kept(&scope, &bytes), 0);
    assert_int_equal(bytes, 0);
    /* What cannot be understood is no figure. */
    put(place, "memory.stat", "anon 300\nactive_file 50\nslab_reclaimable 20\n");
    assert_int_equal(scope_memory_kept(&scope, &bytes), -EIO);
    put(place, "memory.current", "\n");
    assert_int_equal(scope_memory_kept(&scope, &bytes), -EIO);
    assert_int_equal(bytes, 0);
    done(&scope);
}

static void tasks_are_counted_as_they_are_and_as_they_were(void **state)
{
    struct place *place = *state;
    struct scope scope = {.leaf = fd_adopt(dup(place->fd))};
    assert_int_equal(scope_pids_peak(&scope), -1);
    assert_int_equal(scope_pids_current(&scope), -1);
    put(place, "pids.peak", "11\n");
    put(place, "pids.current", "12\n");
    assert_int_equal(scope_pids_peak(&scope), 11);
    assert_int_equal(scope_pids_current(&scope), 12);
    done(&scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(events_are_compared_by_their_values),
        place_test(a_counter_that_is_not_there_is_unknown),
        place_test(what_can_be_taken_back_is_not_kept),
        place_test(of_two_sums_the_lesser_is_taken),
        place_test(tasks_are_counted_as_they_are_and_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
