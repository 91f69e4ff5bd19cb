#include "../unit.h"

#include <stdio.h>

#include "daemon-priv.h"

#define HEX         "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define RESERVATION "\"safe_runner_reservation\":\"" HEX "\""

static bool parse(const char *text, int64_t *pid)
{
    uint8_t reservation[DAEMON_RESERVATION_BYTES] = {0};
    bool good = daemon_lock_parse(span_of_string(text), pid, reservation);
    if (good) {
        assert_int_equal(reservation[1], 0x11);
        assert_int_equal(reservation[31], 0xff);
    }
    return good;
}

/* MD-4: the pid and the reservation stand in the lock. */
static void a_lock_is_read(void **state)
{
    static const char *const locks[] = {
        "{\"pid\":7," RESERVATION "}",
        " { " RESERVATION " , \"pid\" : 7 }\n",
        "{\"host\":\"h\",\"pid\":7," RESERVATION ",\"port\":null,\"x\":-1.5e3,\"y\":true}",
    };
    for (size_t i = 0; i < countof(locks); i++) {
        int64_t pid = 0;
        assert_true(parse(locks[i], &pid));
        assert_int_equal(pid, 7);
    }
}

/* MD-4 MD-5: what is not wholly understood is no lock; a member that comes twice would mean either. */
static void what_is_no_lock_is_refused(void **state)
{
    static const char *const locks[] = {
        "",
        "{}",
        "7",
        "{\"pid\":7}",
        "{" RESERVATION "}",
        "{\"pid\":7," RESERVATION,
        "{\"pid\":7," RESERVATION "} x",
        "{\"pid\":7," RESERVATION "},",
        "{\"pid\":7," RESERVATION ",}",
        "{\"pid\":7," RESERVATION ",\"pid\":8}",
        "{\"pid\":7," RESERVATION "," RESERVATION "}",
        "{\"pid\":\"7\"," RESERVATION "}",
        "{\"pid\":0," RESERVATION "}",
        "{\"pid\":-7," RESERVATION "}",
        "{\"pid\":7.0," RESERVATION "}",
        "{\"pid\":99999999999," RESERVATION "}",
        "{\"pid\":7,\"safe_runner_reservation\":\"\"}",
        "{\"pid\":7,\"safe_runner_reservation\":\"A" HEX "\"}",
        "{\"pid\":7,\"safe_runner_reservation\":\"X0112233445566778899aabbccddeeff0011223344556677"
        "8899aabbccddeeff\"}",
        "{\"pid\":7,\"safe_runner_reservation\":1}",
        "{\"p\\u0069d\":7," RESERVATION "}",
        "{\"pid\":7,\"x\":{}," RESERVATION "}",
        "{\"pid\":7,\"x\":[1]," RESERVATION "}",
        "{\"pid\":7,\"x\":\"\n\"," RESERVATION "}",
        "{\"pid\"7," RESERVATION "}",
        "{pid:7," RESERVATION "}",
    };
    for (size_t i = 0; i < countof(locks); i++) {
        int64_t pid = -1;
        if (parse(locks[i], &pid)) {
            fail_msg("taken: %s", locks[i]);
        }
        assert_int_equal(pid, -1);
    }
    int64_t pid = 0;
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
    static const char nul[] = "{\"pid\":7\0," RESERVATION "}";
    assert_false(daemon_lock_parse(span_of(nul, sizeof nul - 1), &pid, reservation));
}

static void a_lock_has_a_budget(void **state)
{
    static char text[2 * DAEMON_LOCK_BYTES];
    int64_t pid = 0;
    int at = snprintf(text, sizeof text, "{\"pid\":7," RESERVATION);
    for (int i = 0; i < 61; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, ",\"m\":1");
    }
    (void)snprintf(text + at, sizeof text - (size_t)at, "}");
    assert_true(parse(text, &pid));
    (void)snprintf(text + at, sizeof text - (size_t)at, ",\"m\":1,\"m\":1}");
    assert_false(parse(text, &pid));
    at = snprintf(text, sizeof text, "{\"pid\":7," RESERVATION "}");
    memset(text + at, ' ', DAEMON_LOCK_BYTES);
    assert_false(parse(text, &pid));
    text[DAEMON_LOCK_BYTES] = '\0';
    assert_true(parse(text, &pid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_is_read),
        cmocka_unit_test(what_is_no_lock_is_refused),
        cmocka_unit_test(a_lock_has_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
