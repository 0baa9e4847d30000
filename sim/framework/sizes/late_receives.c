/* Messages about shapes where a buffer is allocated when its size is known: the tensor's receive is
 * posted after the read, right before the op that needs it. What was posted ahead is the receive of
 * the message. Gradients have no message: a rank knows their size as soon as it knows the size of
 * what it sends forward. Sends leave as before, the message in front of its tensor, not waited for.
 *
 * On one directed edge the receives keep the order of the sends: message 0, tensor 0, message 1.
 * So ahead of its op nothing is posted behind a tensor whose size is not known yet; and an op that
 * needs an input behind others (on a V) has all in front of it read and posted first.
 *
 * It cannot hang. Take the first op in dependency order that has not run. Its rank has run all ops
 * before it, so it stands at that op or at a wait for a message in front of it, all of them on the
 * edge of that op's input. Its source has run, and with it whatever its rank sent before on that
 * edge: nothing waits between an op and its sends. So all sends up to the input are posted, and all
 * receives in front of what the rank waits for; an edge has a lane of its own each way, where they
 * meet one after the other. The wait ends. A pair that runs as one waits for both inputs in either
 * case. A gradient in front of the input was made from what its forward sent: that has run, the
 * size is known.
 *
 * What it costs: whatever an op still has to fetch is there at the latest its messages, reads and
 * tensors after both the rank and the op's source are ready, since all that was fetched before is
 * there when an op starts. So a step takes no longer than with dependencies alone and that time in
 * front of each op; and never less than with all sizes known, whose order of posts it only delays.
 */
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
    bool *announced;   /* [transfers]: a message goes in front */
    bool *asked;       /* [transfers]: receives that are wanted ahead of their op */
    bool *posted;      /* [transfers]: receives */
    uint32_t *message; /* [transfers]: group of the message's receive, or NONE: not posted */
    uint32_t *after;   /* [transfers]: the next receive on the edge, or NONE */
    uint32_t *front;   /* [ranks]: on the edge from there, the first receive not posted, or NONE */
    uint32_t *last;    /* [ranks]: on the edge from there, while it is strung */
    uint32_t *lowest,
        *highest;   /* [stages]: of the neighbouring stages on the same rank around this one */
    bool *known;    /* [stages * microbatches]: of lowest stages, the size of their input */
    int64_t *sizes; /* [stages]: of the tensor sent above last, or -1 */
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

/* The transfer that this step posts, or NONE. */
static uint32_t posts(const late *l, pp_step step)
{
    if (step.kind != PP_STEP_POST)
        return NONE;
    assert(l->from->group[step.index].count == 1);
    return l->from->group[step.index].first;
}

/* cached: a size is sent again when it is not that of the tensor before; receiver and sender can
 * both know, since the plan has the sizes. */
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

/* Strings the receives of `rank`, edge by edge. */
static void string_edges(late *l, uint32_t rank)
{
    const pp_comm *from = l->from;
    for (size_t s = from->step_begin[rank]; s < from->step_begin[rank + 1]; s++) {
        uint32_t t = posts(l, from->step[s]);
        if (t != NONE) /* forget the rank before */
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

/* The first stage has the data itself. */
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

/* The front of the edge from `peer`: posted, and its activation's size known. */
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

/* Posts what is wanted ahead on the edge from `peer`, up to the first size that has to be read. */
static void post_ahead(late *l, uint32_t peer)
{
    uint32_t t;
    while ((t = l->front[peer]) != NONE && l->asked[t] && size_is_known(l, t))
        pass_front(l, peer);
    if (t != NONE && l->asked[t] && l->announced[t])
        announce_ahead(l, t);
}

/* Before an op: its input, and all in front of it on the edge. */
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
        if (own->kind == PP_RECV_F && above < l->program->stages) /* its gradient's size is known */
            post_ahead(l, l->program->stage_rank[above]);
    }
    post_ahead(l, peer);
}

static void rewrite_rank(late *l, uint32_t rank)
{
    const pp_comm *from = l->from;
    string_edges(l, rank);
    for (size_t s = from->step_begin[rank]; s < from->step_begin[rank + 1]; s++) {
        pp_step step = from->step[s];
        if (step.kind == PP_STEP_RUN) {
            fetch(l, from->needs[step.index]);
            if (l->costs && pp_pair_starts(l->program, l->costs, step.index))
                fetch(l, from->needs[step.index + 1]);
            pp_comm_run(l->builder, rank, step.index);
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
