/* What the broker reads of a daemon, and the library of the broker: the text of a lock, and the frames. The first byte
 * says which. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "attributes.h"
#include "daemon-priv.h"
#include "parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever it is: who is taken for a lock holds its pid and its reservation in plain digits, and no part of it is
 * a lock. */
static void read_lock(const char *text, size_t size)
{
    int64_t pid = -1;
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
    char word[2 * DAEMON_RESERVATION_BYTES + 3] = "\"";
    if (!daemon_lock_parse(span_of(text, size), &pid, reservation)) {
        BUG_IF(pid != -1);
        return;
    }
    for (size_t i = 0; i < sizeof reservation; i++) {
        (void)snprintf(word + 1 + 2 * i, 4, "%02x\"", reservation[i]);
    }
    BUG_IF(pid <= 0 || pid > INT32_MAX || size > DAEMON_LOCK_BYTES);
    BUG_IF(!memmem(text, size, word, sizeof word - 1) || !memmem(text, size, "\"pid\"", 5));
    const char *last = memrchr(text, '}', size);
    BUG_IF(!last || daemon_lock_parse(span_of(text, (size_t)(last - text)), &pid, reservation));
}

static void read_answer(const uint8_t *data, size_t size)
{
    static struct daemon_answer answer;
    static const uint8_t nonce[CONTEXT_NONCE_BYTES];
    memset(&answer, 'x', sizeof answer);
    memcpy(&answer, data, size < sizeof answer ? size : sizeof answer);
    for (int i = 0; i < 2; i++) { /* also with a head that is right, which is hard to hit */
        if (berm_exchange_check_daemon(&answer, (ssize_t)(i ? sizeof answer : size), nonce)) {
            BUG_IF(strnlen(answer.text, sizeof answer.text) == sizeof answer.text ||
                   strnlen(answer.socket, sizeof answer.socket) == sizeof answer.socket ||
                   strnlen(answer.lock, sizeof answer.lock) == sizeof answer.lock ||
                   answer.refusal >= DAEMON_REFUSAL_COUNT || answer.state >= DAEMON_STATE_COUNT);
        }
        answer.magic = CONTEXT_MAGIC;
        answer.version = CONTEXT_VERSION;
        answer.status = CONTEXT_OK;
        memset(answer.nonce, 0, sizeof answer.nonce);
    }
}

/* A request of a run that declares nothing, whatever it holds: its text goes into an answer. */
static void answer_request(const uint8_t *data, size_t size)
{
    struct daemon_request request = {.head.operation = CONTEXT_DAEMON};
    static struct daemon_answer answer;
    memcpy(request.name, data, size < sizeof request.name ? size : sizeof request.name);
    answer = (struct daemon_answer){0};
    daemons_answer(NULL, -1, (struct proc_identity){1, 1}, &request, &answer);
    BUG_IF(answer.refusal != DAEMON_REFUSED_NOT_DECLARED ||
           strnlen(answer.text, sizeof answer.text) == sizeof answer.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536) {
        return 0;
    }
    switch (data[0] % 3) {
    case 0:
        read_lock((const char *)data + 1, size - 1);
        break;
    case 1:
        read_answer(data + 1, size - 1);
        break;
    default:
        answer_request(data + 1, size - 1);
        break;
    }
    return 0;
}
