#include "boundary.h"

#include <sys/prctl.h>

#include "fault.h"

void os_boundary(enum boundary boundary)
{
    /* Refused by every kernel, as it should be. */
    long ignored = OS_CALL(prctl, prctl(BOUNDARY_MAGIC, (unsigned long)boundary, 0, 0, 0));
    (void)ignored;
}
