/* The store between processes, over TCP. Rank 0 listens; every other process has one connection to
 * it, and messages to all processes go through rank 0. A thread of each process, the listener,
 * reads what arrives, so that a stop or the end of a process is noticed while its ranks compute. */
#include "runtime/cuda/nccl/store_tcp.h"

#include "runtime/cuda/nccl/store_io.h"
#include "runtime/cuda/nccl/store_meet.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends a message to all other processes except `but`. */
static void hand_on(pp_store *store, pp_store_word what, uint32_t from, uint32_t but,
                    const void *bytes, size_t count)
{
    for (uint32_t r = 0; r < store->ranks; r++)
        if (r != but && store->peer[r] >= 0)
            (void)pp_store_say(store, store->peer[r], what, from, bytes, count);
}

static void keep(pp_store_part *part, char **bytes, size_t count)
{
    free(part->bytes);
    *part = (pp_store_part){ .bytes = *bytes, .count = count, .there = true };
    *bytes = NULL;
}

/* Processes one message. */
static void take(pp_store *store, uint32_t peer, const pp_store_frame *head, char **bytes)
{
    bool first = store->place.rank == 0;
    pp_ns now_ns = store->services->clock_now_ns();
    if (first && head->word == PP_STORE_ASK)
        (void)pp_store_say(store, store->peer[peer], PP_STORE_ASK, 0, &now_ns, sizeof now_ns);
    if (first && (head->word == PP_STORE_COLLECT || head->word == PP_STORE_STOP))
        hand_on(store, (pp_store_word)head->word, head->from, peer, *bytes, (size_t)head->bytes);
    if (head->word == PP_STORE_STOP)
        atomic_store(&store->stopped, true);
    pthread_mutex_lock(&store->lock);
    if (head->word == PP_STORE_GATHER)
        keep(first ? &store->gather[peer] : &store->all, bytes, (size_t)head->bytes);
    if (head->word == PP_STORE_COLLECT) {
        keep(&store->collect[head->from], bytes, (size_t)head->bytes);
        store->alarm = true;
    }
    if (!first && head->word == PP_STORE_ASK && head->bytes == sizeof store->answer_ns) {
        memcpy(&store->answer_ns, *bytes, sizeof store->answer_ns);
        store->answered = true;
    }
    pthread_cond_broadcast(&store->moved);
    pthread_mutex_unlock(&store->lock);
}

/* What has come of a process's next message. */
typedef struct inbox {
    pp_store_frame head;
    char *bytes;
    size_t came;
    pp_ns until_ns;
} inbox;

/* Reads what is there of the head, or of the content. Returns false if the process is gone, or says
 * what no process of this job says. */
static bool read_some(const pp_store *store, uint32_t peer, inbox *in)
{
    const size_t head = sizeof in->head;
    const bool first = in->came == 0;
    char *at = in->came < head ? (char *)&in->head + in->came : in->bytes + (in->came - head);
    const size_t left = in->came < head ? head - in->came : head + in->head.bytes - in->came;
    size_t came = 0;
    if (!pp_store_receive(store->peer[peer], at, left, &came))
        return false;
    in->came += came;
    if (first)
        in->until_ns = pp_store_deadline(store, head);
    if (in->bytes || in->came < head)
        return true;
    if (!pp_store_is_head(store, &in->head))
        return false;
    in->until_ns = pp_store_deadline(store, (size_t)in->head.bytes);
    in->bytes = malloc((size_t)in->head.bytes + 1);
    return in->bytes != NULL;
}

/* Reads what is there of a message, and processes it if that is all: who is slow keeps nobody from
 * being heard. Returns false if the process is gone. */
static bool listen_to(pp_store *store, uint32_t peer, inbox *in)
{
    if (!read_some(store, peer, in))
        return false;
    if (!in->bytes || in->came < sizeof in->head + in->head.bytes)
        return true;
    take(store, peer, &in->head, &in->bytes);
    if (in->head.word == PP_STORE_BYE)
        store->left[peer] = true;
    free(in->bytes);
    *in = (inbox){ .came = 0 };
    return true;
}

static bool is_late(const pp_store *store, const inbox *in)
{
    return in->came > 0 && store->services->clock_now_ns() > in->until_ns;
}

/* A process that leaves without PP_STORE_BYE ends the run. */
static void lose(pp_store *store, uint32_t peer)
{
    (void)shutdown(store->peer[peer],
                   SHUT_RDWR); /* closed at the end, since other threads may write to it */
    if (!store->left[peer] && !atomic_load(&store->closing))
        pp_store_net_stop(store);
}

static void *listen_all(void *argument)
{
    enum { NAP_MS = 20 };
    pp_store *store = argument;
    const uint32_t ranks = store->ranks;
    struct pollfd *fd = calloc(ranks, sizeof *fd);
    bool *over = calloc(ranks, sizeof *over); /* connections that have ended */
    inbox *in = calloc(ranks, sizeof *in);
    if (!fd || !over || !in)
        pp_store_net_stop(store);
    while (fd && over && in && !atomic_load(&store->closing)) {
        for (uint32_t r = 0; r < ranks; r++)
            fd[r] = (struct pollfd){ .fd = over[r] ? -1 : store->peer[r], .events = POLLIN };
        const bool ready = poll(fd, ranks, NAP_MS) > 0;
        for (uint32_t r = 0; r < ranks; r++) {
            const bool says = ready && fd[r].fd >= 0 && fd[r].revents;
            if (fd[r].fd < 0 || ((!says || listen_to(store, r, &in[r])) && !is_late(store, &in[r])))
                continue;
            over[r] = true;
            lose(store, r);
        }
    }
    for (uint32_t r = 0; r < ranks && in; r++)
        free(in[r].bytes);
    free(in);
    free(fd);
    free(over);
    return NULL;
}

pp_status pp_store_connect(pp_store *store, pp_err *err)
{
    pp_status status = pp_store_meet(store, err);
    if (status)
        return status;
    int code = pthread_create(&store->listener, NULL, listen_all, store);
    if (code)
        return store->services->err_set(err, PP_NOMEM, NULL, "cannot start a thread: %s",
                                        strerror(code));
    store->listens = true;
    return PP_OK;
}

void pp_store_disconnect(pp_store *store)
{
    if (!pp_store_stopped(store))
        hand_on(store, PP_STORE_BYE, store->place.rank, store->place.rank, NULL, 0);
    atomic_store(&store->closing, true);
    if (store->listens)
        pthread_join(store->listener, NULL);
    for (uint32_t r = 0; r < store->ranks; r++)
        if (store->peer[r] >= 0)
            close(store->peer[r]);
}

/* Returns whether all parts have arrived, on rank 0. The lock is held. */
static bool have_all(const pp_store *store)
{
    for (uint32_t r = 1; r < store->ranks; r++)
        if (!store->gather[r].there)
            return false;
    return true;
}

static pp_status unequal(const pp_store *store, size_t bytes, pp_err *err)
{
    return store->services->err_set(err, PP_INPUT, NULL,
                                    "another process sent something other than %zu B; start all "
                                    "processes with the same command",
                                    bytes);
}

static pp_status gather_here(pp_store *store, const void *mine, size_t bytes, char *all,
                             pp_err *err)
{
    bool equal = true;
    if (bytes)
        memcpy(all, mine, bytes);
    pthread_mutex_lock(&store->lock);
    while (!have_all(store) && !pp_store_stopped(store))
        pp_store_nap(store);
    bool there = have_all(store);
    for (uint32_t r = 1; r < store->ranks && there; r++) {
        equal = equal && store->gather[r].count == bytes;
        if (equal && bytes)
            memcpy(all + r * bytes, store->gather[r].bytes, bytes);
        store->gather[r].there = false;
    }
    pthread_mutex_unlock(&store->lock);
    if (!there)
        return store->services->world_stopped(err);
    if (!equal)
        return unequal(store, bytes, err);
    hand_on(store, PP_STORE_GATHER, 0, 0, all, store->ranks * bytes);
    return PP_OK;
}

static pp_status gather_there(pp_store *store, const void *mine, size_t bytes, char *all,
                              pp_err *err)
{
    if (!pp_store_say(store, store->peer[0], PP_STORE_GATHER, store->place.rank, mine, bytes))
        return store->services->world_stopped(err);
    pthread_mutex_lock(&store->lock);
    while (!store->all.there && !pp_store_stopped(store))
        pp_store_nap(store);
    bool there = store->all.there;
    bool equal = there && store->all.count == store->ranks * bytes;
    if (equal && bytes)
        memcpy(all, store->all.bytes, store->ranks * bytes);
    store->all.there = false;
    pthread_mutex_unlock(&store->lock);
    if (!there)
        return store->services->world_stopped(err);
    return equal ? PP_OK : unequal(store, bytes, err);
}

pp_status pp_store_net_gather(pp_store *store, const void *mine, size_t bytes, void *all_out,
                              pp_err *err)
{
    if (store->place.rank == 0)
        return gather_here(store, mine, bytes, all_out, err);
    return gather_there(store, mine, bytes, all_out, err);
}

pp_status pp_store_net_clock(pp_store *store, pp_ns *clock_ns, pp_err *err)
{
    pthread_mutex_lock(&store->lock);
    store->answered = false;
    pthread_mutex_unlock(&store->lock);
    bool asked = pp_store_say(store, store->peer[0], PP_STORE_ASK, store->place.rank, NULL, 0);
    pthread_mutex_lock(&store->lock);
    while (asked && !store->answered && !pp_store_stopped(store))
        pp_store_nap(store);
    bool answered = store->answered;
    *clock_ns = store->answer_ns;
    pthread_mutex_unlock(&store->lock);
    return answered ? PP_OK : store->services->world_stopped(err);
}

void pp_store_net_stop(pp_store *store)
{
    if (atomic_exchange(&store->stopped, true))
        return;
    hand_on(store, PP_STORE_STOP, store->place.rank, store->place.rank, NULL, 0);
    pp_store_wake(store);
}

void pp_store_net_collect(pp_store *store, const void *mine, size_t bytes)
{
    hand_on(store, PP_STORE_COLLECT, store->place.rank, store->place.rank, mine, bytes);
}
