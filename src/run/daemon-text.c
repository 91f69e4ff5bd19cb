/* NAME=EXEC,SOCKET,LOCK, as a run declares a daemon. */
#include "run-priv.h"

#include <string.h>

#include "memory.h"

static bool is_name(const char *name, size_t n)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    return n > 0 && n < DAEMON_NAME_SIZE && name[0] != '-' && strspn(name, allowed) >= n;
}

/* A name alone has no parts: they are the project's. */
int run_daemon_parse(const char *text, struct run_daemon *daemon, char *parts[RUN_DAEMON_PARTS],
                     struct err *err)
{
    size_t length = strcspn(text, "=");
    if (!is_name(text, length)) {
        return err_set(
            err, ERR_USAGE,
            "daemon '%s': NAME[=EXEC,SOCKET,LOCK] is wanted, NAME of a-z, 0-9, - and _, at "
            "most %d of them",
            text, DAEMON_NAME_SIZE - 1);
    }
    daemon->name = memory_format("%.*s", (int)length, text);
    if (text[length] == '\0') {
        return 0;
    }
    const char *at = text + length + 1;
    for (int i = 0; i < RUN_DAEMON_PARTS; i++) {
        size_t n = strcspn(at, ",");
        bool last = i == RUN_DAEMON_PARTS - 1;
        if (n == 0 || (at[n] == ',') == last) {
            return err_set(err, ERR_USAGE,
                           "daemon '%s': NAME=EXEC,SOCKET,LOCK is wanted, without another comma",
                           daemon->name);
        }
        parts[i] = memory_format("%.*s", (int)n, at);
        at += n + !last;
    }
    return 0;
}

int run_daemons_check(char *const *texts, struct err *err)
{
    size_t count = 0;
    for (; texts && texts[count]; count++) {
        struct run_daemon daemon = {0};
        char *parts[RUN_DAEMON_PARTS] = {0};
        int result = count == DAEMON_COUNT
                         ? err_set(err, ERR_USAGE, "daemon: at most %d in one run", DAEMON_COUNT)
                         : run_daemon_parse(texts[count], &daemon, parts, err);
        for (size_t i = 0; i < count && result == 0; i++) {
            size_t n = strlen(daemon.name);
            if (strcspn(texts[i], "=") == n && strncmp(texts[i], daemon.name, n) == 0) {
                result = err_set(err, ERR_USAGE, "daemon '%s' is declared twice", daemon.name);
            }
        }
        memory_free(daemon.name);
        for (int i = 0; i < RUN_DAEMON_PARTS; i++) {
            memory_free(parts[i]);
        }
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}
