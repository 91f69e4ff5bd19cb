/* flood.c
 *
 *   flood MIB       write MIB mebibytes to standard output, 64 KiB at a time
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char block[65536];
    memset(block, 'x', sizeof block);
    long left = (argc > 1 ? strtol(argv[1], NULL, 10) : 1) * 16;
    while (left-- > 0) {
        for (size_t done = 0; done < sizeof block;) {
            ssize_t written = write(STDOUT_FILENO, block + done, sizeof block - done);
            if (written <= 0) {
                return 1;
            }
            done += (size_t)written;
        }
    }
    return 0;
}
