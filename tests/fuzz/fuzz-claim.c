/* The text of a claim of the production lock: bytes of whoever made the link. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "production-claim-priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Plain, whole, and no longer than its room. */
static void check_text(const char text[CLAIM_TEXT_SIZE])
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_@\\";
    size_t n = strnlen(text, CLAIM_TEXT_SIZE);
    BUG_IF(n == 0 || n == CLAIM_TEXT_SIZE || strspn(text, plain) != n);
}

/* What is taken for a claim is told again word by word. */
static void check_claim(const struct claim *claim, const char *text)
{
    char again[8 * CLAIM_TEXT_SIZE];
    check_text(claim->boot_id);
    check_text(claim->run_id);
    check_text(claim->scope);
    check_text(claim->since);
    BUG_IF(claim->process.pid <= 0 || strncmp(claim->scope, "berm-", 5) != 0);
    (void)snprintf(again, sizeof again, "%s %s %s %s", claim->boot_id, claim->run_id, claim->scope,
                   claim->since);
    size_t n = strlen(text);
    BUG_IF(n < strlen(again) || strcmp(text + n - strlen(again), again) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536) {
        return 0;
    }
    char *text = strndup((const char *)data, size);
    char *cut = text ? strdup(text) : NULL;
    struct claim claim = {0};
    if (cut && claim_parse(cut, &claim)) {
        check_claim(&claim, text);
    }
    free(cut);
    free(text);
    return 0;
}
