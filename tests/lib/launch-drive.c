/* launch-drive - bubblewrap and the launcher without berm: a plan from the command line, the channel by hand
 *
 *   launch-drive [OPTION...] -- PROGRAM [ARGUMENT...]
 *
 *     --bind DIR            a folder of the host that bubblewrap makes writable (--bind DIR DIR)
 *     --bubblewrap ARG      one more argument of bubblewrap; --without ARG: one less
 *     --item KIND PATH      keep, expect, pin, close, mask, hide, writable; expect takes the
 *                           identity that PATH has now
 *     --cwd DIR             (/)
 *     --bytes N, --inodes N of the private file system (1 MiB, 64)
 *     --home PATH           --private PATH (/run/berm/private)
 *     --context PATH        the socket that comes is listened on
 *     --environment N=V     of the payload; without one it has none
 *     --files N             RLIMIT_NOFILE
 *     --scopes              both scopes of Landlock
 *     --no-links            in the temporary folders
 *     --filter              a filter of system calls that denies user namespaces
 *     --other-file, --other-cwd, --other-item   identities that are not what is there; of the
 *                           item before it
 *     --cut N, --poke OFFSET VALUE, --unsealed   a plan that is not what it should be
 *     --log FILE            the fault table's (BERM_FAULT_LOG), up to where descriptors are closed
 *     --show                the plan on stdout, and nothing else
 *     --release             released as soon as it is ready
 *
 * Words of the launcher are lines on stdout: "ready ABI FACTS", "failed ERRNO TEXT", "executed PID",
 * "not-executed ERRNO", "context PATH", "ended CODE SIGNAL", and at last "gone STATUS" when bubblewrap ended. Lines on
 * stdin are orders: release, terminate, kill, hang-up. The payload writes to stderr; so does bubblewrap.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attributes.h"
#include "file.h"
#include "helper-image.h"
#include "launch-message.h"

enum { ARGUMENTS_MAX = 200, PLAN_MAX = 1 << 20, LOG_FD = 19 };
#define LOG_TEXT "19"

static char text[PLAN_MAX] = ""; /* the first string is empty */
static uint32_t text_used = 1;
static struct launch_item items[LAUNCH_ITEMS_MAX];
static struct launch_plan plan = {
    .magic = LAUNCH_MAGIC, .private_bytes = 1 << 20, .private_inodes = 64};
static const char *tool[ARGUMENTS_MAX];
static size_t tool_count;

no_return static void die(const char *what)
{
    fprintf(stderr, "launch-drive: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint32_t add_string(const char *string)
{
    size_t size = strlen(string) + 1;
    if (text_used + size > sizeof text) {
        die("too much text");
    }
    memcpy(text + text_used, string, size);
    text_used += (uint32_t)size;
    return text_used - (uint32_t)size;
}

static void add_tool(const char *first, const char *second, const char *third)
{
    const char *words[] = {first, second, third};
    for (size_t i = 0; i < countof(words); i++) {
        if (words[i] && tool_count < countof(tool)) {
            tool[tool_count++] = words[i];
        }
    }
}

static void remove_tool(const char *word)
{
    size_t kept = 0;
    for (size_t i = 0; i < tool_count; i++) {
        if (strcmp(tool[i], word) != 0) {
            tool[kept++] = tool[i];
        }
    }
    tool_count = kept;
    tool[kept] = NULL;
}

static void add_item(const char *kind, const char *path)
{
    static const char *const names[LAUNCH_KIND_COUNT] = {"keep",  "expect", "pin",
                                                         "close", "mask",   "writable"};
    struct launch_item *item = &items[plan.item_count++];
    *item = (struct launch_item){.kind = LAUNCH_KIND_COUNT, .path = add_string(path)};
    for (uint32_t i = 0; i < countof(names); i++) {
        if (strcmp(kind, names[i]) == 0) {
            item->kind = i;
        }
    }
    if (strcmp(kind, "hide") == 0) { /* a folder as a whole */
        item->kind = LAUNCH_MASK;
        item->type = S_IFDIR;
    }
    struct stat facts;
    if (item->kind == LAUNCH_EXPECT) {
        if (lstat(path, &facts) < 0) {
            die(path);
        }
        item->device = facts.st_dev;
        item->inode = facts.st_ino;
        item->type = facts.st_mode & S_IFMT;
    }
}

static int64_t in_ns(struct timespec time)
{
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void add_file(const char *path, bool other)
{
    struct stat facts = {0};
    if (stat(path, &facts) < 0) {
        die(path);
    }
    plan.file = (struct launch_file){
        .path = add_string(path),
        .mode = facts.st_mode,
        .device = facts.st_dev,
        .inode = facts.st_ino,
        .size_bytes = facts.st_size,
        .mtime_ns = in_ns(facts.st_mtim),
        .ctime_ns = in_ns(facts.st_ctim) + other,
    };
}

static void add_cwd(const char *path, bool other)
{
    struct stat facts;
    if (stat(path, &facts) < 0) {
        die(path);
    }
    plan.cwd = add_string(path);
    plan.cwd_device = facts.st_dev;
    plan.cwd_inode = facts.st_ino + other;
}

static int sealed(const char *name, const void *bytes, size_t size, bool seal)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0) {
        die(name);
    }
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    if (seal && fcntl(fd, F_ADD_SEALS, seals) < 0) {
        die(name);
    }
    return fd;
}

static const struct sock_filter no_user_namespaces[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

struct options {
    const char *cwd;
    const char *private_path;
    const char *home;
    const char *context;
    const char *log;
    bool other_file, other_cwd, unsealed, filter, release, show;
    long cut;
    long poke_at;
    uint32_t poke;
};

static int make_plan(const struct options *options)
{
    static char block[2 * PLAN_MAX];
    plan.filter_count = options->filter ? countof(no_user_namespaces) : 0;
    plan.text_bytes = text_used;
    size_t used = sizeof plan;
    memcpy(block + used, items, plan.item_count * sizeof *items);
    used += plan.item_count * sizeof *items;
    memcpy(block + used, no_user_namespaces, plan.filter_count * sizeof(struct sock_filter));
    used += plan.filter_count * sizeof(struct sock_filter);
    memcpy(block + used, text, text_used);
    used += text_used;
    plan.total_bytes = (uint32_t)used;
    memcpy(block, &plan, sizeof plan);
    if (options->poke_at >= 0) {
        memcpy(block + options->poke_at, &options->poke, sizeof options->poke);
    }
    return sealed("plan", block, options->cut >= 0 ? (size_t)options->cut : used,
                  !options->unsealed);
}

/* bubblewrap, with the descriptors that the launcher is to have. */
no_return static void become_tool(int channel, int plan_fd, int image_fd, const char *log)
{
    int sources[] = {open("/dev/null", O_RDONLY | O_CLOEXEC), 2, 2, channel, plan_fd, image_fd};
    for (size_t i = 0; i < countof(sources); i++) {
        sources[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, 20);
    }
    for (size_t i = 0; i < countof(sources); i++) {
        if (dup2(sources[i], LAUNCH_STDIN_FD + (int)i) < 0) {
            die("dup2");
        }
    }
    (void)dup2(sources[0], 0);
    (void)dup2(2, 1);
    if (log) {
        (void)dup2(open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), LOG_FD);
        (void)setenv("BERM_FAULT_LOG", LOG_TEXT, 1);
    }
    syscall(SYS_close_range, LAUNCH_IMAGE_FD + 1, LOG_FD - 1, 0);
    syscall(SYS_close_range, LOG_FD + 1, ~0U, 0);
    execv("/usr/bin/bwrap", (char *const *)(uintptr_t)tool);
    die("/usr/bin/bwrap");
}

/* The controller's part: from now on the kernel names this process as its owner. */
static void show_context(int socket_fd)
{
    struct sockaddr_un name = {0};
    socklen_t size = sizeof name;
    bool good =
        getsockname(socket_fd, (struct sockaddr *)&name, &size) == 0 && listen(socket_fd, 1) == 0;
    printf("context %s\n", good ? name.sun_path : "that cannot be used");
}

static void show(const struct launch_word *word, int came)
{
    switch ((enum launch_said)word->said) {
    case LAUNCH_FAILED:
        printf("failed %d %s\n", word->sys, word->text);
        break;
    case LAUNCH_READY:
        printf("ready %d %d\n", word->value, word->extra);
        break;
    case LAUNCH_EXECUTED:
        printf("executed\n");
        break;
    case LAUNCH_NOT_EXECUTED:
        printf("not-executed %d\n", word->sys);
        break;
    case LAUNCH_ENDED:
        printf("ended %d %d\n", word->value, word->extra);
        break;
    case LAUNCH_CONTEXT:
        show_context(came);
        break;
    case LAUNCH_EMPTY:
        printf("empty %lld %lld\n", (long long)(word->user_ns + word->system_ns),
               (long long)word->largest_rss_bytes);
        break;
    default:
        printf("unknown %u\n", word->said);
    }
}

static bool give(int channel, enum launch_order order)
{
    char byte = (char)order;
    return send(channel, &byte, 1, MSG_NOSIGNAL) == 1;
}

static void obey(int *channel)
{
    static char line[64];
    static size_t used;
    ssize_t got = read(0, line + used, sizeof line - 1 - used);
    if (got <= 0) {
        exit(3); /* whoever drove us is gone */
    }
    used += (size_t)got;
    line[used] = '\0';
    for (char *end = strchr(line, '\n'); end; end = strchr(line, '\n')) {
        *end = '\0';
        if (strcmp(line, "hang-up") == 0) {
            close(*channel);
            *channel = -1;
        } else {
            give(*channel, strcmp(line, "release") == 0 ? LAUNCH_RELEASE : LAUNCH_KILL);
        }
        used -= (size_t)(end + 1 - line);
        memmove(line, end + 1, used + 1);
    }
}

/* The descriptor that came stays open. */
static ssize_t hear(int channel, struct launch_word *word, int *ret_came)
{
    struct fd came = {0};
    ssize_t got = os_recv_fds(channel, word, sizeof *word, &came, 1);
    *ret_came = fd_is_open(&came) ? fd_num(&came) : -1;
    return got;
}

static int drive(int channel, int tool_pidfd, bool release)
{
    for (;;) {
        struct pollfd polled[] = {{.fd = channel, .events = POLLIN},
                                  {.fd = 0, .events = POLLIN},
                                  {.fd = tool_pidfd, .events = POLLIN}};
        if (poll(polled, countof(polled), -1) < 0) {
            die("poll");
        }
        struct launch_word word;
        if (polled[0].revents) {
            int came = -1;
            ssize_t got = hear(channel, &word, &came);
            if (got == (ssize_t)sizeof word) {
                show(&word, came);
                if (word.said == LAUNCH_READY && release) {
                    give(channel, LAUNCH_RELEASE);
                }
                continue;
            }
            close(channel);
            channel = -1;
        }
        if (polled[1].revents) {
            obey(&channel);
        }
        if (polled[2].revents && channel == -1) {
            siginfo_t info;
            if (waitid(P_PIDFD, (id_t)tool_pidfd, &info, WEXITED) < 0) {
                die("waitid");
            }
            printf("gone %d\n", info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status);
            return 0;
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const base[] = {"bwrap",
                                       "--unshare-user",
                                       "--unshare-pid",
                                       "--unshare-ipc",
                                       "--unshare-uts",
                                       "--unshare-net",
                                       "--die-with-parent",
                                       "--as-pid-1",
                                       "--cap-drop",
                                       "ALL",
                                       "--cap-add",
                                       "CAP_SYS_ADMIN",
                                       "--cap-add",
                                       "CAP_SETPCAP",
                                       "--cap-add",
                                       "CAP_SYS_RESOURCE",
                                       "--ro-bind",
                                       "/",
                                       "/",
                                       "--proc",
                                       "/proc",
                                       "--tmpfs",
                                       "/run",
                                       "--dir",
                                       "/run/berm/private",
                                       "--tmpfs",
                                       "/home",
                                       "--tmpfs",
                                       "/sys/fs/cgroup"};
    for (size_t i = 0; i < countof(base); i++) {
        add_tool(base[i], NULL, NULL);
    }
    struct options options = {
        .cwd = "/", .private_path = "/run/berm/private", .cut = -1, .poke_at = -1};
    uint32_t variables = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        const char *name = argv[at];
        const char *value = at + 1 < argc ? argv[at + 1] : "";
        int used = 1;
        if (strcmp(name, "--bind") == 0) {
            add_tool("--bind", value, value);
        } else if (strcmp(name, "--bubblewrap") == 0) {
            add_tool(value, NULL, NULL);
        } else if (strcmp(name, "--without") == 0) {
            remove_tool(value);
        } else if (strcmp(name, "--item") == 0 && at + 2 < argc) {
            add_item(value, argv[at + 2]);
            used = 2;
        } else if (strcmp(name, "--cwd") == 0) {
            options.cwd = value;
        } else if (strcmp(name, "--bytes") == 0) {
            plan.private_bytes = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--inodes") == 0) {
            plan.private_inodes = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--home") == 0) {
            options.home = value;
        } else if (strcmp(name, "--context") == 0) {
            options.context = value;
        } else if (strcmp(name, "--log") == 0) {
            options.log = value;
        } else if (strcmp(name, "--private") == 0) {
            options.private_path = value;
        } else if (strcmp(name, "--environment") == 0) {
            uint32_t offset = add_string(value);
            variables = variables ? variables : offset;
            plan.variable_count++;
        } else if (strcmp(name, "--cut") == 0) {
            options.cut = strtol(value, NULL, 10);
        } else if (strcmp(name, "--poke") == 0 && at + 2 < argc) {
            options.poke_at = strtol(value, NULL, 10);
            options.poke = (uint32_t)strtoul(argv[at + 2], NULL, 10);
            used = 2;
        } else {
            used = 0;
            bool known = true;
            if (strcmp(name, "--scopes") == 0) {
                plan.scopes = true;
            } else if (strcmp(name, "--no-links") == 0) {
                plan.no_links = true;
            } else if (strcmp(name, "--filter") == 0) {
                options.filter = true;
            } else if (strcmp(name, "--other-item") == 0 && plan.item_count > 0) {
                items[plan.item_count - 1].inode++;
            } else if (strcmp(name, "--other-file") == 0) {
                options.other_file = true;
            } else if (strcmp(name, "--other-cwd") == 0) {
                options.other_cwd = true;
            } else if (strcmp(name, "--unsealed") == 0) {
                options.unsealed = true;
            } else if (strcmp(name, "--show") == 0) {
                options.show = true;
            } else if (strcmp(name, "--release") == 0) {
                options.release = true;
            } else {
                known = false;
            }
            if (!known) {
                errno = EINVAL;
                die(name);
            }
        }
        at += used;
    }
    if (at + 1 >= argc) {
        errno = EINVAL;
        die("no program");
    }
    plan.variables = variables;
    plan.arguments = text_used;
    for (int i = at + 1; i < argc; i++) {
        (void)add_string(argv[i]);
        plan.argument_count++;
    }
    plan.private_path = add_string(options.private_path);
    plan.home_path = options.home ? add_string(options.home) : 0;
    plan.context_path = options.context ? add_string(options.context) : 0;
    add_file(argv[at + 1], options.other_file);
    add_cwd(options.cwd, options.other_cwd);
    add_tool("--", "/proc/self/fd/8", "launcher");

    struct span image = helper_image();
    int image_fd = sealed("launcher", image.p, image.n, true);
    int plan_fd = make_plan(&options);
    if (options.show) {
        return sendfile(1, plan_fd, NULL, PLAN_MAX) > 0 ? 0 : 2;
    }
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        die("socketpair");
    }
    pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        become_tool(pair[1], plan_fd, image_fd, options.log);
    }
    close(pair[1]);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return drive(pair[0], pidfd, options.release);
}
