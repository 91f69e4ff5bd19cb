#include "manifest-priv.h"

#include <string.h>

int manifest_read(struct span bytes, struct watch_manifest *ret_manifest, struct span *ret_reports,
                  struct err *err)
{
    if (bytes.n < sizeof *ret_manifest) {
        return err_set(err, ERR_CORRUPT, "it is cut");
    }
    memcpy(ret_manifest, bytes.p, sizeof *ret_manifest);
    if (memcmp(ret_manifest->magic, WATCH_MAGIC, sizeof ret_manifest->magic) == 0 &&
        ret_manifest->version > WATCH_VERSION) {
        return err_set(err, ERR_UNAVAILABLE, "it is of a later berm (version %u)",
                       ret_manifest->version);
    }
    *ret_reports = span_of(bytes.p + sizeof *ret_manifest, bytes.n - sizeof *ret_manifest);
    const struct watch_reports *reports =
        (const struct watch_reports *)(const void *)ret_reports->p;
    if (!watch_manifest_check(ret_manifest) || ret_reports->n != ret_manifest->reports_bytes ||
        watch_manifest_sum(ret_manifest, ret_reports->p) != ret_manifest->sum ||
        !watch_reports_check(reports, ret_reports->n)) {
        return err_set(err, ERR_CORRUPT, "it is no manifest of berm's");
    }
    return 0;
}
