/* context-drive - a run without a scope, whose broker is told a leaf that somebody made by hand
 *
 *   context-drive [--timeout-ms N] [--tier N] [--sandbox UID] LEAF PROGRAM [ARGUMENT...]
 *
 * LEAF is a path in the cgroup tree, as /proc/PID/cgroup names it; its limits are read from there, and the
 * program has to go there by itself; in a sandbox it cannot, so this program is to be there before. The exit code is the program's; 124: it was stopped at its time, 125:
 * it could not be run, or nobody could ask about it (the words are on stderr).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binding.h"
#include "clock.h"
#include "environment.h"
#include "process.h"
#include "supervise.h"

enum { STOPPED = 124, FAILED = 125 };

static uint64_t limit_of(const char *leaf, const char *name)
{
    char path[4200];
    char text[64] = "";
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", leaf, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) {
        perror(path);
        exit(FAILED);
    }
    close(fd);
    return strncmp(text, "max", 3) == 0 ? CONTEXT_UNLIMITED : strtoull(text, NULL, 10);
}

static int conclude(const struct supervise_ending *ending)
{
    if (ending->context_failure.code != ERR_NONE) {
        fprintf(stderr, "context-drive: %s\n", ending->context_failure.msg);
        return FAILED;
    }
    if (ending->how == ENDED_EXITED) {
        return ending->exit_code;
    }
    fprintf(stderr, "context-drive: %s\n", ending->failure.msg);
    return ending->how == ENDED_LIMIT ? STOPPED : FAILED;
}

int main(int argc, char **argv)
{
    char cwd[4096];
    int64_t timeout_ms = 60000;
    struct err err = {0};
    uid_t uid = 0;
    bool sandboxed = false;
    struct context_facts facts = {.run = "by-hand", .adapter = "by-hand"};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--tier") == 0) {
            facts.tier = (enum context_tier)strtol(argv[at + 1], NULL, 10);
        } else if (strcmp(argv[at], "--sandbox") == 0) {
            sandboxed = true;
            uid = (uid_t)strtoul(argv[at + 1], NULL, 10);
        } else {
            timeout_ms = strtoll(argv[at + 1], NULL, 10);
        }
    }
    if (at + 1 >= argc || !getcwd(cwd, sizeof cwd)) {
        return FAILED;
    }
    facts.leaf = facts.unit = argv[at];
    facts.memory_max_bytes = limit_of(argv[at], "memory.max");
    facts.memory_high_bytes = limit_of(argv[at], "memory.high");
    facts.swap_max_bytes = limit_of(argv[at], "memory.swap.max");
    facts.pids_max = limit_of(argv[at], "pids.max");
    facts.timeout_ms = (uint64_t)timeout_ms;
    facts.output_bytes = facts.temporary_bytes = facts.temporary_inodes = CONTEXT_UNLIMITED;

    const struct environment_request variables = {.inherited = os_environment_all(),
                                                  .pass_all = true};
    with_environment environment = {0};
    with_interrupts interrupts = {0};
    with_ending ending = NULL;
    int cwd_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (interrupts_begin(&interrupts, &err) < 0 ||
        environment_build(&variables, &environment, &err) < 0) {
        fprintf(stderr, "context-drive: %s\n", err.msg);
        return FAILED;
    }
    const struct binding_request wanted = {
        .name = argv[at + 1],
        .argv = argv + at + 1,
        .cwd_fd = cwd_fd,
        .cwd_path = cwd,
        .environment = environment_envp(&environment),
        .policy = POLICY_TRUSTED_HOST_TOOL,
        .own_authority = true,
    };
    with_binding binding = binding_resolve(&wanted, &err);
    with_sandbox sandbox = NULL;
    if (binding && sandboxed) {
        struct checks checks = {0};
        const struct sandbox_request box = {.cwd_fd = cwd_fd,
                                            .cwd_path = cwd,
                                            .inherited = os_environment_all(),
                                            .environment = environment_envp(&environment),
                                            .binding = binding,
                                            .private_bytes = 16 << 20,
                                            .private_inodes = 1024,
                                            .become = os_geteuid() == 0,
                                            .uid = uid,
                                            .gid = uid};
        char folder[4200];
        (void)snprintf(folder, sizeof folder, "/sys/fs/cgroup%s", argv[at]);
        sandbox = sandbox_plan(&box, &checks);
        if (!sandbox) {
            fprintf(stderr, "context-drive: no sandbox here\n");
            return FAILED;
        }
        sandbox_show_cgroup(sandbox, folder);
        if (sandbox_open(sandbox, &err) < 0 || sandbox_ready(sandbox, &err) < 0) {
            fprintf(stderr, "context-drive: %s\n", err.msg);
            return FAILED;
        }
    }
    const struct supervise_request request = {
        .binding = binding,
        .sandbox = sandbox,
        .environment = environment_envp(&environment),
        .cwd_fd = cwd_fd,
        .stdin_fd = null,
        .pass_fd = {1, 2},
        .keep_fd = {-1, -1},
        .limits = {.timeout_ns = timeout_ms * NS_PER_MS,
                   .grace_ns = 100 * NS_PER_MS,
                   .sample_ns = 250 * NS_PER_MS,
                   .setup_timeout_ns = 60 * NS_PER_S,
                   .kill_budget_ns = 10 * NS_PER_S},
        .interrupts = &interrupts,
        .cancel_fd = -1,
        .clock = &os_clock_real,
        .context = &facts,
    };
    if (!binding || supervise_run(&request, &ending, &err) < 0) {
        fprintf(stderr, "context-drive: %s\n", err.msg);
        return FAILED;
    }
    return conclude(ending);
}
