/* qualify.h where nothing can be enforced: refused before the first case, and no attestation is written. */
#include "qualify.h"

#include "host.h"
#include "memory.h"

enum { WHY_BYTES = 4096 };

int qualify_run(const struct qualify_request *request, struct qualify_result *ret_result,
                struct err *err)
{
    char time[CLOCK_TEXT_SIZE];
    with_buf why = buf_new(WHY_BYTES);
    clock_format_utc(request->clock->realtime_ns(), time);
    buf_add_string(&why, HOST_LACKS ": " HOST_REMEDY);
    *ret_result = (struct qualify_result){.refused = true};
    ret_result->attestation.tested_at = memory_copy_string(time);
    ret_result->attestation.adapter = memory_copy_string(HOST_ADAPTER);
    ret_result->attestation.refusal =
        qualify_error("LAMINA_SAFE_PRODUCTION_ENFORCEMENT_REQUIRED", &why);
    qualify_skip_cases(&ret_result->attestation);
    return 0;
}
