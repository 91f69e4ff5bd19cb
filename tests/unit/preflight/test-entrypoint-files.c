#include "../unit.h"

#include "../files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entrypoint.h"

static char top[] = "/tmp/berm-entrypoint-XXXXXX";

static int make_tree(void **state)
{
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    assert_int_equal(mkdir("a", 0700), 0);
    write_file("a/run", "#!/bin/sh\n", 0755);
    write_file("a/data", "words\n", 0644);
    write_file("a/shared", "", 0666);
    write_file("a/hard", "", 0644);
    assert_int_equal(link("a/hard", "a/hard2"), 0);
    assert_int_equal(symlink("run", "a/link"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_int_equal(symlink("/nowhere", "gone"), 0);
    assert_int_equal(mkfifo("a/fifo", 0600), 0);
    write_file("a/large", "#!/bin/sh\n", 0755);
    assert_int_equal(truncate("a/large", AUDIT_FILE_BYTES + 7), 0);
    return 0;
}

static int remove_tree(void **state)
{
    static const char *const names[] = {"a/run",  "a/data", "a/shared", "a/hard", "a/hard2",
                                        "a/link", "b",      "gone",     "a/fifo", "a/large"};
    for (size_t i = 0; i < countof(names); i++) {
        assert_int_equal(unlink(names[i]), 0);
    }
    assert_int_equal(rmdir("a"), 0);
    assert_int_equal(chdir("/"), 0);
    return rmdir(top);
}

/* EP-2, FS-4: a link is seen as one, also on the way; nothing blocks, and nothing else is a file. */
static void files_are_seen_as_what_they_are(void **state)
{
    static const struct {
        const char *path;
        struct entrypoint_look look;
    } cases[] = {
        {"a/run", {LOOK_FILE, 1, true, false, 10}},
        {"a/data", {LOOK_FILE, 1, false, false, 6}},
        {"a/shared", {LOOK_FILE, 1, false, true, 0}},
        {"a/hard", {LOOK_FILE, 2, false, false, 0}},
        {"a/link", {.kind = LOOK_LINK}},
        {"b", {.kind = LOOK_LINK}},
        {"b/run", {.kind = LOOK_LINK}},
        {"gone", {.kind = LOOK_LINK}},
        {"a", {.kind = LOOK_OTHER}},
        {"a/fifo", {.kind = LOOK_OTHER}},
        {"a/none", {.kind = LOOK_NOTHING}},
        {"none/run", {.kind = LOOK_NOTHING}},
        {"a/run/x", {.kind = LOOK_NOTHING}},
    };
    with_bfs_dir root = {0};
    struct err err = {0};
    assert_int_equal(bfs_dir_open(AT_FDCWD, top, BFS_TRUST_ANY, &root, &err), 0);
    const struct entrypoint_files files = entrypoint_files_of(&root);
    for (size_t i = 0; i < countof(cases); i++) {
        struct entrypoint_look look;
        with_buf text = buf_new(AUDIT_FILE_BYTES);
        int result = files.look(files.context, cases[i].path, &text, &look, &err);
        const struct entrypoint_look *wanted = &cases[i].look;
        if (result != 0 || look.kind != wanted->kind || look.links != wanted->links ||
            look.executable != wanted->executable || look.shared != wanted->shared ||
            look.size_bytes != wanted->size_bytes ||
            buf_length(&text) != (size_t)wanted->size_bytes) {
            fail_msg("%s: %d, kind %d, %s", cases[i].path, result, (int)look.kind, err.msg);
        }
    }
    with_buf head = buf_new(AUDIT_FILE_BYTES);
    struct entrypoint_look look;
    assert_int_equal(files.look(files.context, "a/large", &head, &look, &err), 0);
    assert_int_equal(look.size_bytes, AUDIT_FILE_BYTES + 7);
    assert_int_equal(buf_length(&head), AUDIT_FILE_BYTES);
    assert_memory_equal(buf_string(&head), "#!/bin/sh\n", 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_seen_as_what_they_are),
    };
    return cmocka_run_group_tests_name("preflight/entrypoint-files", tests, make_tree, remove_tree);
}
