/* Reads and sends messages within a deadline for the whole message. The sockets block, but are only
 * asked for what is there (MSG_DONTWAIT), and poll() waits for more. */
#include "runtime/cuda/nccl/store_io.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define PART_MAX ((uint64_t)1 << 32)

enum { MESSAGE_NS = 1000000000, MESSAGES = 10, BYTE_NS = 100 }; /* 10 s, and 10 MB/s */

static const char magic[8] = "ppsim-3";

pp_store_frame pp_store_head(pp_store_word word, uint32_t from, size_t bytes)
{
    pp_store_frame head = { .word = word, .from = from, .bytes = bytes };
    memcpy(head.magic, magic, sizeof magic);
    return head;
}

bool pp_store_is_head(const pp_store *store, const pp_store_frame *head)
{
    return memcmp(head->magic, magic, sizeof magic) == 0 && head->word < PP_STORE_WORDS &&
           head->from < store->ranks && head->bytes < PART_MAX;
}

pp_ns pp_store_deadline(const pp_store *store, size_t bytes)
{
    return store->services->clock_now_ns() + (pp_ns)MESSAGE_NS * MESSAGES + (pp_ns)bytes * BYTE_NS;
}

/* Waits until a socket is ready. Returns false if it is not in time. */
static bool wait_for(const pp_store *store, int socket, short events, pp_ns until_ns)
{
    struct pollfd fd = { .fd = socket, .events = events };
    for (;;) {
        const pp_ns left_ns = until_ns - store->services->clock_now_ns();
        const int most_ms = 1000;
        if (left_ns <= 0)
            return false;
        const int ready =
            poll(&fd, 1, left_ns / 1000000 < most_ms ? (int)(left_ns / 1000000) + 1 : most_ms);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static bool is_later(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

bool pp_store_receive(int from, void *bytes, size_t most, size_t *came_out)
{
    const ssize_t came = recv(from, bytes, most, MSG_DONTWAIT);
    *came_out = came > 0 ? (size_t)came : 0;
    return came > 0 || (came < 0 && is_later());
}

bool pp_store_read(const pp_store *store, int from, void *bytes, size_t count, pp_ns until_ns)
{
    char *at = bytes;
    while (count > 0) {
        if (!wait_for(store, from, POLLIN, until_ns))
            return false;
        size_t came = 0;
        if (!pp_store_receive(from, at, count, &came))
            return false;
        at += came;
        count -= came;
    }
    return true;
}

static bool send_bytes(const pp_store *store, int to, const void *bytes, size_t count,
                       pp_ns until_ns)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(to, at, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && is_later()) {
            if (!wait_for(store, to, POLLOUT, until_ns))
                return false;
            continue;
        }
        if (sent <= 0)
            return false;
        at += sent;
        count -= (size_t)sent;
    }
    return true;
}

bool pp_store_say(pp_store *store, int to, pp_store_word word, uint32_t from, const void *bytes,
                  size_t count)
{
    const pp_store_frame head = pp_store_head(word, from, count);
    pthread_mutex_lock(&store->writing);
    const pp_ns until_ns = pp_store_deadline(store, count);
    bool said = send_bytes(store, to, &head, sizeof head, until_ns) &&
                send_bytes(store, to, bytes, count, until_ns);
    pthread_mutex_unlock(&store->writing);
    return said;
}
