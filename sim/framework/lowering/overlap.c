/* Megatron's pipeline loops with overlap_p2p_comm. It changes the interleaved loop only
 * (forward_backward_pipelining_with_interleaving; the other loop never reads it): transfers are
 * issued one by one, odd and even ranks in opposite order, and waited for right before they are
 * needed. */
#include "sim/framework/lowering/overlap.h"

#include "sim/base/alloc.h"
#include "sim/framework/lowering/megatron_sends.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* A queue of receives that were posted and not waited for yet. */
typedef struct handles {
    uint32_t *group; /* [total] */
    size_t head, count;
} handles;

/* One direction: activations or gradients. */
typedef struct side {
    handles received;
    uint32_t sent; /* the last send, if no step waits for it, or NONE */
} side;

typedef struct loop {
    pp_interleaved at;
    const pp_lowering *l;
    side f, b;
    bool flush;
} loop;

/* Posts one transfer as a group of its own. Returns the group, or NONE if there is nothing to
 * transfer. */
static uint32_t post(const loop *p, const pp_op *op, bool sends)
{
    const pp_program *program = p->l->program;
    if (!op || !(sends ? pp_lower_leaves(program, *op) : pp_lower_arrives(program, *op)))
        return NONE;
    uint32_t group = pp_comm_open(p->l->builder, p->l->rank);
    if (sends)
        pp_lower_send(p->l, group, op);
    else
        pp_lower_receive(p->l, group, op);
    pp_comm_post(p->l->builder, group);
    return group;
}

/* Posts a send and a receive; even ranks send first. */
static void post_both(const loop *p, const pp_op *sent, const pp_op *next, uint32_t *send_out,
                      uint32_t *receive_out)
{
    if (p->l->rank % 2 == 0)
        *send_out = post(p, sent, true);
    *receive_out = post(p, next, false);
    if (p->l->rank % 2 == 1)
        *send_out = post(p, sent, true);
}

static void wait_for(const loop *p, uint32_t group)
{
    if (group != NONE)
        pp_comm_wait(p->l->builder, group);
}

/* Posts a send and a receive and waits for both. */
static void exchange(const loop *p, const pp_op *sent, const pp_op *next)
{
    uint32_t groups[2] = { NONE, NONE };
    post_both(p, sent, next, &groups[0], &groups[1]);
    uint32_t first = p->l->rank % 2;
    wait_for(p, groups[first]);
    wait_for(p, groups[1 - first]);
}

static void prefetch(const loop *p, side *s, const pp_op *next)
{
    uint32_t group = post(p, next, false);
    if (group != NONE)
        s->received.group[s->received.count++] = group;
}

/* Posts a send and a receive, and waits for the previous send. */
static void hand_over(const loop *p, side *s, const pp_op *sent, const pp_op *next)
{
    uint32_t previous = s->sent;
    uint32_t receive;
    post_both(p, sent, next, &s->sent, &receive);
    if (receive != NONE)
        s->received.group[s->received.count++] = receive;
    wait_for(p, previous);
}

/* Before op i runs, waits for the oldest receive of its direction. */
static void await_input(const loop *p, side *s, uint32_t i)
{
    handles *h = &s->received;
    if (pp_lower_arrives(p->l->program, p->l->program->op[i]) && h->head < h->count)
        wait_for(p, h->group[h->head++]);
}

static const pp_op *next_f(const loop *p, size_t k, pp_op *space)
{
    return pp_interleaved_next_f(&p->at, k, space);
}

static const pp_op *next_b(const loop *p, size_t k, pp_op *space)
{
    return pp_interleaved_next_b(&p->at, k, space);
}

static void warm_up(loop *p)
{
    const pp_lowering *l = p->l;
    const pp_op *op = l->program->op;
    pp_op space;
    exchange(p, NULL, &op[pp_interleaved_forward(&p->at, 0)]);
    for (size_t k = 0; k < p->at.warm; k++) {
        uint32_t i = pp_interleaved_forward(&p->at, k);
        const pp_op *next = next_f(p, k, &space);
        if (p->flush && k > 0)
            await_input(p, &p->f, i);
        if (p->flush && l->rank > 0)
            prefetch(p, &p->f, next);
        pp_comm_run(l->builder, l->rank, i);
        if (p->flush)
            hand_over(p, &p->f, &op[i], l->rank > 0 ? NULL : next);
        else
            exchange(p, &op[i], next);
    }
    if (p->at.warm < p->at.total)
        prefetch(p, &p->b, &op[pp_interleaved_backward(&p->at, 0)]);
}

static void steady(loop *p)
{
    const pp_lowering *l = p->l;
    const pp_op *op = l->program->op;
    pp_op space;
    for (size_t k = 0; k + p->at.warm < p->at.total; k++) {
        const uint32_t f = pp_interleaved_forward(&p->at, k + p->at.warm);
        const uint32_t b = pp_interleaved_backward(&p->at, k);
        await_input(p, &p->f, f);
        if (p->at.pairs) /* combined_1f1b.py: pre_forward and pre_backward, then both */
            await_input(p, &p->b, b);
        pp_comm_run(l->builder, l->rank, f);
        if (p->at.pairs)
            pp_comm_run(l->builder, l->rank, b);
        hand_over(p, &p->f, &op[f], next_f(p, k + p->at.warm, &space));
        if (!p->at.pairs) {
            await_input(p, &p->b, b);
            pp_comm_run(l->builder, l->rank, b);
        }
        hand_over(p, &p->b, &op[b], next_b(p, k, &space));
    }
}

static void cool_down(loop *p)
{
    const pp_lowering *l = p->l;
    const pp_op *op = l->program->op;
    bool last = l->rank + 1 == l->program->ranks;
    pp_op space;
    if (p->at.warm == p->at.total)
        exchange(p, NULL, &op[pp_interleaved_backward(&p->at, 0)]);
    for (size_t k = p->at.total - p->at.warm; k < p->at.total; k++) {
        uint32_t i = pp_interleaved_backward(&p->at, k);
        const pp_op *next = next_b(p, k, &space);
        if (k > 0)
            await_input(p, &p->b, i);
        if (p->flush && !last)
            prefetch(p, &p->b, next);
        pp_comm_run(l->builder, l->rank, i);
        if (p->flush)
            hand_over(p, &p->b, &op[i], last ? next : NULL);
        else
            exchange(p, &op[i], next);
    }
    wait_for(p, p->b.sent);
}

static pp_status lower_rank(const pp_lowering *l, bool flush, pp_err *err)
{
    loop p = { .at = pp_interleaved_of(l),
               .l = l,
               .f = { .sent = NONE },
               .b = { .sent = NONE },
               .flush = flush };
    p.f.received.group = pp_alloc_array(p.at.total, sizeof(uint32_t));
    p.b.received.group = pp_alloc_array(p.at.total, sizeof(uint32_t));
    bool enough = p.f.received.group && p.b.received.group;
    if (enough) {
        warm_up(&p);
        steady(&p);
        cool_down(&p);
    }
    free(p.f.received.group);
    free(p.b.received.group);
    return enough ? PP_OK : pp_err_nomem(err);
}

static pp_status lower_plain(const pp_lowering *l, pp_err *err)
{
    return lower_rank(l, false, err);
}

static pp_status lower_flush(const pp_lowering *l, pp_err *err)
{
    return lower_rank(l, true, err);
}

static pp_status lower_single(const pp_lowering *l, pp_err *err)
{
    (void)err;
    pp_megatron_single(l, pp_megatron_batched);
    return PP_OK;
}

pp_status pp_megatron_overlap(const pp_order *order, const char *framework, bool flush,
                              pp_program **program_out, pp_err *err)
{
    uint32_t group = 0;
    pp_program *program = NULL;
    pp_status status = pp_megatron_check(order, framework, true, &group, err);
    if (!status && !group)
        return pp_lower_ranks(order, 0, lower_single, program_out, err);
    if (!status)
        status = pp_lower_check_trains(order, framework, "megatron, torch or ideal", err);
    if (status ||
        (status = pp_lower_ranks(order, group, flush ? lower_flush : lower_plain, &program, err)))
        return status;
    /* in PyTorch, isend and irecv outside a batch use a communicator per pair of ranks */
    program->comm->semantics.lanes = PP_LANES_PER_PEER;
    *program_out = program;
    return PP_OK;
}
