#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "attributes.h"
#include "buf.h"
#include "file.h"
#include "text.h"

enum { PASSWD_MAX = 16 << 20 };
/* The last number means "leave it as it is" to the kernel. */
static const uint64_t id_max = UINT32_MAX - 1;

static int check_not_root(const struct user *user, const char *asked, struct err *err)
{
    if (user->uid == 0) {
        return err_set(
            err, ERR_REFUSED,
            "'%s' is root, and a payload in a sandbox never is: choose an account of its "
            "own, or yours, with --user NAME",
            asked);
    }
    return 0;
}

/* One field of a line, and the line behind it. */
static struct span take_field(struct span *line)
{
    const char *colon = line->n > 0 ? memchr(line->p, ':', line->n) : NULL;
    size_t n = colon ? (size_t)(colon - line->p) : line->n;
    struct span field = span_of(line->p, n);
    size_t gone = colon ? n + 1 : n;
    *line = span_of(line->p + gone, line->n - gone);
    return field;
}

/* name:password:uid:gid:...; what is ill-formed, or an entry of another service ("+"), is none. */
static bool parse_account(struct span line, struct user *ret_user)
{
    struct user user = {0};
    struct span name = take_field(&line);
    (void)take_field(&line);
    uint64_t uid;
    uint64_t gid;
    if (name.n == 0 || name.n >= sizeof user.name ||
        !text_parse_number(take_field(&line), id_max, &uid) ||
        !text_parse_number(take_field(&line), id_max, &gid)) {
        return false;
    }
    memcpy(user.name, name.p, name.n);
    user.uid = (uid_t)uid;
    user.gid = (gid_t)gid;
    *ret_user = user;
    return true;
}

/* A name before a number: an account may be called 1000. */
static bool look_up(struct span passwd, const char *name, struct user *ret_user)
{
    uint64_t number;
    bool is_number = text_parse_number(span_of_string(name), id_max, &number);
    bool found = false;
    while (passwd.n > 0) {
        const char *end = memchr(passwd.p, '\n', passwd.n);
        size_t n = end ? (size_t)(end - passwd.p) : passwd.n;
        struct user user;
        if (parse_account(span_of(passwd.p, n), &user)) {
            if (strcmp(user.name, name) == 0) {
                *ret_user = user;
                return true;
            }
            if (is_number && !found && user.uid == number) {
                *ret_user = user;
                found = true;
            }
        }
        size_t gone = end ? n + 1 : n;
        passwd = span_of(passwd.p + gone, passwd.n - gone);
    }
    return found;
}

static bool parse_pair(const char *text, struct user *ret_user)
{
    struct span rest = span_of_string(text);
    uint64_t uid;
    uint64_t gid;
    if (!text_parse_number(take_field(&rest), id_max, &uid) ||
        !text_parse_number(rest, id_max, &gid)) {
        return false;
    }
    *ret_user = (struct user){.uid = (uid_t)uid, .gid = (gid_t)gid};
    return true;
}

int user_find(struct span passwd, const char *name, struct user *ret_user, struct err *err)
{
    struct user user = {0};
    uint64_t number;
    if (name[0] == '\0' || strpbrk(name, "\n/")) {
        return err_set(err, ERR_USAGE, "'%s' is no name of an account", name);
    }
    if (strchr(name, ':')) {
        if (!parse_pair(name, &user)) {
            return err_set(err, ERR_USAGE, "'%s' is not UID:GID, two numbers", name);
        }
        struct user account;
        with_buf digits = buf_new(32);
        buf_add_format(&digits, "%u", user.uid);
        if (look_up(passwd, buf_string(&digits), &account) && account.uid == user.uid) {
            memcpy(user.name, account.name, sizeof user.name);
        }
    } else if (!look_up(passwd, name, &user)) {
        bool is_number = text_parse_number(span_of_string(name), id_max, &number);
        return err_set(err, ERR_NOT_FOUND, "/etc/passwd has no account '%s'; %s", name,
                       is_number ? "say UID:GID, so that its group is known"
                                 : "if a directory service has it, say UID:GID");
    }
    if (check_not_root(&user, name, err) < 0) {
        return -1;
    }
    *ret_user = user;
    return 0;
}

/* sudo says who typed: UID:GID. */
static int ask_sudo(char *const *environment, struct buf *name, struct err *err)
{
    const char *uid = text_variable(environment, "SUDO_UID");
    const char *gid = text_variable(environment, "SUDO_GID");
    if (!uid) {
        return err_set(err, ERR_UNAVAILABLE,
                       "run by root, a sandbox needs somebody to be who is not root: --user NAME "
                       "(sudo would have named one)");
    }
    uint64_t number;
    if (!gid || !text_parse_number(span_of_string(uid), id_max, &number) ||
        !text_parse_number(span_of_string(gid), id_max, &number)) {
        return err_set(err, ERR_USAGE,
                       "SUDO_UID='%s' and SUDO_GID='%s' are not two numbers: say --user NAME", uid,
                       gid ? gid : "");
    }
    buf_add_format(name, "%s:%s", uid, gid);
    return 0;
}

static int read_passwd(struct buf *passwd, struct err *err)
{
    static const char path[] = "/etc/passwd";
    with_fd file = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY, 0));
    if (fd_error(&file) == -ENOENT) {
        return 0; /* numbers need none */
    }
    if (!fd_is_open(&file)) {
        return err_sys(err, fd_error(&file), "open %s", path);
    }
    for (;;) {
        char part[4096];
        ssize_t got = os_read(fd_num(&file), part, sizeof part);
        if (got < 0) {
            return err_sys(err, (int)got, "read %s", path);
        }
        if (got == 0) {
            break;
        }
        buf_add(passwd, part, (size_t)got);
    }
    return buf_fits(passwd) ? 0 : err_set(err, ERR_OVER_BUDGET, "%s is longer than 16 MiB", path);
}

int user_resolve(const char *name, char *const *environment, struct user *ret_user, struct err *err)
{
    with_buf sudo = buf_new(64);
    with_buf passwd = buf_new(PASSWD_MAX);
    if (!name) {
        if (ask_sudo(environment, &sudo, err) < 0) {
            return -1;
        }
        name = buf_string(&sudo);
    }
    return read_passwd(&passwd, err) < 0 ? -1 : user_find(buf_span(&passwd), name, ret_user, err);
}
