/* Messages of a step over MPI. Header and payload travel as two messages, so that both lie in one
 * piece and large payloads are copied once (measured: one message of two pieces takes 25 % longer
 * at 2 MB). One tag for all: MPI keeps the order of an edge, the header says what came. */
#include "runtime/mpi/world_int.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    TAG = 0,
    NAP_NS = 100000, /* of the progress thread, after something happened; then longer and longer */
    NAP_LONGEST_NS = 500000,
    ALIGN = 64,
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_done(const pp_transfer_state *flight)
{
    return atomic_load_explicit(&flight->done, memory_order_acquire);
}

static pp_transfer_state *flight_of(const pp_world *world, uint32_t transfer)
{
    return &world->flight[world->slot[transfer]];
}

/* MPI is through with a flight, or has a copy. Flights of an edge are done in the order of their
 * posts, whatever their sizes: whoever looks at them may stop at the first that is not. */
static void settle(pp_world *world, pp_transfer_state *flight)
{
    const pp_transfer_state *before =
        flight->before == PP_NO_SOURCE ? NULL : &world->flight[flight->before];
    if (!flight->through || is_done(flight) || (before && !is_done(before)))
        return;
    if (before && before->done_ns > flight->done_ns)
        flight->done_ns = before->done_ns;
    atomic_store_explicit(&flight->done, true, memory_order_release);
}

/* Asks MPI about one flight. now_ns: when it is through, it was so at this time; 0: no earlier than
 * now. The lock is held. */
static void test_flight(pp_world *world, pp_transfer_state *flight, pp_ns now_ns)
{
    for (int i = 0; i < 2; i++) {
        MPI_Status status;
        int there = 0;
        if (flight->request[i] == MPI_REQUEST_NULL)
            continue;
        int code = MPI_Test(&flight->request[i], &there, &status);
        if (code != MPI_SUCCESS) {
            flight->error = code;
            flight->request[i] = MPI_REQUEST_NULL;
        } else if (!there) {
            return;
        } else if (i == 1 && !flight->sends) {
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            flight->came_bytes = (size_t)count;
        }
    }
    flight->held = false;
    world->news = true;
    if (!flight->through)
        flight->done_ns = now_ns ? now_ns : world->services->clock_now_ns();
    flight->through = true;
    settle(world, flight);
}

/* All flights that are not over, in the order of their posts, so that the end of each is seen when
 * it comes. The lock is held. */
static void test_open(pp_world *world)
{
    size_t kept = 0;
    for (size_t i = 0; i < world->open_count; i++) {
        pp_transfer_state *flight = &world->flight[world->open[i]];
        if (flight->held)
            test_flight(world, flight, 0);
        settle(world, flight);
        if (flight->held || !is_done(flight))
            world->open[kept++] = world->open[i];
    }
    world->open_count = kept;
}

/* Until MPI holds nothing any more: buffered sends leave when their receiver takes them. */
static pp_status drain(pp_world *world, pp_err *err)
{
    pp_patience min_bounded = { 0 };
    for (;;) {
        pthread_mutex_lock(&world->lock);
        test_open(world);
        size_t left = world->open_count;
        pthread_mutex_unlock(&world->lock);
        if (pp_mpi_stopped(world))
            return world->services->world_stopped(err);
        if (left == 0)
            return PP_OK;
        pp_mpi_pause(world, &min_bounded);
    }
}

pp_status pp_mpi_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                      pp_err *err)
{
    pp_status status = drain(world, err);
    if (status)
        return status;
    pp_mpi_unload(world);
    const pp_comm *comm = program->comm;
    size_t transfers = comm ? comm->transfer_count : 0;
    size_t flights = 0;
    size_t copies = 0;
    for (size_t i = 0; i < transfers; i++) {
        if (comm->transfer[i].rank != (uint32_t)world->rank)
            continue;
        flights++;
        copies += aligned(buffered_bytes[i]);
    }
    world->slot = malloc((transfers + 1) * sizeof *world->slot);
    world->flight = calloc(flights + 1, sizeof *world->flight);
    world->open = malloc((flights + 1) * sizeof *world->open);
    world->copies = malloc(copies + 1);
    if (!world->slot || !world->flight || !world->open || !world->copies) {
        pp_mpi_unload(world);
        return pp_mpi_nomem(world, err);
    }
    copies = 0;
    for (size_t i = 0; i < transfers; i++) {
        world->slot[i] = PP_NO_SOURCE;
        if (comm->transfer[i].rank != (uint32_t)world->rank)
            continue;
        world->slot[i] = (uint32_t)world->flights;
        world->flight[world->flights++].copy = world->copies + copies;
        copies += aligned(buffered_bytes[i]);
    }
    world->transfers = transfers;
    return PP_OK;
}

void pp_mpi_unload(pp_world *world)
{
    free(world->slot);
    free(world->flight);
    free(world->open);
    free(world->copies);
    world->slot = NULL;
    world->flight = NULL;
    world->open = NULL;
    world->copies = NULL;
    world->transfers = world->flights = world->open_count = 0;
}

pp_status pp_mpi_begin(pp_world *world, uint32_t rank, pp_err *err)
{
    (void)rank;
    int left = 0;
    MPI_Status who;
    pp_status status = drain(world, err);
    if (status)
        return status;
    for (size_t i = 0; i < world->flights; i++)
        atomic_store_explicit(&world->flight[i].done, false, memory_order_relaxed);
    memset(world->last, 0xff, 2 * (size_t)world->ranks * sizeof *world->last);
    pthread_mutex_lock(&world->lock);
    int code = MPI_Iprobe(MPI_ANY_SOURCE, TAG, world->data, &left, &who);
    pthread_mutex_unlock(&world->lock);
    if (code)
        return pp_mpi_failed(world, code, "looking for messages", err);
    return left ? world->services->err_set(err, PP_INPUT, NULL,
                                           "a message from rank %d to rank %d was never received",
                                           who.MPI_SOURCE, world->rank)
                : PP_OK;
}

/* The lock is held, here and below. */
static bool progress_has_work(const pp_world *world)
{
    return world->open_count > 0 && !world->waiting;
}

static void wake_progress(pp_world *world)
{
    if (world->progress_parked && progress_has_work(world))
        pthread_cond_signal(&world->progress_wanted);
}

/* Returns MPI's code. */
static int start_flight(pp_world *world, pp_transfer_state *flight, bool buffered)
{
    void *header = flight->sends ? (void *)&flight->message : (void *)&flight->came;
    int bytes = (int)flight->bytes;
    int header_bytes = (int)sizeof flight->message;
    if (!flight->sends) {
        int from = (int)flight->message.from;
        int code =
            MPI_Irecv(header, header_bytes, MPI_BYTE, from, TAG, world->data, &flight->request[0]);
        return code ? code
                    : MPI_Irecv(flight->payload, bytes, MPI_BYTE, from, TAG, world->data,
                                &flight->request[1]);
    }
    int to = (int)flight->message.to;
    int code = MPI_Isend(header, header_bytes, MPI_BYTE, to, TAG, world->data, &flight->request[0]);
    if (code)
        return code;
    /* Synchronous: done when the receiver takes it, as a rendezvous is. */
    return (buffered ? MPI_Isend : MPI_Issend)(flight->payload, bytes, MPI_BYTE, to, TAG,
                                               world->data, &flight->request[1]);
}

pp_status pp_mpi_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    (void)rank;
    if (pp_mpi_flagged(world))
        return world->services->world_stopped(err);
    if (post->payload_bytes > INT_MAX)
        return world->services->err_set(err, PP_INPUT, NULL,
                                        "a message of %zu B; transport mpi carries up to %d B",
                                        post->payload_bytes, INT_MAX);
    pp_transfer_state *flight = flight_of(world, post->transfer);
    flight->message = post->message;
    flight->sends = post->message.from == (uint32_t)world->rank;
    flight->payload = post->payload;
    flight->bytes = post->payload ? post->payload_bytes : 0;
    flight->came_bytes = 0;
    flight->error = MPI_SUCCESS;
    flight->request[0] = flight->request[1] = MPI_REQUEST_NULL;
    flight->held = true;
    bool buffered = post->buffered && flight->sends;
    if (buffered && flight->bytes > 0)
        memcpy(flight->copy, post->payload, flight->bytes);
    if (buffered) {
        flight->payload = flight->copy;
        flight->done_ns = world->services->clock_now_ns();
    }
    flight->through = buffered;
    uint32_t slot = world->slot[post->transfer];
    uint32_t peer = flight->sends ? post->message.to : post->message.from;
    uint32_t *last = &world->last[2 * peer + flight->sends];
    flight->before = *last;
    *last = slot;
    pthread_mutex_lock(&world->lock);
    settle(world, flight);
    int code = start_flight(world, flight, buffered);
    world->open[world->open_count++] = slot;
    world->news = true;
    wake_progress(world);
    pthread_mutex_unlock(&world->lock);
    return code ? pp_mpi_failed(world, code, "posting a message", err) : PP_OK;
}

/* What came, once it is there. */
static pp_status check_flight(const pp_world *world, const pp_transfer_state *flight, pp_err *err)
{
    int class = MPI_SUCCESS;
    const pp_message *m = &flight->message;
    if (flight->error)
        MPI_Error_class(flight->error, &class);
    if (class && (flight->sends || class != MPI_ERR_TRUNCATE))
        return pp_mpi_failed(world, flight->error, flight->sends ? "sending" : "receiving", err);
    if (flight->sends)
        return PP_OK;
    pp_status status = world->services->message_check(m, &flight->came, err);
    if (status || (!class && flight->came_bytes == flight->bytes))
        return status;
    char came[32] = "more";
    if (!class)
        snprintf(came, sizeof came, "%zu B", flight->came_bytes);
    return world->services->err_set(
        err, PP_INPUT, NULL,
        "message %" PRIu32 " of step %" PRIu32 " from rank %" PRIu32 " to rank %" PRIu32
        " (stage %d, microbatch %" PRIu32 "): %zu B expected, %s came",
        m->sequence, m->step, m->from, m->to, m->stage, m->microbatch, flight->bytes, came);
}

pp_status pp_mpi_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err)
{
    (void)rank;
    enum { ALL_EVERY = 16 };
    pp_transfer_state *flight = flight_of(world, transfer);
    pp_patience min_bounded = { 0 };
    bool stopped = false;
    while (!is_done(flight) && !stopped) {
        pthread_mutex_lock(&world->lock);
        world->waiting = min_bounded.naps > 0;
        assert(flight->held || flight->through); /* it was posted */
        if (flight->held)
            test_flight(world, flight, 0);
        bool all = world->waiting || min_bounded.rounds % ALL_EVERY == 0;
        if (all || flight->through) /* then those in front of it are awaited */
            test_open(world);
        pthread_mutex_unlock(&world->lock);
        if (is_done(flight))
            break;
        stopped = all && pp_mpi_stopped(world);
        pp_mpi_pause(world, &min_bounded);
    }
    if (world->waiting) {
        pthread_mutex_lock(&world->lock);
        world->waiting = false;
        wake_progress(world);
        pthread_mutex_unlock(&world->lock);
    }
    if (!is_done(flight))
        return world->services->world_stopped(err);
    pp_status status = check_flight(world, flight, err);
    if (!status)
        *done_ns = flight->done_ns;
    return status;
}

pp_status pp_mpi_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err)
{
    (void)rank;
    pp_transfer_state *flight = flight_of(world, transfer);
    if (pp_mpi_flagged(world))
        return world->services->world_stopped(err);
    if (!is_done(flight)) {
        pthread_mutex_lock(&world->lock);
        if (flight->held)
            test_flight(world, flight, now_ns);
        if (flight->through) /* maybe those in front of it are, too */
            test_open(world);
        pthread_mutex_unlock(&world->lock);
    }
    bool done = is_done(flight) && flight->done_ns <= now_ns;
    pp_status status = done ? check_flight(world, flight, err) : PP_OK;
    if (status)
        return status;
    *done_out = done;
    if (done)
        *done_ns = flight->done_ns;
    return PP_OK;
}

/* Receives that nothing has come for yet; what has begun to come goes on. */
void pp_mpi_cancel_flights(pp_world *world)
{
    pthread_mutex_lock(&world->lock);
    test_open(world);
    for (size_t i = 0; i < world->open_count; i++) {
        pp_transfer_state *flight = &world->flight[world->open[i]];
        for (int k = 0; k < 2 && !flight->sends; k++)
            if (flight->request[k] != MPI_REQUEST_NULL)
                MPI_Cancel(&flight->request[k]);
    }
    test_open(world);
    pthread_mutex_unlock(&world->lock);
}

/* MPI moves large messages only inside of calls: without this thread a message of 2 MB that both
 * ends have posted does not start before the receiver's op ends. */
static void *make_progress(void *argument)
{
    pp_world *world = argument;
    struct timespec nap = { .tv_nsec = NAP_NS };
    prctl(PR_SET_TIMERSLACK, 1000UL); /* else naps are 50 us longer */
    pthread_mutex_lock(&world->lock);
    while (!world->progress_ends) {
        if (!progress_has_work(world)) {
            world->progress_parked = true;
            pthread_cond_wait(&world->progress_wanted, &world->lock);
            world->progress_parked = false;
            continue;
        }
        long longer = nap.tv_nsec * 3 / 2 < NAP_LONGEST_NS ? nap.tv_nsec * 3 / 2 : NAP_LONGEST_NS;
        nap.tv_nsec = world->news ? NAP_NS : longer;
        world->news = false;
        pthread_mutex_unlock(&world->lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&world->lock);
        if (progress_has_work(world)) {
            test_open(world);
            pp_mpi_look(world);
        }
    }
    pthread_mutex_unlock(&world->lock);
    return NULL;
}

pp_status pp_mpi_progress_start(pp_world *world, pp_err *err)
{
    int code = pthread_create(&world->progress, NULL, make_progress, world);
    if (code)
        return world->services->err_set(err, PP_NOMEM, NULL, "no thread to be had: %s",
                                        strerror(code));
    world->progress_runs = true;
    return PP_OK;
}

void pp_mpi_progress_end(pp_world *world)
{
    if (!world->progress_runs)
        return;
    pthread_mutex_lock(&world->lock);
    world->progress_ends = true;
    pthread_cond_signal(&world->progress_wanted);
    pthread_mutex_unlock(&world->lock);
    pthread_join(world->progress, NULL);
    world->progress_runs = false;
}
