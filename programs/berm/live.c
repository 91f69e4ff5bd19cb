#include "live.h"

#include <poll.h>

#include "clock.h"
#include "event.h"
#include "file.h"
#include "text.h"
#include "units.h"

enum { LINE_BYTES = 500, NARROWEST = 20, DEFAULT_COLUMNS = 80 };

static const int64_t first_ns = NS_PER_S;
static const int64_t interval_ns = NS_PER_S / 4;
static const char erase[] = "\r\x1b[K";

void live_begin(struct live *live, int fd, const bool passes[STREAM_COUNT])
{
    *live = (struct live){.fd = fd, .line = buf_new(LINE_BYTES)};
    memcpy(live->passes, passes, sizeof live->passes);
    buf_reserve(&live->line, LINE_BYTES);
}

/* Never wait for the terminal: a line that cannot be written now is not worth it. */
static bool takes_bytes(const struct live *live)
{
    int events = os_poll(live->fd, POLLOUT, 0);
    return events > 0 && (events & POLLOUT) != 0;
}

static void erase_line(struct live *live)
{
    if (live->drawn && takes_bytes(live)) {
        (void)!os_write(live->fd, erase, sizeof erase - 1); /* a lost terminal is no failure */
        live->drawn = false;
    }
}

static void before_output(void *context, int stream)
{
    struct live *live = context;
    if (live->passes[stream]) {
        erase_line(live);
    }
}

static void after_output(void *context, int stream, char last)
{
    struct live *live = context;
    if (live->passes[stream]) {
        live->mid_line = last != '\n';
    }
}

/* The shell's prompt comes next, on this very line. */
static void before_stop(void *context)
{
    erase_line(context);
}

/* Take back the part that began at start when the line has become too wide by it. */
static void keep_if_fits(struct buf *line, size_t start, size_t width)
{
    if (buf_length(line) - (sizeof erase - 1) > width) {
        buf_cut(line, start);
    }
}

static void add_stopping(struct buf *line, const struct supervise_view *view)
{
    if (view->stopping) {
        buf_add_string(line, "  stopping: ");
        text_neutralise(line, span_of_string(view->stopping));
    }
}

static void add_memory(struct buf *line, const struct supervise_view *view)
{
    buf_add_string(line, "  memory ");
    units_add_bytes_of(line, view->memory_bytes, view->limits ? view->limits->memory_bytes : 0);
}

static void add_tasks(struct buf *line, const struct supervise_view *view)
{
    buf_add_format(line, "  tasks %lld", (long long)view->tasks);
    if (view->limits && view->limits->tasks > 0) {
        buf_add_format(line, "/%lld", (long long)view->limits->tasks);
    }
}

static void add_output(struct buf *line, const struct supervise_view *view)
{
    buf_add_string(line, "  output ");
    units_add_bytes_of(line, view->output_bytes, view->limits ? view->limits->output_bytes : 0);
}

/* The time always, then each part that fits. */
static void compose(struct buf *line, const struct supervise_view *view, size_t width)
{
    static void (*const parts[])(struct buf * line, const struct supervise_view *view) = {
        add_stopping, add_memory, add_tasks, add_output};
    buf_clear(line);
    buf_add_string(line, erase);
    buf_add_string(line, "berm: ");
    units_add_ns(line, view->elapsed_ns);
    size_t start = buf_length(line);
    if (view->limits && view->limits->timeout_ns > 0) {
        buf_add_char(line, '/');
        units_add_exact_duration(line, view->limits->timeout_ns / NS_PER_MS);
        keep_if_fits(line, start, width);
    }
    for (size_t i = 0; i < countof(parts); i++) {
        start = buf_length(line);
        parts[i](line, view);
        keep_if_fits(line, start, width);
    }
}

static bool is_due(const struct live *live, const struct supervise_view *view)
{
    if (view->elapsed_ns < first_ns || live->mid_line) {
        return false;
    }
    return view->stopping != live->stopping || live->drawn_at_ns == 0 ||
           view->elapsed_ns - live->drawn_at_ns >= interval_ns;
}

static void on_sample(void *context, const struct supervise_view *view)
{
    struct live *live = context;
    if (!is_due(live, view) || !takes_bytes(live) || !os_terminal_is_ours(live->fd)) {
        return;
    }
    int columns = os_terminal_columns(live->fd);
    if (columns <= 0) {
        columns = DEFAULT_COLUMNS;
    }
    if (columns < NARROWEST) {
        return;
    }
    compose(&live->line, view, (size_t)columns - 1); /* the last column would make some wrap */
    (void)!os_write(live->fd, buf_string(&live->line), buf_length(&live->line));
    live->drawn = true;
    live->drawn_at_ns = view->elapsed_ns;
    live->stopping = view->stopping;
}

struct supervise_observer live_observer(struct live *live)
{
    return (struct supervise_observer){.context = live,
                                       .on_sample = on_sample,
                                       .before_output = before_output,
                                       .after_output = after_output,
                                       .before_stop = before_stop};
}

void live_end(struct live *live)
{
    erase_line(live);
    buf_done(&live->line);
}
