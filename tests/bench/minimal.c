/* minimal.c
 *
 * The least that a runner with crash-safe reports can do, as the yardstick of `berm run -- true`:
 * one report that says "in progress", the command, one report that says how it ended; each report
 * through a temporary file, synced, renamed, its folder synced. Nothing is watched, limited, hashed,
 * drained or proved. Linked like any program: dynamically, against libc only.
 *
 *   minimal FOLDER COMMAND [ARG...]
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int report(int folder, const char *text)
{
    char padding[4096];
    memset(padding, ' ', sizeof padding);
    int file = openat(folder, ".report.tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, text, strlen(text)) < 0 ||
        write(file, padding, sizeof padding) < 0 || fsync(file) < 0 || close(file) < 0 ||
        renameat(folder, ".report.tmp", folder, "report.json") < 0 || fsync(folder) < 0) {
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
    int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t pid;
    int status;
    if (folder < 0 || report(folder, "{\"outcome\":\"internal_error\"}") < 0 ||
        posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || report(folder, "{\"outcome\":\"success\"}") < 0) {
        return 125;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
