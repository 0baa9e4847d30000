/* Data-parallel replicas by ZeRO: reduce-scatter by an exchange of parts that each replica sums
 * itself, all-gather in place. The arrays of a compute on GPUs travel through the host's memory. */
#include "runtime/core/sharding.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"

#include <stdlib.h>

/* One block of a stage in the worker, and this replica's part of it. */
typedef struct block {
    char *at; /* NULL: not held */
    char *own;
    size_t bytes, part;
} block;

static block block_of(const pp_sharding *s, uint32_t stage, pp_values which)
{
    block b = { 0 };
    b.at = s->compute->block(s->worker, stage, which, &b.bytes);
    b.part = b.bytes / s->work->replicas;
    b.own = b.at ? b.at + s->work->replica * b.part : NULL;
    return b;
}

static bool is_here(const pp_sharding *s, uint32_t stage)
{
    return s->work->stage_rank[stage] == s->rank;
}

void pp_sharding_free(pp_sharding *s)
{
    for (uint32_t k = 0; s->shard && k < s->work->stages; k++) {
        s->compute->give(s->worker, s->shard[k].parameters);
        s->compute->give(s->worker, s->shard[k].gradients);
    }
    free(s->shard);
    free(s->buffer);
    free(s->staged);
    s->shard = NULL;
    s->buffer = s->staged = NULL;
}

static pp_status take(pp_sharding *s, size_t bytes, char **at_out, pp_err *err)
{
    void *at = NULL;
    pp_status status = s->compute->take(s->worker, bytes, &at, err);
    *at_out = at;
    return status;
}

static pp_status prepare_stage(pp_sharding *s, uint32_t stage, size_t *most, pp_err *err)
{
    const block gradients = block_of(s, stage, PP_VALUES_GRADIENTS);
    const block parameters = block_of(s, stage, PP_VALUES_PARAMETERS);
    pp_shard *shard = &s->shard[stage];
    pp_status status = PP_OK;
    *most = gradients.bytes > *most ? gradients.bytes : *most;
    *most = parameters.bytes > *most ? parameters.bytes : *most;
    if (s->work->zero >= 2 && gradients.at) {
        if ((status = take(s, gradients.part, &shard->gradients, err)))
            return status;
        s->compute->drop(s->worker, stage, PP_VALUES_GRADIENTS);
    }
    if (s->work->zero == 3) {
        if ((status = take(s, parameters.part, &shard->parameters, err)))
            return status;
        s->compute->copy(s->worker, shard->parameters, parameters.own, parameters.part);
        s->compute->drop(s->worker, stage, PP_VALUES_PARAMETERS);
    }
    return PP_OK;
}

pp_status pp_sharding_prepare(pp_sharding *s, pp_err *err)
{
    size_t most = 0;
    pp_status status = PP_OK;
    s->shard = pp_alloc_array(s->work->stages, sizeof *s->shard);
    if (!s->shard)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < s->work->stages && !status; k++)
        if (is_here(s, k))
            status = prepare_stage(s, k, &most, err);
    if (status)
        return status;
    s->buffer = pp_alloc_array(1, most);
    s->staged = s->compute->memory ? pp_alloc_array(1, most) : NULL;
    return s->buffer && (s->staged || !s->compute->memory) ? PP_OK : pp_err_nomem(err);
}

static void meets(const pp_sharding *s)
{
    pp_progress_set(s->progress, PP_DOING_MEETING, PP_MEETS_REPLICAS, pp_clock_now_ns());
}

/* Sums this replica's part of the gradients of all replicas, in their order, in that part. */
static pp_status reduce(pp_sharding *s, const block *gradients, pp_err *err)
{
    const size_t part = gradients->part;
    const char *mine = s->staged ? s->staged : gradients->at;
    if (s->staged)
        s->compute->copy(s->worker, s->staged, gradients->at, gradients->bytes);
    meets(s);
    pp_status status = s->transport->exchange(s->world, s->rank, mine, part, s->buffer, err);
    if (!status)
        s->compute->copy(s->worker, gradients->own, s->buffer, part);
    for (uint32_t k = 1; k < s->work->replicas && !status; k++)
        s->compute->add(s->worker, part, s->buffer + k * part, gradients->own);
    return status;
}

/* Completes a block of which every replica has its own part. */
static pp_status gather(pp_sharding *s, const block *b, pp_err *err)
{
    char *all = s->staged ? s->staged : b->at;
    char *own = all + (b->own - b->at);
    if (s->staged)
        s->compute->copy(s->worker, own, b->own, b->part);
    meets(s);
    pp_status status = s->transport->gather_replicas(s->world, s->rank, own, b->part, all, err);
    if (!status && s->staged)
        s->compute->copy(s->worker, b->at, s->staged, b->bytes);
    return status;
}

/* Holds the parameters of a stage whole, or frees them. */
static pp_status hold_parameters(pp_sharding *s, uint32_t stage, bool now,
                                 int64_t bytes[PP_MEMORY_COUNT], pp_err *err)
{
    block b = block_of(s, stage, PP_VALUES_PARAMETERS);
    if (s->work->zero < 3 || (b.at != NULL) == now)
        return PP_OK;
    bytes[PP_MEMORY_PARAMETERS] += now ? (int64_t)b.bytes : -(int64_t)b.bytes;
    if (!now) {
        s->compute->drop(s->worker, stage, PP_VALUES_PARAMETERS);
        return PP_OK;
    }
    pp_status status = s->compute->hold(s->worker, stage, PP_VALUES_PARAMETERS, err);
    if (status)
        return status;
    b = block_of(s, stage, PP_VALUES_PARAMETERS);
    s->compute->copy(s->worker, b.own, s->shard[stage].parameters, b.part);
    return gather(s, &b, err);
}

static pp_status reduce_stage(pp_sharding *s, uint32_t stage, int64_t bytes[PP_MEMORY_COUNT],
                              pp_err *err)
{
    const block gradients = block_of(s, stage, PP_VALUES_GRADIENTS);
    if (!gradients.at)
        return PP_OK;
    pp_status status = reduce(s, &gradients, err);
    if (status)
        return status;
    s->compute->copy(s->worker, s->shard[stage].gradients, gradients.own, gradients.part);
    s->compute->drop(s->worker, stage, PP_VALUES_GRADIENTS);
    bytes[PP_MEMORY_GRADIENTS] += (int64_t)gradients.part - (int64_t)gradients.bytes;
    return hold_parameters(s, stage, false, bytes, err);
}

pp_status pp_sharding_mark(pp_sharding *s, pp_mark mark, uint32_t stage,
                           int64_t bytes[PP_MEMORY_COUNT], pp_err *err)
{
    switch (mark) {
    case PP_MARK_UNSHARD:
    case PP_MARK_RESHARD:
        return hold_parameters(s, stage, mark == PP_MARK_UNSHARD, bytes, err);
    case PP_MARK_REDUCE_GRAD:
        return s->work->zero >= 2 ? reduce_stage(s, stage, bytes, err) : PP_OK;
    case PP_MARK_WAIT_REDUCE_GRAD: /* the reduction is done when it returns */
    case PP_MARK_COUNT:
        break;
    }
    return PP_OK;
}

pp_status pp_sharding_before(pp_sharding *s, pp_op op, int64_t bytes[PP_MEMORY_COUNT], pp_err *err)
{
    const bool weight = op.kind == PP_OP_W || op.kind == PP_OP_B;
    const block gradients = block_of(s, op.stage, PP_VALUES_GRADIENTS);
    if (s->work->zero < 2 || !weight || gradients.at)
        return PP_OK;
    bytes[PP_MEMORY_GRADIENTS] += (int64_t)gradients.bytes;
    return s->compute->hold(s->worker, op.stage, PP_VALUES_GRADIENTS, err);
}

/* Sums the gradients of a stage, and updates this replica's part of the parameters or, with ZeRO 0,
 * leaves all sums for pp_compute.end. */
static pp_status end_stage(pp_sharding *s, uint32_t stage, pp_err *err)
{
    const block gradients = block_of(s, stage, PP_VALUES_GRADIENTS);
    const block parameters = block_of(s, stage, PP_VALUES_PARAMETERS);
    const pp_shard *shard = &s->shard[stage];
    const int zero = s->work->zero;
    pp_status status = PP_OK;
    if (zero < 2 && (status = reduce(s, &gradients, err)))
        return status;
    if (!zero)
        return gather(s, &gradients, err);
    s->compute->update(s->worker, gradients.part, zero < 2 ? gradients.own : shard->gradients,
                       zero < 3 ? parameters.own : shard->parameters);
    return zero < 3 ? gather(s, &parameters, err) : PP_OK;
}

/* Returns the first failure of copies and sums, which return none. */
static pp_status checked(const pp_sharding *s, pp_err *err)
{
    return s->compute->check ? s->compute->check(s->worker, err) : PP_OK;
}

pp_status pp_sharding_end(pp_sharding *s, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t k = 0; k < s->work->stages && !status; k++)
        if (is_here(s, k))
            status = end_stage(s, k, err);
    if (!status && !s->work->zero)
        status = s->compute->end(s->worker, err);
    return status ? status : checked(s, err);
}

pp_status pp_sharding_restore(pp_sharding *s, pp_err *err)
{
    int64_t ignored[PP_MEMORY_COUNT] = { 0 };
    pp_status status = PP_OK;
    for (uint32_t k = 0; k < s->work->stages && !status; k++) {
        if (!is_here(s, k))
            continue;
        status = hold_parameters(s, k, true, ignored, err);
        if (status || !s->work->zero || s->work->forward_only)
            continue;
        if (s->work->zero >= 2)
            status = s->compute->hold(s->worker, k, PP_VALUES_GRADIENTS, err);
        const block gradients = block_of(s, k, PP_VALUES_GRADIENTS);
        if (!status && s->work->zero >= 2)
            s->compute->copy(s->worker, gradients.own, s->shard[k].gradients, gradients.part);
        if (!status)
            status = gather(s, &gradients, err);
    }
    return status ? status : checked(s, err);
}
