/* The terminal neutraliser (FS-7): whatever comes in, what goes out is printable UTF-8 that no
 * terminal obeys, is at most four times as long, and stays as it is when neutralised again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Told apart by byte patterns, so that text.c's own decoder is not its judge. */
static bool obeyed_by_a_terminal(const unsigned char *p, size_t n)
{
    static const char *const patterns[] = {
        "\xD8\x9C",     /* U+061C, Arabic letter mark */
        "\xE2\x80\x8E", /* U+200E, left-to-right mark */
        "\xE2\x80\x8F", /* U+200F */
        "\xE2\x80\xA8", /* U+2028, line separator */
        "\xE2\x80\xA9", /* U+2029 */
        "\xE2\x80\xAA", /* U+202A to U+202E, embeddings and overrides */
        "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD",
        "\xE2\x80\xAE", "\xE2\x81\xA6", /* U+2066 to U+2069, isolates */
        "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9",
    };
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0x20 || p[i] == 0x7F || (p[i] == 0xC2 && i + 1 < n && p[i + 1] < 0xA0)) {
            return true;
        }
        for (size_t k = 0; k < countof(patterns); k++) {
            size_t length = strlen(patterns[k]);
            if (n - i >= length && memcmp(p + i, patterns[k], length) == 0) {
                return true;
            }
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span in = span_of((const char *)data, size);
    with_buf once = buf_new(4 * size);
    text_neutralise(&once, in);
    BUG_IF(!buf_fits(&once));
    BUG_IF(!text_is_utf8(buf_span(&once)));
    BUG_IF(obeyed_by_a_terminal((const unsigned char *)buf_string(&once), buf_length(&once)));

    with_buf twice = buf_new(buf_length(&once));
    text_neutralise(&twice, buf_span(&once));
    BUG_IF(!buf_fits(&twice) || strcmp(buf_string(&once), buf_string(&twice)) != 0);

    with_buf text = buf_new(3 * size);
    text_to_utf8(&text, in);
    BUG_IF(!buf_fits(&text) || !text_is_utf8(buf_span(&text)));
    BUG_IF(text_is_utf8(in) &&
           (buf_length(&text) != size || (size > 0 && memcmp(buf_string(&text), data, size) != 0)));
    return 0;
}
