/* torch.distributed.pipelining: the passes that _PipelineScheduleRuntime runs over compute_only
 * rows (schedules.py: _add_unshard_reshard, _add_reduce_grad, _add_send_recv). Every send and
 * receive is a group of its own; a receive is waited for by the op that needs it, a send by nobody.
 */
#include "sim/alloc.h"
#include "sim/comm.h"
#include "sim/shapes.h"

#include <stdlib.h>
#include <string.h>

enum { ACTIVE_MAX = 3 }; /* stages whose parameters are kept gathered */

/* One cell of a row: compute (1 or 2 ops from `op` on) or a mark. */
typedef struct action {
    uint32_t op;
    uint16_t stage; /* marks */
    uint8_t ops;    /* 0: a mark */
    uint8_t mark;
} action;

typedef struct cells {
    action *action;
    size_t count, capacity, next;
} cells;

typedef struct passes {
    const pp_program *program;
    cells *row;             /* [ranks] */
    uint32_t *weight_grads; /* [stages]: B and W seen so far */
    uint8_t *ready;         /* [stages * microbatches]: bit 0 activation, bit 1 gradient there */
    pp_comm_builder *builder;
} passes;

static void passes_free(passes *p)
{
    for (uint32_t r = 0; p->row && r < p->program->ranks; r++)
        free(p->row[r].action);
    free(p->row);
    free(p->weight_grads);
    free(p->ready);
    pp_comm_builder_free(&p->builder);
}

static pp_status add(cells *row, action a, pp_err *err)
{
    void *grown = row->action;
    pp_status status = pp_grow(&grown, &row->capacity, row->count + 1, sizeof a, err);
    if (status)
        return status;
    row->action = grown;
    row->action[row->count++] = a;
    return PP_OK;
}

static bool contains(const uint16_t *list, size_t count, uint16_t stage)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == stage)
            return true;
    }
    return false;
}

/* The next ACTIVE_MAX distinct stages that compute from op i on; `most`: no more will be found. */
static size_t look_ahead(const pp_program *program, size_t i, size_t end, size_t most,
                         uint16_t *out)
{
    size_t count = 0;
    for (; i < end && count < most; i++) {
        if (!contains(out, count, program->op[i].stage))
            out[count++] = program->op[i].stage;
    }
    return count;
}

static pp_status add_mark(cells *row, pp_mark mark, uint16_t stage, pp_err *err)
{
    return add(row, (action){ .stage = stage, .mark = (uint8_t)mark }, err);
}

typedef struct window {
    uint16_t stage[ACTIVE_MAX];
    size_t count;
} window;

/* Frees what is not used soon, then gathers what is, in the order of use. */
static pp_status slide(cells *row, window *active, const uint16_t *wanted, size_t count,
                       pp_err *err)
{
    size_t kept = 0;
    pp_status status = PP_OK;
    for (size_t k = 0; k < active->count && !status; k++) {
        if (contains(wanted, count, active->stage[k]))
            active->stage[kept++] = active->stage[k];
        else
            status = add_mark(row, PP_MARK_RESHARD, active->stage[k], err);
    }
    active->count = kept;
    for (size_t k = 0; k < count && !status; k++) {
        if (contains(active->stage, active->count, wanted[k]))
            continue;
        active->stage[active->count++] = wanted[k];
        status = add_mark(row, PP_MARK_UNSHARD, wanted[k], err);
    }
    return status;
}

/* After the last weight gradient of a stage its reduction. */
static pp_status add_reductions(passes *p, cells *row, size_t i, size_t ops, pp_err *err)
{
    for (size_t k = i; k < i + ops; k++) {
        pp_op op = p->program->op[k];
        if ((op.kind != PP_OP_B && op.kind != PP_OP_W) ||
            ++p->weight_grads[op.stage] != p->program->microbatches)
            continue;
        pp_status status = add_mark(row, PP_MARK_REDUCE_GRAD, op.stage, err);
        if (status)
            return status;
    }
    return PP_OK;
}

/* Stages of a rank, at most ACTIVE_MAX. */
static size_t count_stages(const pp_program *program, uint32_t rank)
{
    size_t count = 0;
    for (uint32_t s = 0; s < program->stages && count < ACTIVE_MAX; s++)
        count += program->stage_rank[s] == rank;
    return count;
}

static pp_status make_row(passes *p, uint32_t rank, pp_err *err)
{
    const pp_program *program = p->program;
    const pp_op *op = program->op;
    size_t end = program->rank_begin[rank + 1];
    size_t most = count_stages(program, rank);
    size_t ops_before = 0; /* of the action before */
    window active = { .count = 0 };
    for (size_t i = program->rank_begin[rank]; i < end;) {
        size_t ops = op[i].paired ? 2 : 1;
        pp_status status = PP_OK;
        /* after one op of the same stage the same stages come next */
        if (ops_before != 1 || op[i].stage != op[i - 1].stage) {
            uint16_t wanted[ACTIVE_MAX];
            size_t count = look_ahead(program, i, end, most, wanted);
            if (count < most)
                most = count; /* one of them has computed for the last time */
            status = slide(&p->row[rank], &active, wanted, count, err);
        }
        if (status ||
            (status =
                 add(&p->row[rank], (action){ .op = (uint32_t)i, .ops = (uint8_t)ops }, err)) ||
            (status = add_reductions(p, &p->row[rank], i, ops, err)))
            return status;
        i += ops;
        ops_before = ops;
    }
    return slide(&p->row[rank], &active, NULL, 0, err);
}

enum { ACTIVATION = 1, GRADIENT = 2 };

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

static void transfer(passes *p, uint32_t rank, pp_transfer_kind kind, uint32_t stage, uint32_t j)
{
    uint32_t group = pp_comm_open(p->builder, rank);
    pp_comm_add(p->builder, group, kind, stage, j);
    pp_comm_post(p->builder, group);
}

/* The result of `op` reaches the next stage: by reference on the same rank; otherwise the send goes
 * into this row and the receive into the peer's, at this moment. */
static void hand_on(passes *p, uint32_t rank, pp_op op)
{
    const pp_program *program = p->program;
    bool forward = op.kind == PP_OP_F;
    if (op.kind == PP_OP_W || (forward ? op.stage + 1u == program->stages : op.stage == 0))
        return;
    uint32_t to = forward ? op.stage + 1u : op.stage - 1u;
    *ready_at(p, to, op.microbatch) |= forward ? ACTIVATION : GRADIENT;
    if (program->stage_rank[to] == rank)
        return;
    transfer(p, rank, forward ? PP_SEND_F : PP_SEND_B, op.stage, op.microbatch);
    transfer(p, program->stage_rank[to], forward ? PP_RECV_F : PP_RECV_B, to, op.microbatch);
}

/* One action of `rank`, if it is ready. */
static bool schedule_one(passes *p, uint32_t rank)
{
    cells *row = &p->row[rank];
    const pp_op *op = p->program->op;
    action a = row->action[row->next];
    for (uint32_t k = 0; k < a.ops; k++) {
        if (!is_ready(p, op[a.op + k]))
            return false;
    }
    row->next++;
    if (a.ops == 0)
        pp_comm_mark(p->builder, rank, (pp_mark)a.mark, a.stage);
    for (uint32_t k = 0; k < a.ops; k++)
        pp_comm_run(p->builder, rank, a.op + k);
    for (uint32_t k = 0; k < a.ops; k++)
        hand_on(p, rank, op[a.op + k]);
    return true;
}

static pp_status add_send_recv(passes *p, pp_err *err)
{
    uint32_t left = p->program->ranks;
    while (left) {
        bool progress = false;
        left = 0;
        for (uint32_t r = 0; r < p->program->ranks; r++) {
            if (p->row[r].next == p->row[r].count)
                continue;
            left++;
            progress |= schedule_one(p, r);
        }
        if (left && !progress)
            return pp_err_set(err, PP_INFEASIBLE, NULL,
                              "PyTorch refuses this order as a malformed compute schedule: an "
                              "overlapped pair needs both of its inputs at once");
    }
    return PP_OK;
}

static pp_status passes_new(const pp_program *program, passes *p, pp_err *err)
{
    *p = (passes){ .program = program };
    p->row = pp_alloc_array(program->ranks, sizeof *p->row);
    p->weight_grads = pp_alloc_array(program->stages, sizeof *p->weight_grads);
    p->ready = pp_alloc_array(program->stages, program->microbatches);
    if (!p->row || !p->weight_grads || !p->ready)
        return pp_err_nomem(err);
    return pp_comm_builder_new(program, &p->builder, err);
}

static pp_status torch_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    passes p PP_CLEANUP(passes_free) = { 0 };
    pp_status status = pp_program_from_order(order, &program, err);
    if (status || (status = passes_new(program, &p, err)))
        return status;
    for (uint32_t r = 0; r < program->ranks && !status; r++)
        status = make_row(&p, r, err);
    if (status || (status = add_send_recv(&p, err)) ||
        (status = pp_comm_finish(p.builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

/* Shapes are inferred once for a schedule object, from stage to stage with pickled objects (their
 * length first; 512 bytes are assumed for one); gradients follow from them (stage.py). */
static const pp_shape_habit torch_shapes = {
    .no_message = "a schedule object knows one shape for all its microbatches",
    .rounds = 2,
    .bytes = { 8, 512 },
};

const pp_executor pp_executor_torch = {
    .name = "torch",
    .summary = "PyTorch pipelining's passes: a send and its receive are issued at the same moment",
    .lower = torch_lower,
    .shape_habit = &torch_shapes,
};
