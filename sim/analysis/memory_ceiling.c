/* An upper bound of the peak memory of a rank: one pass over its steps in their order, in O(steps).
 * What ops and receives hold follows from that order alone. A send buffer is held from the end of
 * its op. With UNTIL_DONE and one tensor per boundary it is released when its transfer is done and
 * all sends that were posted before it are released; otherwise never. */
#include "sim/analysis/memory_ceiling.h"

#include "sim/analysis/memory_change.h"
#include "sim/analysis/memory_slots.h"
#include "sim/base/minmax.h"

typedef struct walk {
    const pp_program *program;
    const pp_comm *comm;
    const pp_timeline *timeline;
    const pp_costs *costs;
    uint32_t rank;
    int64_t held_bytes; /* all that is counted */
    int64_t most_bytes;
    bool too_large;  /* the sum has left PP_MEMORY_TOTAL_MAX; it grows no more */
    size_t oldest;   /* step: sends that were posted before it are released */
    uint32_t passed; /* transfers of that step that are released */
} walk;

static void hold(walk *w, int64_t bytes)
{
    if (w->too_large)
        return;
    w->held_bytes += bytes;
    w->most_bytes = pp_max(w->most_bytes, w->held_bytes);
    w->too_large = w->most_bytes > PP_MEMORY_TOTAL_MAX;
}

/* The receive buffers that last for the whole step: one of each microbatch, or as many as there are
 * receives, each as large as the largest tensor, of which pools have a part. */
static void hold_receives(walk *w)
{
    const pp_comm *comm = w->comm;
    const bool pooled = comm->buffers.recv != PP_RECV_PER_MICROBATCH;
    int64_t largest = 0, receives = 0, all;
    if (comm->buffers.recv == PP_RECV_ON_POST)
        return;
    for (size_t s = comm->step_begin[w->rank]; s < comm->step_begin[w->rank + 1]; s++) {
        const pp_group *group =
            comm->step[s].kind == PP_COMM_STEP_POST ? &comm->group[comm->step[s].index] : NULL;
        for (uint32_t k = 0; group && k < group->count; k++) {
            const pp_transfer *t = &comm->transfer[group->first + k];
            if (pp_transfer_sends((pp_transfer_kind)t->kind) || !pp_transfer_has_buffer(t))
                continue;
            const int64_t bytes = pp_transfer_bytes(w->costs, t);
            largest = pp_max(largest, bytes);
            receives++;
            if (!pooled)
                hold(w, bytes);
        }
    }
    if (!pooled)
        return;
    if (__builtin_mul_overflow(receives, largest, &all) || all > PP_MEMORY_TOTAL_MAX)
        w->too_large = true;
    else
        hold(w, all);
}

static void post(walk *w, const pp_group *group)
{
    for (uint32_t k = 0; w->comm->buffers.recv == PP_RECV_ON_POST && k < group->count; k++) {
        const pp_transfer *t = &w->comm->transfer[group->first + k];
        if (!pp_transfer_sends((pp_transfer_kind)t->kind) && pp_transfer_has_buffer(t))
            hold(w, pp_transfer_bytes(w->costs, t));
    }
}

/* Releases what is done by then, up to the first send that is not. end: step. */
static void release(walk *w, size_t end, pp_ns now_ns)
{
    const pp_comm *comm = w->comm;
    for (; w->oldest < end; w->oldest++, w->passed = 0) {
        const pp_comm_step step = comm->step[w->oldest];
        const pp_group *group = step.kind == PP_COMM_STEP_POST ? &comm->group[step.index] : NULL;
        for (; group && w->passed < group->count; w->passed++) {
            const uint32_t t = group->first + w->passed;
            const pp_transfer *own = &comm->transfer[t];
            if (!pp_transfer_sends((pp_transfer_kind)own->kind) || !pp_transfer_has_buffer(own))
                continue;
            if (w->timeline->comm->end_ns[t] > now_ns)
                return;
            w->held_bytes -= pp_transfer_bytes(w->costs, own);
        }
    }
}

/* The bytes that are received for instruction i. */
static int64_t input_bytes(const walk *w, uint32_t i)
{
    const uint32_t receive = w->comm->needs[i];
    return receive == PP_NO_SOURCE || w->comm->buffers.recv != PP_RECV_ON_POST
               ? 0
               : pp_transfer_bytes(w->costs, &w->comm->transfer[receive]);
}

/* The bytes that the result of an op takes until it has been sent. */
static int64_t output_bytes(const walk *w, pp_op op)
{
    const bool forward = op.kind == PP_OP_F;
    if (op.kind == PP_OP_W || (forward ? op.stage + 1u == w->program->stages : op.stage == 0))
        return 0;
    const uint32_t next = forward ? op.stage + 1u : op.stage - 1u;
    if (pp_program_stage_rank(w->program, next, op.microbatch) == w->rank)
        return 0;
    const uint32_t boundary = forward ? op.stage : next;
    return w->costs->message_bytes[pp_cost_index(w->costs, boundary, op.microbatch)];
}

static void run(walk *w, uint32_t i)
{
    const pp_op op = w->program->op[i];
    const size_t row = pp_cost_index(w->costs, op.stage, op.microbatch);
    const bool back = op.kind == PP_OP_B || op.kind == PP_OP_I;
    int64_t ignored[PP_MEMORY_COUNT] = { 0 };
    int64_t again_bytes = 0;
    if (back && w->comm->buffers.fused_backward)
        again_bytes = pp_max(0, w->costs->activation_bytes[row] - w->costs->temporary_bytes[row]);
    if (op.kind == PP_OP_F)
        w->held_bytes -= input_bytes(w, i); /* it is counted as an activation now */
    hold(w, pp_memory_at_start(op, w->costs, ignored) + again_bytes);
    w->held_bytes += pp_memory_at_end(false, op, w->costs, ignored) - again_bytes;
    if (back)
        w->held_bytes -= input_bytes(w, i);
    if (back && w->comm->buffers.return_outputs)
        hold(w, w->costs->output_bytes[row]);
    hold(w, output_bytes(w, op));
}

int64_t pp_memory_ceiling(const pp_program *program, const pp_timeline *timeline,
                          const pp_costs *costs, uint32_t rank)
{
    const pp_comm *comm = program->comm;
    int64_t bytes[PP_MEMORY_COUNT];
    walk w = { .program = program,
               .comm = comm,
               .timeline = timeline,
               .costs = costs,
               .rank = rank,
               .oldest = comm->step_begin[rank] };
    if (costs->sharded || program->has_pairs || program->runs > 1 || program->forward_only)
        return INT64_MAX;
    pp_memory_set_static(costs, rank, false, bytes);
    hold(&w, pp_memory_total(bytes));
    hold_receives(&w);
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1] && !w.too_large; s++) {
        const pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_POST)
            post(&w, &comm->group[step.index]);
        if (step.kind != PP_COMM_STEP_RUN)
            continue;
        if (comm->buffers.send == PP_SEND_UNTIL_DONE && comm->parts <= 1)
            release(&w, s, timeline->start_ns[step.index]);
        run(&w, step.index);
    }
    return w.too_large ? INT64_MAX : w.most_bytes;
}
