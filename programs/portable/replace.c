/* replace.c
 *
 * berm's own files are bfs/'s, which needs openat2(2); this is the one file that the portable program
 * writes.
 */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "file.h"
#include "memory.h"

enum { STICKY = 01000 }; /* S_ISVTX, a name of XSI's */

static int open_folder(const char *path, const char *slash, struct fd *ret_folder, struct err *err)
{
    with_string name = !slash          ? memory_copy_string(".")
                       : slash == path ? memory_copy_string("/")
                                       : memory_format("%.*s", (int)(slash - path), path);
    struct stat stat;
    *ret_folder = fd_adopt(os_openat(AT_FDCWD, name, O_RDONLY | O_DIRECTORY, 0));
    if (!fd_is_open(ret_folder)) {
        return err_sys(err, fd_error(ret_folder), "open the folder '%s'", name);
    }
    int result = os_fstat(fd_num(ret_folder), &stat);
    if (result < 0) {
        return err_sys(err, result, "look at '%s'", name);
    }
    if ((stat.st_mode & S_IWOTH) && !(stat.st_mode & STICKY)) {
        return err_set(err, ERR_REFUSED, "everybody may write to '%s' (mode %03o): chmod o-w it",
                       name, (unsigned)stat.st_mode & 0777);
    }
    return 0;
}

static int check_place(int folder, const char *name, struct err *err)
{
    struct stat stat;
    if (name[0] == '\0') {
        return err_set(err, ERR_REFUSED, "a path that ends in '/' names no file");
    }
    int result = os_stat_entry(folder, name, &stat);
    if (result == -ENOENT) {
        return 0;
    }
    if (result < 0) {
        return err_sys(err, result, "look at '%s'", name);
    }
    return S_ISREG(stat.st_mode) || S_ISLNK(stat.st_mode)
               ? 0
               : err_set(err, ERR_REFUSED, "'%s' is neither a file nor a link: name another", name);
}

static int write_new(int folder, const char *name, struct span bytes, struct err *err)
{
    with_fd file =
        fd_adopt(os_openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (!fd_is_open(&file)) {
        return err_sys(err, fd_error(&file), "make '%s'", name);
    }
    int result = os_write_all(fd_num(&file), bytes.p, bytes.n);
    if (result == 0) {
        result = os_fsync(fd_num(&file));
    }
    if (result < 0) {
        (void)!os_unlinkat(folder, name, 0); /* the first error is told */
        return err_sys(err, result, "write '%s'", name);
    }
    return 0;
}

int host_replace(const char *path, struct span bytes, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    with_fd folder = {0};
    uint64_t random;
    if (open_folder(path, slash, &folder, err) < 0 || check_place(fd_num(&folder), name, err) < 0) {
        return -1;
    }
    int result = os_getrandom(&random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "ask for random bytes");
    }
    with_string temporary = memory_format(".berm-%016llx", (unsigned long long)random);
    if (write_new(fd_num(&folder), temporary, bytes, err) < 0) {
        return -1;
    }
    result = os_renameat(fd_num(&folder), temporary, fd_num(&folder), name, 0);
    if (result < 0) {
        (void)!os_unlinkat(fd_num(&folder), temporary, 0);
        return err_sys(err, result, "put the file at '%s'", path);
    }
    result = os_fsync(fd_num(&folder));
    return result < 0 ? err_sys(err, result, "sync the folder of '%s'", path) : 0;
}
