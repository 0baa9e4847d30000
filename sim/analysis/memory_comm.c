/* Memory over time with communication: one pass over the rank's steps in their order. Releases by
 * transfers that end later wait in a heap until the steps reach their time. If a buffer may be
 * released at the instant at which it is made, it then was never held, so that what follows at this
 * instant is kept until time moves on. O(n + t log t) for n steps and t transfers that are under
 * way at once. */
#include "sim/analysis/memory_comm.h"

#include "sim/analysis/memory_slots.h"
#include "sim/base/alloc.h"
#include "sim/base/heap.h"
#include "sim/program/pairs.h"

#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE
#define BEFORE INT64_MIN

/* What the rank holds from one position in its steps on, at the present instant. */
typedef struct moment {
    size_t position;    /* 0: the ends of transfers; above: steps of the rank, two positions each */
    size_t instruction; /* the one that starts or ends here, else the next one, else the last */
    int64_t total_bytes;
    int64_t bytes[PP_MEMORY_COUNT];
} moment;

/* A buffer that a transfer holds; indexed by held_by. */
typedef struct held {
    pp_ns from_ns;
    size_t position; /* 0: it is not held */
} held;

/* What the rank holds of a stage whose parameters are sharded. */
typedef struct unsharded {
    uint32_t weight_gradients; /* microbatches of the run whose backward for weight has run */
    int64_t parameters_bytes;  /* gathered ones */
    bool gradients;            /* whole ones */
    bool shards;               /* those of the gradients of an earlier run */
} unsharded;

typedef struct rank_replay {
    const pp_program *program;
    const pp_comm *comm;
    const pp_timeline *timeline;
    const pp_costs *costs;
    uint32_t rank;
    pp_rank_transfers index;
    held *held;            /* [2 * index.cells] */
    unsharded *unsharded;  /* [index.stages]; NULL: nothing is sharded */
    uint32_t last_send[2]; /* last posted send of gradients and of activations, or NONE */
    uint32_t run;          /* the pipeline run of the last op */
    int64_t output_bytes;  /* kept outputs of this run */
    moment *moment;        /* [moments]: those of the present instant that are not compared with
                              the peak yet, the last one is now */
    size_t moments, moment_capacity;
    bool vanishes;    /* a buffer that was made at this instant may be released at it */
    pp_ns instant_ns; /* BEFORE: before the step */
    pp_heap later;    /* of transfers that release a buffer when they end */
    size_t later_capacity;
    size_t position;
    pp_ns clock_ns; /* of the steps, which never goes back */
    size_t next;    /* the first instruction that has not ended */
    size_t end;     /* of the rank's instructions */
    size_t last;    /* the last one */
    int64_t limit_bytes;
    pp_memory_sample sample;
    void *context;
    pp_memory_peak peak;
    pp_err *err;
    pp_status status;
} rank_replay;

static void replay_free(rank_replay *w)
{
    pp_rank_transfers_free(&w->index);
    free(w->held);
    free(w->unsharded);
    free(w->moment);
    free(w->later.id);
}

/* True if nothing more is to be found. */
static bool is_over(const rank_replay *w)
{
    return w->status || w->peak.total_bytes > w->limit_bytes;
}

static void keep_most(int64_t *most, int64_t bytes)
{
    *most = bytes > *most ? bytes : *most;
}

/* Compares what the rank held at the present instant with the peak. */
static void conclude(rank_replay *w)
{
    if (w->instant_ns == BEFORE)
        return;
    for (size_t i = 0; i < w->moments && !is_over(w); i++) {
        const moment *m = &w->moment[i];
        if (m->total_bytes > PP_MEMORY_TOTAL_MAX) {
            w->status = pp_memory_too_large(w->rank, w->err);
            return;
        }
        if (w->sample)
            w->sample(w->context, w->instant_ns, m->bytes);
        keep_most(&w->peak.recv_bytes, m->bytes[PP_MEMORY_RECV_BUFFERS]);
        keep_most(&w->peak.send_bytes, m->bytes[PP_MEMORY_SEND_BUFFERS]);
        if (m->total_bytes > w->peak.total_bytes) {
            w->peak.total_bytes = m->total_bytes;
            memcpy(w->peak.bytes, m->bytes, sizeof m->bytes);
            w->peak.at_ns = w->instant_ns;
            w->peak.instruction = m->instruction;
        }
    }
}

/* True if the last moment is not to be sampled, and is below the peak in all respects. */
static bool is_below(const rank_replay *w, const moment *last)
{
    return w->moments == 1 && !w->sample && last->total_bytes <= w->peak.total_bytes &&
           last->bytes[PP_MEMORY_RECV_BUFFERS] <= w->peak.recv_bytes &&
           last->bytes[PP_MEMORY_SEND_BUFFERS] <= w->peak.send_bytes;
}

/* Begins the moment at a time and position that are not those of the last one. */
static moment *begin_moment(rank_replay *w, pp_ns at_ns, size_t position)
{
    moment *last = &w->moment[w->moments - 1];
    if (at_ns == w->instant_ns && w->vanishes) {
        void *grown = w->moment;
        if (pp_grow(&grown, &w->moment_capacity, w->moments + 1, sizeof *w->moment, w->err)) {
            w->status = PP_NOMEM;
            return last;
        }
        w->moment = grown;
        last = &w->moment[w->moments++];
        *last = last[-1];
    } else {
        if (!is_below(w, last))
            conclude(w);
        if (w->moments > 1)
            w->moment[0] = *last;
        last = w->moment;
        w->moments = 1;
        w->instant_ns = at_ns;
        w->vanishes = false;
    }
    last->position = position;
    last->instruction = w->next < w->end ? w->next : w->last;
    return last;
}

static void add(moment *m, pp_memory_component component, int64_t bytes)
{
    m->bytes[component] += bytes;
    m->total_bytes += bytes;
}

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
    const pp_ns *end_ns = context;
    return end_ns[a] != end_ns[b] ? end_ns[a] < end_ns[b] : a < b;
}

/* Releases what transfers hold that end until then. */
static void release_until(rank_replay *w, pp_ns until_ns)
{
    const pp_ns *end_ns = w->timeline->comm->end_ns;
    while (w->later.count && end_ns[w->later.id[0]] <= until_ns && !is_over(w)) {
        const uint32_t transfer = pp_heap_pop(&w->later, ends_before);
        const pp_ns at_ns = end_ns[transfer];
        const moment *last = &w->moment[w->moments - 1];
        moment *m = at_ns == w->instant_ns && last->position == 0 ? &w->moment[w->moments - 1]
                                                                  : begin_moment(w, at_ns, 0);
        add(m, PP_MEMORY_SEND_BUFFERS, -pp_transfer_bytes(w->costs, &w->comm->transfer[transfer]));
    }
}

static void release_later(rank_replay *w, uint32_t transfer)
{
    void *grown = w->later.id;
    w->status = pp_grow(&grown, &w->later_capacity, (size_t)w->later.count + 1, sizeof *w->later.id,
                        w->err);
    w->later.id = grown;
    if (!w->status)
        pp_heap_push(&w->later, ends_before, transfer);
}

/* What the rank holds at its current step. */
static moment *now(rank_replay *w)
{
    moment *m = &w->moment[w->moments - 1];
    if (w->instant_ns == w->clock_ns && m->position == w->position)
        return m;
    if (w->later.count)
        release_until(w, w->clock_ns);
    return begin_moment(w, w->clock_ns, w->position);
}

static void advance(rank_replay *w, pp_ns until_ns)
{
    w->clock_ns = until_ns > w->clock_ns ? until_ns : w->clock_ns;
}

/* Adds a change at the current step of the rank. */
static void change(rank_replay *w, pp_memory_component component, int64_t bytes)
{
    if (bytes)
        add(now(w), component, bytes);
}

static held *held_by(const rank_replay *w, const pp_transfer *t)
{
    return &w->held[(t->kind == PP_SEND_B ? w->index.cells : 0) +
                    pp_rank_transfers_at(&w->index, PP_SEND_F, t->stage, t->microbatch)];
}

/* Releases a buffer at the current step. One that was made at this instant was never held. */
static void release_now(rank_replay *w, const pp_transfer *t)
{
    const int64_t bytes = pp_transfer_bytes(w->costs, t);
    held *h = held_by(w, t);
    if (h->position && h->from_ns < w->clock_ns)
        change(w, PP_MEMORY_SEND_BUFFERS, -bytes);
    for (size_t k = w->moments; h->position && h->from_ns == w->clock_ns && k-- > 0 &&
                                w->moment[k].position >= h->position;)
        add(&w->moment[k], PP_MEMORY_SEND_BUFFERS, -bytes);
    h->position = 0;
}

/* Releases a buffer when its transfer is done, but not before the rank's current step. */
static void release_at_end(rank_replay *w, uint32_t transfer)
{
    const pp_transfer *t = &w->comm->transfer[transfer];
    const pp_ns end_ns = w->timeline->comm->end_ns[transfer];
    if (end_ns <= w->clock_ns) {
        release_now(w, t);
    } else if (held_by(w, t)->position) {
        release_later(w, transfer);
        held_by(w, t)->position = 0;
    }
}

static void hold(rank_replay *w, uint32_t transfer)
{
    const pp_transfer *t = &w->comm->transfer[transfer];
    *held_by(w, t) = (held){ .from_ns = w->clock_ns, .position = w->position };
    change(w, PP_MEMORY_SEND_BUFFERS, pp_transfer_bytes(w->costs, t));
    w->vanishes |= w->timeline->comm->end_ns[transfer] <= w->clock_ns ||
                   w->comm->buffers.send == PP_SEND_UNTIL_STEP_END;
}

/* Allocates the send buffer of the op's result, which exists from now on. */
static void made(rank_replay *w, pp_op op)
{
    pp_send_buffers policy = (pp_send_buffers)w->comm->buffers.send;
    pp_transfer_kind kind = op.kind == PP_OP_F ? PP_SEND_F : PP_SEND_B;
    uint32_t transfer = pp_rank_transfers_get(&w->index, kind, op.stage, op.microbatch);
    if (transfer == NONE)
        return;
    hold(w, transfer);
    bool awaits_backward = kind == PP_SEND_F && !w->program->forward_only;
    if (policy == PP_SEND_UNTIL_DONE || (policy == PP_SEND_UNTIL_BACKWARD && !awaits_backward))
        release_at_end(w, transfer);
}

/* Releases the send buffers that are free after a wait for the group. */
static void waited(rank_replay *w, uint32_t g)
{
    const pp_group *group = &w->comm->group[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++)
        advance(w, w->timeline->comm->end_ns[t]);
    if (w->comm->buffers.send != PP_SEND_UNTIL_WAITED && w->comm->buffers.send != PP_SEND_AT_WAIT)
        return;
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        if (pp_transfer_has_buffer(&w->comm->transfer[t]) &&
            pp_transfer_sends((pp_transfer_kind)w->comm->transfer[t].kind))
            release_at_end(w, t);
    }
}

static void posted(rank_replay *w, uint32_t g)
{
    const pp_group *group = &w->comm->group[g];
    const pp_buffers *buffers = &w->comm->buffers;
    advance(w, w->timeline->comm->post_ns[group->first]);
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        const pp_transfer *transfer = &w->comm->transfer[t];
        if (!pp_transfer_has_buffer(transfer))
            continue;
        if (!pp_transfer_sends((pp_transfer_kind)transfer->kind)) {
            if (buffers->recv == PP_RECV_ON_POST)
                change(w, PP_MEMORY_RECV_BUFFERS, pp_transfer_bytes(w->costs, transfer));
            continue;
        }
        uint32_t *last = &w->last_send[transfer->kind == PP_SEND_F];
        if (buffers->send == PP_SEND_UNTIL_WAITED && *last != NONE)
            release_at_end(w, *last);
        *last = t;
    }
}

static unsharded *unsharded_of(const rank_replay *w, uint32_t stage)
{
    return &w->unsharded[pp_rank_transfers_stage(&w->index, stage)];
}

static void hold_bytes(rank_replay *w, uint32_t stage, int64_t bytes)
{
    unsharded *own = unsharded_of(w, stage);
    change(w, PP_MEMORY_PARAMETERS, bytes - own->parameters_bytes);
    own->parameters_bytes = bytes;
}

/* Gathers the parameters of a stage, or frees them. */
static void hold_parameters(rank_replay *w, uint32_t stage, bool now)
{
    hold_bytes(w, stage, now ? w->costs->gathered_bytes[stage] : 0);
}

/* An op gathers what a forward has freed: a backward all layers, which stay; a forward two at a
 * time. */
static void regather(rank_replay *w, pp_op op)
{
    const int64_t all = w->costs->gathered_bytes[op.stage];
    const bool freed = unsharded_of(w, op.stage)->parameters_bytes < all;
    if (freed && op.kind != PP_OP_W)
        hold_bytes(w, op.stage, op.kind == PP_OP_F ? w->costs->passing_bytes[op.stage] : all);
}

/* The gradients of a stage are reduced: their shards are left, to which those of later runs are
 * added, and nothing needs its parameters. */
static void reduced(rank_replay *w, uint32_t stage)
{
    unsharded *own = unsharded_of(w, stage);
    hold_parameters(w, stage, false);
    change(w, PP_MEMORY_GRADIENTS,
           (own->shards ? 0 : w->costs->gradient_shard_bytes[stage]) -
               w->costs->whole_gradient_bytes[stage]);
    own->shards = true;
    own->gradients = false;
    own->weight_gradients = 0;
}

static uint32_t run_microbatches(const pp_program *program)
{
    return program->microbatches / program->runs;
}

/* What a run leaves is freed when the next one begins: sends that are kept to the end of the step
 * of a schedule, and outputs (clear_runtime_states of PyTorch's stage.py). */
static void begin_run(rank_replay *w, pp_op op)
{
    const uint32_t run = op.microbatch / run_microbatches(w->program);
    if (run == w->run)
        return;
    w->run = run;
    change(w, PP_MEMORY_OUTPUTS, -w->output_bytes);
    w->output_bytes = 0;
    if (w->comm->buffers.send != PP_SEND_UNTIL_STEP_END)
        return;
    for (int kind = PP_SEND_F; kind <= PP_SEND_B; kind += PP_SEND_B - PP_SEND_F) {
        const uint32_t *transfer = w->index.transfer + (size_t)kind * w->index.cells;
        for (size_t i = 0; i < w->index.cells; i++) {
            if (transfer[i] != NONE)
                release_now(w, &w->comm->transfer[transfer[i]]);
        }
    }
}

/* Takes the marks between the rank's last op and the one at step `until`, when that op starts: it
 * waits for reductions, and only ops are compared with measured memory. What follows the last op is
 * the end of the step. */
static void take_marks(rank_replay *w, size_t until)
{
    const pp_comm_step *step = w->comm->step;
    size_t s = until;
    while (s > w->comm->step_begin[w->rank] && step[s - 1].kind != PP_COMM_STEP_RUN)
        s--;
    for (; s < until; s++) {
        if (step[s].kind != PP_COMM_STEP_MARK || !pp_rank_transfers_has(&w->index, step[s].index))
            continue; /* no op of the stage is here */
        if (step[s].mark == PP_MARK_UNSHARD || step[s].mark == PP_MARK_RESHARD)
            hold_parameters(w, step[s].index, step[s].mark == PP_MARK_UNSHARD);
        else if (step[s].mark == PP_MARK_REDUCE_GRAD)
            reduced(w, step[s].index);
    }
}

/* Without marks the first op of a stage gathers its parameters. The first backward for weight makes
 * its gradients. */
static void use_unsharded(rank_replay *w, pp_op op)
{
    if (!w->unsharded)
        return;
    unsharded *own = unsharded_of(w, op.stage);
    if (w->costs->shards_ops) {
        hold_parameters(w, op.stage, true);
        own->gradients = false; /* of the op before, which has reduced them */
    } else if (w->costs->regathers)
        regather(w, op);
    else if (w->comm->gathers_in_ops)
        hold_parameters(w, op.stage, true);
    if (op.kind == PP_OP_F || op.kind == PP_OP_I || own->gradients)
        return;
    own->gradients = true;
    change(w, PP_MEMORY_GRADIENTS, w->costs->whole_gradient_bytes[op.stage]);
}

/* Without marks the last backward for weight of a stage reduces its gradients. */
static void used_unsharded(rank_replay *w, pp_op op)
{
    if (w->unsharded && w->costs->regathers && op.kind == PP_OP_F)
        hold_bytes(w, op.stage, w->costs->kept_bytes[op.stage]);
    if (w->unsharded && w->costs->shards_ops && op.kind == PP_OP_F)
        hold_parameters(w, op.stage, false);
    else if (w->unsharded && w->costs->shards_ops)
        reduced(w, op.stage);
    if (!w->unsharded || !w->comm->gathers_in_ops || op.kind == PP_OP_F || op.kind == PP_OP_I)
        return;
    if (++unsharded_of(w, op.stage)->weight_gradients == run_microbatches(w->program))
        reduced(w, op.stage);
}

/* Counts the receive buffer of F as an activation from the start of F to the end of its
 * backward. */
static void take_input(rank_replay *w, pp_op op, bool takes)
{
    uint32_t transfer = pp_rank_transfers_get(&w->index, PP_RECV_F, op.stage, op.microbatch);
    const pp_buffers *buffers = &w->comm->buffers;
    if (transfer == NONE || (buffers->recv_copied && buffers->recv != PP_RECV_ON_POST))
        return;
    int64_t bytes = pp_transfer_bytes(w->costs, &w->comm->transfer[transfer]);
    if (takes)
        change(w, PP_MEMORY_RECV_BUFFERS, -bytes);
    else if (buffers->recv != PP_RECV_ON_POST)
        change(w, PP_MEMORY_RECV_BUFFERS, bytes);
}

/* An upper bound of the memory that a backward needs if it is one graph: as much as its forward
 * keeps. */
static int64_t graph_bytes(const rank_replay *w, pp_op op)
{
    size_t row = pp_cost_index(w->costs, op.stage, op.microbatch);
    int64_t more = w->costs->activation_bytes[row] - w->costs->temporary_bytes[row];
    return w->comm->buffers.fused_backward && more > 0 ? more : 0;
}

static void starts(rank_replay *w, pp_op op)
{
    use_unsharded(w, op);
    moment *m = now(w);
    m->total_bytes += pp_memory_at_start(op, w->costs, m->bytes);
    if (op.kind == PP_OP_F)
        take_input(w, op, true);
    else if (op.kind != PP_OP_W)
        change(w, PP_MEMORY_TEMPORARIES, graph_bytes(w, op));
}

static void ends_backward(rank_replay *w, pp_op op)
{
    const pp_buffers *buffers = &w->comm->buffers;
    uint32_t gradient = pp_rank_transfers_get(&w->index, PP_RECV_B, op.stage, op.microbatch);
    uint32_t output = pp_rank_transfers_get(&w->index, PP_SEND_F, op.stage, op.microbatch);
    change(w, PP_MEMORY_TEMPORARIES, -graph_bytes(w, op));
    take_input(w, op, false);
    if (gradient != NONE && buffers->recv == PP_RECV_ON_POST)
        change(w, PP_MEMORY_RECV_BUFFERS,
               -pp_transfer_bytes(w->costs, &w->comm->transfer[gradient]));
    if (output != NONE && buffers->send == PP_SEND_UNTIL_BACKWARD)
        release_at_end(w, output);
}

static void keep_output(rank_replay *w, pp_op op)
{
    if (!w->comm->buffers.return_outputs)
        return;
    const int64_t more = w->costs->output_bytes[pp_cost_index(w->costs, op.stage, op.microbatch)];
    w->output_bytes += more;
    change(w, PP_MEMORY_OUTPUTS, more);
}

static void ends(rank_replay *w, pp_op op)
{
    moment *m = now(w);
    m->total_bytes += pp_memory_at_end(w->program->forward_only, op, w->costs, m->bytes);
    if (op.kind == PP_OP_B || op.kind == PP_OP_I) {
        ends_backward(w, op);
        keep_output(w, op);
    } else if (op.kind == PP_OP_F && w->program->forward_only) {
        take_input(w, op, false);
        keep_output(w, op);
    }
    used_unsharded(w, op);
    if (op.kind != PP_OP_W)
        made(w, op);
}

static void wait_for_input(rank_replay *w, uint32_t i)
{
    uint32_t receive = w->comm->needs[i];
    if (receive != NONE)
        waited(w, w->comm->transfer[receive].group);
}

/* The second half of an overlapped pair starts together with the first. */
static void begins(rank_replay *w, uint32_t i, size_t step)
{
    bool pair = pp_pair_starts(w->program, w->costs, i);
    advance(w, w->timeline->start_ns[i]);
    begin_run(w, w->program->op[i]);
    if (w->unsharded)
        take_marks(w, step);
    wait_for_input(w, i);
    if (pair)
        wait_for_input(w, i + 1);
    now(w)->instruction = i;
    starts(w, w->program->op[i]);
    if (pair)
        starts(w, w->program->op[i + 1]);
}

static void runs(rank_replay *w, uint32_t i, size_t step)
{
    pp_op op = w->program->op[i];
    if (!pp_pair_ends(w->program, w->costs, i))
        begins(w, i, step);
    w->position++;
    advance(w, w->timeline->end_ns[i]);
    now(w)->instruction = i;
    w->next = i + (size_t)1;
    ends(w, op);
}

static void replay(rank_replay *w)
{
    const size_t begin = w->comm->step_begin[w->rank];
    for (size_t s = begin; s < w->comm->step_begin[w->rank + 1] && !is_over(w); s++) {
        const pp_comm_step step = w->comm->step[s];
        w->position = 2 * (s - begin) + 1;
        if (step.kind == PP_COMM_STEP_POST)
            posted(w, step.index);
        else if (step.kind == PP_COMM_STEP_WAIT)
            waited(w, step.index);
        else if (step.kind == PP_COMM_STEP_RUN)
            runs(w, step.index, s);
    }
    release_until(w, INT64_MAX);
    conclude(w);
}

/* What the rank holds before the step. */
static pp_status begin_replay(rank_replay *w, const int64_t bytes[PP_MEMORY_COUNT])
{
    void *first = NULL;
    pp_recv_pool pool = { 0 };
    pp_status status = pp_rank_transfers_new(w->program, w->rank, &w->index, w->err);
    if (!status && w->comm->buffers.recv != PP_RECV_ON_POST)
        status = pp_recv_pool_in(&w->index, w->costs, &pool, w->err);
    if (!status)
        status = pp_grow(&first, &w->moment_capacity, 1, sizeof *w->moment, w->err);
    if (status)
        return status;
    w->moment = first;
    w->held = pp_alloc_array(2 * w->index.cells, sizeof *w->held);
    if (!w->held)
        return pp_err_nomem(w->err);
    if (w->costs->sharded) {
        w->unsharded = pp_alloc_array(w->index.stages, sizeof *w->unsharded);
        if (!w->unsharded)
            return pp_err_nomem(w->err);
    }
    w->moment[0] = (moment){ .position = 0 };
    memcpy(w->moment[0].bytes, bytes, sizeof w->moment[0].bytes);
    w->moment[0].bytes[PP_MEMORY_RECV_BUFFERS] = pool.bytes;
    w->moments = 1;
    if (pool.bytes <= PP_MEMORY_TOTAL_MAX)
        w->moment[0].total_bytes = pp_memory_total(w->moment[0].bytes);
    if (pool.bytes > PP_MEMORY_TOTAL_MAX || w->moment[0].total_bytes > PP_MEMORY_TOTAL_MAX)
        return pp_memory_too_large(w->rank, w->err);
    w->peak.recv_bytes = pool.bytes;
    w->peak.send_bytes = bytes[PP_MEMORY_SEND_BUFFERS];
    if (w->sample)
        w->sample(w->context, 0, w->moment[0].bytes);
    return PP_OK;
}

pp_status pp_memory_replay_comm(const pp_program *program, const pp_timeline *timeline,
                                const pp_costs *costs, uint32_t rank, int64_t limit_bytes,
                                pp_memory_sample sample, void *context,
                                const int64_t bytes[PP_MEMORY_COUNT], pp_memory_peak *peak_out,
                                pp_err *err)
{
    const size_t begin = program->rank_begin[rank];
    const size_t end = program->rank_begin[rank + 1];
    rank_replay w PP_CLEANUP(replay_free) = { .program = program,
                                              .comm = program->comm,
                                              .timeline = timeline,
                                              .later.context = timeline->comm->end_ns,
                                              .costs = costs,
                                              .rank = rank,
                                              .last_send = { NONE, NONE },
                                              .instant_ns = BEFORE,
                                              .next = begin,
                                              .end = end,
                                              .last = end > begin ? end - 1 : 0,
                                              .limit_bytes = limit_bytes,
                                              .sample = sample,
                                              .context = context,
                                              .peak.total_bytes = -1,
                                              .err = err };
    pp_status status = begin_replay(&w, bytes);
    if (status)
        return status;
    replay(&w);
    if (!w.status)
        *peak_out = w.peak;
    return w.status;
}
