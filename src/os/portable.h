/* portable.h
 *
 * What the portable program needs of the kernel and the other files of os/ do not have (docs/adr/0021).
 *
 * Errors       -errno
 * Limitations  linked by programs/portable only.
 * Source       POSIX.1-2008: getcwd.
 */
#pragma once

#include <stddef.h>

#include "attributes.h"

int os_working_folder(char *path, size_t size) must_check;
