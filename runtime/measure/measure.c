#include "runtime/measure/measure.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE

pp_status pp_record_new(const pp_program *program, bool bytes, pp_record *record_out, pp_err *err)
{
    size_t ops = program->count;
    size_t transfers = program->comm->transfer_count;
    size_t ranks = program->ranks;
    pp_record record = { 0 };
    record.start_ns = pp_alloc_array(3 * ops + 2 * transfers + 4 * ranks, sizeof(pp_ns));
    record.live = pp_alloc_array(ranks, sizeof *record.live);
    record.bytes = bytes ? pp_alloc_array(ops, sizeof *record.bytes) : NULL;
    if (!record.start_ns || !record.live || (bytes && !record.bytes)) {
        pp_record_free(&record);
        return pp_err_nomem(err);
    }
    record.end_ns = record.start_ns + ops;
    record.cpu_ns = record.end_ns + ops;
    record.post_ns = record.cpu_ns + ops;
    record.done_ns = record.post_ns + transfers;
    record.begin_ns = record.done_ns + transfers;
    record.over_ns = record.begin_ns + ranks;
    record.drained_ns = record.over_ns + ranks;
    record.preemptions = record.drained_ns + ranks;
    *record_out = record;
    return PP_OK;
}

void pp_record_free(pp_record *record)
{
    free(record->start_ns);
    free(record->live);
    free(record->bytes);
    *record = (pp_record){ 0 };
}

/* Of one rank: its scalars, then a row per op, then per transfer. */
enum { SCALARS = 5, OP_ROW = 3, TRANSFER_ROW = 2, BYTES_ROW = 2 * PP_MEMORY_COUNT };

static size_t most_transfers(const pp_program *program)
{
    const pp_comm *comm = program->comm;
    size_t most = 0;
    size_t count = 0;
    for (uint32_t r = 0; r < program->ranks; r++, count = 0) {
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++)
            count +=
                comm->step[s].kind == PP_STEP_POST ? comm->group[comm->step[s].index].count : 0;
        most = count > most ? count : most;
    }
    return most;
}

size_t pp_record_bytes(const pp_program *program, const pp_record *record)
{
    size_t most = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t ops = program->rank_begin[r + 1] - program->rank_begin[r];
        most = ops > most ? ops : most;
    }
    size_t row = OP_ROW + (record->bytes ? (size_t)BYTES_ROW : 0);
    return (SCALARS + most * row + most_transfers(program) * TRANSFER_ROW) * sizeof(int64_t);
}

/* Calls `visit` for every number of the rank; `clock`: is it a time of its clock? */
typedef void (*visitor)(void *context, int64_t *value, bool clock);

static void visit_rank(const pp_program *program, pp_record *record, uint32_t rank, visitor visit,
                       void *context)
{
    const pp_comm *comm = program->comm;
    int64_t live = record->live[rank];
    visit(context, &record->begin_ns[rank], true);
    visit(context, &record->over_ns[rank], true);
    visit(context, &record->drained_ns[rank], true);
    visit(context, &record->preemptions[rank], false);
    visit(context, &live, false);
    record->live[rank] = (uint32_t)live;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        visit(context, &record->start_ns[i], true);
        visit(context, &record->end_ns[i], true);
        visit(context, &record->cpu_ns[i], false);
        for (int c = 0; record->bytes && c < BYTES_ROW; c++)
            visit(context, &record->bytes[i][c / PP_MEMORY_COUNT][c % PP_MEMORY_COUNT], false);
    }
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        const pp_group *group = &comm->group[comm->step[s].index];
        for (uint32_t k = 0; comm->step[s].kind == PP_STEP_POST && k < group->count; k++) {
            visit(context, &record->post_ns[group->first + k], true);
            visit(context, &record->done_ns[group->first + k], true);
        }
    }
}

typedef struct packing {
    char *at;
    const char *from;
    pp_ns ahead_ns;
} packing;

static void put(void *context, int64_t *value, bool clock)
{
    packing *p = context;
    (void)clock;
    memcpy(p->at, value, sizeof *value);
    p->at += sizeof *value;
}

static void take(void *context, int64_t *value, bool clock)
{
    packing *p = context;
    memcpy(value, p->from, sizeof *value);
    p->from += sizeof *value;
    *value -= clock ? p->ahead_ns : 0;
}

void pp_record_pack(const pp_program *program, const pp_record *record, uint32_t rank, void *out)
{
    packing p = { .at = out };
    pp_record same = *record; /* put changes nothing */
    visit_rank(program, &same, rank, put, &p);
}

void pp_record_unpack(const pp_program *program, pp_record *record, uint32_t rank, const void *in,
                      pp_ns ahead_ns)
{
    packing p = { .from = in, .ahead_ns = ahead_ns };
    visit_rank(program, record, rank, take, &p);
}

/* When the sends of group g begin, and their receives: both ends are posted (a buffered one needs
 * its own only) and what went before on the edge is through. before_ns: [ranks] of sends, then of
 * receives. */
static void time_group(const pp_program *program, const pp_costs *costs, uint32_t g,
                       pp_ns (*before_ns)[2], pp_comm_timeline *out)
{
    const pp_comm *comm = program->comm;
    const pp_group *group = &comm->group[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        uint32_t other = own->match;
        if (!pp_transfer_sends((pp_transfer_kind)own->kind))
            continue;
        pp_ns start_ns = pp_max(out->post_ns[t], before_ns[own->peer][0]);
        if (!pp_comm_is_buffered(comm, costs, own))
            start_ns = pp_max(pp_max(start_ns, out->post_ns[other]), before_ns[own->peer][1]);
        out->start_ns[t] = start_ns < out->end_ns[t] ? start_ns : out->end_ns[t];
        out->start_ns[other] = start_ns < out->end_ns[other] ? start_ns : out->end_ns[other];
    }
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        if (!pp_transfer_sends((pp_transfer_kind)own->kind))
            continue;
        before_ns[own->peer][0] = out->end_ns[t];
        before_ns[own->peer][1] = out->end_ns[own->match];
    }
}

static pp_status time_transfers(const pp_program *program, const pp_costs *costs,
                                pp_timeline *timeline, pp_err *err)
{
    const pp_comm *comm = program->comm;
    size_t bytes = sizeof(pp_ns[2]);
    pp_ns(*before_ns)[2] = pp_alloc_array(program->ranks, bytes);
    if (!before_ns)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < program->ranks; r++) {
        memset(before_ns, 0, program->ranks * bytes);
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            if (comm->step[s].kind == PP_STEP_POST)
                time_group(program, costs, comm->step[s].index, before_ns, timeline->comm);
        }
    }
    free(before_ns);
    return PP_OK;
}

/* Idle time of one rank. */
typedef struct idling {
    const pp_program *program;
    pp_timeline *timeline;
    uint32_t rank;
    pp_ns clock_ns;
    pp_err *err;
    bool failed;
} idling;

static void stand_still(idling *w, pp_idle_cause cause, pp_ns until_ns, size_t step,
                        uint32_t transfer)
{
    pp_comm_timeline *out = w->timeline->comm;
    void *grown = out->wait;
    if (until_ns <= w->clock_ns)
        return;
    out->idle_ns[w->rank * PP_IDLE_COUNT + (size_t)cause] += until_ns - w->clock_ns;
    if (pp_grow(&grown, &out->wait_capacity, out->wait_count + 1, sizeof *out->wait, w->err)) {
        w->failed = true;
        return;
    }
    out->wait = grown;
    uint32_t match = transfer == NONE ? NONE : w->program->comm->transfer[transfer].match;
    out->wait[out->wait_count++] = (pp_wait){ .at_ns = w->clock_ns,
                                              .waits_ns = until_ns - w->clock_ns,
                                              .step = step,
                                              .rank = w->rank,
                                              .transfer = transfer,
                                              .blocker = cause == PP_IDLE_LINK   ? transfer
                                                         : cause == PP_IDLE_HOST ? NONE
                                                                                 : match,
                                              .cause = cause };
    w->clock_ns = until_ns;
}

/* The rank waited for what ended last in group g, but no longer than until_ns. */
static void await_group(idling *w, uint32_t g, size_t step, pp_ns until_ns)
{
    const pp_comm *comm = w->program->comm;
    const pp_comm_timeline *out = w->timeline->comm;
    const pp_group *group = &comm->group[g];
    uint32_t last = group->first;
    for (uint32_t t = group->first; t < group->first + group->count; t++)
        last = out->end_ns[t] > out->end_ns[last] ? t : last;
    pp_ns end_ns = out->end_ns[last] < until_ns ? out->end_ns[last] : until_ns;
    pp_ns posted_ns = out->post_ns[comm->transfer[last].match];
    bool sends = pp_transfer_sends((pp_transfer_kind)comm->transfer[last].kind);
    stand_still(w, sends ? PP_IDLE_BUFFER : PP_IDLE_DATA, posted_ns < end_ns ? posted_ns : end_ns,
                step, last);
    stand_still(w, PP_IDLE_LINK, end_ns, step, last);
}

static void idle_of_rank(idling *w)
{
    const pp_comm *comm = w->program->comm;
    uint32_t waited = NONE; /* the last group waited for since the last op */
    for (size_t s = comm->step_begin[w->rank]; s < comm->step_begin[w->rank + 1]; s++) {
        pp_step step = comm->step[s];
        if (step.kind == PP_STEP_WAIT)
            waited = step.index;
        if (step.kind != PP_STEP_RUN)
            continue;
        uint32_t receive = comm->needs[step.index];
        pp_ns start_ns = w->timeline->start_ns[step.index];
        if (waited != NONE)
            await_group(w, waited, s, start_ns);
        if (receive != NONE)
            await_group(w, comm->transfer[receive].group, s, start_ns);
        stand_still(w, PP_IDLE_HOST, start_ns, s, receive);
        w->clock_ns = w->timeline->end_ns[step.index];
        waited = NONE;
    }
}

pp_status pp_record_timeline(const pp_program *program, const pp_costs *costs,
                             const pp_record *record, pp_timeline **timeline_out, pp_err *err)
{
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_status status = pp_timeline_new_comm(program, &timeline, err);
    if (status)
        return status;
    pp_ns origin_ns = record->begin_ns[0];
    for (uint32_t r = 1; r < program->ranks; r++)
        origin_ns = record->begin_ns[r] < origin_ns ? record->begin_ns[r] : origin_ns;
    for (size_t i = 0; i < program->count; i++) {
        timeline->start_ns[i] = record->start_ns[i] - origin_ns;
        timeline->end_ns[i] = record->end_ns[i] - origin_ns;
    }
    for (size_t t = 0; t < program->comm->transfer_count; t++) {
        timeline->comm->post_ns[t] = record->post_ns[t] - origin_ns;
        timeline->comm->end_ns[t] = record->done_ns[t] - origin_ns;
    }
    if ((status = time_transfers(program, costs, timeline, err)))
        return status;
    for (uint32_t r = 0; r < program->ranks; r++) {
        idling w = { .program = program, .timeline = timeline, .rank = r, .err = err };
        idle_of_rank(&w);
        if (w.failed)
            return PP_NOMEM;
    }
    *timeline_out = timeline;
    timeline = NULL; /* the caller's now */
    return PP_OK;
}
