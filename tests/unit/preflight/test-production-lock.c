#include "../bfs/bfs-test.h"

#include <sys/file.h>
#include <sys/wait.h>

#include "production-lock.h"

/* Any folder is a cgroup tree here. */
int __wrap_os_cgroup_open(const char *path);
int __wrap_os_cgroup_open(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static struct production_place here(struct place *place)
{
    assert_int_equal(fchmod(place->fd, 01777), 0);
    return (struct production_place){place->path, geteuid(), {place->path, NULL}};
}

static void own_claim(char name[64])
{
    snprintf(name, 64, "berm-production-%u", geteuid());
}

/* TR-4 EN-3: a second one is told who has it, and gets it when it is given back. */
static void one_at_a_time_has_it(void **state)
{
    struct err err = {0};
    const struct production_place place = here(*state);
    with_production_lock first = {0};
    with_production_lock second = {0};
    assert_ok(production_lock_try(&place, &first, &err));
    assert_fails(production_lock_try(&place, &second, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "a process that claims no run holds the lock"));
    assert_ok(production_lock_claim(&first, "k7f3aa", "berm-k7f3aa.scope", 0, &err));
    assert_fails(production_lock_try(&place, &second, &err), ERR_CONFLICT);
    char holder[100];
    snprintf(holder, sizeof holder,
             "run k7f3aa of user %u holds it since 1970-01-01T00:00:00.000Z: process %d", geteuid(),
             getpid());
    assert_string_equal(err.msg, holder);
    assert_int_equal(production_lock_fd(&second), -1);
    assert_ok(production_lock_release(&first, &err));
    assert_ok(production_lock_try(&place, &second, &err));
}

/* Who holds the descriptor holds the lock: the watchdog, when its controller died. */
static void it_is_held_as_long_as_anybody_has_the_descriptor(void **state)
{
    struct err err = {0};
    const struct production_place place = here(*state);
    with_production_lock first = {0};
    with_production_lock second = {0};
    assert_ok(production_lock_try(&place, &first, &err));
    assert_ok(production_lock_claim(&first, "k7f3aa", "berm-k7f3aa.scope", 0, &err));
    int watchdog = fcntl(production_lock_fd(&first), F_DUPFD_CLOEXEC, 3);
    assert_int_equal(flock(watchdog, LOCK_EX | LOCK_NB), 0); /* the very lock */
    production_lock_done(&first);
    assert_fails(production_lock_try(&place, &second, &err), ERR_CONFLICT);
    close(watchdog);
    assert_ok(production_lock_try(&place, &second, &err));
    watchdog = dup(
        production_lock_fd(&second)); /* one that lingers when nothing is left keeps nobody out */
    assert_ok(production_lock_release(&second, &err));
    assert_ok(production_lock_try(&place, &first, &err));
    production_lock_done(&first);
    close(watchdog);
}

static void die_with_it(const struct production_place *place)
{
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        struct production_lock lock = {0};
        bool fine = production_lock_try(place, &lock, &err) == 0 &&
                    production_lock_claim(&lock, "k7f3aa", "berm-k7f3aa.scope", 0, &err) == 0;
        _exit(fine ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* TR-4: a claim outlives its run, and counts as long as the kernel shows its scope. */
static void what_died_keeps_everybody_out_until_its_scope_is_gone(void **state)
{
    struct place *at = *state;
    struct err err = {0};
    char name[64];
    const struct production_place place = here(at);
    with_production_lock lock = {0};
    own_claim(name);
    die_with_it(&place);
    assert_int_equal(mkdirat(at->fd, "slice", 0755), 0);
    assert_int_equal(mkdirat(at->fd, "slice/berm-k7f3aa.scope", 0755), 0);
    assert_fails(production_lock_try(&place, &lock, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "run k7f3aa of user "));
    assert_non_null(strstr(err.msg, "its cgroup '/slice/berm-k7f3aa.scope' is still there"));
    assert_int_equal(production_lock_fd(&lock), -1);
    assert_int_equal(unlinkat(at->fd, "slice/berm-k7f3aa.scope", AT_REMOVEDIR), 0);
    assert_ok(production_lock_try(&place, &lock, &err));
    assert_int_equal(faccessat(at->fd, name, F_OK, AT_SYMLINK_NOFOLLOW), 0); /* still the old one */
    assert_ok(production_lock_claim(&lock, "k7f4aa", "berm-k7f4aa.scope", 0, &err));
    assert_ok(production_lock_release(&lock, &err));
    assert_int_equal(faccessat(at->fd, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

/* TR-4: who only looks takes nothing. */
static void who_claims_it_is_seen_without_taking_it(void **state)
{
    struct err err = {0};
    const struct production_place place = here(*state);
    with_production_lock lock = {0};
    assert_ok(production_lock_look(&place, &err));
    assert_ok(production_lock_try(&place, &lock, &err));
    assert_ok(production_lock_look(&place, &err)); /* it has no name yet */
    assert_ok(production_lock_claim(&lock, "k7f3aa", "berm-k7f3aa.scope", 0, &err));
    assert_fails(production_lock_look(&place, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "run k7f3aa of user "));
    assert_ok(production_lock_release(&lock, &err));
    assert_ok(production_lock_look(&place, &err));
}

/* TR-4: what counts no longer can be cleared away, and nothing else. */
static void a_claim_goes_when_it_counts_no_longer(void **state)
{
    struct place *at = *state;
    struct err err = {0};
    char name[64];
    const struct production_place place = here(at);
    with_production_lock lock = {0};
    own_claim(name);
    assert_ok(production_lock_forget(&place, &err)); /* there is none */
    die_with_it(&place);
    assert_int_equal(mkdirat(at->fd, "berm-k7f3aa.scope", 0755), 0);
    assert_ok(production_lock_forget(&place, &err));
    assert_int_equal(faccessat(at->fd, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(unlinkat(at->fd, "berm-k7f3aa.scope", AT_REMOVEDIR), 0);
    assert_ok(production_lock_forget(&place, &err));
    assert_int_equal(faccessat(at->fd, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_ok(production_lock_try(&place, &lock, &err));
    assert_ok(production_lock_claim(&lock, "k7f3aa", "berm-k7f3aa.scope", 0, &err));
    assert_ok(production_lock_forget(&place, &err)); /* of who holds it */
    assert_int_equal(faccessat(at->fd, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
}

/* A number of another's process, or of the kernel's first, is nobody's claim. */
static void nobody_claims_in_the_name_of_anothers_process(void **state)
{
    struct place *at = *state;
    struct err err = {0};
    char name[64];
    char text[200];
    char boot[64] = "";
    const struct production_place place = here(at);
    own_claim(name);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    assert_int_equal(fscanf(file, "%63s", boot), 1);
    (void)fclose(file);
    unsigned long long ticks = 0;
    file = fopen("/proc/self/stat", "re");
    assert_int_equal(
        fscanf(file,
               "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
               "%*d %*d %llu",
               &ticks),
        1);
    (void)fclose(file);
    snprintf(text, sizeof text, "berm-claim 1 %d %llu %s k7f3aa berm-k7f3aa.scope t", getpid(),
             ticks, boot);
    assert_int_equal(symlinkat(text, at->fd, name), 0);
    assert_fails(production_lock_look(&place, &err), ERR_CONFLICT);
    if (geteuid() == 0) { /* who else could be another? */
        char theirs[] = "berm-production-65534";
        assert_int_equal(unlinkat(at->fd, name, 0), 0);
        assert_int_equal(symlinkat(text, at->fd, theirs), 0);
        assert_int_equal(fchownat(at->fd, theirs, 65534, 65534, AT_SYMLINK_NOFOLLOW), 0);
        assert_ok(production_lock_look(&place, &err));
    }
}

static void where_it_cannot_be_had_it_is_not_had(void **state)
{
    struct place *at = *state;
    struct err err = {0};
    with_production_lock lock = {0};
    const struct production_place nowhere = {"/nowhere", geteuid(), {at->path, NULL}};
    assert_fails(production_lock_try(&nowhere, &lock, &err), ERR_UNAVAILABLE);
    const struct production_place closed = {at->path, geteuid(), {at->path, NULL}};
    assert_fails(production_lock_try(&closed, &lock, &err), ERR_UNAVAILABLE);
    const struct production_place place = here(at);
    struct production_place others = place; /* as in a user namespace of one's own */
    others.owner = geteuid() + 1;
    assert_fails(production_lock_try(&others, &lock, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "(a user namespace?)"));
    char name[64];
    own_claim(name);
    put(at, name, "");
    assert_fails(production_lock_try(&place, &lock, &err), ERR_REFUSED);
    assert_int_equal(production_lock_fd(&lock), -1);
}

/* No variable and no option names another. */
static void the_place_is_fixed(void **state)
{
    assert_string_equal(production_host.cgroups, "/sys/fs/cgroup");
    assert_int_equal(production_host.owner, 0);
    assert_string_equal(production_host.folders[0], "/run/lock");
    assert_string_equal(production_host.folders[1], "/tmp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(one_at_a_time_has_it),
        place_test(it_is_held_as_long_as_anybody_has_the_descriptor),
        place_test(what_died_keeps_everybody_out_until_its_scope_is_gone),
        place_test(who_claims_it_is_seen_without_taking_it),
        place_test(a_claim_goes_when_it_counts_no_longer),
        place_test(nobody_claims_in_the_name_of_anothers_process),
        place_test(where_it_cannot_be_had_it_is_not_had),
        cmocka_unit_test(the_place_is_fixed),
    };
    return cmocka_run_group_tests_name("preflight/production-lock", tests, NULL, NULL);
}
