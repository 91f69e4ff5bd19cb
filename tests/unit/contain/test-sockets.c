#include "sandbox-test.h"

#include <sys/socket.h>
#include <sys/un.h>

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const void *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* SB-5, R45: whoever listens at a place that can be seen, known to the environment or not. */
static void a_daemon_that_can_be_seen_is_covered(void **state)
{
    struct place *place = *state;
    with_string path = memory_format("%s/daemon", place->path);
    struct trial trial = {0};
    int fd = listen_at(path);
    trial_plan(&trial, place);
    assert_true(has_rule(trial.sandbox, LAUNCH_MASK, path));
    assert_true(trial.sandbox->sockets_closed);
    trial_done(&trial);
    close(fd);
}

/* SB-5: where such a name leads to cannot be said, so nothing is said to be closed. */
static void a_name_that_leads_nowhere_is_not_passed_over(void **state)
{
    struct place *place = *state;
    static const char *const names[] = {"relative", "two\nlines", "a /b"};
    assert_int_equal(mkdirat(place->fd, "a ", 0755), 0);
    for (size_t i = 0; i < countof(names); i++) {
        struct trial trial = {0};
        int here = open(".", O_PATH | O_CLOEXEC);
        assert_int_equal(fchdir(place->fd), 0);
        int fd = listen_at(names[i]);
        trial_plan(&trial, place);
        assert_false(trial.sandbox->sockets_closed);
        trial_done(&trial);
        close(fd);
        assert_int_equal(unlink(names[i]), 0);
        assert_int_equal(fchdir(here), 0);
        close(here);
    }
}

/* Blanks are a part of it. */
static void a_name_with_blanks_is_covered(void **state)
{
    struct place *place = *state;
    with_string path = memory_format("%s/a  /b ", place->path);
    with_string folder = memory_format("%s/a  ", place->path);
    struct trial trial = {0};
    assert_int_equal(mkdir(folder, 0755), 0);
    int fd = listen_at(path);
    trial_plan(&trial, place);
    assert_true(has_rule(trial.sandbox, LAUNCH_MASK, path));
    trial_done(&trial);
    close(fd);
}

/* What a link or several forms of an address lead to is covered once, at its own place. */
static void an_address_is_followed(void **state)
{
    struct place *place = *state;
    with_string path = memory_format("%s/daemon", place->path);
    with_string link = memory_format("%s/link", place->path);
    with_string bus =
        memory_format("DBUS_SESSION_BUS_ADDRESS=unix:path=%s,guid=1;unix:path=%s", link, path);
    with_string docker = memory_format("DOCKER_HOST=unix://%s", path);
    struct trial trial = {.request = {.inherited = WORDS("HOME=/root", bus, docker)}};
    int fd = listen_at(path);
    close(fd); /* the name is left, as of a daemon that is started when somebody connects */
    assert_int_equal(symlink(path, link), 0);
    trial_plan(&trial, place);
    assert_true(has_rule(trial.sandbox, LAUNCH_MASK, path));
    assert_false(has_rule(trial.sandbox, LAUNCH_MASK, link));
    size_t count = 0;
    for (size_t i = 0; i < trial.sandbox->rule_count; i++) {
        count += strcmp(trial.sandbox->rules[i].path, path) == 0;
    }
    assert_int_equal(count, 1);
    trial_done(&trial);
}

static void variables_that_lead_to_daemons_are_known(void **state)
{
    assert_true(sockets_is_control_variable("SSH_AUTH_SOCK"));
    assert_true(sockets_is_control_variable("NOTIFY_SOCKET"));
    assert_false(sockets_is_control_variable("PATH"));
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_daemon_that_can_be_seen_is_covered),
        IN_PLACE(a_name_that_leads_nowhere_is_not_passed_over),
        IN_PLACE(a_name_with_blanks_is_covered),
        IN_PLACE(an_address_is_followed),
        cmocka_unit_test(variables_that_lead_to_daemons_are_known),
    };
    return cmocka_run_group_tests_name("contain/sockets", tests, NULL, NULL);
}
