/* Counts receive buffers by going through the steps of a rank once and remembering which slots of a
 * pool are taken. */
#include "sim/analysis/memory_slots.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void pp_rank_transfers_free(pp_rank_transfers *index)
{
    free(index->stage);
    free(index->transfer);
}

/* last: the stage before it, since many steps of a stage follow each other. */
static pp_status add_stage(pp_rank_transfers *index, size_t *capacity, uint32_t *last,
                           uint32_t stage, pp_err *err)
{
    const bool same = stage == *last;
    *last = stage;
    if (same || pp_rank_transfers_has(index, stage))
        return PP_OK;
    void *grown = index->stage;
    pp_status status = pp_reserve(&grown, capacity, index->stages + 1, sizeof stage, err);
    if (status)
        return status;
    index->stage = grown;
    const size_t at = pp_rank_transfers_stage(index, stage);
    memmove(index->stage + at + 1, index->stage + at, (index->stages++ - at) * sizeof stage);
    index->stage[at] = stage;
    return PP_OK;
}

/* Collects the stages that the rank computes or whose tensors it transfers. */
static pp_status collect_stages(pp_rank_transfers *index, pp_err *err)
{
    const pp_program *program = index->program;
    const pp_comm *comm = program->comm;
    size_t capacity = 0;
    uint32_t last = UINT32_MAX;
    pp_status status = PP_OK;
    for (size_t s = comm->step_begin[index->rank]; s < comm->step_begin[index->rank + 1]; s++) {
        pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_RUN)
            status = add_stage(index, &capacity, &last, program->op[step.index].stage, err);
        const pp_group *group = step.kind == PP_COMM_STEP_POST ? &comm->group[step.index] : NULL;
        for (uint32_t t = 0; group && t < group->count && !status; t++)
            status =
                add_stage(index, &capacity, &last, comm->transfer[group->first + t].stage, err);
        if (status)
            return status;
    }
    return PP_OK;
}

pp_status pp_rank_transfers_new(const pp_program *program, uint32_t rank,
                                pp_rank_transfers *index_out, pp_err *err)
{
    const pp_comm *comm = program->comm;
    pp_rank_transfers index = { .program = program, .rank = rank };
    pp_status status = collect_stages(&index, err);
    index.cells = index.stages * program->microbatches;
    if (!status) {
        index.transfer = pp_alloc_large(PP_TENSOR_KINDS * index.cells, sizeof *index.transfer);
        status = index.transfer ? PP_OK : pp_err_nomem(err);
    }
    if (status) {
        pp_rank_transfers_free(&index);
        return status;
    }
    memset(index.transfer, 0xff, PP_TENSOR_KINDS * index.cells * sizeof *index.transfer);
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        const pp_group *group =
            comm->step[s].kind == PP_COMM_STEP_POST ? &comm->group[comm->step[s].index] : NULL;
        for (uint32_t k = 0; group && k < group->count; k++) {
            const pp_transfer *t = &comm->transfer[group->first + k];
            if (t->kind < PP_TENSOR_KINDS)
                index.transfer[pp_rank_transfers_at(&index, (pp_transfer_kind)t->kind, t->stage,
                                                    t->microbatch)] = group->first + k;
        }
    }
    *index_out = index;
    return PP_OK;
}

/* The number of slots in use now and at most, and the size of the largest tensor in one. */
typedef struct pool {
    uint64_t taken, most;
    int64_t bytes;
} pool;

typedef struct counting {
    const pp_program *program;
    const pp_costs *costs;
    const pp_rank_transfers *index;
    pool *pool; /* [stages of the rank * 2] */
    size_t pools;
} counting;

static void counting_free(counting *c)
{
    free(c->pool);
}

static pool *pool_of(counting *c, const pp_transfer *t)
{
    size_t direction = t->kind == PP_RECV_B;
    switch ((pp_recv_buffers)c->program->comm->buffers.recv) {
    case PP_RECV_PER_STAGE:
        return &c->pool[2 * pp_rank_transfers_stage(c->index, t->stage) + direction];
    case PP_RECV_PER_DIRECTION:
        return &c->pool[direction];
    case PP_RECV_ON_POST:
    case PP_RECV_PER_MICROBATCH:
    case PP_RECV_POOL:
    case PP_RECV_BUFFERS_COUNT:
        break;
    }
    return &c->pool[0];
}

static void take(counting *c, const pp_group *group)
{
    for (uint32_t k = 0; k < group->count; k++) {
        const pp_transfer *t = &c->program->comm->transfer[group->first + k];
        if (pp_transfer_sends((pp_transfer_kind)t->kind) || !pp_transfer_has_buffer(t))
            continue;
        pool *p = pool_of(c, t);
        int64_t bytes = c->costs ? pp_transfer_bytes(c->costs, t) : 0;
        if (++p->taken > p->most)
            p->most = p->taken;
        if (bytes > p->bytes)
            p->bytes = bytes;
    }
}

static void give_back(counting *c, pp_transfer_kind kind, pp_op op)
{
    uint32_t t = pp_rank_transfers_get(c->index, kind, op.stage, op.microbatch);
    if (t == PP_NO_SOURCE)
        return;
    pool *p = pool_of(c, &c->program->comm->transfer[t]);
    if (p->taken) /* an excerpt may post the receive after the op */
        p->taken--;
}

static void count(counting *c)
{
    const uint32_t rank = c->index->rank;
    const pp_comm *comm = c->program->comm;
    pp_op_kind frees_input = comm->buffers.recv_copied ? PP_OP_F : PP_OP_B;
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        pp_comm_step step = comm->step[s];
        if (step.kind == PP_COMM_STEP_POST)
            take(c, &comm->group[step.index]);
        if (step.kind != PP_COMM_STEP_RUN || comm->buffers.recv == PP_RECV_PER_MICROBATCH)
            continue;
        pp_op op = c->program->op[step.index];
        pp_op_kind kind = op.kind == PP_OP_I ? PP_OP_B : (pp_op_kind)op.kind;
        if (kind == frees_input)
            give_back(c, PP_RECV_F, op);
        if (kind == PP_OP_B)
            give_back(c, PP_RECV_B, op);
    }
}

/* Every receive of a run has a buffer of the size of its tensor. */
static int64_t run_receives(const counting *c, uint32_t run)
{
    static const pp_transfer_kind kinds[] = { PP_RECV_F, PP_RECV_B };
    const uint32_t each = c->program->microbatches / c->program->runs;
    int64_t sum = 0;
    for (size_t k = 0; c->costs && k < 2; k++) {
        const uint32_t *transfer = c->index->transfer + kinds[k] * c->index->cells;
        for (size_t i = 0; i < c->index->cells; i++) {
            if (transfer[i] != PP_NO_SOURCE && i % c->program->microbatches / each == run &&
                __builtin_add_overflow(
                    sum, pp_transfer_bytes(c->costs, &c->program->comm->transfer[transfer[i]]),
                    &sum))
                return INT64_MAX;
        }
    }
    return sum;
}

/* Later runs use the buffers of the first one again. */
static int64_t all_receives(const counting *c)
{
    int64_t most = 0;
    for (uint32_t run = 0; run < c->program->runs; run++) {
        const int64_t bytes = run_receives(c, run);
        most = bytes > most ? bytes : most;
    }
    return most;
}

pp_status pp_recv_pool_in(const pp_rank_transfers *index, const pp_costs *costs,
                          pp_recv_pool *pool_out, pp_err *err)
{
    const pp_program *program = index->program;
    counting c PP_CLEANUP(counting_free) = { .program = program, .costs = costs, .index = index };
    c.pools = 2 * index->stages + 2;
    c.pool = pp_alloc_array(c.pools, sizeof *c.pool);
    if (!c.pool)
        return pp_err_nomem(err);
    count(&c);
    pp_recv_pool sum = { 0 };
    for (size_t k = 0; k < c.pools; k++) {
        int64_t bytes;
        sum.slots += c.pool[k].most;
        if (__builtin_mul_overflow((int64_t)c.pool[k].most, c.pool[k].bytes, &bytes) ||
            __builtin_add_overflow(sum.bytes, bytes, &sum.bytes))
            sum.bytes = INT64_MAX;
    }
    if (program->comm->buffers.recv == PP_RECV_PER_MICROBATCH)
        sum.bytes = all_receives(&c);
    *pool_out = sum;
    return PP_OK;
}

pp_status pp_recv_pool_of(const pp_program *program, const pp_costs *costs, uint32_t rank,
                          pp_recv_pool *pool_out, pp_err *err)
{
    pp_rank_transfers index;
    pp_status status = pp_rank_transfers_new(program, rank, &index, err);
    if (status)
        return status;
    status = pp_recv_pool_in(&index, costs, pool_out, err);
    pp_rank_transfers_free(&index);
    return status;
}
