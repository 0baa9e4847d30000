/* Adds size messages for a runtime that allocates a buffer when it knows the size: a tensor's
 * receive is posted after the host has read the size, right before the op that needs the tensor.
 * The receive of the message is posted ahead instead. Gradients have no messages: a rank knows
 * their size as soon as it knows the size of what it sends forward. Sends are posted as before,
 * each message before its tensor, without a wait.
 *
 * On one directed edge, receives are posted in the order of the sends: message 0, tensor 0,
 * message 1. Hence nothing after a tensor of unknown size can be posted ahead, and an op whose
 * input follows others (on a V) first reads and posts everything before that input.
 *
 * It cannot hang. Consider the first op in dependency order that has not run. Its rank has run all
 * ops before it, and therefore waits for the op's input or for a message before that input on the
 * same edge. The source of the input has run, and so its rank has posted all sends up to the input,
 * since nothing waits between an op and its sends. All receives before the one that is awaited are
 * posted, too, and an edge has a lane of its own in each direction, in which they meet one after
 * the other. So the wait ends. A pair with a duration of its own waits for both inputs in the same
 * way. The size of a gradient before the input is known, since the gradient was computed from what
 * its forward sent, which has run.
 *
 * Bounds: everything that was received before has arrived when an op starts. An op therefore starts
 * at the latest when its rank and its source are ready and the messages, reads and tensors that it
 * still needs have followed. A step takes no longer than with dependencies alone plus that time
 * before each op, and no less than with all sizes known, whose posts are only delayed here. */
#include "sim/framework/sizes/late_receives.h"
#include "sim/base/alloc.h"
#include "sim/framework/sizes/size_above.h"
#include "sim/program/pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct late {
    const pp_program *program;
    const pp_comm *from;
    const pp_costs *costs;
    pp_comm_builder *builder;
    uint32_t parts;
    bool *announced;   /* [transfers]: a message precedes it */
    bool *asked;       /* [transfers]: receives to be posted ahead of their op */
    bool *posted;      /* [transfers]: receives that are posted */
    uint32_t *message; /* [transfers]: group of the message's receive; NONE: it is not posted */
    uint32_t *after;   /* [transfers]: the next receive on the edge, or NONE */
    /* [ranks], for the edge from that rank: its first receive that is not posted, or NONE, and its
     * last receive so far while edges are built. */
    uint32_t *front, *last;
    /* [stages]: first and last of the consecutive stages on the same rank around this one. */
    uint32_t *lowest, *highest;
    bool *known; /* [stages * microbatches]: for `lowest` stages, the size of the input is known */
    int64_t *sizes; /* [stages]: size of the last tensor that was sent to the next stage, or -1 */
} late;

static void late_free(late *l)
{
    free(l->announced);
    free(l->asked);
    free(l->posted);
    free(l->message);
    free(l->after);
    free(l->front);
    free(l->last);
    free(l->lowest);
    free(l->highest);
    free(l->known);
    free(l->sizes);
}

static pp_status late_new(late *l, pp_err *err)
{
    size_t transfers = l->from->transfer_count;
    size_t stages = l->program->stages;
    l->announced = pp_alloc_array(transfers, sizeof *l->announced);
    l->asked = pp_alloc_array(transfers, sizeof *l->asked);
    l->posted = pp_alloc_array(transfers, sizeof *l->posted);
    l->message = pp_alloc_array(transfers, sizeof *l->message);
    l->after = pp_alloc_array(transfers, sizeof *l->after);
    l->front = pp_alloc_array(l->program->ranks, sizeof *l->front);
    l->last = pp_alloc_array(l->program->ranks, sizeof *l->last);
    l->lowest = pp_alloc_array(stages, sizeof *l->lowest);
    l->highest = pp_alloc_array(stages, sizeof *l->highest);
    l->known = pp_alloc_array(stages * l->program->microbatches, sizeof *l->known);
    l->sizes = pp_alloc_array(stages, sizeof *l->sizes);
    if (!l->announced || !l->asked || !l->posted || !l->message || !l->after || !l->front ||
        !l->last || !l->lowest || !l->highest || !l->known || !l->sizes)
        return pp_err_nomem(err);
    memset(l->message, 0xff, transfers * sizeof *l->message); /* NONE */
    memset(l->after, 0xff, transfers * sizeof *l->after);
    memset(l->sizes, 0xff, stages * sizeof *l->sizes); /* -1 */
    return PP_OK;
}

static void join_stages(late *l)
{
    const uint32_t *rank = l->program->stage_rank;
    uint32_t stages = l->program->stages;
    for (uint32_t s = 0; s < stages; s++)
        l->lowest[s] = s > 0 && rank[s - 1] == rank[s] ? l->lowest[s - 1] : s;
    for (uint32_t s = stages; s-- > 0;)
        l->highest[s] = s + 1 < stages && rank[s + 1] == rank[s] ? l->highest[s + 1] : s;
}

/* The transfer that a step posts, or NONE. */
static uint32_t posts(const late *l, pp_comm_step step)
{
    if (step.kind != PP_COMM_STEP_POST)
        return NONE;
    assert(l->from->group[step.index].count == 1);
    return l->from->group[step.index].first;
}

/* Decides which tensors have a message. cached: those whose size differs from that of the previous
 * one; sender and receiver both know that from the plan. */
static void announce(late *l, bool cached)
{
    const pp_comm *from = l->from;
    for (size_t s = 0; s < from->step_count; s++) {
        uint32_t t = posts(l, from->step[s]);
        if (t == NONE || from->transfer[t].kind != PP_SEND_F)
            continue;
        uint32_t stage = from->transfer[t].stage;
        int64_t size = cached ? pp_size_above(l->costs, stage, from->transfer[t].microbatch) : 0;
        bool sends = !cached || size != l->sizes[stage];
        l->sizes[stage] = size;
        l->announced[t] = l->announced[from->transfer[t].match] = sends;
    }
}

/* Links the receives of `rank` edge by edge. */
static void string_edges(late *l, uint32_t rank)
{
    const pp_comm *from = l->from;
    for (size_t s = from->step_begin[rank]; s < from->step_begin[rank + 1]; s++) {
        uint32_t t = posts(l, from->step[s]);
        if (t != NONE) /* resets what the previous rank left */
            l->front[from->transfer[t].peer] = NONE;
    }
    for (size_t s = from->step_begin[rank]; s < from->step_begin[rank + 1]; s++) {
        uint32_t t = posts(l, from->step[s]);
        if (t == NONE || pp_transfer_sends((pp_transfer_kind)from->transfer[t].kind))
            continue;
        uint32_t peer = from->transfer[t].peer;
        if (l->front[peer] == NONE)
            l->front[peer] = t;
        else
            l->after[l->last[peer]] = t;
        l->last[peer] = t;
    }
}

static bool *known_of(const late *l, const pp_transfer *t)
{
    return &l->known[(size_t)l->lowest[t->stage] * l->program->microbatches + t->microbatch];
}

/* Returns true if the size of transfer t is known. The first stage has the data itself. */
static bool size_is_known(const late *l, uint32_t t)
{
    const pp_transfer *own = &l->from->transfer[t];
    return own->kind == PP_RECV_B ? !l->lowest[own->stage] || *known_of(l, own) : !l->announced[t];
}

static uint32_t post_message(late *l, uint32_t t)
{
    const pp_transfer *own = &l->from->transfer[t];
    uint32_t group = pp_comm_open(l->builder, own->rank);
    pp_comm_add(l->builder, group, (pp_transfer_kind)(own->kind + PP_TENSOR_KINDS), own->stage,
                own->microbatch);
    pp_comm_post(l->builder, group);
    return group;
}

static void post_tensor(late *l, uint32_t t)
{
    const pp_transfer *own = &l->from->transfer[t];
    uint32_t group = pp_comm_open(l->builder, own->rank);
    for (uint32_t k = 0; k < l->parts; k++)
        pp_comm_add_part(l->builder, group, (pp_transfer_kind)own->kind, own->stage,
                         own->microbatch, (uint8_t)k);
    pp_comm_post(l->builder, group);
}

static void announce_ahead(late *l, uint32_t t)
{
    if (l->message[t] == NONE)
        l->message[t] = post_message(l, t);
}

/* Posts the first receive on the edge from `peer`; the size of its activation is known then. */
static void pass_front(late *l, uint32_t peer)
{
    uint32_t t = l->front[peer];
    const pp_transfer *own = &l->from->transfer[t];
    post_tensor(l, t);
    l->posted[t] = true;
    l->front[peer] = l->after[t];
    if (own->kind == PP_RECV_F)
        *known_of(l, own) = true;
}

/* Posts receives ahead on the edge from `peer`, up to the first whose size has to be read. */
static void post_ahead(late *l, uint32_t peer)
{
    uint32_t t;
    while ((t = l->front[peer]) != NONE && l->asked[t] && size_is_known(l, t))
        pass_front(l, peer);
    if (t != NONE && l->asked[t] && l->announced[t])
        announce_ahead(l, t);
}

/* Before an op: posts its input and everything before it on the edge. */
static void fetch(late *l, uint32_t t)
{
    if (t == PP_NO_SOURCE)
        return;
    uint32_t rank = l->from->transfer[t].rank;
    uint32_t peer = l->from->transfer[t].peer;
    while (!l->posted[t]) {
        uint32_t first = l->front[peer];
        const pp_transfer *own = &l->from->transfer[first];
        if (l->announced[first]) {
            announce_ahead(l, first);
            pp_comm_wait(l->builder, l->message[first]);
            pp_comm_read(l->builder, rank, l->message[first]);
        }
        pass_front(l, peer);
        uint32_t above = l->highest[own->stage] + 1;
        /* the size of the gradient is known now, too */
        if (own->kind == PP_RECV_F && above < l->program->stages)
            post_ahead(l, l->program->stage_rank[above]);
    }
    post_ahead(l, peer);
}

static void rewrite_rank(late *l, uint32_t rank)
{
    const pp_comm *from = l->from;
    string_edges(l, rank);
    for (size_t s = from->step_begin[rank]; s < from->step_begin[rank + 1]; s++) {
        pp_comm_step step = from->step[s];
        if (step.kind == PP_COMM_STEP_RUN) {
            fetch(l, from->needs[step.index]);
            if (l->costs && pp_pair_starts(l->program, l->costs, step.index))
                fetch(l, from->needs[step.index + 1]);
            pp_comm_run(l->builder, rank, step.index);
            continue;
        }
        if (step.kind == PP_COMM_STEP_MARK) {
            pp_comm_mark(l->builder, rank, (pp_mark)step.mark, step.index);
            continue;
        }
        uint32_t t = posts(l, step);
        assert(t != NONE);
        if (!pp_transfer_sends((pp_transfer_kind)from->transfer[t].kind)) {
            l->asked[t] = true;
            post_ahead(l, from->transfer[t].peer);
            continue;
        }
        if (l->announced[t])
            post_message(l, t);
        post_tensor(l, t);
    }
}

pp_status pp_lower_shapes_late(const pp_program *program, const pp_comm *from, bool cached,
                               uint32_t parts, const pp_costs *costs, pp_comm_builder *builder,
                               pp_err *err)
{
    late l PP_CLEANUP(late_free) = {
        .program = program, .from = from, .costs = costs, .builder = builder, .parts = parts
    };
    pp_status status = late_new(&l, err);
    if (status)
        return status;
    join_stages(&l);
    announce(&l, cached);
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        rewrite_rank(&l, rank);
    return PP_OK;
}
