#include "../unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "owner-priv.h"

static const char *machine_id; /* what /etc/machine-id holds; NULL: what is there */

ssize_t __real_os_read_small(int dir_fd, const char *path, char *text, size_t size);
ssize_t __wrap_os_read_small(int dir_fd, const char *path, char *text, size_t size);
ssize_t __wrap_os_read_small(int dir_fd, const char *path, char *text, size_t size)
{
    if (!machine_id || strcmp(path, "/etc/machine-id") != 0) {
        return __real_os_read_small(dir_fd, path, text, size);
    }
    (void)snprintf(text, size, "%s", machine_id);
    return (ssize_t)strlen(text);
}

enum { INITIAL = 0xEFFFFFFC }; /* PROC_PID_INIT_INO */
static ino_t pid_namespace;    /* which it is; 0: none can be seen */

int __real_os_fstat(int fd, struct stat *ret_stat);
int __wrap_os_fstat(int fd, struct stat *ret_stat);
int __wrap_os_fstat(int fd, struct stat *ret_stat)
{
    int result = __real_os_fstat(fd, ret_stat);
    ret_stat->st_ino = pid_namespace;
    return result;
}

static json_t *controller_of(const struct owner *owner)
{
    return json_pack("{s:I, s:I, s:s, s:s}", "pid", (json_int_t)owner->pid, "start_ticks",
                     (json_int_t)owner->start_ticks, "boot_id", owner->boot_id, "machine_id",
                     owner->machine_id);
}

static bool is_alive(struct owner owner)
{
    with_json controller = controller_of(&owner);
    return owner_may_live(controller);
}

static void this_process_lives(void **state)
{
    struct owner self;
    owner_read_self(&self);
    assert_int_equal(self.pid, getpid());
    assert_true(self.start_ticks > 0);
    assert_int_equal(strlen(self.boot_id), 36);
    assert_true(is_alive(self));
}

/* Pid, start and boot together name one process. */
static void another_process_is_another(void **state)
{
    struct owner self;
    owner_read_self(&self);
    struct owner other = self;
    other.start_ticks++;
    assert_false(is_alive(other));
    other = self;
    other.boot_id[0] = other.boot_id[0] == 'a' ? 'b' : 'a';
    assert_false(is_alive(other));
    other = self;
    other.boot_id[0] = '\0';
    assert_false(is_alive(other));
    static const int64_t pids[] = {0, -1, INT64_C(4294967297), 999999999};
    for (size_t i = 0; i < countof(pids); i++) {
        other = self;
        other.pid = pids[i];
        assert_false(is_alive(other));
    }
}

/* A home that machines share: a boot that is another's may be going on. */
static void a_process_of_another_machine_may_live(void **state)
{
    struct owner self;
    owner_read_self(&self);
    struct owner other = self;
    other.boot_id[0] = other.boot_id[0] == 'a' ? 'b' : 'a';
    (void)snprintf(other.machine_id, sizeof other.machine_id, "%s",
                   "00000000000000000000000000000000");
    assert_true(is_alive(other));
    other = self; /* a container beside this one: the same boot */
    other.pid = 999999999;
    (void)snprintf(other.machine_id, sizeof other.machine_id, "%s",
                   "00000000000000000000000000000000");
    assert_true(is_alive(other));
    /* A record of this boot that says nothing of its machine is of a container that has no id. */
    with_json controller = controller_of(&other);
    json_object_del(controller, "machine_id");
    assert_true(owner_may_live(controller));
    json_object_set_new(controller, "boot_id", json_string("another"));
    assert_false(owner_may_live(controller));
}

/* RP-1: where nobody knows which machine this is, what has its boot is of it, and is seen where all its processes are. */
static void without_a_machine_id_the_boot_says_where_it_is(void **state)
{
    static const char *const unknown[] = {"", "\n", "uninitialized\n"};
    struct owner self;
    machine_id = "0123456789abcdef0123456789abcdef\n";
    owner_read_self(&self);
    assert_string_equal(self.machine_id, "0123456789abcdef0123456789abcdef");
    assert_true(is_alive(self));
    pid_namespace = INITIAL;
    for (size_t i = 0; i < countof(unknown); i++) {
        machine_id = unknown[i];
        assert_true(is_alive(self));
        struct owner other = self;
        other.start_ticks++;
        assert_false(is_alive(other));
        other = self;
        other.boot_id[0] = other.boot_id[0] == 'a' ? 'b' : 'a';
        assert_true(is_alive(other)); /* elsewhere, perhaps */
        other.machine_id[0] = '\0';
        assert_false(is_alive(other));
        other = self;
        other.start_ticks++;
        other.machine_id[0] = '\0';
        assert_false(is_alive(other));
    }
    machine_id = NULL;
    pid_namespace = 0;
}

/* RP-1: a container without an id sees no process of the host, and not those of the container beside it. */
static void in_a_container_without_a_machine_id_what_has_its_boot_may_live(void **state)
{
    static const ino_t spaces[] = {INITIAL - 1, INITIAL + 1, 0};
    struct owner self;
    machine_id = "0123456789abcdef0123456789abcdef\n";
    owner_read_self(&self);
    machine_id = "";
    for (size_t i = 0; i < countof(spaces); i++) {
        pid_namespace = spaces[i];
        struct owner other = self;
        other.pid = 999999999;
        assert_true(is_alive(other)); /* of the host */
        other.machine_id[0] = '\0';
        assert_true(is_alive(other)); /* of a container */
        other.boot_id[0] = other.boot_id[0] == 'a' ? 'b' : 'a';
        assert_false(is_alive(other));
    }
    machine_id = NULL;
    pid_namespace = 0;
}

/* RP-1: nor does who has an id know the processes of who has none. */
static void beside_a_container_without_a_machine_id_what_has_this_boot_may_live(void **state)
{
    static const ino_t spaces[] = {INITIAL, INITIAL - 1};
    struct owner self;
    machine_id = "";
    owner_read_self(&self);
    assert_string_equal(self.machine_id, "");
    machine_id = "fedcba9876543210fedcba9876543210\n";
    for (size_t i = 0; i < countof(spaces); i++) {
        pid_namespace = spaces[i];
        struct owner other = self;
        other.pid = 999999999;
        assert_true(is_alive(other));
        other.boot_id[0] = other.boot_id[0] == 'a' ? 'b' : 'a';
        assert_false(is_alive(other));
    }
    machine_id = NULL;
    pid_namespace = 0;
}

static void a_dead_process_is_dead(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct owner self;
        owner_read_self(&self);
        _exit(write(ends[1], &self, sizeof self) == sizeof self ? 0 : 1);
    }
    struct owner seen;
    assert_int_equal(read(ends[0], &seen, sizeof seen), sizeof seen);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(seen.pid, child);
    assert_false(is_alive(seen));
    close(ends[0]);
    close(ends[1]);
}

static void an_incomplete_controller_is_not_alive(void **state)
{
    assert_false(owner_may_live(NULL));
    with_json nothing = json_object();
    assert_false(owner_may_live(nothing));
    struct owner self;
    owner_read_self(&self);
    static const char *const members[] = {"pid", "start_ticks", "boot_id"};
    for (size_t i = 0; i < countof(members); i++) {
        with_json controller = controller_of(&self);
        json_object_set_new(controller, members[i], json_null());
        assert_false(owner_may_live(controller));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_lives),
        cmocka_unit_test(another_process_is_another),
        cmocka_unit_test(a_process_of_another_machine_may_live),
        cmocka_unit_test(without_a_machine_id_the_boot_says_where_it_is),
        cmocka_unit_test(in_a_container_without_a_machine_id_what_has_its_boot_may_live),
        cmocka_unit_test(beside_a_container_without_a_machine_id_what_has_this_boot_may_live),
        cmocka_unit_test(a_dead_process_is_dead),
        cmocka_unit_test(an_incomplete_controller_is_not_alive),
    };
    return cmocka_run_group_tests_name("report/owner", tests, NULL, NULL);
}
