/* golden.h
 *
 * Snapshots: golden/NAME.json is what is shown, golden/NAME.txt what a person sees of it. To accept
 * what is printed now: UPDATE_GOLDEN=1, then read the difference.
 */
#pragma once

#include "../unit.h"

#include <fcntl.h>
#include <stdlib.h>

#include "buf.h"
#include "file.h"
#include "json.h"

static char golden_content[65536];

static inline const char *golden_read(const char *name, const char *suffix)
{
    with_buf path = buf_new(200);
    buf_add_format(&path, "berm/golden/%s%s", name, suffix);
    if (os_read_small(AT_FDCWD, buf_string(&path), golden_content, sizeof golden_content) < 0) {
        fail_msg("%s cannot be read", buf_string(&path));
    }
    return golden_content;
}

static inline json_t *golden_value(const char *name)
{
    struct err err = {0};
    json_t *value =
        json_read(span_of_string(golden_read(name, ".json")), &json_budget_report, &err);
    if (!value) {
        fail_msg("%s: %s", name, err.msg);
    }
    return value;
}

static inline void golden_expect(const char *name, const struct buf *text)
{
    assert_true(buf_fits(text));
    if (getenv("UPDATE_GOLDEN")) {
        with_buf path = buf_new(200);
        buf_add_format(&path, "berm/golden/%s.txt", name);
        with_fd file =
            fd_adopt(os_openat(AT_FDCWD, buf_string(&path), O_WRONLY | O_CREAT | O_TRUNC, 0644));
        assert_int_equal(os_write_all(fd_num(&file), buf_string(text), buf_length(text)), 0);
    }
    assert_string_equal(buf_string(text), golden_read(name, ".txt"));
}
