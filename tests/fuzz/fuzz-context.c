/* What each side of the context socket reads: /proc/PID/cgroup, whose names anybody can choose, and the
 * frames of the other end. The first byte says which. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "context-priv.h"
#include "file.h"
#include "memory.h"
#include "parts.h"
#include "path.h"
#include "process.h"
#include "socket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever the text is: who counts as a member has a line that says so, in whole components. */
static void read_cgroup(const char *text, size_t size)
{
    static const char leaf[] = "/a/berm-x.scope/payload";
    static char path[CONTEXT_LEAF_SIZE];
    char address[CONTEXT_ADDRESS_SIZE];
    if (!context_parse_cgroup(text, size, path)) {
        return;
    }
    BUG_IF(strlen(path) >= sizeof path || !memmem(text, size, path, strlen(path)));
    bool member = context_is_leaf(path) && path_is_beneath(path, leaf);
    BUG_IF(member && strstr(path, "/../"));
    BUG_IF(member && strncmp(path, leaf, sizeof leaf - 1) != 0);
    BUG_IF(member && path[sizeof leaf - 1] != '\0' && path[sizeof leaf - 1] != '/');
    BUG_IF(member && strlen(path) > 10 && strcmp(path + strlen(path) - 10, " (deleted)") == 0);
    if (context_address(path, address)) {
        BUG_IF(strlen(address) >= sizeof address || !context_is_leaf(path) ||
               strchr(address + sizeof CONTEXT_PREFIX - 1, '/'));
    }
}

static void read_answer(const uint8_t *data, size_t size)
{
    static struct context_answer answer;
    static const uint8_t nonce[CONTEXT_NONCE_BYTES];
    struct context_hello hello;
    memset(&answer, 'x', sizeof answer);
    memcpy(&answer, data, size < sizeof answer ? size : sizeof answer);
    /* Also with a head that is right, which is hard to hit. */
    for (int i = 0; i < 2; i++) {
        if (berm_exchange_check_answer(&answer, (ssize_t)(i ? sizeof answer : size), nonce)) {
            BUG_IF(strnlen(answer.run, sizeof answer.run) == sizeof answer.run ||
                   strnlen(answer.leaf, sizeof answer.leaf) == sizeof answer.leaf ||
                   answer.guarantee_count > CONTEXT_GUARANTEES_MAX ||
                   answer.tier >= CONTEXT_TIER_COUNT);
        }
        answer.magic = CONTEXT_MAGIC;
        answer.version = CONTEXT_VERSION;
        answer.status = CONTEXT_OK;
        memset(answer.nonce, 0, sizeof answer.nonce);
    }
    memset(&hello, 0, sizeof hello);
    memcpy(&hello, data, size < sizeof hello ? size : sizeof hello);
    BUG_IF(berm_exchange_check_hello(&hello, (ssize_t)size) && size != sizeof hello);
}

static void hear_request(const uint8_t *data, size_t size)
{
    struct context_peer peer = {.who.pid = os_getpid(), .nonce = {1, 2, 3}};
    with_fd other = {0};
    bool heard = false;
    if (size == 0 || os_socket_pair(&peer.socket, &other) < 0 ||
        os_socket_name_senders(fd_num(&peer.socket), true) < 0 ||
        os_send(fd_num(&other), data, size) != (ssize_t)size) {
        fd_close(&peer.socket);
        return;
    }
    union context_frame frame;
    enum context_status status = context_peer_hear(&peer, &frame, &heard);
    BUG_IF(!heard);
    BUG_IF(status == CONTEXT_OK &&
           size !=
               (frame.head.operation == CONTEXT_READ ? sizeof frame.head : sizeof frame.daemon));
    fd_close(&peer.socket);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536) {
        return 0;
    }
    switch (data[0] % 3) {
    case 0:
        read_cgroup((const char *)data + 1, size - 1);
        break;
    case 1:
        read_answer(data + 1, size - 1);
        break;
    default:
        hear_request(data + 1, size - 1);
        break;
    }
    return 0;
}
