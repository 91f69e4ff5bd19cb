/* crowd.c
 *
 *   crowd N SECONDS     N children that sleep; says "ready" once they are all there
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    unsigned seconds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            return 1;
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
            _exit(0);
        }
    }
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) {
        return 1;
    }
    sleep(seconds);
    return 0;
}
