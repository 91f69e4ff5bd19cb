#include "fault.h"

#ifdef BERM_FAULTS

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attributes.h"

enum mode { MODE_OFF, MODE_NTH, MODE_FROM, MODE_NAME };

static struct {
    bool ready;
    const char *role;
    uint64_t calls;
    enum mode mode;
    char target_role[32];
    uint64_t number;
    char name[32];
    int error;
    bool noop;  /* instead of the error: does nothing and claims success */
    int log_fd; /* 0: no log; the log is never standard input */
} table = {.role = "controller"};

static int errno_by_name(const char *name)
{
    for (int number = 1; number < 134; number++) {
        const char *known = strerrorname_np(number);
        if (known && strcmp(known, name) == 0) {
            return number;
        }
    }
    BUG("BERM_FAULT names an errno that does not exist");
}

static void parse_spec(const char *spec)
{
    char kind[32];
    char tail[16] = "";
    char what[32];
    int fields = sscanf(spec, "%31[^:]:%31[^:]:%31[^:]:%15s", table.target_role, kind, what, tail);
    BUG_IF(fields < 3);
    char *end = NULL;
    table.number = strtoull(kind, &end, 10);
    if (*end != '\0') {
        memcpy(table.name, kind, sizeof kind);
        table.mode = MODE_NAME;
    } else {
        table.mode = strcmp(tail, "from") == 0 ? MODE_FROM : MODE_NTH;
    }
    table.noop = strcmp(what, "noop") == 0;
    table.error = table.noop ? 0 : errno_by_name(what);
}

static void start(void)
{
    table.ready = true;
    const char *spec = getenv("BERM_FAULT");
    if (spec) {
        parse_spec(spec);
    }
    const char *log = getenv("BERM_FAULT_LOG");
    if (log) {
        table.log_fd = (int)strtol(log, NULL, 10);
    }
}

static void write_log(const char *name)
{
    char line[96];
    int length = snprintf(line, sizeof line, "%s %llu %s\n", table.role,
                          (unsigned long long)table.calls, name);
    (void)!write(table.log_fd, line, (size_t)length); /* a test that lost its log fails by itself */
}

enum fault_verdict fault_hit(const char *name, int *ret_errno)
{
    if (!table.ready) {
        start();
    }
    table.calls++;
    if (table.log_fd > 0) {
        write_log(name);
    }
    if (table.mode == MODE_OFF || strcmp(table.target_role, table.role) != 0) {
        return FAULT_PASS;
    }
    bool hit = false;
    switch (table.mode) {
    case MODE_NTH:
        hit = table.calls == table.number;
        break;
    case MODE_FROM:
        hit = table.calls >= table.number;
        break;
    case MODE_NAME:
        hit = strcmp(table.name, name) == 0;
        break;
    case MODE_OFF:
    default:
        break;
    }
    if (!hit) {
        return FAULT_PASS;
    }
    *ret_errno = table.error;
    return table.noop ? FAULT_NOOP : FAULT_FAIL;
}

void fault_role(const char *role)
{
    table.role = role;
    table.calls = 0;
}

#endif
