/* Messages of a step over MPI.
 *
 * Header and payload travel as two messages, so that each lies in one piece and large payloads
 * are copied once (measured: one message of two pieces takes 25 % longer at 2 MB). All have one
 * tag: MPI keeps the order of an edge, and the header says what came. A thread calls MPI while
 * the rank computes, since MPI moves large messages only inside of calls. */
#include "runtime/mpi/messages.h"

#include "runtime/mpi/neighbours.h"
#include "runtime/mpi/wait.h"

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
    NAP_NS = 100000, /* first sleep of the progress thread after an event; then it grows by half */
    NAP_LONGEST_NS = 500000,
    ALIGN = 64,
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_done(const pp_transfer_state *state)
{
    return atomic_load_explicit(&state->done, memory_order_acquire);
}

static pp_transfer_state *state_of(const pp_world *world, uint32_t transfer)
{
    return &world->transfer[world->slot[transfer]];
}

/* Called when MPI has finished a transfer, or has a copy of its payload. Transfers of an edge are
 * done in the order of their posts, whatever their sizes, so that a search may stop at the first
 * that is not done. */
static void settle(pp_world *world, pp_transfer_state *state)
{
    const pp_transfer_state *before =
        state->before == PP_NO_SOURCE ? NULL : &world->transfer[state->before];
    if (!state->through || is_done(state) || (before && !is_done(before)))
        return;
    if (before && before->done_ns > state->done_ns)
        state->done_ns = before->done_ns;
    atomic_store_explicit(&state->done, true, memory_order_release);
}

/* Tests one transfer. now_ns: the time at which it counts as finished, if it is; 0: now. The lock
 * is held. */
static void test_transfer(pp_world *world, pp_transfer_state *state, pp_ns now_ns)
{
    for (int i = 0; i < 2; i++) {
        MPI_Status status;
        int there = 0;
        if (state->request[i] == MPI_REQUEST_NULL)
            continue;
        int code = MPI_Test(&state->request[i], &there, &status);
        if (code != MPI_SUCCESS) {
            state->error = code;
            state->request[i] = MPI_REQUEST_NULL;
        } else if (!there) {
            return;
        } else if (i == 1 && !state->sends) {
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            state->came_bytes = (size_t)count;
        }
    }
    state->held = false;
    world->news = true;
    if (!state->through)
        state->done_ns = now_ns ? now_ns : world->services->clock_now_ns();
    state->through = true;
    settle(world, state);
}

/* Tests all transfers that are not done, in the order of their posts, so that the end of each is
 * noticed when it happens. The lock is held. */
static void test_open(pp_world *world)
{
    size_t kept = 0;
    for (size_t i = 0; i < world->open_count; i++) {
        pp_transfer_state *state = &world->transfer[world->open[i]];
        if (state->held)
            test_transfer(world, state, 0);
        settle(world, state);
        if (state->held || !is_done(state))
            world->open[kept++] = world->open[i];
    }
    world->open_count = kept;
}

/* Waits until no transfer is pending in MPI; buffered sends end when their receiver takes them. */
static pp_status drain(pp_world *world, pp_err *err)
{
    pp_patience patience = { 0 };
    for (;;) {
        pthread_mutex_lock(&world->lock);
        test_open(world);
        size_t left = world->open_count;
        pthread_mutex_unlock(&world->lock);
        if (pp_mpi_stopped(world))
            return world->services->world_stopped(err);
        if (left == 0)
            return PP_OK;
        pp_mpi_pause(world, &patience);
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
    size_t own = 0;
    size_t copies = 0;
    for (size_t i = 0; i < transfers; i++) {
        if (comm->transfer[i].rank != (uint32_t)world->rank)
            continue;
        own++;
        copies += aligned(buffered_bytes[i]);
    }
    world->slot = malloc((transfers + 1) * sizeof *world->slot);
    world->transfer = calloc(own + 1, sizeof *world->transfer);
    world->open = malloc((own + 1) * sizeof *world->open);
    world->copies = malloc(copies + 1);
    if (!world->slot || !world->transfer || !world->open || !world->copies) {
        pp_mpi_unload(world);
        return pp_mpi_nomem(world, err);
    }
    copies = 0;
    for (size_t i = 0; i < transfers; i++) {
        world->slot[i] = PP_NO_SOURCE;
        if (comm->transfer[i].rank != (uint32_t)world->rank)
            continue;
        world->slot[i] = (uint32_t)world->own_transfers;
        world->transfer[world->own_transfers++].copy = world->copies + copies;
        copies += aligned(buffered_bytes[i]);
    }
    world->transfers = transfers;
    return PP_OK;
}

void pp_mpi_unload(pp_world *world)
{
    free(world->slot);
    free(world->transfer);
    free(world->open);
    free(world->copies);
    world->slot = NULL;
    world->transfer = NULL;
    world->open = NULL;
    world->copies = NULL;
    world->transfers = world->own_transfers = world->open_count = 0;
}

pp_status pp_mpi_begin(pp_world *world, uint32_t rank, pp_err *err)
{
    (void)rank;
    int left = 0;
    MPI_Status who;
    pp_status status = drain(world, err);
    if (status)
        return status;
    for (size_t i = 0; i < world->own_transfers; i++)
        atomic_store_explicit(&world->transfer[i].done, false, memory_order_relaxed);
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

/* Returns the error code of MPI. */
static int start_transfer(pp_world *world, pp_transfer_state *state, bool buffered)
{
    void *header = state->sends ? (void *)&state->message : (void *)&state->came;
    int bytes = (int)state->bytes;
    int header_bytes = (int)sizeof state->message;
    if (!state->sends) {
        int from = (int)state->message.from;
        int code =
            MPI_Irecv(header, header_bytes, MPI_BYTE, from, TAG, world->data, &state->request[0]);
        return code ? code
                    : MPI_Irecv(state->payload, bytes, MPI_BYTE, from, TAG, world->data,
                                &state->request[1]);
    }
    int to = (int)state->message.to;
    int code = MPI_Isend(header, header_bytes, MPI_BYTE, to, TAG, world->data, &state->request[0]);
    if (code)
        return code;
    /* A synchronous send is done when the receiver takes it, like a rendezvous. */
    return (buffered ? MPI_Isend : MPI_Issend)(state->payload, bytes, MPI_BYTE, to, TAG,
                                               world->data, &state->request[1]);
}

pp_status pp_mpi_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    (void)rank;
    if (pp_mpi_flagged(world))
        return world->services->world_stopped(err);
    if (post->payload_bytes > INT_MAX)
        return world->services->err_set(
            err, PP_INPUT, NULL, "a message has %zu B, but transport mpi transfers at most %d B",
            post->payload_bytes, INT_MAX);
    pp_transfer_state *state = state_of(world, post->transfer);
    state->message = post->message;
    state->sends = post->message.from == (uint32_t)world->rank;
    state->payload = post->payload;
    state->bytes = post->payload ? post->payload_bytes : 0;
    state->came_bytes = 0;
    state->error = MPI_SUCCESS;
    state->request[0] = state->request[1] = MPI_REQUEST_NULL;
    state->held = true;
    bool buffered = post->buffered && state->sends;
    if (buffered && state->bytes > 0)
        memcpy(state->copy, post->payload, state->bytes);
    if (buffered) {
        state->payload = state->copy;
        state->done_ns = world->services->clock_now_ns();
    }
    state->through = buffered;
    uint32_t slot = world->slot[post->transfer];
    uint32_t peer = state->sends ? post->message.to : post->message.from;
    uint32_t *last = &world->last[2 * peer + state->sends];
    state->before = *last;
    *last = slot;
    pthread_mutex_lock(&world->lock);
    settle(world, state);
    int code = start_transfer(world, state, buffered);
    world->open[world->open_count++] = slot;
    world->news = true;
    wake_progress(world);
    pthread_mutex_unlock(&world->lock);
    return code ? pp_mpi_failed(world, code, "posting a message", err) : PP_OK;
}

/* Checks a transfer that MPI has finished. */
static pp_status check_transfer(const pp_world *world, const pp_transfer_state *state, pp_err *err)
{
    int class = MPI_SUCCESS;
    const pp_message *m = &state->message;
    if (state->error)
        MPI_Error_class(state->error, &class);
    if (class && (state->sends || class != MPI_ERR_TRUNCATE))
        return pp_mpi_failed(world, state->error, state->sends ? "sending" : "receiving", err);
    if (state->sends)
        return PP_OK;
    pp_status status = world->services->message_check(m, &state->came, err);
    if (status || (!class && state->came_bytes == state->bytes))
        return status;
    char came[32] = "more";
    if (!class)
        snprintf(came, sizeof came, "%zu B", state->came_bytes);
    return world->services->err_set(
        err, PP_INPUT, NULL,
        "message %" PRIu32 " of step %" PRIu32 " from rank %" PRIu32 " to rank %" PRIu32
        " (stage %d, microbatch %" PRIu32 "): %zu B were expected, but %s arrived",
        m->sequence, m->step, m->from, m->to, m->stage, m->microbatch, state->bytes, came);
}

pp_status pp_mpi_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                      pp_err *err)
{
    (void)rank;
    enum { ALL_EVERY = 16 };
    pp_transfer_state *state = state_of(world, transfer);
    pp_patience patience = { 0 };
    bool stopped = false;
    while (!is_done(state) && !stopped) {
        pthread_mutex_lock(&world->lock);
        world->waiting = patience.naps > 0;
        assert(state->held || state->through); /* it was posted */
        if (state->held)
            test_transfer(world, state, 0);
        bool all = world->waiting || patience.rounds % ALL_EVERY == 0;
        if (all || state->through) /* the transfers before it on its edge are awaited */
            test_open(world);
        pthread_mutex_unlock(&world->lock);
        if (is_done(state))
            break;
        stopped = all && pp_mpi_stopped(world);
        pp_mpi_pause(world, &patience);
    }
    if (world->waiting) {
        pthread_mutex_lock(&world->lock);
        world->waiting = false;
        wake_progress(world);
        pthread_mutex_unlock(&world->lock);
    }
    if (!is_done(state))
        return world->services->world_stopped(err);
    pp_status status = check_transfer(world, state, err);
    if (!status)
        *done_ns = state->done_ns;
    return status;
}

pp_status pp_mpi_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                      bool *done_out, pp_ns *done_ns, pp_err *err)
{
    (void)rank;
    pp_transfer_state *state = state_of(world, transfer);
    if (pp_mpi_flagged(world))
        return world->services->world_stopped(err);
    if (!is_done(state)) {
        pthread_mutex_lock(&world->lock);
        if (state->held)
            test_transfer(world, state, now_ns);
        if (state->through) /* the transfers before it may be done, too */
            test_open(world);
        pthread_mutex_unlock(&world->lock);
    }
    bool done = is_done(state) && state->done_ns <= now_ns;
    pp_status status = done ? check_transfer(world, state, err) : PP_OK;
    if (status)
        return status;
    *done_out = done;
    if (done)
        *done_ns = state->done_ns;
    return PP_OK;
}

/* Cancels receives whose message has not begun to arrive. */
void pp_mpi_cancel_transfers(pp_world *world)
{
    pthread_mutex_lock(&world->lock);
    test_open(world);
    for (size_t i = 0; i < world->open_count; i++) {
        pp_transfer_state *state = &world->transfer[world->open[i]];
        for (int k = 0; k < 2 && !state->sends; k++)
            if (state->request[k] != MPI_REQUEST_NULL)
                MPI_Cancel(&state->request[k]);
    }
    test_open(world);
    pthread_mutex_unlock(&world->lock);
}

/* The body of the progress thread. MPI moves large messages only inside of calls: without this
 * thread a message of 2 MB that both ends have posted does not start before the op of the receiver
 * ends. */
static void *make_progress(void *argument)
{
    pp_world *world = argument;
    struct timespec nap = { .tv_nsec = NAP_NS };
    prctl(PR_SET_TIMERSLACK, 1000UL); /* by default sleeps are 50 us longer */
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
        return world->services->err_set(err, PP_NOMEM, NULL, "cannot start a thread: %s",
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
