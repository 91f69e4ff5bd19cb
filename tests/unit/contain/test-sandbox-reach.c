#include "sandbox-test.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

enum { OTHER_UID = 4711, OTHER_GID = 4712 };

static const char attribute[] = "system.posix_acl_access";

struct list {
    struct posix_acl_xattr_header head;
    struct posix_acl_xattr_entry entries[5];
};

/* rwx for the owner, nothing for its group and for anybody; one named besides, and the mask. */
static struct list list_with(uint16_t tag, uint32_t id, uint16_t may, uint16_t mask)
{
    const uint32_t none = ACL_UNDEFINED_ID;
    return (struct list){{POSIX_ACL_XATTR_VERSION},
                         {{ACL_USER_OBJ, 7, none},
                          {tag == ACL_USER ? tag : ACL_GROUP_OBJ, tag == ACL_USER ? may : 0,
                           tag == ACL_USER ? id : none},
                          {tag == ACL_USER ? ACL_GROUP_OBJ : tag, tag == ACL_USER ? 0 : may,
                           tag == ACL_USER ? none : id},
                          {ACL_MASK, mask, none},
                          {ACL_OTHER, 0, none}}};
}

static struct sandbox becoming(void)
{
    return (struct sandbox){.become = true, .uid = OTHER_UID, .gid = OTHER_GID};
}

/* SB-5: the mode says that nobody passes, and the list that somebody does. */
static void an_access_list_lets_pass_whom_the_mode_does_not(void **state)
{
    const struct {
        struct list list;
        bool reaches;
    } rows[] = {
        {list_with(ACL_USER, OTHER_UID, 1, 7), true},
        {list_with(ACL_GROUP, OTHER_GID, 5, 5), true},
        {list_with(ACL_USER, OTHER_UID, 6, 7), false},
        {list_with(ACL_USER, OTHER_UID, 7, 6), false}, /* the mask takes it away */
        {list_with(ACL_USER, OTHER_UID + 1, 7, 7), false},
        {list_with(ACL_GROUP, OTHER_UID, 7, 7), false},
    };
    struct place *place = *state;
    const struct sandbox sandbox = becoming();
    with_string closed = memory_format("%s/closed", place->path);
    with_string inside = memory_format("%s/closed/socket", place->path);
    assert_int_equal(fchmod(place->fd, 0711), 0);
    assert_int_equal(mkdirat(place->fd, "closed", 0700), 0);
    assert_true(sandbox_is_out_of_reach(&sandbox, inside));
    for (size_t i = 0; i < countof(rows); i++) {
        if (setxattr(closed, attribute, &rows[i].list, sizeof rows[i].list, 0) < 0) {
            assert_int_equal(errno, EOPNOTSUPP);
            skip(); /* of a file system without access lists */
        }
        assert_int_equal(!sandbox_is_out_of_reach(&sandbox, inside), rows[i].reaches);
    }
    const struct sandbox same_user = {.uid = geteuid()};
    assert_false(sandbox_is_out_of_reach(&same_user, inside));
}

static void what_is_not_there_is_nowhere(void **state)
{
    struct place *place = *state;
    const struct sandbox sandbox = becoming();
    with_string missing = memory_format("%s/missing/socket", place->path);
    with_string there = memory_format("%s/closed", place->path);
    assert_int_equal(fchmod(place->fd, 0711), 0);
    assert_int_equal(mkdirat(place->fd, "closed", 0711), 0);
    assert_true(sandbox_is_nowhere(&sandbox, missing));
    assert_false(sandbox_is_nowhere(&sandbox, there));
    assert_int_equal(fchmod(place->fd, 0700), 0);
    assert_true(sandbox_is_nowhere(&sandbox, there));
}

/* What the copy has not is not there, whatever is in what it was made of. */
static void in_a_copy_only_what_that_has_is_there(void **state)
{
    struct place *place = *state;
    struct sandbox sandbox = {0};
    with_string there = memory_format("%s/original/socket", place->path);
    with_string other = memory_format("%s/original/program", place->path);
    with_string original = memory_format("%s/original", place->path);
    with_string copy = memory_format("%s/copy", place->path);
    assert_int_equal(mkdirat(place->fd, "original", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "original/socket", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "copy", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "copy/program", 0700), 0);
    sandbox_add_mount(&sandbox, MOUNT_READ_ONLY, "/", "");
    assert_false(sandbox_is_nowhere(&sandbox, there));
    assert_true(sandbox_is_nowhere(&sandbox, other));
    sandbox_add_mount(&sandbox, MOUNT_READ_ONLY, original, "");
    sandbox.mounts[1].from = copy;
    assert_true(sandbox_is_nowhere(&sandbox, there));
    assert_false(sandbox_is_nowhere(&sandbox, other));
    memory_free(sandbox.mounts[0].path);
    memory_free(sandbox.mounts[1].path);
    memory_free(sandbox.mounts);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(an_access_list_lets_pass_whom_the_mode_does_not),
        IN_PLACE(what_is_not_there_is_nowhere),
        IN_PLACE(in_a_copy_only_what_that_has_is_there),
    };
    return cmocka_run_group_tests_name("contain/sandbox-reach", tests, NULL, NULL);
}
