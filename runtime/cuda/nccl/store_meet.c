/* Rank 0 listens where the others come from: at the address of MASTER_ADDR. Whoever connects gets a
 * nonce, and nothing else before it has proved to be of this job (store_proof.h); rank 0 proves it
 * in turn. Strangers are read beside each other, as their bytes come, and are closed without a word
 * after a few seconds, so that they hold up nobody. Once all processes have joined, rank 0 stops
 * listening. */
#include "runtime/cuda/nccl/store_meet.h"

#include "runtime/cuda/nccl/store_io.h"
#include "runtime/cuda/nccl/store_proof.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { GUESTS = 64, NAP_MS = 20, SHUT_MOST = 3 };

#define GREETING_NS ((pp_ns)5000000000) /* for the whole greeting, and for its answer */
#define HEARING_NS ((pp_ns)1000000000)  /* of that, while others wait at the door */

/* Content of HELLO. It has no padding. */
typedef struct greeting {
    uint32_t ranks;
    unsigned char nonce[PP_NONCE_BYTES], proof[PP_PROOF_BYTES];
} greeting;

/* HELLO as it travels. */
typedef struct introduction {
    pp_store_frame head;
    greeting hello;
    char rest[4]; /* does not travel: it fills the struct */
} introduction;

enum { INTRODUCTION_BYTES = sizeof(pp_store_frame) + sizeof(greeting) };

/* Somebody who has connected. */
typedef struct guest {
    int fd; /* -1: none */
    size_t came;
    pp_ns until_ns;
    introduction said;
    unsigned char nonce[PP_NONCE_BYTES];
} guest;

static void be_prompt(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static pp_ns patience_ends(const pp_store *store)
{
    return store->services->clock_now_ns() + (pp_ns)store->place.patience_s * 1000000000;
}

static bool is_late(const pp_store *store, pp_ns until_ns)
{
    return store->services->clock_now_ns() > until_ns;
}

static pp_proof_of proof_of(const char *side, uint32_t rank, uint32_t ranks,
                            const unsigned char *door, const unsigned char *own)
{
    pp_proof_of of = { .rank = rank, .ranks = ranks };
    snprintf(of.side, sizeof of.side, "%s", side);
    memcpy(of.door, door, sizeof of.door);
    memcpy(of.guest, own, sizeof of.guest);
    return of;
}

static void dismiss(guest *g)
{
    if (g->fd >= 0)
        close(g->fd);
    g->fd = -1;
}

/* Returns whether there is a place for a new connection, or a guest who had a second to introduce
 * itself. The others wait at the door, so that many at once do not drive each other out. */
static bool has_room(const pp_store *store, const guest guests[GUESTS])
{
    const pp_ns young_ns = store->services->clock_now_ns() + GREETING_NS - HEARING_NS;
    for (size_t i = 0; i < GUESTS; i++) {
        if (guests[i].fd < 0 || guests[i].until_ns <= young_ns)
            return true;
    }
    return false;
}

/* Gives a new connection a place, that of the oldest guest if none is free. */
static void let_in(const pp_store *store, guest guests[GUESTS], int fd)
{
    guest *g = &guests[0];
    for (size_t i = 0; i < GUESTS && g->fd >= 0; i++) {
        if (guests[i].fd < 0 || guests[i].until_ns < g->until_ns)
            g = &guests[i];
    }
    dismiss(g);
    *g = (guest){ .fd = fd, .until_ns = store->services->clock_now_ns() + GREETING_NS };
    be_prompt(fd);
    if (!pp_store_draw(g->nonce) ||
        send(fd, g->nonce, sizeof g->nonce, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof g->nonce)
        dismiss(g);
}

/* Returns whether a process of this job cannot join, and why. */
static bool is_too_many(const pp_store *store, uint32_t rank, const greeting *hello, char *why,
                        size_t size)
{
    if (hello->ranks != store->place.ranks)
        snprintf(why, size, "it has %u ranks, and this job has %u", store->place.ranks,
                 hello->ranks);
    else if (rank == 0 || rank >= store->ranks || store->peer[rank] >= 0)
        snprintf(why, size, "its rank %u has joined already", rank);
    else
        return false;
    return true;
}

/* Judges a whole introduction. Returns true if the process has joined; otherwise it is dismissed,
 * with a word only if it is of this job. */
static bool join(pp_store *store, guest *g)
{
    const pp_store_frame *head = &g->said.head;
    const greeting *hello = &g->said.hello;
    const pp_store_frame right = pp_store_head(PP_STORE_HELLO, head->from, sizeof *hello);
    pp_proof_of of = proof_of("hello", head->from, hello->ranks, g->nonce, hello->nonce);
    unsigned char proof[PP_PROOF_BYTES];
    char why[200];
    if (memcmp(head, &right, sizeof right) != 0 ||
        !pp_store_proves(&store->place, &of, hello->proof)) {
        dismiss(g);
        return false;
    }
    if (is_too_many(store, head->from, hello, why, sizeof why)) {
        (void)pp_store_say(store, g->fd, PP_STORE_REFUSED, 0, why, strlen(why));
        dismiss(g);
        return false;
    }
    of = proof_of("welcome", head->from, hello->ranks, g->nonce, hello->nonce);
    pp_store_prove(&store->place, &of, proof);
    store->peer[head->from] = g->fd;
    (void)pp_store_say(store, g->fd, PP_STORE_HELLO, 0, proof,
                       sizeof proof); /* the listener notices if it is gone */
    g->fd = -1;
    return true;
}

/* Reads what has come of an introduction. Returns true if the process has joined. */
static bool hear_guest(pp_store *store, guest *g)
{
    size_t came = 0;
    if (!pp_store_receive(g->fd, (char *)&g->said + g->came, INTRODUCTION_BYTES - g->came, &came)) {
        dismiss(g);
        return false;
    }
    g->came += came;
    return g->came == INTRODUCTION_BYTES && join(store, g);
}

/* Waits a little for newcomers and guests. Returns how many processes have joined. */
static uint32_t attend(pp_store *store, guest guests[GUESTS])
{
    struct pollfd fd[GUESTS + 1];
    uint32_t joined = 0;
    for (size_t i = 0; i < GUESTS; i++)
        fd[i] = (struct pollfd){ .fd = guests[i].fd, .events = POLLIN };
    fd[GUESTS] =
        (struct pollfd){ .fd = has_room(store, guests) ? store->door : -1, .events = POLLIN };
    const int ready = poll(fd, GUESTS + 1, NAP_MS);
    for (size_t i = 0; i < GUESTS; i++) {
        if (ready > 0 && guests[i].fd >= 0 && fd[i].revents)
            joined += hear_guest(store, &guests[i]);
        if (guests[i].fd >= 0 && is_late(store, guests[i].until_ns))
            dismiss(&guests[i]);
    }
    const int came = ready > 0 && fd[GUESTS].revents ? accept(store->door, NULL, NULL) : -1;
    if (came >= 0)
        let_in(store, guests, came);
    return joined;
}

/* Rank 0: accepts the connections of all other processes. */
static pp_status welcome(pp_store *store, pp_err *err)
{
    const pp_ns until_ns = patience_ends(store);
    pp_status status = PP_OK;
    guest *guests = calloc(GUESTS, sizeof *guests);
    if (!guests)
        return store->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    for (size_t i = 0; i < GUESTS; i++)
        guests[i].fd = -1;
    for (uint32_t missing = store->ranks - 1; missing > 0 && !status;) {
        if (pp_store_stopped(store))
            status = store->services->world_stopped(err);
        else if (is_late(store, until_ns))
            status = store->services->err_set(
                err, PP_IO, NULL, "%u of %u processes did not join within %u s; start one per rank",
                missing, store->ranks, store->place.patience_s);
        else
            missing -= attend(store, guests);
    }
    for (size_t i = 0; i < GUESTS; i++)
        dismiss(&guests[i]);
    free(guests);
    return status;
}

static pp_status failed(const pp_store *store, const char *what, pp_err *err)
{
    return store->services->err_set(err, PP_IO, NULL,
                                    "communication with rank 0 at %s:%u failed: %s: %s",
                                    store->place.host, store->place.port, what, strerror(errno));
}

static pp_status cannot_listen(const pp_store *store, pp_err *err)
{
    if (errno == EADDRINUSE)
        return store->services->err_set(
            err, PP_USAGE, "MASTER_PORT",
            "the processes meet at port %u, which is in use; set another port, one for each job",
            store->place.port);
    if (errno == EADDRNOTAVAIL)
        return store->services->err_set(err, PP_USAGE, "MASTER_ADDR",
                                        "%s is no address of this machine, where rank 0 is",
                                        store->place.host);
    return failed(store, "rank 0 cannot listen", err);
}

static pp_status open_door(pp_store *store, const struct sockaddr_in *where, pp_err *err)
{
    int on = 1;
    store->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (store->door < 0)
        return failed(store, "no socket", err);
    (void)setsockopt(store->door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bad = bind(store->door, (const struct sockaddr *)where, sizeof *where) ||
                     listen(store->door, SOMAXCONN);
    pp_status status = bad ? cannot_listen(store, err) : welcome(store, err);
    close(store->door);
    store->door = -1;
    return status;
}

static int try_door(const struct sockaddr_in *where)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)where, sizeof *where) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* What came of an introduction to rank 0. */
typedef enum answer { NONE, SHUT, JOINED, REFUSED } answer;

/* Introduces this process and reads the answer. */
static answer introduce(pp_store *store, int fd, pp_ns until_ns, char why[200])
{
    const uint32_t rank = store->place.rank;
    greeting hello = { .ranks = store->place.ranks };
    unsigned char door[PP_NONCE_BYTES];
    unsigned char proof[PP_PROOF_BYTES];
    pp_store_frame head;
    if (!pp_store_draw(hello.nonce) || !pp_store_read(store, fd, door, sizeof door, until_ns))
        return NONE;
    pp_proof_of of = proof_of("hello", rank, hello.ranks, door, hello.nonce);
    pp_store_prove(&store->place, &of, hello.proof);
    if (!pp_store_say(store, fd, PP_STORE_HELLO, rank, &hello, sizeof hello))
        return NONE;
    if (!pp_store_read(store, fd, &head, sizeof head, until_ns))
        return is_late(store, until_ns) ? NONE : SHUT;
    if (!pp_store_is_head(store, &head))
        return NONE;
    if (head.word == PP_STORE_REFUSED && head.bytes < 200 &&
        pp_store_read(store, fd, why, (size_t)head.bytes, until_ns)) {
        why[head.bytes] = '\0';
        return REFUSED;
    }
    of = proof_of("welcome", rank, hello.ranks, door, hello.nonce);
    return head.word == PP_STORE_HELLO && head.bytes == sizeof proof &&
                   pp_store_read(store, fd, proof, sizeof proof, until_ns) &&
                   pp_store_proves(&store->place, &of, proof)
               ? JOINED
               : NONE;
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

/* Every other rank: tries until rank 0 answers. */
static pp_status knock(pp_store *store, const struct sockaddr_in *where, pp_err *err)
{
    const pp_ns until_ns = patience_ends(store);
    bool reached = false;
    char why[200];
    for (int shut = 0; shut < SHUT_MOST;) {
        const pp_ns now_ns = store->services->clock_now_ns();
        const int fd = try_door(where);
        answer got = NONE;
        reached = reached || fd >= 0;
        if (fd >= 0) {
            be_prompt(fd);
            got = introduce(store, fd,
                            until_ns - now_ns < GREETING_NS ? until_ns : now_ns + GREETING_NS, why);
        }
        if (got == JOINED) {
            store->peer[0] = fd;
            return PP_OK;
        }
        if (fd >= 0)
            close(fd);
        if (got == REFUSED)
            return store->services->err_set(
                err, PP_USAGE, "MASTER_PORT",
                "port %u belongs to another job: %s; set another port, one for each job",
                store->place.port, why);
        shut += got == SHUT;
        if (pp_store_stopped(store))
            return store->services->world_stopped(err);
        if (is_late(store, until_ns))
            return late(store, reached, err);
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
    return store->services->err_set(err, PP_USAGE, "MASTER_PORT",
                                    "port %u belongs to another job, or to one with another "
                                    "PPSIM_SECRET; set another port, one for each job",
                                    store->place.port);
}

static bool is_loopback(const struct sockaddr_in *where)
{
    return ntohl(where->sin_addr.s_addr) >> 24 == 127;
}

pp_status pp_store_meet(pp_store *store, pp_err *err)
{
    const pp_store_place *place = &store->place;
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    struct sockaddr_in where;
    char port[8];
    snprintf(port, sizeof port, "%u", place->port);
    if (getaddrinfo(place->host, port, &wanted, &found))
        return store->services->err_set(err, PP_USAGE, "MASTER_ADDR",
                                        "no machine '%.200s' was found", place->host);
    memcpy(&where, found->ai_addr, sizeof where);
    freeaddrinfo(found);
    /* On rank 0's machine its own name may be that of the loopback. */
    const bool everywhere = is_loopback(&where) && place->several && place->rank == 0;
    if ((!is_loopback(&where) || place->several) && !place->has_secret)
        return store->services->err_set(
            err, PP_USAGE, "PPSIM_SECRET",
            "is not set; processes that meet over a network need a secret, the same for all of a "
            "job: export PPSIM_SECRET=$(openssl rand -hex 16), or name a file with "
            "PPSIM_SECRET_FILE");
    if (everywhere)
        where.sin_addr.s_addr = htonl(INADDR_ANY);
    return place->rank == 0 ? open_door(store, &where, err) : knock(store, &where, err);
}
