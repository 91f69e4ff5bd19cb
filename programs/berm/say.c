#include "say.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "process.h"
#include "text.h"

enum { WORDS_BYTES = 4096 };

int say_whole(int fd, const struct buf *text)
{
    const char *p = buf_string(text);
    size_t n = buf_length(text);
    while (n > 0) {
        ssize_t written = os_write(fd, p, n);
        if (written == -EAGAIN) {
            int events = os_poll(fd, POLLOUT, -1);
            if (events < 0 && events != -EINTR) {
                return events;
            }
        } else if (written <= 0) {
            return written < 0 ? (int)written : -EIO;
        } else {
            p += written;
            n -= (size_t)written;
        }
    }
    return 0;
}

int say_result(const struct buf *text, struct err *err)
{
    if (!buf_fits(text)) {
        return err_set(err, ERR_OVER_BUDGET, "the result is longer than %zu bytes", text->maximum);
    }
    int result = say_whole(STDOUT_FILENO, text);
    return result < 0 ? err_sys(err, result, "write to standard output") : 0;
}

int say_json(const json_t *value, struct err *err)
{
    with_buf text = buf_new(SAY_JSON_BYTES);
    return json_write(value, JSON_READABLE, &text, err) < 0 ? -1 : say_result(&text, err);
}

void say_words(const struct buf *text)
{
    (void)!say_whole(STDERR_FILENO, text); /* there is nowhere left to say so */
}

void say_add(struct buf *out, const char *text)
{
    text_neutralise(out, span_of_string(text));
}

void say_error(const struct err *err)
{
    with_buf text = buf_new(WORDS_BYTES);
    buf_add_string(&text, "berm: ");
    text_neutralise(&text, span_of_string(err->msg));
    buf_add_char(&text, '\n');
    say_words(&text);
}

bool say_in_colour(int fd)
{
    const char *refused = os_environment("NO_COLOR");
    const char *terminal = os_environment("TERM");
    return (!refused || refused[0] == '\0') && terminal && strcmp(terminal, "dumb") != 0 &&
           os_is_terminal(fd);
}
