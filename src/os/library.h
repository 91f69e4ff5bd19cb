/* library.h
 *
 * Shared libraries that are loaded where they are needed and not when berm starts: loading them is
 * the largest single cost of a launch, and most commands do without.
 *
 * Calling sequence
 *   os_library_open("libsystemd.so.0", why, sizeof why)     NULL: `why` says so
 *   os_library_symbol(library, "sd_bus_new")                NULL: an older one has none
 *   os_library_path(library)                                the file that it came from; NULL: not known
 *
 * Ownership    a library stays for the life of the process.
 * Limitations  what a library calls of the kernel is not counted by the fault table.
 * Source       dlopen(3); the search is the dynamic loader's (ld.so(8)), as for a linked library.
 */
#pragma once

#include <stddef.h>

#include "attributes.h"

void *os_library_open(const char *name, char *why, size_t size) must_check;
void *os_library_symbol(void *library, const char *name) must_check;
const char *os_library_path(void *library) must_check; /* of the loader's; not to be freed */
