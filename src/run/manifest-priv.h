/* manifest-priv.h
 *
 * A watchdog's manifest, read back (docs/formats/watch-manifest.md).
 *
 * Ownership    *ret_reports lies in the bytes.
 * Errors       ERR_CORRUPT; ERR_UNAVAILABLE: of a later berm
 * Limitations  the bytes must be aligned as malloc does it.
 */
#pragma once

#include "err.h"
#include "span.h"
#include "watch-message.h"

/* Every text in it ends, every name is one, and the reports lie in their bytes. */
int manifest_read(struct span bytes, struct watch_manifest *ret_manifest, struct span *ret_reports,
                  struct err *err) must_check;
