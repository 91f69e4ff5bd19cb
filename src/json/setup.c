/* setup.c
 *
 * Runs before main() in every program that links json/, so that no caller can forget it and jansson
 * cannot have been used before.
 */
#include "json.h"

#include <string.h>

#include "memory.h"
#include "process.h"

/* External, so that the build can name it. */
void json_setup(void);

__attribute__((constructor)) void json_setup(void)
{
    /* A failed allocation would make jansson drop a member and say so in a result that callers have
     * no other reason to check. This way it aborts, and so does JSON while memory is armed. */
    json_set_alloc_funcs(memory_new, memory_free);

    /* The seed of jansson's hash tables, against keys that were made to collide. Left alone it
     * would open /dev/urandom behind the back of os/. */
    size_t seed = 1;
    const void *random_bytes = os_start_random();
    if (random_bytes) {
        memcpy(&seed, random_bytes, sizeof seed);
    }
    json_object_seed(seed | 1); /* 0 would mean: find one */
}
