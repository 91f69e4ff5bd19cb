#include "pages.h"

#include <errno.h>
#include <sys/mman.h>

#include "fault.h"

int os_pages_new(size_t bytes, void **ret_room)
{
    long room = OS_CALL(mmap, (long)mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (room <= 0) {
        return room < 0 ? (int)room : -EIO; /* a call that did nothing gave no room */
    }
    (void)OS_CALL(madvise, madvise((void *)room, bytes, MADV_NOHUGEPAGE)); /* without: larger */
    *ret_room = (void *)room;
    return 0;
}

void os_pages_free(void *room, size_t bytes)
{
    if (room) {
        (void)OS_CALL(munmap, munmap(room, bytes)); /* it cannot fail for what was mapped */
    }
}
