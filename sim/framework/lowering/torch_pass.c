/* The passes of PyTorch's _PipelineScheduleRuntime over rows of actions: the first adds FSDP's
 * unshard and reshard, the second gradient reductions, the third sends and receives, and since
 * PyTorch 2.15 a fourth waits for sends. The third goes over all ranks in rounds and places a
 * transfer when its producer has been placed; the fourth is done along with it. A rank whose next
 * action lacks an input is left out of the rounds until one arrives. */
#include "sim/framework/lowering/torch_pass.h"

#include "sim/base/alloc.h"
#include "sim/base/rounds.h"
#include "sim/framework/lowering/lower.h"
#include "sim/framework/lowering/sharding_row.h"
#include "sim/program/program_new.h"

#include <stdlib.h>
#include <string.h>

/* The state of the inputs of a stage and microbatch: arrived, or sent and not received yet. */
enum input { ACTIVATION = 1, GRADIENT = 2, ACTIVATION_DUE = 4, GRADIENT_DUE = 8 };

/* Deferred receives of a rank, oldest first. Those that were issued no longer have their bit DUE.
 */
typedef struct pending {
    pp_op *op; /* the op that needs it */
    size_t count, capacity;
} pending;

/* The sends of a rank that it has not waited for, oldest first. PP_NO_SOURCE: waited for. */
typedef struct open_sends {
    uint32_t *group;
    size_t count, capacity;
} open_sends;

typedef struct passes {
    const pp_program *program;
    pp_torch_rules rules;
    pp_sharding_row *row;   /* [ranks] */
    size_t *next;           /* [ranks]: the action that the third pass places next */
    pp_rounds awake;        /* the ranks to be looked at in this round, or in the next one */
    uint32_t *weight_grads; /* [stages] */
    uint8_t *ready;         /* [stages * microbatches]: bits of `input` */
    pp_comm_builder *builder;
    pending *deferred; /* [ranks]; NULL: receives are not deferred */
    open_sends *sent;  /* [ranks]; NULL: no step waits for a send */
    uint32_t *sent_at; /* [stages * microbatches]: 1 + the place of the send of the activation in
                          `sent`; 0: it is not sent */
} passes;

static void passes_free(passes *p)
{
    for (uint32_t r = 0; p->row && r < p->program->ranks; r++)
        free(p->row[r].action);
    for (uint32_t r = 0; p->deferred && r < p->program->ranks; r++)
        free(p->deferred[r].op);
    for (uint32_t r = 0; p->sent && r < p->program->ranks; r++)
        free(p->sent[r].group);
    free(p->sent);
    free(p->sent_at);
    free(p->deferred);
    free(p->row);
    free(p->next);
    pp_rounds_free(&p->awake);
    free(p->weight_grads);
    free(p->ready);
    pp_comm_builder_free(&p->builder);
}

static uint8_t *ready_at(passes *p, uint32_t stage, uint32_t microbatch)
{
    return &p->ready[(size_t)stage * p->program->microbatches + microbatch];
}

static bool is_ready(passes *p, pp_op op)
{
    if (op.kind == PP_OP_W || (op.kind == PP_OP_F && op.stage == 0) ||
        (op.kind != PP_OP_F && op.stage + 1u == p->program->stages))
        return true;
    return *ready_at(p, op.stage, op.microbatch) & (op.kind == PP_OP_F ? ACTIVATION : GRADIENT);
}

static uint32_t transfer(passes *p, uint32_t rank, pp_transfer_kind kind, uint32_t stage,
                         uint32_t j)
{
    uint32_t group = pp_comm_open(p->builder, rank);
    pp_comm_add(p->builder, group, kind, stage, j);
    pp_comm_post(p->builder, group);
    if (p->rules.receives == PP_TORCH_BLOCKING)
        pp_comm_wait(p->builder, group);
    return group;
}

/* Notes a send that the rank is going to wait for. */
static pp_status note_send(passes *p, uint32_t rank, pp_op op, uint32_t group, pp_err *err)
{
    open_sends *sent = &p->sent[rank];
    void *grown = sent->group;
    pp_status status =
        pp_reserve(&grown, &sent->capacity, sent->count + 1, sizeof *sent->group, err);
    if (status)
        return status;
    sent->group = grown;
    sent->group[sent->count++] = group;
    if (op.kind == PP_OP_F)
        p->sent_at[(size_t)op.stage * p->program->microbatches + op.microbatch] =
            (uint32_t)sent->count;
    return PP_OK;
}

static void wait_for(passes *p, uint32_t *group)
{
    if (*group == PP_NO_SOURCE)
        return;
    pp_comm_wait(p->builder, *group);
    *group = PP_NO_SOURCE;
}

/* After a backward the rank waits for the send of the activation: its peer has used it. */
static void wait_for_activation(passes *p, uint32_t rank, pp_op op)
{
    if (op.kind == PP_OP_F || op.kind == PP_OP_W)
        return;
    uint32_t at = p->sent_at[(size_t)op.stage * p->program->microbatches + op.microbatch];
    if (at)
        wait_for(p, &p->sent[rank].group[at - 1]);
}

/* Issues the receive of the op's input, if it is due. */
static void receive_due(passes *p, uint32_t rank, pp_op op)
{
    bool forward = op.kind == PP_OP_F;
    uint8_t *state = ready_at(p, op.stage, op.microbatch);
    uint8_t due = forward ? ACTIVATION_DUE : GRADIENT_DUE;
    if (op.kind == PP_OP_W || !(*state & due))
        return;
    *state &= (uint8_t)~due;
    transfer(p, rank, forward ? PP_RECV_F : PP_RECV_B, op.stage, op.microbatch);
}

/* Before a send to `peer` the lower rank issues all receives from it: one of the two has to receive
 * first (pytorch#172668). */
static void receive_before_send(passes *p, uint32_t rank, uint32_t peer)
{
    pending *list = &p->deferred[rank];
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        pp_op op = list->op[i];
        bool forward = op.kind == PP_OP_F;
        uint32_t from = p->program->stage_rank[forward ? op.stage - 1u : op.stage + 1u];
        if (from == peer)
            receive_due(p, rank, op);
        else if (*ready_at(p, op.stage, op.microbatch) & (forward ? ACTIVATION_DUE : GRADIENT_DUE))
            list->op[kept++] = op;
    }
    list->count = kept;
}

static pp_status defer(passes *p, uint32_t rank, bool forward, uint32_t stage, uint32_t microbatch,
                       pp_err *err)
{
    pending *list = &p->deferred[rank];
    void *grown = list->op;
    pp_status status = pp_reserve(&grown, &list->capacity, list->count + 1, sizeof(pp_op), err);
    if (status)
        return status;
    list->op = grown;
    list->op[list->count++] = (pp_op){ .microbatch = microbatch,
                                       .stage = (uint16_t)stage,
                                       .kind = forward ? PP_OP_F : PP_OP_B };
    *ready_at(p, stage, microbatch) |= forward ? ACTIVATION_DUE : GRADIENT_DUE;
    return PP_OK;
}

/* Passes the result of `op` to the next stage: on the same rank by reference; otherwise the send is
 * added to this row and the receive to the peer's row. */
static pp_status hand_on(passes *p, uint32_t rank, pp_op op, pp_err *err)
{
    const pp_program *program = p->program;
    bool forward = op.kind == PP_OP_F;
    if (op.kind == PP_OP_W || (forward ? op.stage + 1u == program->stages : op.stage == 0))
        return PP_OK;
    uint32_t to = forward ? op.stage + 1u : op.stage - 1u;
    uint32_t peer = program->stage_rank[to];
    *ready_at(p, to, op.microbatch) |= forward ? ACTIVATION : GRADIENT;
    pp_rounds_add(&p->awake, peer, rank);
    if (peer == rank)
        return PP_OK;
    if (p->deferred && rank < peer)
        receive_before_send(p, rank, peer);
    uint32_t group = transfer(p, rank, forward ? PP_SEND_F : PP_SEND_B, op.stage, op.microbatch);
    pp_status status = p->sent ? note_send(p, rank, op, group, err) : PP_OK;
    if (status)
        return status;
    if (p->deferred)
        return defer(p, peer, forward, to, op.microbatch, err);
    transfer(p, peer, forward ? PP_RECV_F : PP_RECV_B, to, op.microbatch);
    return PP_OK;
}

static bool is_next_ready(passes *p, uint32_t rank)
{
    pp_row_action a = p->row[rank].action[p->next[rank]];
    for (uint32_t k = 0; k < a.ops; k++) {
        if (!is_ready(p, p->program->op[a.op + k]))
            return false;
    }
    return true;
}

static pp_status schedule_next(passes *p, uint32_t rank, pp_err *err)
{
    const pp_op *op = p->program->op;
    pp_row_action a = p->row[rank].action[p->next[rank]++];
    pp_status status = PP_OK;
    if (a.ops == 0)
        pp_comm_mark(p->builder, rank, (pp_mark)a.mark, a.stage);
    for (uint32_t k = 0; p->deferred && k < a.ops; k++)
        receive_due(p, rank, op[a.op + k]);
    for (uint32_t k = 0; k < a.ops; k++)
        pp_comm_run(p->builder, rank, a.op + k);
    for (uint32_t k = 0; p->sent && k < a.ops; k++)
        wait_for_activation(p, rank, op[a.op + k]);
    for (uint32_t k = 0; k < a.ops && !status; k++)
        status = hand_on(p, rank, op[a.op + k], err);
    return status;
}

/* Places the next action of a rank, unless there is none or it lacks an input. */
static pp_status look_at(passes *p, uint32_t rank, bool *progress, pp_err *err)
{
    if (p->next[rank] == p->row[rank].count || !is_next_ready(p, rank))
        return PP_OK;
    *progress = true;
    pp_rounds_add_next(&p->awake, rank);
    return schedule_next(p, rank, err);
}

static pp_status add_send_recv(passes *p, pp_err *err)
{
    const uint32_t ranks = p->program->ranks;
    bool progress = true;
    for (uint32_t r = 0; r < ranks; r++)
        pp_rounds_add_next(&p->awake, r);
    while (progress) {
        progress = false;
        pp_rounds_begin(&p->awake);
        for (uint32_t rank; pp_rounds_take(&p->awake, &rank);) {
            pp_status status = look_at(p, rank, &progress, err);
            if (status)
                return status;
        }
    }
    for (uint32_t r = 0; r < ranks; r++) {
        if (p->next[r] < p->row[r].count)
            return pp_err_set(err, PP_INFEASIBLE, NULL,
                              "PyTorch refuses this order as a malformed compute schedule: an "
                              "overlapped pair needs both of its inputs at once");
    }
    return PP_OK;
}

static pp_status passes_new(const pp_program *program, pp_torch_rules rules, passes *p, pp_err *err)
{
    bool defers = rules.receives == PP_TORCH_DEFERRED;
    *p = (passes){ .program = program, .rules = rules };
    p->row = pp_alloc_array(program->ranks, sizeof *p->row);
    p->next = pp_alloc_array(program->ranks, sizeof *p->next);
    p->weight_grads = pp_alloc_array(program->stages, sizeof *p->weight_grads);
    p->ready = pp_alloc_array(program->stages, program->microbatches);
    if (defers)
        p->deferred = pp_alloc_array(program->ranks, sizeof *p->deferred);
    if (rules.waits) {
        p->sent = pp_alloc_array(program->ranks, sizeof *p->sent);
        p->sent_at =
            pp_alloc_array((size_t)program->stages * program->microbatches, sizeof *p->sent_at);
    }
    if (!pp_rounds_new(&p->awake, program->ranks) || !p->row || !p->next || !p->weight_grads ||
        !p->ready || (defers && !p->deferred) || (rules.waits && (!p->sent || !p->sent_at)))
        return pp_err_nomem(err);
    return pp_comm_builder_new(program, &p->builder, err);
}

pp_status pp_torch_lower(const pp_order *order, pp_torch_rules rules, pp_program **program_out,
                         pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    passes p PP_CLEANUP(passes_free) = { 0 };
    pp_status status = pp_lower_check_one_rank(order, rules.framework, err);
    if (!status)
        status = pp_program_from_order(order, &program, err);
    if (status || (status = passes_new(program, rules, &p, err)))
        return status;
    const pp_sharding_rules sharding = { rules.lookahead, rules.waits, p.weight_grads };
    for (uint32_t r = 0; r < program->ranks && !status; r++)
        status = pp_sharding_row_make(program, r, sharding, &p.row[r], err);
    if (status || (status = add_send_recv(&p, err)))
        return status;
    for (uint32_t r = 0; p.sent && r < program->ranks; r++) {
        for (size_t k = 0; k < p.sent[r].count; k++)
            wait_for(&p, &p.sent[r].group[k]);
    }
    if ((status = pp_comm_finish(p.builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}
