/* Turns what ranks recorded into a timeline of the type that the engine predicts, so that reports,
 * traces and comparisons serve both.
 *
 * A transfer begins when both of its ends are posted (a buffered one when its own is) and the one
 * before it on its edge is over. The time that a rank waits before an op is divided by means of the
 * transfer that ended last in the group it waited for: until its other end was posted the cause is
 * data or buffer, then link, and for the rest it is host. One pass over the steps of every rank. */
#include "runtime/core/measured_timeline.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE

/* Computes when the transfers of group g begin: when both ends are posted (of a buffered send, its
 * own end only) and the transfer before it on its edge is done. before_ns: [ranks] of sends, then
 * of receives; when the last transfer to or from each rank ended. */
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
            if (comm->step[s].kind == PP_COMM_STEP_POST)
                time_group(program, costs, comm->step[s].index, before_ns, timeline->comm);
        }
    }
    free(before_ns);
    return PP_OK;
}

/* The idle time of one rank, as it is collected. */
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
                                              .step = (uint32_t)step,
                                              .rank = (uint16_t)w->rank,
                                              .transfer = transfer,
                                              .blocker = cause == PP_IDLE_LINK   ? transfer
                                                         : cause == PP_IDLE_HOST ? NONE
                                                                                 : match,
                                              .cause = (uint8_t)cause };
    w->clock_ns = until_ns;
}

/* Attributes the time until until_ns to the transfer of group g that ended last. */
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
        pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_WAIT)
            waited = step.index;
        if (step.kind != PP_COMM_STEP_RUN)
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
    timeline = NULL; /* the caller owns it now */
    return PP_OK;
}
