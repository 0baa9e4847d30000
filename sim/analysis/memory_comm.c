/* Memory over time with communication. The changes of a step are collected as events, sorted by
 * time and position in the rank's steps, and added up. Those that the rank's steps make are in
 * order already, so only releases by transfers are sorted and then merged with them:
 * O(n + t log t) for n steps and t transfers of the rank. */
#include "sim/analysis/memory_comm.h"

#include "sim/analysis/memory_slots.h"
#include "sim/base/alloc.h"
#include "sim/program/pairs.h"

#include <stdlib.h>
#include <string.h>

#define NONE PP_NO_SOURCE

typedef enum event_kind { EVENT_OTHER, EVENT_START, EVENT_END } event_kind;

/* One change. Changes with equal time and position happen at once. */
typedef struct event {
    pp_ns at_ns;
    size_t position; /* 0: the end of a transfer; above: steps of the rank, two positions each */
    int64_t bytes;
    uint32_t op; /* of kinds START and END: the op */
    uint8_t component;
    uint8_t kind; /* event_kind */
} event;

/* The buffers that transfers hold, indexed by pp_rank_transfers_at. */
typedef struct held {
    pp_ns from_ns;
    size_t position;
    bool now;
} held;

/* What the rank holds of a stage whose parameters are sharded. */
typedef struct unsharded {
    uint32_t weight_gradients; /* microbatches of the run whose backward for weight has run */
    int64_t parameters_bytes;  /* gathered ones */
    bool gradients;            /* whole ones */
    bool shards;               /* those of the gradients of an earlier run */
} unsharded;

typedef struct event_list {
    event *event;
    size_t count, capacity;
} event_list;

typedef struct rank_replay {
    const pp_program *program;
    const pp_comm *comm;
    const pp_timeline *timeline;
    const pp_costs *costs;
    uint32_t rank;
    pp_rank_transfers index;
    held *held;            /* [PP_TRANSFER_KIND_COUNT * index.cells], for sends */
    unsharded *unsharded;  /* [stages of the rank], by index.local; NULL: nothing is sharded */
    uint32_t last_send[2]; /* last posted send of gradients and of activations, or NONE */
    uint32_t run;          /* the pipeline run of the last op */
    int64_t output_bytes;  /* kept outputs of this run */
    event_list steps, releases;
    size_t position;
    pp_ns clock_ns;
    pp_err *err;
    bool failed;
} rank_replay;

static void replay_free(rank_replay *w)
{
    pp_rank_transfers_free(&w->index);
    free(w->held);
    free(w->unsharded);
    free(w->steps.event);
    free(w->releases.event);
}

static void add_event(rank_replay *w, event_list *list, event e)
{
    void *grown = list->event;
    if (w->failed || pp_grow(&grown, &list->capacity, list->count + 1, sizeof e, w->err)) {
        w->failed = true;
        return;
    }
    list->event = grown;
    list->event[list->count++] = e;
}

/* Adds a change at the current step of the rank. */
static void change(rank_replay *w, pp_memory_component component, int64_t bytes)
{
    if (bytes)
        add_event(w, &w->steps,
                  (event){ .at_ns = w->clock_ns,
                           .position = w->position,
                           .bytes = bytes,
                           .component = (uint8_t)component });
}

static void change_all(rank_replay *w, const int64_t bytes[PP_MEMORY_COUNT])
{
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        change(w, (pp_memory_component)c, bytes[c]);
}

static held *held_by(const rank_replay *w, const pp_transfer *t)
{
    return &w->held[pp_rank_transfers_at(&w->index, (pp_transfer_kind)t->kind, t->stage,
                                         t->microbatch)];
}

static void release_at(rank_replay *w, const pp_transfer *t, pp_ns at_ns, size_t position)
{
    held *h = held_by(w, t);
    if (!h->now)
        return;
    h->now = false;
    add_event(w, &w->releases,
              (event){ .at_ns = at_ns > h->from_ns ? at_ns : h->from_ns,
                       .position = at_ns > h->from_ns ? position : h->position,
                       .bytes = -pp_transfer_bytes(w->costs, t),
                       .component = PP_MEMORY_SEND_BUFFERS });
}

/* Releases the buffer when the transfer is done, but not before the rank's current step. */
static void release_when_done(rank_replay *w, uint32_t transfer)
{
    pp_ns end_ns = w->timeline->comm->end_ns[transfer];
    const pp_transfer *t = &w->comm->transfer[transfer];
    if (end_ns > w->clock_ns)
        release_at(w, t, end_ns, 0);
    else
        release_at(w, t, w->clock_ns, w->position);
}

static void hold(rank_replay *w, uint32_t transfer)
{
    const pp_transfer *t = &w->comm->transfer[transfer];
    held *h = held_by(w, t);
    *h = (held){ .from_ns = w->clock_ns, .position = w->position, .now = true };
    change(w, PP_MEMORY_SEND_BUFFERS, pp_transfer_bytes(w->costs, t));
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
        release_at(w, &w->comm->transfer[transfer], w->timeline->comm->end_ns[transfer], 0);
}

/* Releases the send buffers that are free after a wait for the group. */
static void waited(rank_replay *w, uint32_t g)
{
    const pp_group *group = &w->comm->group[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        if (w->timeline->comm->end_ns[t] > w->clock_ns)
            w->clock_ns = w->timeline->comm->end_ns[t];
    }
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        if ((w->comm->buffers.send == PP_SEND_UNTIL_WAITED ||
             w->comm->buffers.send == PP_SEND_AT_WAIT) &&
            pp_transfer_has_buffer(&w->comm->transfer[t]) &&
            pp_transfer_sends((pp_transfer_kind)w->comm->transfer[t].kind))
            release_when_done(w, t);
    }
}

static void posted(rank_replay *w, uint32_t g)
{
    const pp_group *group = &w->comm->group[g];
    const pp_buffers *buffers = &w->comm->buffers;
    if (w->timeline->comm->post_ns[group->first] > w->clock_ns)
        w->clock_ns = w->timeline->comm->post_ns[group->first];
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
            release_when_done(w, *last);
        *last = t;
    }
}

static void hold_bytes(rank_replay *w, uint32_t stage, int64_t bytes)
{
    unsharded *own = &w->unsharded[w->index.local[stage]];
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
    const bool freed = w->unsharded[w->index.local[op.stage]].parameters_bytes < all;
    if (freed && op.kind != PP_OP_W)
        hold_bytes(w, op.stage, op.kind == PP_OP_F ? w->costs->passing_bytes[op.stage] : all);
}

/* The gradients of a stage are reduced: their shards are left, to which those of later runs are
 * added, and nothing needs its parameters. */
static void reduced(rank_replay *w, uint32_t stage)
{
    unsharded *own = &w->unsharded[w->index.local[stage]];
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
    for (size_t i = 0; i < PP_TRANSFER_KIND_COUNT * w->index.cells; i++) {
        if (w->held[i].now)
            release_at(w, &w->comm->transfer[w->index.transfer[i]], w->clock_ns, w->position);
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
        if (step[s].kind != PP_COMM_STEP_MARK || w->index.local[step[s].index] == UINT32_MAX)
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
    unsharded *own = &w->unsharded[w->index.local[op.stage]];
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
    if (++w->unsharded[w->index.local[op.stage]].weight_gradients == run_microbatches(w->program))
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
    int64_t bytes[PP_MEMORY_COUNT] = { 0 };
    use_unsharded(w, op);
    pp_memory_at_start(op, w->costs, bytes);
    if (op.kind == PP_OP_F)
        take_input(w, op, true);
    else if (op.kind != PP_OP_W)
        bytes[PP_MEMORY_TEMPORARIES] += graph_bytes(w, op);
    change_all(w, bytes);
}

static void ends_backward(rank_replay *w, pp_op op, int64_t bytes[PP_MEMORY_COUNT])
{
    const pp_buffers *buffers = &w->comm->buffers;
    uint32_t gradient = pp_rank_transfers_get(&w->index, PP_RECV_B, op.stage, op.microbatch);
    uint32_t output = pp_rank_transfers_get(&w->index, PP_SEND_F, op.stage, op.microbatch);
    bytes[PP_MEMORY_TEMPORARIES] -= graph_bytes(w, op);
    take_input(w, op, false);
    if (gradient != NONE && buffers->recv == PP_RECV_ON_POST)
        change(w, PP_MEMORY_RECV_BUFFERS,
               -pp_transfer_bytes(w->costs, &w->comm->transfer[gradient]));
    if (output != NONE && buffers->send == PP_SEND_UNTIL_BACKWARD)
        release_when_done(w, output);
}

static void keep_output(rank_replay *w, pp_op op, int64_t bytes[PP_MEMORY_COUNT])
{
    if (!w->comm->buffers.return_outputs)
        return;
    const int64_t more = w->costs->output_bytes[pp_cost_index(w->costs, op.stage, op.microbatch)];
    w->output_bytes += more;
    bytes[PP_MEMORY_OUTPUTS] += more;
}

static void ends(rank_replay *w, pp_op op)
{
    int64_t bytes[PP_MEMORY_COUNT] = { 0 };
    pp_memory_at_end(w->program->forward_only, op, w->costs, bytes);
    if (op.kind == PP_OP_B || op.kind == PP_OP_I) {
        ends_backward(w, op, bytes);
        keep_output(w, op, bytes);
    } else if (op.kind == PP_OP_F && w->program->forward_only) {
        take_input(w, op, false);
        keep_output(w, op, bytes);
    }
    change_all(w, bytes);
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
    w->clock_ns = w->timeline->start_ns[i];
    begin_run(w, w->program->op[i]);
    if (w->unsharded)
        take_marks(w, step);
    wait_for_input(w, i);
    if (pair)
        wait_for_input(w, i + 1);
    add_event(
        w, &w->steps,
        (event){ .at_ns = w->clock_ns, .position = w->position, .op = i, .kind = EVENT_START });
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
    w->clock_ns = w->timeline->end_ns[i];
    add_event(w, &w->steps,
              (event){ .at_ns = w->clock_ns, .position = w->position, .op = i, .kind = EVENT_END });
    ends(w, op);
}

static void collect(rank_replay *w)
{
    for (size_t s = w->comm->step_begin[w->rank]; s < w->comm->step_begin[w->rank + 1]; s++) {
        pp_comm_step step = w->comm->step[s];
        w->position = 2 * (s - w->comm->step_begin[w->rank]) + 1;
        if (step.kind == PP_COMM_STEP_POST)
            posted(w, step.index);
        else if (step.kind == PP_COMM_STEP_WAIT)
            waited(w, step.index);
        else if (step.kind == PP_COMM_STEP_RUN)
            runs(w, step.index, s);
    }
}

static int compare_events(const void *left, const void *right)
{
    const event *a = left;
    const event *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static void sort(event_list *list)
{
    size_t sorted = list->count ? 1 : 0;
    while (sorted < list->count &&
           compare_events(&list->event[sorted - 1], &list->event[sorted]) <= 0)
        sorted++;
    if (sorted < list->count)
        qsort(list->event, list->count, sizeof *list->event, compare_events);
}

/* All events in order. Fails: NOMEM. */
static pp_status merge(rank_replay *w, event **event_out, pp_err *err)
{
    event *all = pp_alloc_array(w->steps.count + w->releases.count, sizeof *all);
    const event *step = w->steps.event;
    const event *release = w->releases.event;
    if (!all)
        return pp_err_nomem(err);
    sort(&w->steps);
    sort(&w->releases);
    const event *const last_step = step + w->steps.count;
    const event *const last_release = release + w->releases.count;
    for (event *to = all; step < last_step || release < last_release; to++)
        *to = release == last_release || (step < last_step && compare_events(step, release) <= 0)
                  ? *step++
                  : *release++;
    *event_out = all;
    return PP_OK;
}

static void keep_most(int64_t *most, int64_t bytes)
{
    *most = bytes > *most ? bytes : *most;
}

/* Sums the events. Events with equal time and position are summed before the sum is compared with
 * the peak. */
static pp_status replay(const rank_replay *w, const event *all, int64_t limit_bytes,
                        pp_memory_sample sample, void *context, int64_t bytes[PP_MEMORY_COUNT],
                        pp_memory_peak *peak_out)
{
    size_t next = w->program->rank_begin[w->rank];
    size_t end = w->program->rank_begin[w->rank + 1];
    size_t last = end > next ? end - 1 : 0;
    const size_t count = w->steps.count + w->releases.count;
    pp_memory_peak peak = { .total_bytes = -1,
                            .recv_bytes = bytes[PP_MEMORY_RECV_BUFFERS],
                            .send_bytes = bytes[PP_MEMORY_SEND_BUFFERS] };
    if (sample)
        sample(context, 0, bytes);
    for (size_t i = 0; i < count && peak.total_bytes <= limit_bytes;) {
        const event *first = &all[i];
        size_t named = next < end ? next : last;
        for (; i < count && compare_events(first, &all[i]) == 0; i++) {
            const event *e = &all[i];
            bytes[e->component] += e->bytes;
            if (e->kind != EVENT_OTHER)
                named = e->op;
            if (e->kind == EVENT_END)
                next = e->op + (size_t)1;
        }
        int64_t sum = pp_memory_total(bytes);
        if (sum > PP_MEMORY_TOTAL_MAX)
            return pp_memory_too_large(w->rank, w->err);
        if (sample)
            sample(context, first->at_ns, bytes);
        keep_most(&peak.recv_bytes, bytes[PP_MEMORY_RECV_BUFFERS]);
        keep_most(&peak.send_bytes, bytes[PP_MEMORY_SEND_BUFFERS]);
        if (sum > peak.total_bytes) {
            peak.total_bytes = sum;
            memcpy(peak.bytes, bytes, sizeof peak.bytes);
            peak.at_ns = first->at_ns;
            peak.instruction = named;
        }
    }
    *peak_out = peak;
    return PP_OK;
}

pp_status pp_memory_replay_comm(const pp_program *program, const pp_timeline *timeline,
                                const pp_costs *costs, uint32_t rank, int64_t limit_bytes,
                                pp_memory_sample sample, void *context,
                                int64_t bytes[PP_MEMORY_COUNT], pp_memory_peak *peak_out,
                                pp_err *err)
{
    rank_replay w PP_CLEANUP(replay_free) = { .program = program,
                                              .comm = program->comm,
                                              .timeline = timeline,
                                              .costs = costs,
                                              .rank = rank,
                                              .last_send = { NONE, NONE },
                                              .err = err };
    pp_recv_pool pool = { 0 };
    pp_status status = pp_rank_transfers_new(program, rank, &w.index, err);
    if (!status && program->comm->buffers.recv != PP_RECV_ON_POST)
        status = pp_recv_pool_of(program, costs, rank, &pool, err);
    if (status)
        return status;
    w.held = pp_alloc_array(PP_TRANSFER_KIND_COUNT * w.index.cells, sizeof *w.held);
    if (!w.held)
        return pp_err_nomem(err);
    if (costs->sharded) {
        w.unsharded = pp_alloc_array(w.index.cells / program->microbatches, sizeof *w.unsharded);
        if (!w.unsharded)
            return pp_err_nomem(err);
    }
    bytes[PP_MEMORY_RECV_BUFFERS] = pool.bytes;
    if (pool.bytes > PP_MEMORY_TOTAL_MAX || pp_memory_total(bytes) > PP_MEMORY_TOTAL_MAX)
        return pp_memory_too_large(rank, err);
    collect(&w);
    if (w.failed)
        return PP_NOMEM;
    event *all PP_CLEANUP(pp_free_array) = NULL;
    status = merge(&w, &all, err);
    return status ? status : replay(&w, all, limit_bytes, sample, context, bytes, peak_out);
}
