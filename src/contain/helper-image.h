/* helper-image.h
 *
 * The helper program (programs/helper) as the bytes of an executable file: they are part of berm, so
 * that nothing on a disk can be put in their place. Its first argument is the word of its duty.
 *
 * Ownership    static; never NULL, never empty.
 * Limitations  to be executed they must be copied into a file of memory, which is sealed then.
 */
#pragma once

#include "span.h"

struct span helper_image(void);
