/* A ledger lies on a disk: whatever stands there is read within its bounds, and what is read is a list that the writer
 * writes again byte for byte. The digest at its end is put right first, or nothing behind it would be reached. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ledger-priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char boot[] = "b";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hash hash;
    char hex[HASH_HEX_SIZE];
    with_ledger ledger = {0};
    with_buf sealed = buf_new(size + HASH_HEX_SIZE);
    with_buf again = buf_new(1 << 24);
    hash_init(&hash);
    hash_add(&hash, data, size);
    hash_hex(&hash, hex);
    buf_add(&sealed, data, size);
    buf_add_string(&sealed, hex);
    if (ledger_decode(buf_span(&sealed), boot, &ledger, NULL) < 0) {
        return 0;
    }
    ledger_encode(&ledger, boot, &again);
    BUG_IF(buf_length(&again) != buf_length(&sealed));
    BUG_IF(memcmp(buf_string(&again), buf_string(&sealed), buf_length(&again)) != 0);
    return 0;
}
