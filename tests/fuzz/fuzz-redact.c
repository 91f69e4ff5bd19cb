/* The redactor (RP-5, O5, R59): a secret that stands on a line of its own within any text is gone;
 * hiding again changes nothing; valid UTF-8 stays valid; a tail is valid, short enough and without
 * the secret wherever the window begins. The first byte chooses the form of the secret, the second
 * where in the text it stands; slow inputs are libFuzzer's to report. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "json.h"
#include "redact-priv.h"
#include "redact.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "Zq7kW9x2"

static const char *const forms[] = {
    "run --token " SECRET " --verbose",
    "run --token=" SECRET,
    "TOKEN=" SECRET " make",
    "token: " SECRET,
    "{\"user\": \"joe\", \"password\": \"a " SECRET " b\"}",
    "'password': 'a " SECRET "'",
    "{\\\"password\\\": \\\"a " SECRET "\\\"}",
    "Authorization: Bearer " SECRET,
    "-H \"authorization: Basic " SECRET "\" x",
    "sent Bearer " SECRET,
    "X-Api-Key: " SECRET,
    "Cookie: a=b; c=" SECRET,
    "https://joe:" SECRET "@example.org/",
    "https://" SECRET "@example.org/",
    "to joe:" SECRET "@example.org",
    "ghp_" SECRET "abcdefghijklmnop",
    "AKIAABCDEFGHIJKLMNOP" SECRET,
    "-----BEGIN PRIVATE KEY-----\nabc\n" SECRET "\n-----END PRIVATE KEY-----",
    "mysql -p" SECRET " db",
    "curl -u joe:" SECRET " x",
    "<token>" SECRET "</token>",
    "machine h login joe password " SECRET,
    "DB_PASS=[" SECRET ", x]",
};

static void redact_into(struct span in, struct buf *out)
{
    *out = buf_new(4 * in.n + 64);
    redact_text(in, out);
    BUG_IF(!buf_fits(out));
}

static bool holds_secret(struct span text)
{
    return text.n > 0 && memmem(text.p, text.n, SECRET, sizeof SECRET - 1);
}

/* What is passed over after a quick look is never changed. */
static void check_look(struct span text, const struct buf *seen)
{
    BUG_IF(redact_leaves(text) &&
           (buf_length(seen) != text.n || memcmp(buf_string(seen), text.p, text.n) != 0));
}

static void check_text(struct span text)
{
    with_buf once = {0};
    with_buf twice = {0};
    redact_into(text, &once);
    check_look(text, &once);
    BUG_IF(holds_secret(buf_span(&once)));
    BUG_IF(text_is_utf8(text) && !text_is_utf8(buf_span(&once)));
    redact_into(buf_span(&once), &twice);
    BUG_IF(buf_length(&once) != buf_length(&twice) ||
           strcmp(buf_string(&once), buf_string(&twice)) != 0);
}

enum { KEEP_BYTES = 64 };

static void check_tail(struct span window, bool cut)
{
    bool whole;
    with_json tail = redact_tail(window, cut, KEEP_BYTES, &whole);
    struct span text = span_of(json_string_value(tail), json_string_length(tail));
    BUG_IF(text.n > KEEP_BYTES || !text_is_utf8(text) || holds_secret(text));
    BUG_IF(whole && cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || holds_secret(span_of((const char *)data, size))) {
        return 0;
    }
    const char *form = forms[data[0] % countof(forms)];
    size_t n = size - 2;
    size_t place = n * data[1] / 255;
    const char *text = (const char *)data + 2;

    with_buf planted = buf_new(size + 256);
    buf_add(&planted, text, place);
    buf_add_char(&planted, '\n');
    size_t start = buf_length(&planted);
    buf_add_string(&planted, form);
    buf_add_char(&planted, '\n');
    buf_add(&planted, text + place, n - place);
    struct span all = buf_span(&planted);

    check_text(all);
    check_text(span_of(text, n));
    check_tail(all, false);
    /* As many bytes of the secret's own lines are missing as the first byte says. */
    size_t from = start + data[0] % strlen(form);
    check_tail(span_of(all.p + from, all.n - from), true);
    return 0;
}
