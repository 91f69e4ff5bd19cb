#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "buf.h"
#include "file.h"

/* Each test gets an empty folder, open, and takes it along. */
struct folder {
    char path[64];
    int fd;
};

static int make_folder(void **state)
{
    static struct folder folder;
    (void)snprintf(folder.path, sizeof folder.path, "/tmp/berm-test-XXXXXX");
    assert_non_null(mkdtemp(folder.path));
    folder.fd = os_openat(AT_FDCWD, folder.path, O_RDONLY | O_DIRECTORY, 0);
    assert_true(folder.fd >= 0);
    *state = &folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    static const char *const names[] = {"a", "b", "link", "dir/inner", "dir"};
    for (size_t i = 0; i < countof(names); i++) {
        if (unlinkat(folder->fd, names[i], 0) < 0) {
            (void)unlinkat(folder->fd, names[i], AT_REMOVEDIR);
        }
    }
    (void)close(folder->fd);
    return rmdir(folder->path);
}

static void write_file(int dir, const char *name, const char *text)
{
    with_fd file = fd_adopt(os_openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    assert_true(fd_is_open(&file));
    assert_int_equal(os_write_all(fd_num(&file), text, strlen(text)), 0);
}

static void assert_holds(int dir, const char *name, const char *text)
{
    char seen[64];
    assert_int_equal(os_read_small(dir, name, seen, sizeof seen), strlen(text));
    assert_string_equal(seen, text);
}

static void what_is_opened_does_not_survive_an_exec(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    with_fd file = fd_adopt(os_openat(dir, "a", O_RDWR | O_CREAT, 0600));
    with_fd in = {0};
    with_fd out = {0};
    assert_int_equal(os_pipe(&in, &out), 0);
    const int all[] = {dir, fd_num(&file), fd_num(&in), fd_num(&out)};
    for (size_t i = 0; i < countof(all); i++) {
        assert_int_equal(fcntl(all[i], F_GETFD), FD_CLOEXEC);
    }
}

static void zero_is_no_descriptor_and_an_error_is_kept(void **state)
{
    struct fd none = {0};
    assert_false(fd_is_open(&none));
    fd_close(&none);
    struct fd failed = fd_adopt(os_openat(AT_FDCWD, "/nonexistent", O_RDONLY, 0));
    assert_false(fd_is_open(&failed));
    assert_int_equal(fd_error(&failed), -ENOENT);

    struct fd file = fd_adopt(os_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0));
    int number = fd_num(&file);
    struct fd taken = fd_take(&file);
    assert_false(fd_is_open(&file));
    assert_int_equal(fd_num(&taken), number);
    fd_close(&taken);
    assert_false(fd_is_open(&taken));
    assert_int_equal(fcntl(number, F_GETFD), -1);

    struct fd stale = fd_adopt(number);
    errno = ENOSPC;
    fd_close(&stale); /* fails, but it is the error before that somebody will look at */
    assert_int_equal(errno, ENOSPC);
}

/* FS-1: the kernel keeps a path below its root. */
static void openat2_stays_below_and_follows_no_link(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    write_file(dir, "a", "x");
    assert_int_equal(symlinkat("a", dir, "link"), 0);
    with_fd file = fd_adopt(os_openat2(dir, "a", O_RDONLY, 0, OS_RESOLVE_BENEATH));
    if (fd_error(&file) == -ENOSYS) {
        skip();
    }
    assert_true(fd_is_open(&file));
    assert_int_equal(os_openat2(dir, "../etc/passwd", O_RDONLY, 0, OS_RESOLVE_BENEATH), -EXDEV);
    assert_int_equal(os_openat2(dir, "link", O_RDONLY, 0, OS_RESOLVE_NO_SYMLINKS), -ELOOP);
}

static void small_files_are_read_as_far_as_the_buffer(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    write_file(dir, "a", "0123456789");
    char text[6];
    assert_int_equal(os_read_small(dir, "a", text, sizeof text), 5);
    assert_string_equal(text, "01234");
    assert_int_equal(os_read_small(dir, "none", text, sizeof text), -ENOENT);
    assert_int_equal(os_read_small(dir, ".", text, sizeof text), -EISDIR);
}

static void a_stat_of_an_entry_is_of_the_link(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    assert_int_equal(symlinkat("/etc/passwd", dir, "link"), 0);
    struct stat seen;
    assert_int_equal(os_stat_entry(dir, "link", &seen), 0);
    assert_true(S_ISLNK(seen.st_mode));
    char target[32];
    assert_int_equal(os_readlinkat(dir, "link", target, sizeof target), 11);
    assert_string_equal(target, "/etc/passwd");
    char cut[5];
    assert_int_equal(os_readlinkat(dir, "link", cut, sizeof cut), 4);
    assert_string_equal(cut, "/etc");
}

static void a_mode_is_set_whatever_the_umask(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    struct stat seen;
    with_fd file = fd_adopt(os_openat(dir, "a", O_CREAT | O_RDWR, 0600));
    assert_int_equal(os_fchmod(fd_num(&file), 0555), 0);
    assert_int_equal(os_fstat(fd_num(&file), &seen), 0);
    assert_int_equal(seen.st_mode & 07777, 0555);
    assert_int_equal(os_fchmod(-1, 0555), -EBADF);
}

static void a_clone_has_the_bytes_or_is_refused(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    write_file(dir, "a", "bytes");
    with_fd from = fd_adopt(os_openat(dir, "a", O_RDONLY, 0));
    with_fd to = fd_adopt(os_openat(dir, "b", O_CREAT | O_RDWR, 0600));
    int result = os_clone_file(fd_num(&to), fd_num(&from));
    if (result == 0) {
        assert_holds(dir, "b", "bytes");
    } else {
        assert_true(result == -EOPNOTSUPP || result == -EINVAL || result == -ENOTTY);
        assert_holds(dir, "b", "");
    }
}

static void renames_replace_or_refuse(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    write_file(dir, "a", "new");
    write_file(dir, "b", "old");
    assert_int_equal(os_renameat(dir, "a", dir, "b", RENAME_NOREPLACE), -EEXIST);
    assert_int_equal(os_renameat(dir, "a", dir, "b", RENAME_EXCHANGE), 0);
    assert_holds(dir, "a", "old");
    assert_int_equal(os_renameat(dir, "b", dir, "a", 0), 0);
    assert_holds(dir, "a", "new");
    assert_int_equal(os_unlinkat(dir, "b", 0), -ENOENT);
}

static void an_unnamed_file_gets_a_name_that_was_free(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    with_fd file = fd_adopt(os_openat(dir, ".", O_TMPFILE | O_RDWR, 0600));
    if (fd_error(&file) == -EOPNOTSUPP) {
        skip();
    }
    assert_int_equal(os_fallocate(fd_num(&file), 100), 0);
    assert_int_equal(os_ftruncate(fd_num(&file), 0), 0);
    assert_int_equal(os_write_all(fd_num(&file), "abc", 3), 0);
    assert_int_equal(os_fsync(fd_num(&file)), 0);
    assert_int_equal(os_link_fd(fd_num(&file), dir, "a"), 0);
    assert_int_equal(os_link_fd(fd_num(&file), dir, "a"), -EEXIST);
    assert_holds(dir, "a", "abc");
    assert_int_equal(os_linkat(dir, "a", dir, "b"), 0);
    assert_holds(dir, "b", "abc");
}

static void folders_are_made_listed_and_removed(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    assert_int_equal(os_mkdirat(dir, "dir", 0700), 0);
    assert_int_equal(os_mkdirat(dir, "dir", 0700), -EEXIST);
    write_file(dir, "dir/inner", "");
    assert_int_equal(os_unlinkat(dir, "dir", AT_REMOVEDIR), -ENOTEMPTY);
    char entries[512];
    assert_true(os_getdents(dir, entries, sizeof entries) > 0);
    assert_int_equal(os_getdents(dir, entries, sizeof entries), 0);
    assert_int_equal(os_unlinkat(dir, "dir/inner", 0), 0);
    assert_int_equal(os_unlinkat(dir, "dir", AT_REMOVEDIR), 0);
}

static void facts_about_open_files(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    write_file(dir, "a", "0123456789");
    with_fd file = fd_adopt(os_openat(dir, "a", O_RDWR, 0));
    struct stat seen;
    assert_int_equal(os_fstat(fd_num(&file), &seen), 0);
    assert_int_equal(seen.st_size, 10);
    struct statfs space;
    assert_int_equal(os_fstatfs(fd_num(&file), &space), 0);
    assert_true(space.f_bsize > 0);
    char text[4] = "";
    assert_int_equal(os_pread(fd_num(&file), text, 3, 5), 3);
    assert_string_equal(text, "567");
    assert_int_equal(os_lseek(fd_num(&file), 0, SEEK_CUR), 0);
    assert_int_equal(os_lseek(fd_num(&file), -1, SEEK_SET), -EINVAL);
    assert_int_equal(os_faccessat(dir, "a", R_OK), 0);
    assert_int_equal(os_faccessat(dir, "none", R_OK), -ENOENT);
    assert_false(os_is_terminal(fd_num(&file)));
    assert_int_equal(os_terminal_columns(fd_num(&file)), -ENOTTY);
    assert_false(os_terminal_is_ours(fd_num(&file)));
}

static void a_lock_is_of_the_open_file(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    write_file(dir, "a", "");
    with_fd one = fd_adopt(os_openat(dir, "a", O_RDWR, 0));
    with_fd two = fd_adopt(os_openat(dir, "a", O_RDWR, 0));
    assert_int_equal(os_flock(fd_num(&one), LOCK_EX | LOCK_NB), 0);
    assert_int_equal(os_flock(fd_num(&two), LOCK_EX | LOCK_NB), -EAGAIN);
    assert_int_equal(os_flock_within(fd_num(&two), 0), -EWOULDBLOCK);
    assert_int_equal(os_flock_within(fd_num(&two), 30), -EWOULDBLOCK);
    fd_close(&one);
    assert_int_equal(os_flock_within(fd_num(&two), 0), 0);
}

static void pipes_know_their_size_and_their_bytes(void **state)
{
    with_fd in = {0};
    with_fd out = {0};
    assert_int_equal(os_pipe(&in, &out), 0);
    assert_int_equal(os_pipe_grow(fd_num(&in), 131072), 131072);
    assert_int_equal(os_write(fd_num(&out), "abc", 3), 3);
    assert_int_equal(os_pipe_unread(fd_num(&in)), 3);
    assert_int_equal(os_set_nonblocking(fd_num(&in), true), 0);
    char text[8];
    assert_int_equal(os_read(fd_num(&in), text, sizeof text), 3);
    assert_int_equal(os_read(fd_num(&in), text, sizeof text), -EAGAIN);
    assert_int_equal(os_set_nonblocking(fd_num(&in), false), 0);
    assert_int_equal(fcntl(fd_num(&in), F_GETFL) & O_NONBLOCK, 0);
    fd_close(&out);
    assert_int_equal(os_read(fd_num(&in), text, sizeof text), 0);
}

static void packets_keep_their_boundaries(void **state)
{
    with_fd a = {0};
    with_fd b = {0};
    char text[8];
    assert_int_equal(os_socket_pair(&a, &b), 0);
    assert_int_equal(os_recv(fd_num(&b), text, sizeof text), -EAGAIN);
    assert_int_equal(os_send(fd_num(&a), "abc", 3), 3);
    assert_int_equal(os_send(fd_num(&a), "de", 2), 2);
    assert_int_equal(os_recv(fd_num(&b), text, sizeof text), 3);
    assert_int_equal(os_recv(fd_num(&b), text, sizeof text), 2);
    fd_close(&a);
    assert_int_equal(os_recv(fd_num(&b), text, sizeof text), 0);
    assert_int_equal(os_send(fd_num(&b), "x", 1), -EPIPE);
}

/* How many descriptors this process has open. */
static int count_open(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct stat stat;
        count += os_fstat(fd, &stat) == 0;
    }
    return count;
}

static void descriptors_travel_in_a_packet(void **state)
{
    with_fd a = {0};
    with_fd b = {0};
    with_fd read_end = {0};
    with_fd write_end = {0};
    char text[4];
    assert_int_equal(os_socket_pair(&a, &b), 0);
    assert_int_equal(os_pipe(&read_end, &write_end), 0);
    const int both[] = {fd_num(&read_end), fd_num(&write_end)};
    int before = count_open();

    struct fd came[2] = {0};
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 2), -EAGAIN);
    assert_int_equal(os_send_fds(fd_num(&a), "abc", 3, both, 2), 3);
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 2), 3);
    assert_memory_equal(text, "abc", 3);
    assert_int_equal(fcntl(fd_num(&came[0]), F_GETFD), FD_CLOEXEC);
    assert_int_equal(os_write(fd_num(&came[1]), "x", 1), 1);
    assert_int_equal(os_read(fd_num(&read_end), text, sizeof text), 1);
    fd_close(&came[0]);
    fd_close(&came[1]);

    /* Without any it is a packet like others. */
    assert_int_equal(os_send(fd_num(&a), "de", 2), 2);
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 2), 2);
    assert_false(fd_is_open(&came[0]));

    /* More or fewer than agreed, and a packet that does not fit: none is kept. */
    assert_int_equal(os_send_fds(fd_num(&a), "abc", 3, both, 2), 3);
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 1), -EPROTO);
    assert_int_equal(os_send_fds(fd_num(&a), "abc", 3, both, 1), 3);
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 2), -EPROTO);
    assert_int_equal(os_send_fds(fd_num(&a), "abcde", 5, both, 2), 5);
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 2), -EPROTO);
    assert_int_equal(count_open(), before);

    fd_close(&a);
    assert_int_equal(os_recv_fds(fd_num(&b), text, sizeof text, came, 2), 0);
    assert_int_equal(os_send_fds(fd_num(&b), "x", 1, both, 1), -EPIPE);
}

static void a_sealed_file_of_memory_stays_as_it_is(void **state)
{
    with_fd file = fd_adopt(os_memfd("test"));
    assert_true(fd_is_open(&file));
    assert_int_equal(os_write(fd_num(&file), "abc", 3), 3);
    assert_int_equal(os_memfd_seal(fd_num(&file)), 0);
    assert_int_equal(os_write(fd_num(&file), "d", 1), -EPERM);
    assert_int_equal(os_ftruncate(fd_num(&file), 0), -EPERM);
    assert_int_equal(os_memfd_seal(-1), -EBADF);
}

static void random_bytes_differ(void **state)
{
    unsigned char a[16] = {0};
    unsigned char b[16] = {0};
    assert_int_equal(os_getrandom(a, sizeof a), 0);
    assert_int_equal(os_getrandom(b, sizeof b), 0);
    assert_memory_not_equal(a, b, sizeof a);
}

static void extended_attributes_are_there_or_not(void **state)
{
    int dir = ((struct folder *)*state)->fd;
    char value[16];
    write_file(dir, "a", "x");
    with_fd file = fd_adopt(os_openat(dir, "a", O_RDONLY, 0));
    assert_int_equal(os_fgetxattr(fd_num(&file), "security.capability", value, sizeof value),
                     -ENODATA);
    assert_int_equal(os_fgetxattr(-1, "security.capability", value, sizeof value), -EBADF);
    char path[32];
    with_fd bare = fd_adopt(os_openat(dir, "a", O_PATH, 0));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd_num(&bare));
    assert_int_equal(os_getxattr(path, "security.capability", value, sizeof value), -ENODATA);
    assert_int_equal(os_getxattr("/proc/self/fd/-1", "security.capability", value, sizeof value),
                     -ENOENT);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_opened_does_not_survive_an_exec),
        cmocka_unit_test(zero_is_no_descriptor_and_an_error_is_kept),
        IN_FOLDER(openat2_stays_below_and_follows_no_link),
        IN_FOLDER(small_files_are_read_as_far_as_the_buffer),
        IN_FOLDER(a_stat_of_an_entry_is_of_the_link),
        IN_FOLDER(a_mode_is_set_whatever_the_umask),
        IN_FOLDER(a_clone_has_the_bytes_or_is_refused),
        IN_FOLDER(renames_replace_or_refuse),
        IN_FOLDER(an_unnamed_file_gets_a_name_that_was_free),
        IN_FOLDER(folders_are_made_listed_and_removed),
        IN_FOLDER(facts_about_open_files),
        IN_FOLDER(a_lock_is_of_the_open_file),
        IN_FOLDER(extended_attributes_are_there_or_not),
        cmocka_unit_test(pipes_know_their_size_and_their_bytes),
        cmocka_unit_test(packets_keep_their_boundaries),
        cmocka_unit_test(descriptors_travel_in_a_packet),
        cmocka_unit_test(a_sealed_file_of_memory_stays_as_it_is),
        cmocka_unit_test(random_bytes_differ),
    };
    return cmocka_run_group_tests_name("os/file", tests, NULL, NULL);
}
