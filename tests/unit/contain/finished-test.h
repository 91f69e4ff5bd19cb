/* finished-test.h
 *
 * A sandbox as it stands, looked at by the text of its mounts.
 */
#pragma once

#include "sandbox-test.h"

#include <sys/sysmacros.h>

static struct {
    struct sandbox sandbox;
    int (*check)(const struct sandbox *sandbox, const struct mount_table *table,
                 dev_t private_device, struct err *err);
    struct err err;
} finished;

/* The device 0:50 is that of its private file system. */
static unused int check(const char *text)
{
    with_mount_table table = {0};
    assert_int_equal(mount_table_parse(text, &table), 0);
    finished.err = (struct err){0};
    return finished.check(&finished.sandbox, &table, makedev(0, 50), &finished.err);
}

static unused void refused(const char *text, const char *words)
{
    assert_int_equal(check(text), -1);
    assert_int_equal(finished.err.code, ERR_UNAVAILABLE);
    if (!strstr(finished.err.msg, words)) {
        fail_msg("%s: %s", text, finished.err.msg);
    }
}
