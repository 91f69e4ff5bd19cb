#include "../unit.h"

#include "daemon-words.h"

static struct berm_daemon with_result(enum berm_daemon_result result)
{
    struct berm_daemon daemon = {.result = result,
                                 .state = 2,
                                 .pid = 700,
                                 .namespace_pid = 7,
                                 .start_ticks = 9,
                                 .reservation = "00ff",
                                 .socket = "/tmp/s",
                                 .lock = "/tmp/l"};
    return daemon;
}

static void words_name_steps(void **state)
{
    static const char *const words[] = {"reserve", "bind", "start", "lock-ready", "seal"};
    enum berm_daemon_step step;
    struct err err = {0};
    for (size_t i = 0; i < countof(words); i++) {
        assert_int_equal(daemon_step_of(words[i], &step, &err), 0);
        assert_int_equal(step, i);
    }
    assert_int_equal(daemon_step_of("unbind", &step, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.msg, "reserve, bind, start, lock-ready or seal"));
}

/* 0 done, 3 outside, 9 refused or not proved; so does the failure that says it. */
static void the_exit_status_is_the_result(void **state)
{
    static const struct {
        enum berm_daemon_result result;
        int status;
        enum err_code code;
    } rows[] = {{BERM_DAEMON_DONE, 0, ERR_NONE},
                {BERM_DAEMON_OUTSIDE, 3, ERR_UNAVAILABLE},
                {BERM_DAEMON_REFUSED, 9, ERR_REFUSED},
                {BERM_DAEMON_NOT_PROVED, 9, ERR_REFUSED}};
    for (size_t i = 0; i < countof(rows); i++) {
        struct berm_daemon daemon = with_result(rows[i].result);
        struct err err = {0};
        memcpy(daemon.text, "why", 4);
        assert_int_equal(daemon_exit(&daemon), rows[i].status);
        if (rows[i].code != ERR_NONE) {
            assert_int_equal(daemon_fail(&daemon, &err), -1);
            assert_int_equal(err.code, rows[i].code);
            assert_string_equal(err.msg, "why");
        }
    }
}

/* A script keeps what reserve prints, and nothing else is printed there. */
static void a_reservation_stands_alone(void **state)
{
    const struct berm_daemon daemon = with_result(BERM_DAEMON_DONE);
    with_buf text = buf_new(1000);
    daemon_add_words(&text, BERM_DAEMON_RESERVE, &daemon);
    assert_string_equal(buf_string(&text), "00ff\n");
    with_buf other = buf_new(1000);
    daemon_add_words(&other, BERM_DAEMON_BIND, &daemon);
    assert_string_equal(buf_string(&other), "bound: pid 7, on the host 700\n");
}

static void an_object_for_programs(void **state)
{
    const struct berm_daemon daemon = with_result(BERM_DAEMON_DONE);
    with_json json = daemon_to_json(&daemon);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "berm.daemon/v1");
    assert_string_equal(json_string_value(json_object_get(json, "state")), "bound");
    assert_int_equal(json_integer_value(json_object_get(json, "namespace_pid")), 7);
    assert_string_equal(json_string_value(json_object_get(json, "socket")), "/tmp/s");
    struct berm_daemon refused = with_result(BERM_DAEMON_REFUSED);
    refused.state = -1;
    with_json no = daemon_to_json(&refused);
    assert_string_equal(json_string_value(json_object_get(no, "result")), "refused");
    assert_true(json_is_null(json_object_get(no, "state")));
    assert_null(json_object_get(no, "reservation"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_name_steps),
        cmocka_unit_test(the_exit_status_is_the_result),
        cmocka_unit_test(a_reservation_stands_alone),
        cmocka_unit_test(an_object_for_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
