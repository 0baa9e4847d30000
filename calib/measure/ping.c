/* Ping-pong between two ranks over any transport. A step has up to 64 rounds, so that one program
 * with a fixed number of transfers serves any number of runs; rank 0 announces each step's rounds
 * and bytes with an all-gather, and rank 1 answers until it announces none. Rank 1's preemptions
 * are added to the timings of rank 0, since they lengthen these too. */
#include "calib/measure/ping.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 64, TRANSFERS = 4 * ROUNDS, RANKS = 2 };

/* What rank 0 announces; 0 rounds end the session. It is sent as bytes, so it must have no padding.
 */
typedef struct order {
    uint64_t bytes, rounds;
} order;

struct pp_ping {
    const pp_transport *transport;
    pp_world_options options;
    pp_world *world;
    uint32_t first, hosted; /* first rank and number of ranks of this process */
    pp_program program;
    pp_comm comm;
    size_t step_begin[RANKS + 1];
    pp_comm_step step[RANKS];
    pp_group group[RANKS];
    pp_transfer transfer[TRANSFERS]; /* rank 0's, then rank 1's: send, receive, send, ... */
    size_t buffered_bytes[TRANSFERS];
    char *buffer[RANKS];
    uint32_t count; /* steps that rank 0 has begun */
    bool serving;   /* `partner` runs */
    bool broken;    /* a step of rank 0 failed: the partner cannot be asked to end */
    pthread_t partner;
    pp_status partner_status;
    pp_err partner_err;
};

/* Returns the transfer of a rank in a round: its end of the message from rank 0, or of the one
 * back. */
static uint32_t transfer_of(uint32_t rank, uint32_t round, bool back)
{
    return rank * (TRANSFERS / 2) + 2 * round + back;
}

static void lay_out(pp_ping *p)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        p->group[rank] = (pp_group){ .rank = rank,
                                     .first = transfer_of(rank, 0, false),
                                     .count = TRANSFERS / 2 };
        p->step[rank] = (pp_comm_step){ .index = rank, .kind = PP_COMM_STEP_POST };
        p->step_begin[rank + 1] = rank + 1;
        for (uint32_t k = 0; k < TRANSFERS / 2; k++) {
            bool back = k % 2;
            p->transfer[transfer_of(rank, k / 2, back)] = (pp_transfer){
                .microbatch = k / 2,
                .kind = (uint8_t)(back == (rank == 0) ? PP_RECV_F : PP_SEND_F),
                .rank = rank,
                .peer = 1 - rank,
                .group = rank,
                .match = transfer_of(1 - rank, k / 2, back),
            };
        }
    }
    p->comm = (pp_comm){ .step_begin = p->step_begin,
                         .step = p->step,
                         .group = p->group,
                         .transfer = p->transfer,
                         .step_count = RANKS,
                         .group_count = RANKS,
                         .transfer_count = TRANSFERS };
    p->program = (pp_program){ .ranks = RANKS, .comm = &p->comm };
}

pp_status pp_ping_new(const pp_transport *transport, size_t bytes_max, pp_ping **ping_out,
                      pp_err *err)
{
    pp_ping *p PP_CLEANUP(pp_ping_free) = pp_alloc_array(1, sizeof *p);
    if (!p)
        return pp_err_nomem(err);
    p->transport = transport;
    p->options = (pp_world_options){ .ranks = RANKS };
    lay_out(p);
    pp_status status = transport->open(&p->options, &p->world, err);
    if (status)
        return status;
    transport->hosts(p->world, &p->first, &p->hosted);
    status = transport->load(p->world, &p->program, p->buffered_bytes, err);
    if (status)
        return status;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        p->buffer[rank] = aligned_alloc(64, (bytes_max + 64) / 64 * 64);
        if (!p->buffer[rank])
            return pp_err_nomem(err);
        memset(p->buffer[rank], 1, bytes_max);
    }
    *ping_out = p;
    p = NULL; /* owned by the caller now */
    return PP_OK;
}

void pp_ping_free(pp_ping **ping)
{
    pp_ping *p = *ping;
    if (!p)
        return;
    pp_ping_leave(p);
    p->transport->close(p->world);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        free(p->buffer[rank]);
    free(p);
    *ping = NULL;
}

bool pp_ping_is_partner(const pp_ping *ping)
{
    return ping->first > 0;
}

static pp_status post(pp_ping *p, uint32_t rank, uint32_t round, bool back, size_t bytes,
                      uint32_t step, pp_err *err)
{
    const uint32_t from = back ? 1 : 0;
    const pp_post a = {
        .transfer = transfer_of(rank, round, back),
        .message = { .program = 1,
                     .bytes = (int64_t)bytes,
                     .step = step,
                     .from = from,
                     .to = 1 - from,
                     .sequence = round,
                     .microbatch = round },
        .payload = p->buffer[rank],
        .payload_bytes = bytes,
    };
    return p->transport->post(p->world, rank, &a, err);
}

static pp_status wait(pp_ping *p, uint32_t rank, uint32_t round, bool back, pp_err *err)
{
    pp_ns done_ns;
    return p->transport->wait(p->world, rank, transfer_of(rank, round, back), &done_ns, err);
}

/* Both ranks post each receive before the message can arrive: rank 0 before it sends, rank 1 a
 * round ahead. */
static pp_status play(pp_ping *p, uint32_t rank, size_t bytes, uint32_t rounds, uint32_t step,
                      pp_err *err)
{
    pp_status status = rank == 1 ? post(p, 1, 0, false, bytes, step, err) : PP_OK;
    for (uint32_t k = 0; k < rounds && !status; k++) {
        if (rank == 0) {
            if ((status = post(p, 0, k, true, bytes, step, err)) ||
                (status = post(p, 0, k, false, bytes, step, err)) ||
                (status = wait(p, 0, k, false, err)) || (status = wait(p, 0, k, true, err)))
                return status;
        } else {
            if ((status = wait(p, 1, k, false, err)) ||
                (k + 1 < rounds && (status = post(p, 1, k + 1, false, bytes, step, err))) ||
                (status = post(p, 1, k, true, bytes, step, err)) ||
                (status = wait(p, 1, k, true, err)))
                return status;
        }
    }
    return status;
}

/* Carries out one step of up to ROUNDS rounds. `mine` matters on rank 0 only; `timing` is NULL on
 * rank 1. *went_out is false when rank 0 announced the end. */
static pp_status step(pp_ping *p, uint32_t rank, const order *mine, uint32_t number,
                      pp_timing *timing, bool *went_out, pp_err *err)
{
    const pp_transport *t = p->transport;
    order all[RANKS];
    int64_t lost[RANKS];
    pp_status status = t->begin(p->world, rank, err);
    if (!status)
        status = t->all_gather(p->world, rank, mine, sizeof *mine, all, err);
    if (status)
        return status;
    *went_out = all[0].rounds > 0;
    if (!*went_out)
        return PP_OK;
    int64_t before = pp_clock_preemptions();
    if (timing)
        pp_timing_begin(timing);
    status = play(p, rank, all[0].bytes, (uint32_t)all[0].rounds, number, err);
    if (timing)
        pp_timing_end(timing, 0, 2 * (uint32_t)all[0].rounds);
    int64_t mine_lost = pp_clock_preemptions() - before;
    if (!status)
        status = t->all_gather(p->world, rank, &mine_lost, sizeof mine_lost, lost, err);
    if (!status && timing)
        timing->lap[0].preemptions += lost[1];
    return status;
}

pp_status pp_ping_serve(pp_ping *p, pp_err *err)
{
    const order none = { 0 };
    bool went = true;
    pp_status status = PP_OK;
    pp_clock_sharpen();
    for (uint32_t number = 0; went && !status; number++)
        status = step(p, 1, &none, number, NULL, &went, err);
    return status;
}

static void *serve(void *argument)
{
    pp_ping *p = argument;
    p->partner_status = pp_ping_serve(p, &p->partner_err);
    if (p->partner_status)
        p->transport->abort(p->world);
    return NULL;
}

pp_status pp_ping_start(pp_ping *p, pp_err *err)
{
    p->partner_err = pp_err_like(err);
    int code = pthread_create(&p->partner, NULL, serve, p);
    if (code)
        return pp_err_set(err, PP_UNAVAILABLE, NULL, "cannot start a thread: %s", strerror(code));
    p->serving = true;
    return PP_OK;
}

void pp_ping_leave(pp_ping *p)
{
    const order none = { 0 };
    bool went;
    pp_err ignored = { 0 };
    bool partner = p->serving || (p->world && p->hosted == 1 && p->first == 0);
    if (!partner)
        return;
    if (p->broken || step(p, 0, &none, p->count, NULL, &went, &ignored))
        p->transport->abort(p->world);
    if (p->serving)
        pthread_join(p->partner, NULL);
    p->serving = false;
    p->hosted = 0; /* so that a second call does nothing */
}

pp_status pp_ping_run(pp_ping *p, size_t bytes, uint32_t runs, pp_timing *timing, pp_err *err)
{
    pp_status status = PP_OK;
    bool went;
    for (uint32_t left = (runs + 1) / 2; left > 0 && !status;) {
        const order want = { .bytes = bytes, .rounds = left < ROUNDS ? left : ROUNDS };
        status = step(p, 0, &want, p->count++, timing, &went, err);
        left -= (uint32_t)want.rounds;
    }
    p->broken = status != PP_OK;
    return status;
}

pp_status pp_ping_alone(pp_ping *p, size_t bytes, uint32_t runs, pp_timing *timing, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t left = runs; left > 0 && !status;) {
        uint32_t rounds = left < ROUNDS ? left : ROUNDS;
        if ((status = p->transport->begin(p->world, 0, err)) ||
            (status = p->transport->begin(p->world, 1, err)))
            return status;
        if (timing)
            pp_timing_begin(timing);
        for (uint32_t k = 0; k < rounds && !status; k++) {
            if ((status = post(p, 1, k, false, bytes, p->count, err)) ||
                (status = post(p, 0, k, false, bytes, p->count, err)) ||
                (status = wait(p, 0, k, false, err)) || (status = wait(p, 1, k, false, err)))
                return status;
        }
        if (timing)
            pp_timing_end(timing, 0, rounds);
        p->count++;
        left -= rounds;
    }
    return status;
}
