#include "sandbox-test.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

enum { OTHER_UID = 4711, OTHER_GID = 4712 };

static const char attribute[] = "system.posix_acl_access";

/* --- what the kernel answers ---------------------------------------------------------------------- */

static struct {
    bool is_set;
    ssize_t got;
    const void *bytes;
} answer;
static int opened;   /* folders that were asked for reading */
static bool refuses; /* to open them so */

ssize_t __real_os_fgetxattr(int fd, const char *name, void *value, size_t size);
ssize_t __wrap_os_fgetxattr(int fd, const char *name, void *value, size_t size);
ssize_t __wrap_os_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    if (!answer.is_set || strcmp(name, attribute) != 0) {
        return answer.is_set ? -EOPNOTSUPP : __real_os_fgetxattr(fd, name, value, size);
    }
    if (answer.got > 0) {
        assert_true((size_t)answer.got <= size);
        memcpy(value, answer.bytes, (size_t)answer.got);
    }
    return answer.got;
}

int __real_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    bool reads = !(flags & O_PATH);
    opened += reads;
    return reads && refuses ? -EACCES : __real_os_openat(dir_fd, path, flags, mode);
}

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

/* NULL: none. */
static void open_root(struct sandbox *sandbox, char *path)
{
    struct writable_root *root = &sandbox->roots[0];
    fd_close(&root->fd);
    sandbox->root_count = path ? 1 : 0;
    root->path = path;
    if (path) {
        root->fd = fd_adopt(open(path, O_PATH | O_CLOEXEC));
        assert_true(fd_is_open(&root->fd));
    }
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

/* SB-5: a list that cannot be understood may let anybody pass. */
static void a_list_that_cannot_be_read_lets_pass(void **state)
{
    const struct list whole = list_with(ACL_USER, OTHER_UID + 1, 7, 7);
    struct list other = whole;
    other.head.a_version++;
    const struct {
        ssize_t got;
        const void *bytes;
        bool reaches;
    } rows[] = {
        {sizeof whole, &whole, false},
        {-ENODATA, NULL, false},
        {-EOPNOTSUPP, NULL, false},
        {-EIO, NULL, true},
        {-EACCES, NULL, true},
        {-ERANGE, NULL, true},            /* more than is read */
        {0, NULL, true},                  /* not even a head */
        {sizeof whole - 1, &whole, true}, /* a part of an entry */
        {sizeof other, &other, true},     /* of another version */
    };
    struct place *place = *state;
    const struct sandbox sandbox = becoming();
    with_string inside = memory_format("%s/closed/socket", place->path);
    assert_int_equal(fchmod(place->fd, 0711), 0);
    assert_int_equal(mkdirat(place->fd, "closed", 0710), 0); /* its mask lets pass */
    answer.is_set = true;
    for (size_t i = 0; i < countof(rows); i++) {
        answer.got = rows[i].got;
        answer.bytes = rows[i].bytes;
        assert_int_equal(!sandbox_is_out_of_reach(&sandbox, inside), rows[i].reaches);
    }
}

/* Who may not read a folder looks at its list by the name of what it holds. */
static void a_list_is_read_where_a_folder_cannot_be(void **state)
{
    struct place *place = *state;
    const struct sandbox sandbox = becoming();
    const struct list lets = list_with(ACL_USER, OTHER_UID, 1, 7);
    const struct list lets_not = list_with(ACL_USER, OTHER_UID, 6, 7);
    with_string closed = memory_format("%s/closed", place->path);
    with_string inside = memory_format("%s/closed/socket", place->path);
    assert_int_equal(fchmod(place->fd, 0711), 0);
    assert_int_equal(mkdirat(place->fd, "closed", 0700), 0);
    refuses = true;
    opened = 0;
    assert_true(sandbox_is_out_of_reach(&sandbox, inside));
    assert_int_equal(opened, 1);
    if (setxattr(closed, attribute, &lets_not, sizeof lets_not, 0) < 0) {
        assert_int_equal(errno, EOPNOTSUPP);
        skip();
    }
    assert_true(sandbox_is_out_of_reach(&sandbox, inside));
    assert_int_equal(setxattr(closed, attribute, &lets, sizeof lets, 0), 0);
    assert_false(sandbox_is_out_of_reach(&sandbox, inside));
}

/* SB-5: beneath a writable root the payload's user can change a mode, and make its way. */
static void beneath_a_writable_root_no_mode_is_a_proof(void **state)
{
    struct place *place = *state;
    struct sandbox sandbox = becoming();
    with_string top = memory_copy_string(place->path);
    with_string closed = memory_format("%s/closed", place->path);
    with_string beside = memory_format("%s/clos", place->path);
    with_string inside = memory_format("%s/closed/socket", place->path);
    with_string missing = memory_format("%s/closed/missing", place->path);
    const struct {
        char *root;
        bool is_proof;
    } rows[] = {{NULL, true}, {beside, true}, {inside, true}, {closed, false}, {top, false}};
    assert_int_equal(fchmod(place->fd, 0711), 0);
    assert_int_equal(mkdirat(place->fd, "closed", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "closed/socket", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "clos", 0700), 0);
    for (size_t i = 0; i < countof(rows); i++) {
        open_root(&sandbox, rows[i].root);
        assert_int_equal(sandbox_is_out_of_reach(&sandbox, inside), rows[i].is_proof);
        assert_int_equal(sandbox_is_nowhere(&sandbox, inside), rows[i].is_proof);
        assert_true(sandbox_is_nowhere(&sandbox, missing));
    }
    /* The folders above a root are read-only: their modes stay. */
    open_root(&sandbox, closed);
    assert_int_equal(fchmod(place->fd, 0700), 0);
    assert_true(sandbox_is_nowhere(&sandbox, inside));
    open_root(&sandbox, NULL);
}

/* SB-5: whatever the path: a second mount shows the same folder, or one beneath it, elsewhere. */
static void nor_is_it_by_another_path_of_the_root(void **state)
{
    struct place *place = *state;
    struct sandbox sandbox = becoming();
    with_string mounts =
        memory_format("1 0 9:1 / / rw - ext4 x rw\n2 1 9:9 /x %s/root/below rw - ext4 x rw\n"
                      "3 1 9:9 /x %s/bound rw - ext4 x rw\n",
                      place->path, place->path);
    with_string root = memory_format("%s/root", place->path);
    with_string other = memory_format("%s/other", place->path);
    with_string bound = memory_format("%s/bound", place->path);
    with_string inside = memory_format("%s/bound/closed/socket", place->path);
    static const char *const folders[] = {"root", "other", "bound", "bound/closed"};
    assert_int_equal(fchmod(place->fd, 0711), 0);
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], i == 3 ? 0700 : 0711), 0);
    }
    assert_int_equal(mount_table_parse(mounts, &sandbox.host_mounts), 0);
    open_root(&sandbox, other);
    assert_true(sandbox_is_out_of_reach(&sandbox, inside));
    open_root(&sandbox, root);
    assert_false(sandbox_is_out_of_reach(&sandbox, inside));
    mount_table_done(&sandbox.host_mounts);
    assert_true(sandbox_is_out_of_reach(&sandbox, inside));
    open_root(&sandbox, bound);
    sandbox.roots[0].path = other;
    assert_false(sandbox_is_out_of_reach(&sandbox, inside));
    open_root(&sandbox, NULL);
}

/* The same of a folder that its own user closed. */
static void nor_is_it_for_the_same_user(void **state)
{
    struct place *place = *state;
    struct sandbox sandbox = {0};
    with_string closed = memory_format("%s/closed", place->path);
    with_string inside = memory_format("%s/closed/socket", place->path);
    bool is_root = geteuid() == 0;
    if (is_root) {
        assert_int_equal(chmod(place->path, 0777), 0);
        assert_int_equal(seteuid(OTHER_UID), 0);
    }
    assert_int_equal(mkdirat(place->fd, "closed", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "closed/socket", 0700), 0);
    assert_int_equal(fchmodat(place->fd, "closed", 0, 0), 0);
    bool outside = sandbox_is_nowhere(&sandbox, inside);
    open_root(&sandbox, closed);
    bool beneath = sandbox_is_nowhere(&sandbox, inside);
    assert_int_equal(fchmodat(place->fd, "closed", 0700, 0), 0);
    if (is_root) {
        assert_int_equal(seteuid(0), 0);
    }
    open_root(&sandbox, NULL);
    assert_true(outside);
    assert_false(beneath);
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

static int start(void **state)
{
    memset(&answer, 0, sizeof answer);
    refuses = false;
    return place_make(state);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, start, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(an_access_list_lets_pass_whom_the_mode_does_not),
        IN_PLACE(a_list_that_cannot_be_read_lets_pass),
        IN_PLACE(a_list_is_read_where_a_folder_cannot_be),
        IN_PLACE(beneath_a_writable_root_no_mode_is_a_proof),
        IN_PLACE(nor_is_it_by_another_path_of_the_root),
        IN_PLACE(nor_is_it_for_the_same_user),
        IN_PLACE(what_is_not_there_is_nowhere),
        IN_PLACE(in_a_copy_only_what_that_has_is_there),
    };
    return cmocka_run_group_tests_name("contain/sandbox-reach", tests, NULL, NULL);
}
