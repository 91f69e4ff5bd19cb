#include "cgroupfs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "fd.h"
#include "file.h"

/* --- what the texts say ------------------------------------------------------------------------- */

int cgroup_path_parse(const char *text, char path[CGROUP_PATH_SIZE])
{
    static const char removed[] = " (deleted)";
    for (const char *line = text; *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "0::", 3) != 0) {
            line += length;
            continue;
        }
        const char *found = line + 3;
        size_t n = length - 3;
        if (found[0] != '/' || n >= CGROUP_PATH_SIZE) {
            return -EINVAL;
        }
        memcpy(path, found, n);
        path[n] = '\0';
        size_t end = sizeof removed - 1;
        return n > end && strcmp(path + n - end, removed) == 0 ? -ENOENT : 0;
    }
    return -ENODATA;
}

bool cgroup_path_names(const char *path, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strchr(path, '/'); at && length > 0; at = strchr(at, '/')) {
        at++;
        if (strncmp(at, name, length) == 0 && (at[length] == '/' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Digits at *at, which moves behind them; -1: none, or more than an int64_t holds. */
static int64_t take_digits(const char **at)
{
    const char *first = *at;
    int64_t value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        int digit = **at - '0';
        if (value > (INT64_MAX - 1 - digit) / 10) {
            return -1;
        }
        value = value * 10 + digit;
    }
    return *at == first ? -1 : value;
}

static bool ends(const char *at)
{
    return *at == '\0' || *at == '\n' || *at == ' ';
}

int64_t cgroup_number(const char *text)
{
    if (strncmp(text, "max", 3) == 0 && ends(text + 3)) {
        return CGROUP_NO_LIMIT;
    }
    int64_t value = take_digits(&text);
    return value >= 0 && ends(text) ? value : -1;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

int64_t cgroup_value(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; *line; line = next_line(line)) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            return cgroup_number(line + length + 1);
        }
    }
    return -1;
}

/* The number of "key=number" in one line; -1: it is not there. */
static int64_t value_in_line(const char *line, const char *key)
{
    size_t length = strlen(key);
    const char *end = line + strcspn(line, "\n");
    for (const char *at = line; at < end; at += at < end) {
        at += strcspn(at, " \n");
        if (at < end && strncmp(at + 1, key, length) == 0 && at[1 + length] == '=') {
            return cgroup_number(at + 1 + length + 1);
        }
    }
    return -1;
}

int64_t cgroup_nested_sum(const char *text, const char *name, const char *key)
{
    int64_t sum = -1;
    for (const char *line = text; *line; line = next_line(line)) {
        int64_t value = strncmp(line, name, strlen(name)) == 0 ? value_in_line(line, key) : -1;
        if (value < 0) {
            continue;
        }
        int64_t before = sum < 0 ? 0 : sum;
        sum = value > INT64_MAX - before ? INT64_MAX : before + value;
    }
    return sum;
}

bool cgroup_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; *at;) {
        size_t here = strcspn(at, " \n");
        if (here == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += here;
        at += strspn(at, " \n");
    }
    return false;
}

/* --- folders ------------------------------------------------------------------------------------ */

static int must_be_cgroup(int fd_or_error)
{
    with_fd folder = fd_adopt(fd_or_error);
    if (!fd_is_open(&folder)) {
        return fd_error(&folder);
    }
    struct statfs facts = {0};
    int result = os_fstatfs(fd_num(&folder), &facts);
    if (result < 0 || facts.f_type != CGROUP2_SUPER_MAGIC) {
        return result < 0 ? result : -EXDEV;
    }
    struct fd taken = fd_take(&folder);
    return fd_num(&taken);
}

int os_cgroup_open(const char *path)
{
    return must_be_cgroup(os_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0));
}

int os_cgroup_open_beneath(int cgroup_fd, const char *name)
{
    return must_be_cgroup(os_openat(cgroup_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0));
}

int os_cgroup_new(int parent_fd, const char *name)
{
    int result = os_mkdirat(parent_fd, name, 0755);
    if (result < 0) {
        return result;
    }
    result = os_cgroup_open_beneath(parent_fd, name);
    if (result < 0) {
        (void)!os_cgroup_remove(parent_fd, name); /* what cannot be held is not left behind */
    }
    return result;
}

int os_cgroup_remove(int parent_fd, const char *name)
{
    return os_unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* --- files -------------------------------------------------------------------------------------- */

int os_cgroup_write(int cgroup_fd, const char *file, const char *text)
{
    with_fd opened = fd_adopt(os_openat(cgroup_fd, file, O_WRONLY | O_NOCTTY, 0));
    if (!fd_is_open(&opened)) {
        return fd_error(&opened);
    }
    size_t length = strlen(text);
    ssize_t written = os_write(fd_num(&opened), text, length);
    return written < 0 ? (int)written : (size_t)written == length ? 0 : -EIO;
}

ssize_t os_cgroup_read(int cgroup_fd, const char *file, char *text, size_t size)
{
    return os_read_small(cgroup_fd, file, text, size);
}

int os_cgroup_open_file(int cgroup_fd, const char *file)
{
    return os_openat(cgroup_fd, file, O_RDONLY | O_NOCTTY, 0);
}

ssize_t os_cgroup_reread(int file_fd, char *text, size_t size)
{
    ssize_t got = os_pread(file_fd, text, size - 1, 0);
    if (got >= 0) {
        text[got] = '\0';
    }
    return got;
}

int os_cgroup_kill(int cgroup_fd)
{
    return os_cgroup_write(cgroup_fd, "cgroup.kill", "1");
}

int os_cgroup_move(int cgroup_fd, pid_t pid)
{
    char digits[16];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    for (unsigned rest = pid > 0 ? (unsigned)pid : 0; rest > 0; rest /= 10) {
        *--first = (char)('0' + rest % 10);
    }
    /* Nothing would mean 0, and that would mean the caller itself. */
    return *first ? os_cgroup_write(cgroup_fd, "cgroup.procs", first) : -EINVAL;
}

int os_cgroup_join(int cgroup_fd)
{
    return os_cgroup_write(cgroup_fd, "cgroup.procs", "0");
}

int os_cgroup_populated(int events_fd)
{
    char text[256];
    ssize_t got = os_cgroup_reread(events_fd, text, sizeof text);
    if (got < 0) {
        return (int)got;
    }
    int64_t populated = cgroup_value(text, "populated");
    return populated == 0 || populated == 1 ? (int)populated : -EIO;
}

int os_cgroup_of(int proc_fd, char path[CGROUP_PATH_SIZE])
{
    char text[CGROUP_TEXT_SIZE];
    ssize_t got = os_read_small(proc_fd, "cgroup", text, sizeof text);
    return got < 0 ? (int)got : cgroup_path_parse(text, path);
}
