/* pages.h
 *
 * Room of which most is never touched: zero, and memory page by page, where it is touched. What malloc maps
 * for a large block may become memory in huge pages, 2 MiB for a first byte.
 *
 * Calling sequence   os_pages_new(bytes, &room) ... os_pages_free(room, bytes)
 * Ownership          the caller's, until it is freed
 * Errors             -errno, and *ret_room is left as it was
 * Limitations        a kernel that has no such advice, or none of such pages, is not told
 * Source             madvise(2), MADV_NOHUGEPAGE
 */
#pragma once

#include <stddef.h>

#include "attributes.h"

int os_pages_new(size_t bytes, void **ret_room) must_check;
void os_pages_free(void *room, size_t bytes); /* NULL: nothing */
