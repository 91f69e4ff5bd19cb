/* helper-image.h
 *
 * The helper program (programs/helper) as the bytes of an executable file: they are part of berm, so
 * that nothing on a disk can be put in their place. Its first argument is the word of its duty.
 *
 * Ownership    static; never NULL, never empty. The file is lent, and stays open as long as the process lives.
 * Errors       -errno.
 * Limitations  to be executed they must be copied into a file of memory: once, for all the helpers that a
 *              process starts. Nobody can change its bytes then, whoever was handed it; from Linux 6.3 on nor
 *              whether it may be executed. Before, a process of the same user can take that away: no helper
 *              starts any more then, which is an error, and never another program. Not for threads.
 */
#pragma once

#include "attributes.h"
#include "span.h"

struct span helper_image(void);
int helper_image_file(void) must_check; /* sealed; close-on-exec */
