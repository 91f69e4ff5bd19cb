/* The summary and --explain of whatever JSON there is (FS-7): it ends, every line of a summary is
 * berm's own, and nothing in it is obeyed by a terminal. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "json.h"
#include "summary.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const struct buf *text, const char *prefix)
{
    if (!buf_fits(text)) {
        return; /* cut as a whole addition: said by the caller */
    }
    const char *p = buf_string(text);
    const char *end = p + buf_length(text);
    while (p < end) {
        BUG_IF(strncmp(p, prefix, strlen(prefix)) != 0);
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        BUG_IF(!line_end);
        /* What is neutral stays as it is when neutralised again. */
        struct span line = span_of(p, (size_t)(line_end - p));
        with_buf again = buf_new(4 * line.n);
        text_neutralise(&again, line);
        BUG_IF(buf_length(&again) != line.n || memcmp(buf_string(&again), line.p, line.n) != 0);
        p = line_end + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    with_json value = json_read(span_of((const char *)data, size), &json_budget_report, NULL);
    if (!value) {
        return 0;
    }
    const struct summary_view view = {
        .place = "/home/u/x.json", .home = "/home/u", .exit_code = -1};
    with_buf summary = buf_new(SUMMARY_BYTES);
    summary_render(value, &view, &summary);
    check_lines(&summary, "berm: ");

    with_buf explained = buf_new(EXPLAIN_BYTES);
    explain_render(value, &explained);
    check_lines(&explained, "");
    return 0;
}
