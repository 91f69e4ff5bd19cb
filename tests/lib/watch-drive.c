/* watch-drive - a controller with a watchdog and nothing else, for tests of the two
 *
 *   watch-drive [OPTION...]
 *
 *     --run ID              (run001)
 *     --state DIR           the folder of manifests
 *     --report FILE, --record FILE   slots; both get the texts of --texts
 *     --texts CLEAN LEFT    files with what a slot is to say when nothing, or something, is left; else it is
 *                           left as it is
 *     --directory DIR       one is made in there; up to four
 *     --lock FILE
 *     --claim FILE          what claims it
 *     --unit NAME           the watchdog's own scope
 *     --ready-ms N          (10000)
 *     --scope DIR --leaf NAME [--anchor-leaf NAME]   what is armed
 *     --scope-parent DIR    the scope is nobody else's
 *     --scope-path DIR      such a scope's, before it is made
 *     --gate PID            its first process
 *
 * Lines on stdin are orders, lines on stdout their answers: "ready PID TICKS [DIRECTORY...]", then
 * arm -> "armed", asked MS (systemd, for that scope of its own) -> "told", report CLEAN LEFT -> "reported", deadline MS -> "set", let-go -> "let-go", unlock -> "unlocked", disarm ->
 * "disarmed", fd -> "lost" or "holds"; a failure is "failed CODE TEXT". End of input: it ends without a
 * word, as a controller that dies. A watchdog that could not be started: exit 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buf.h"
#include "process.h"
#include "watchdog.h"

enum { TEXT_MAX = 1 << 20 };

static struct err err;
static struct bfs_dir folder, claims, slot_parents[WATCH_SLOTS], directories[WATCH_DIRECTORIES];
static struct watchdog_request request = {
    .run_id = "run001", .lock_fd = -1, .ready_ns = 10000 * NS_PER_MS, .clock = &os_clock_real};
static struct watchdog_leaf leaf = {.kept_fd = -1,
                                    .leaf_fd = -1,
                                    .scope_fd = -1,
                                    .scope_parent_fd = -1,
                                    .anchor_fd = -1,
                                    .gate_pidfd = -1};

static void failed(void)
{
    printf("failed %d %s\n", (int)err.code, err.msg);
    err = (struct err){0};
}

no_return static void die(const char *what)
{
    fprintf(stderr, "watch-drive: %s: %s\n", what, errno ? strerror(errno) : err.msg);
    exit(2);
}

static void open_dir(const char *path, struct bfs_dir *ret_dir)
{
    if (bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, ret_dir, &err) < 0) {
        errno = 0;
        die(path);
    }
}

static int open_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        die(path);
    }
    return fd;
}

static void take_slot(int which, char *path)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    open_dir(path, &slot_parents[which]);
    request.slots[which] = (struct watchdog_slot){&slot_parents[which], slash + 1};
}

static struct span text_of(const char *path)
{
    static char places[4][TEXT_MAX];
    static int used;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *place = places[used++ % 4];
    ssize_t got = fd < 0 ? -1 : read(fd, place, TEXT_MAX);
    if (got < 0) {
        die(path);
    }
    close(fd);
    return span_of(place, (size_t)got);
}

static struct fd seal(const char *clean, const char *left)
{
    struct span texts[WATCH_SLOTS][WATCH_ENDINGS] = {0};
    struct fd reports = {0};
    for (int i = 0; clean && i < WATCH_SLOTS; i++) {
        texts[i][WATCH_NOTHING_LEFT] = text_of(clean);
        texts[i][WATCH_SOMETHING_LEFT] = text_of(left);
    }
    if (watchdog_seal_reports(texts, &reports, &err) < 0) {
        die("seal");
    }
    return reports;
}

static void take_gate(const char *pid)
{
    struct proc_stat stat;
    leaf.gate_pidfd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
    with_fd file = fd_adopt(os_proc_stat_open(atoi(pid)));
    if (leaf.gate_pidfd < 0 || !fd_is_open(&file) || os_proc_stat_read(fd_num(&file), &stat) < 0) {
        die("gate");
    }
    leaf.gate = (struct proc_identity){atoi(pid), stat.start_ticks};
}

static void obey(struct watchdog *watchdog, char *line)
{
    char *words[3] = {0};
    for (size_t i = 0; i < countof(words); i++) {
        words[i] = strsep(&line, " \n");
    }
    if (strcmp(words[0], "arm") == 0) {
        if (watchdog_arm(watchdog, &leaf, &err) < 0 || watchdog_armed(watchdog, &err) < 0) {
            failed();
        } else {
            puts("armed");
        }
    } else if (strcmp(words[0], "report") == 0) {
        with_fd reports = seal(words[1], words[2]);
        puts(watchdog_report(watchdog, fd_num(&reports)) < 0 ? "failed" : "reported");
    } else if (strcmp(words[0], "deadline") == 0) {
        int64_t at_ns = os_clock_real.monotonic_ns() + atoll(words[1]) * NS_PER_MS;
        puts(watchdog_set_deadline(watchdog, at_ns) < 0 ? "failed" : "set");
    } else if (strcmp(words[0], "unlock") == 0) {
        puts(flock(request.lock_fd, LOCK_UN) < 0 ? "failed" : "unlocked");
    } else if (strcmp(words[0], "asked") == 0) {
        int64_t at_ns = os_clock_real.monotonic_ns() + atoll(words[1]) * NS_PER_MS;
        puts(watchdog_asked(watchdog, at_ns) < 0 ? "failed" : "told");
    } else if (strcmp(words[0], "let-go") == 0) {
        puts(watchdog_let_go(watchdog) < 0 ? "failed" : "let-go");
    } else if (strcmp(words[0], "disarm") == 0) {
        if (watchdog_disarm(watchdog, &err) < 0) {
            failed();
        } else {
            puts("disarmed");
        }
    } else if (strcmp(words[0], "fd") == 0) {
        struct pollfd polled = {.fd = watchdog_fd(watchdog), .events = POLLIN};
        puts(poll(&polled, 1, atoi(words[1] ? words[1] : "0")) > 0 ? "lost" : "holds");
    } else {
        puts("failed: no such order");
    }
}

int main(int argc, char **argv)
{
    const char *clean = NULL;
    const char *left = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        char *value = argv[i + 1];
        if (strcmp(name, "--run") == 0) {
            request.run_id = value;
        } else if (strcmp(name, "--state") == 0) {
            open_dir(value, &folder);
        } else if (strcmp(name, "--report") == 0) {
            take_slot(WATCH_SLOT_REPORT, value);
        } else if (strcmp(name, "--record") == 0) {
            take_slot(WATCH_SLOT_RECORD, value);
        } else if (strcmp(name, "--texts") == 0 && i + 2 < argc) {
            clean = value;
            left = argv[i++ + 2];
        } else if (strcmp(name, "--directory") == 0) {
            size_t at = 0;
            while (request.directories[at]) {
                at++;
            }
            open_dir(value, &directories[at]);
            request.directories[at] = &directories[at];
        } else if (strcmp(name, "--lock") == 0) {
            request.lock_fd = open(value, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            request.lock_path = realpath(value, NULL);
        } else if (strcmp(name, "--claim") == 0) {
            char *slash = strrchr(value, '/');
            request.claim = slash + 1;
            *slash = '\0';
            open_dir(value, &claims);
            request.claim_folder = &claims;
        } else if (strcmp(name, "--unit") == 0) {
            request.unit = value;
        } else if (strcmp(name, "--ready-ms") == 0) {
            request.ready_ns = atoll(value) * NS_PER_MS;
        } else if (strcmp(name, "--scope") == 0) {
            leaf.path = value;
            leaf.scope_fd = open_path(value);
        } else if (strcmp(name, "--leaf") == 0) {
            leaf.name = value;
        } else if (strcmp(name, "--anchor-leaf") == 0) {
            leaf.anchor_name = value;
        } else if (strcmp(name, "--scope-parent") == 0) {
            leaf.scope_parent_fd = open_path(value);
        } else if (strcmp(name, "--scope-path") == 0) {
            request.scope_path = value;
        } else if (strcmp(name, "--gate") == 0) {
            take_gate(value);
        } else {
            errno = EINVAL;
            die(name);
        }
    }
    if (leaf.name) {
        leaf.leaf_fd = openat(leaf.scope_fd, leaf.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    request.folder = &folder;
    request.environment = os_environment_all();
    with_fd reports = seal(clean, left);
    with_watchdog watchdog = watchdog_start(&request, &err);
    if (!watchdog || watchdog_watch(watchdog, fd_num(&reports), &err) < 0 ||
        watchdog_ready(watchdog, &err) < 0) {
        failed();
        return 1;
    }
    struct proc_identity who = watchdog_process(watchdog);
    printf("ready %d %llu", who.pid, (unsigned long long)who.start_ticks);
    for (size_t i = 0; i < WATCH_DIRECTORIES && request.directories[i]; i++) {
        printf(" %s", watchdog_directory_name(watchdog, i));
    }
    puts("");
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        obey(watchdog, line);
    }
    return 0;
}
