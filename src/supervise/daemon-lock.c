#include "daemon-priv.h"

#include <string.h>

#include "attributes.h"

enum { LOCK_MEMBERS = 64 };

/* A cursor in the text: what was read lies before p. */
static void skip_space(struct span *at)
{
    while (at->n > 0 && memchr(" \t\r\n", at->p[0], 4)) {
        *at = span_of(at->p + 1, at->n - 1);
    }
}

static bool take(struct span *at, char wanted)
{
    skip_space(at);
    if (at->n == 0 || at->p[0] != wanted) {
        return false;
    }
    *at = span_of(at->p + 1, at->n - 1);
    return true;
}

/* Without escapes: none of what matters needs one. */
static bool take_string(struct span *at, struct span *ret_string)
{
    if (!take(at, '"')) {
        return false;
    }
    for (size_t i = 0; i < at->n && at->p[i] != '\\' && (unsigned char)at->p[i] >= ' '; i++) {
        if (at->p[i] == '"') {
            *ret_string = span_of(at->p, i);
            *at = span_of(at->p + i + 1, at->n - i - 1);
            return true;
        }
    }
    return false;
}

/* A number, true, false or null. */
static bool take_word(struct span *at, struct span *ret_word)
{
    static const char letters[] = "+-.0123456789abcdefghijklmnopqrstuvwxyzE";
    size_t n = 0;
    skip_space(at);
    while (n < at->n && at->p[n] != '\0' && strchr(letters, at->p[n])) {
        n++;
    }
    *ret_word = span_of(at->p, n);
    *at = span_of(at->p + n, at->n - n);
    return n > 0;
}

static bool parse_pid(struct span word, int64_t *ret_pid)
{
    int64_t pid = 0;
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] < '0' || word.p[i] > '9' ||
            (pid = pid * 10 + (word.p[i] - '0')) > INT32_MAX) {
            return false;
        }
    }
    *ret_pid = pid;
    return pid > 0;
}

static bool parse_hex(struct span text, uint8_t ret_bytes[DAEMON_RESERVATION_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    if (text.n != 2 * (size_t)DAEMON_RESERVATION_BYTES) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = memchr(digits, text.p[i], sizeof digits - 1);
        if (!digit) {
            return false;
        }
        ret_bytes[i / 2] = (uint8_t)((i % 2 ? ret_bytes[i / 2] << 4 : 0) | (digit - digits));
    }
    return true;
}

struct lock {
    bool has_pid;
    bool has_reservation;
    int64_t pid;
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
};

static bool take_member(struct span *at, struct lock *lock)
{
    struct span name;
    struct span value;
    if (!take_string(at, &name) || !take(at, ':')) {
        return false;
    }
    skip_space(at);
    bool is_string = at->n > 0 && at->p[0] == '"';
    if (!(is_string ? take_string(at, &value) : take_word(at, &value))) {
        return false;
    }
    if (span_equals(name, "pid")) { /* twice would mean either */
        bool good = !lock->has_pid && !is_string && parse_pid(value, &lock->pid);
        lock->has_pid = true;
        return good;
    }
    if (span_equals(name, "safe_runner_reservation")) {
        bool good = !lock->has_reservation && is_string && parse_hex(value, lock->reservation);
        lock->has_reservation = true;
        return good;
    }
    return true;
}

bool daemon_lock_parse(struct span text, int64_t *ret_pid,
                       uint8_t ret_reservation[DAEMON_RESERVATION_BYTES])
{
    struct lock lock = {0};
    struct span at = text;
    bool good = text.n <= DAEMON_LOCK_BYTES && take(&at, '{');
    for (int i = 0; good && i < LOCK_MEMBERS; i++) {
        good = take_member(&at, &lock);
        if (good && !take(&at, ',')) {
            break;
        }
    }
    good = good && take(&at, '}');
    skip_space(&at);
    if (!good || at.n > 0 || !lock.has_pid || !lock.has_reservation) {
        return false;
    }
    *ret_pid = lock.pid;
    memcpy(ret_reservation, lock.reservation, sizeof lock.reservation);
    return true;
}
