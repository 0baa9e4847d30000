/* The store between processes, over TCP. Rank 0 listens; every other process has one connection to
 * it, and messages to all processes go through rank 0. A thread of each process, the listener,
 * reads what arrives, so that a stop or the end of a process is noticed while its ranks compute. */
#include "runtime/cuda/nccl/store_tcp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PART_MAX ((uint64_t)1 << 32)

typedef enum word {
    HELLO,   /* to rank 0: introduces a process; from rank 0: accepts it */
    REFUSED, /* from rank 0: refuses it, with the reason as text */
    GATHER,  /* to rank 0: a part; from it: all parts */
    ASK,     /* to rank 0: asks for its clock; from it: the answer */
    COLLECT, /* a part, forwarded to all others */
    STOP,    /* likewise */
    BYE,     /* the last message of a process */
    WORDS,
} word;

/* Header of every message. It has no padding. */
typedef struct frame {
    char magic[8];
    uint32_t word, from;
    uint64_t bytes;
} frame;

/* Content of HELLO. It has no padding. */
typedef struct greeting {
    uint32_t ranks;
    char job[sizeof((pp_store_place *)0)->job];
} greeting;

static const char magic[8] = "ppsim-2";

static pp_status failed(const pp_store *store, const char *what, pp_err *err)
{
    return store->services->err_set(err, PP_IO, NULL,
                                    "communication with rank 0 at %s:%u failed: %s: %s",
                                    store->place.host, store->place.port, what, strerror(errno));
}

static bool send_bytes(int to, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t sent = send(to, at, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        count -= (size_t)sent;
    }
    return true;
}

static bool read_bytes(int from, void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t came = recv(from, at, count, 0);
        if (came < 0 && errno == EINTR)
            continue;
        if (came <= 0)
            return false;
        at += came;
        count -= (size_t)came;
    }
    return true;
}

static bool say(pp_store *store, int to, word what, uint32_t from, const void *bytes, size_t count)
{
    frame head = { .word = what, .from = from, .bytes = count };
    memcpy(head.magic, magic, sizeof magic);
    pthread_mutex_lock(&store->writing);
    bool said = send_bytes(to, &head, sizeof head) && (count == 0 || send_bytes(to, bytes, count));
    pthread_mutex_unlock(&store->writing);
    return said;
}

static bool is_whole(const pp_store *store, const frame *head)
{
    return memcmp(head->magic, magic, sizeof magic) == 0 && head->word < WORDS &&
           head->from < store->ranks && head->bytes < PART_MAX;
}

/* Sends a message to all other processes except `but`. */
static void hand_on(pp_store *store, word what, uint32_t from, uint32_t but, const void *bytes,
                    size_t count)
{
    for (uint32_t r = 0; r < store->ranks; r++)
        if (r != but && store->peer[r] >= 0)
            (void)say(store, store->peer[r], what, from, bytes, count);
}

static void keep(pp_store_part *part, char **bytes, size_t count)
{
    free(part->bytes);
    *part = (pp_store_part){ .bytes = *bytes, .count = count, .there = true };
    *bytes = NULL;
}

/* Processes one message. */
static void take(pp_store *store, uint32_t peer, const frame *head, char **bytes)
{
    bool first = store->place.rank == 0;
    pp_ns now_ns = store->services->clock_now_ns();
    if (first && head->word == ASK)
        (void)say(store, store->peer[peer], ASK, 0, &now_ns, sizeof now_ns);
    if (first && (head->word == COLLECT || head->word == STOP))
        hand_on(store, (word)head->word, head->from, peer, *bytes, (size_t)head->bytes);
    if (head->word == STOP)
        atomic_store(&store->stopped, true);
    pthread_mutex_lock(&store->lock);
    if (head->word == GATHER)
        keep(first ? &store->gather[peer] : &store->all, bytes, (size_t)head->bytes);
    if (head->word == COLLECT) {
        keep(&store->collect[head->from], bytes, (size_t)head->bytes);
        store->alarm = true;
    }
    if (!first && head->word == ASK && head->bytes == sizeof store->answer_ns) {
        memcpy(&store->answer_ns, *bytes, sizeof store->answer_ns);
        store->answered = true;
    }
    pthread_cond_broadcast(&store->moved);
    pthread_mutex_unlock(&store->lock);
}

static void be_prompt(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Sets the time limit of one read; 0: none. */
static void be_patient(int fd, long seconds)
{
    struct timeval min_bounded = { .tv_sec = seconds };
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &min_bounded, sizeof min_bounded);
}

static pp_ns patience_ends(const pp_store *store)
{
    return store->services->clock_now_ns() + (pp_ns)store->place.patience_s * 1000000000;
}

static bool is_late(const pp_store *store, pp_ns until_ns)
{
    return store->services->clock_now_ns() > until_ns;
}

/* Rank 0: checks whether a process belongs to another job, and why. Returns false if it belongs to
 * this one. */
static bool is_foreign(const pp_store *store, uint32_t rank, const greeting *hello, char *why,
                       size_t size)
{
    if (hello->ranks != store->place.ranks)
        snprintf(why, size, "it has %u ranks, and this job has %u", store->place.ranks,
                 hello->ranks);
    else if (memcmp(hello->job, store->place.job, sizeof hello->job) != 0)
        snprintf(why, size, "its name is '%s'", store->place.job);
    else if (rank == 0 || rank >= store->ranks || store->peer[rank] >= 0)
        snprintf(why, size, "its rank %u has joined already", rank);
    else
        return false;
    return true;
}

/* Rank 0: reads which process has connected. Returns false if the process is not of this job. */
static bool greet(pp_store *store, int came, long patience_s)
{
    frame head;
    greeting hello;
    char why[200];
    be_patient(came, patience_s);
    if (!read_bytes(came, &head, sizeof head) || memcmp(head.magic, magic, sizeof magic) != 0 ||
        head.word != HELLO || head.bytes != sizeof hello ||
        !read_bytes(came, &hello, sizeof hello)) {
        close(came); /* not a process of this job */
        return false;
    }
    be_prompt(came);
    if (is_foreign(store, head.from, &hello, why, sizeof why)) {
        (void)say(store, came, REFUSED, 0, why, strlen(why));
        close(came);
        return false;
    }
    be_patient(came, 0);
    store->peer[head.from] = came;
    (void)say(store, came, HELLO, 0, NULL, 0); /* the listener notices if it is gone */
    return true;
}

/* Rank 0: accepts the connections of all other processes. */
static pp_status welcome(pp_store *store, pp_err *err)
{
    enum { NAP_MS = 20, GREETING_S = 5 };
    pp_ns until_ns = patience_ends(store);
    for (uint32_t missing = store->ranks - 1; missing > 0;) {
        struct pollfd fd = { .fd = store->door, .events = POLLIN };
        if (pp_store_stopped(store))
            return store->services->world_stopped(err);
        if (is_late(store, until_ns))
            return store->services->err_set(
                err, PP_IO, NULL, "%u of %u processes did not join within %u s; start one per rank",
                missing, store->ranks, store->place.patience_s);
        if (poll(&fd, 1, NAP_MS) <= 0)
            continue;
        int came = accept(store->door, NULL, NULL);
        if (came >= 0 && greet(store, came, GREETING_S))
            missing--;
    }
    return PP_OK;
}

/* Reads one message of a process. Returns false if that process is gone. */
static bool listen_to(pp_store *store, uint32_t peer)
{
    frame head;
    char *bytes = NULL;
    if (!read_bytes(store->peer[peer], &head, sizeof head) || !is_whole(store, &head))
        return false;
    bytes = malloc((size_t)head.bytes + 1);
    bool whole = bytes && read_bytes(store->peer[peer], bytes, (size_t)head.bytes);
    if (whole)
        take(store, peer, &head, &bytes);
    free(bytes);
    if (whole && head.word == BYE)
        store->left[peer] = true;
    return whole;
}

/* A process that leaves without BYE ends the run. */
static void lose(pp_store *store, uint32_t peer)
{
    (void)shutdown(store->peer[peer],
                   SHUT_RDWR); /* closed at the end, since other threads may write to it */
    if (!store->left[peer] && !atomic_load(&store->closing))
        pp_store_net_stop(store);
}

/* Rank 0: once all processes are connected, refuses others, one at a time. Returns the socket of
 * the one that is being refused; -1: none. */
static int turn_away(pp_store *store, const struct pollfd *came, const struct pollfd *door)
{
    if (came->fd >= 0 && came->revents)
        (void)greet(store, came->fd, 1);
    else if (came->fd >= 0)
        return came->fd;
    return door->fd >= 0 && door->revents ? accept(door->fd, NULL, NULL) : -1;
}

static void *listen_all(void *argument)
{
    enum { NAP_MS = 20 };
    pp_store *store = argument;
    const uint32_t ranks = store->ranks;
    struct pollfd *fd = calloc(
        ranks + 2, sizeof *fd); /* after the peers: the late process, and the listening socket */
    bool *over = calloc(ranks, sizeof *over); /* connections that have ended */
    int came = -1;
    if (!fd || !over)
        pp_store_net_stop(store);
    while (fd && over && !atomic_load(&store->closing)) {
        for (uint32_t r = 0; r < ranks; r++)
            fd[r] = (struct pollfd){ .fd = over[r] ? -1 : store->peer[r], .events = POLLIN };
        fd[ranks] = (struct pollfd){ .fd = came, .events = POLLIN };
        fd[ranks + 1] = (struct pollfd){ .fd = came < 0 ? store->door : -1, .events = POLLIN };
        if (poll(fd, ranks + 2, NAP_MS) <= 0)
            continue;
        for (uint32_t r = 0; r < ranks; r++) {
            if (fd[r].fd < 0 || !fd[r].revents || listen_to(store, r))
                continue;
            over[r] = true;
            lose(store, r);
        }
        came = turn_away(store, &fd[ranks], &fd[ranks + 1]);
    }
    if (came >= 0)
        close(came);
    free(fd);
    free(over);
    return NULL;
}

static pp_status open_door(pp_store *store, pp_err *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(store->place.port),
                              .sin_addr.s_addr = htonl(INADDR_ANY) };
    int on = 1;
    int door = store->door = socket(AF_INET, SOCK_STREAM, 0);
    if (door < 0)
        return failed(store, "no socket", err);
    (void)setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    pp_status status = PP_OK;
    const bool bad = bind(door, (struct sockaddr *)&at, sizeof at) || listen(door, SOMAXCONN);
    if (bad && errno == EADDRINUSE)
        status = store->services->err_set(
            err, PP_USAGE, "MASTER_PORT",
            "the processes meet at port %u, which is in use; set another port, one for each job",
            store->place.port);
    else if (bad)
        status = failed(store, "rank 0 cannot listen", err);
    else
        status = welcome(store, err);
    return status;
}

static int try_door(const struct addrinfo *at)
{
    for (; at; at = at->ai_next) {
        int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* Reads rank 0's answer to HELLO. Returns false if there is none, and the caller tries again. */
static bool hear(pp_store *store, int fd, pp_ns until_ns, pp_status *status_out, pp_err *err)
{
    enum { NAP_MS = 20, ANSWER_S = 5 };
    struct pollfd answers = { .fd = fd, .events = POLLIN };
    frame head;
    char why[200];
    while (poll(&answers, 1, NAP_MS) <= 0)
        if (pp_store_stopped(store) || is_late(store, until_ns))
            return false;
    be_patient(fd, ANSWER_S);
    if (!read_bytes(fd, &head, sizeof head) || !is_whole(store, &head) ||
        head.bytes >= sizeof why || !read_bytes(fd, why, (size_t)head.bytes))
        return false;
    why[head.bytes] = '\0';
    be_patient(fd, 0);
    *status_out = PP_OK;
    if (head.word == REFUSED)
        *status_out = store->services->err_set(
            err, PP_USAGE, "MASTER_PORT",
            "port %u belongs to another job: %s; set another port, one for each job",
            store->place.port, why);
    return head.word == HELLO || head.word == REFUSED;
}

static pp_status late(const pp_store *store, bool reached, pp_err *err)
{
    const pp_store_place *place = &store->place;
    if (reached)
        return store->services->err_set(err, PP_USAGE, "MASTER_PORT",
                                        "the process at port %u of %s did not answer as rank 0 "
                                        "within %u s; set another port, one for each job",
                                        place->port, place->host, place->patience_s);
    return store->services->err_set(
        err, PP_IO, NULL,
        "rank 0 did not open port %u of %s within %u s; start one process per rank", place->port,
        place->host, place->patience_s);
}

static pp_status knock_at(pp_store *store, const struct addrinfo *at, pp_err *err)
{
    pp_ns until_ns = patience_ends(store);
    greeting hello = { .ranks = store->place.ranks };
    pp_status status = PP_OK;
    bool reached = false;
    memcpy(hello.job, store->place.job, sizeof hello.job);
    for (;;) {
        int fd = try_door(at);
        reached = reached || fd >= 0;
        if (fd >= 0)
            be_prompt(fd);
        if (fd >= 0 && say(store, fd, HELLO, store->place.rank, &hello, sizeof hello) &&
            hear(store, fd, until_ns, &status, err)) {
            store->peer[0] = fd;
            return status;
        }
        if (fd >= 0)
            close(fd);
        if (pp_store_stopped(store))
            return store->services->world_stopped(err);
        if (is_late(store, until_ns))
            return late(store, reached, err);
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
}

static pp_status knock(pp_store *store, pp_err *err)
{
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", store->place.port);
    if (getaddrinfo(store->place.host, port, &wanted, &found))
        return store->services->err_set(err, PP_USAGE, "MASTER_ADDR",
                                        "no machine '%.200s' was found", store->place.host);
    pp_status status = knock_at(store, found, err);
    freeaddrinfo(found);
    return status;
}

pp_status pp_store_connect(pp_store *store, pp_err *err)
{
    pp_status status = store->place.rank == 0 ? open_door(store, err) : knock(store, err);
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
        hand_on(store, BYE, store->place.rank, store->place.rank, NULL, 0);
    atomic_store(&store->closing, true);
    if (store->listens)
        pthread_join(store->listener, NULL);
    if (store->door >= 0)
        close(store->door);
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
    hand_on(store, GATHER, 0, 0, all, store->ranks * bytes);
    return PP_OK;
}

static pp_status gather_there(pp_store *store, const void *mine, size_t bytes, char *all,
                              pp_err *err)
{
    if (!say(store, store->peer[0], GATHER, store->place.rank, mine, bytes))
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
    bool asked = say(store, store->peer[0], ASK, store->place.rank, NULL, 0);
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
    hand_on(store, STOP, store->place.rank, store->place.rank, NULL, 0);
    pp_store_wake(store);
}

void pp_store_net_collect(pp_store *store, const void *mine, size_t bytes)
{
    hand_on(store, COLLECT, store->place.rank, store->place.rank, mine, bytes);
}
