/* Runs single ops of the cpu backend outside a training step, for probes that time them: builds a
 * three-stage job with all layers in one stage, allocates its tensors, and provides the input and
 * the output gradient that the op needs. */
#include "calib/measure/ops.h"

#include "calib/measure/probe_options.h"
#include "runtime/compute/registry.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

pp_mix pp_mix_one(int64_t tokens)
{
    return (pp_mix){ .lengths = { tokens }, .count = 1 };
}

pp_mix pp_mix_four(int64_t tokens)
{
    int64_t each = tokens / 4;
    return (pp_mix){ .lengths = { each, each, each, each }, .count = 4 };
}

pp_mix pp_mix_skewed(int64_t tokens)
{
    pp_mix mix = { .lengths = { tokens / 2 }, .count = 9 };
    for (size_t i = 1; i < mix.count; i++)
        mix.lengths[i] = tokens / 16;
    return mix;
}

void pp_mix_variables(const pp_mix *mix, double at[PP_VARIABLE_COUNT])
{
    int64_t tokens = 0;
    int64_t squares = 0;
    int64_t longest = 0;
    int64_t tiles = 0;
    for (size_t i = 0; i < mix->count; i++) {
        int64_t length = mix->lengths[i];
        int64_t edge = (length + 127) / 128;
        tokens += length;
        squares += length * length;
        longest = length > longest ? length : longest;
        tiles += edge * edge;
    }
    at[PP_VARIABLE_TOKENS] = (double)tokens;
    at[PP_VARIABLE_SQUARES] = (double)squares;
    at[PP_VARIABLE_LONGEST] = (double)longest;
    at[PP_VARIABLE_TILES] = (double)tiles;
}

static pp_status make_workload(pp_ops *ops, const pp_mix *mix, size_t count, pp_err *err)
{
    pp_workload *w = &ops->workload;
    for (size_t k = 0; k < count; k++)
        w->length_count += mix[k].count;
    w->replicas = 1;
    w->microbatches = (uint32_t)count;
    w->microbatch = pp_alloc_array(count, sizeof *w->microbatch);
    w->lengths = pp_alloc_array(w->length_count, sizeof *w->lengths);
    if (!w->microbatch || !w->lengths)
        return pp_err_nomem(err);
    size_t used = 0;
    for (size_t k = 0; k < count; k++) {
        pp_microbatch *to = &w->microbatch[k];
        *to = (pp_microbatch){ .first = used, .count = mix[k].count };
        memcpy(w->lengths + used, mix[k].lengths, mix[k].count * sizeof *w->lengths);
        for (size_t i = 0; i < mix[k].count; i++) {
            to->tokens += mix[k].lengths[i];
            to->square_sum += mix[k].lengths[i] * mix[k].lengths[i];
        }
        used += mix[k].count;
    }
    return PP_OK;
}

static int64_t largest(const pp_ops *ops, const int64_t *bytes, uint32_t stage)
{
    int64_t most = 0;
    for (uint32_t j = 0; j < ops->work.microbatches; j++) {
        int64_t of = bytes[pp_cost_index(ops->costs, stage, j)];
        most = of > most ? of : most;
    }
    return (most + 63) / 64 * 64;
}

static pp_status take_memory(pp_ops *ops, pp_err *err)
{
    const uint32_t s = ops->stage;
    const size_t message = (size_t)largest(ops, ops->costs->message_bytes, PP_OPS_FIRST);
    const size_t kept = (size_t)largest(ops, ops->costs->activation_bytes, s);
    const size_t stash = (size_t)largest(ops, ops->costs->stash_bytes, s);
    const size_t scratch = (size_t)largest(ops, ops->costs->temporary_bytes, s);
    const size_t all = 4 * message + kept + stash + scratch;
    ops->memory = aligned_alloc(64, all ? all : 64);
    if (!ops->memory)
        return pp_err_nomem(err);
    memset(ops->memory, 0, all);
    char *at = ops->memory + 4 * message;
    const bool first = s == PP_OPS_FIRST;
    const bool last = s == PP_OPS_LAST;
    ops->first = (pp_op_tensors){ .activation_out = ops->memory };
    ops->middle = (pp_op_tensors){
        .activation_in = first ? NULL : ops->memory,
        .activation_out = last ? NULL : ops->memory + message,
        .gradient_in = last ? NULL : ops->memory + 2 * message,
        .gradient_out = first ? NULL : ops->memory + 3 * message,
        .saved = at,
        .stash = at + kept,
        .scratch = at + kept + stash,
    };
    return PP_OK;
}

pp_status pp_ops_new(const pp_probe_options *options, uint32_t stage, const pp_mix *mix,
                     size_t count, pp_ops **ops_out, pp_err *err)
{
    static const bool holds[PP_OPS_STAGES] = { true, true, true };
    pp_ops *ops PP_CLEANUP(pp_ops_free) = pp_alloc_array(1, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    pp_status status = make_workload(ops, mix, count, err);
    if (status)
        return status;
    ops->stage = stage;
    ops->partition[stage].layers = options->layers ? options->layers : 1;
    for (uint32_t s = 0; s < PP_OPS_STAGES; s++)
        ops->stage_rank[s] = s;
    ops->work = (pp_compute_work){
        .ranks = PP_OPS_STAGES,
        .stages = PP_OPS_STAGES,
        .microbatches = (uint32_t)count,
        .stage_rank = ops->stage_rank,
        .workload = &ops->workload,
        .partition = ops->partition,
        .settings = options->settings ? options->settings : PP_PROBE_SETTINGS,
        .seed = 1,
        .split = true,
    };
    if ((status = pp_compute_get("cpu", &ops->compute, err)) ||
        (status = pp_costs_new(PP_OPS_STAGES, PP_OPS_STAGES, (uint32_t)count, (uint32_t)count,
                               &ops->costs, err)))
        return status;
    for (uint32_t j = 0; j < count; j++)
        ops->costs->class_of[j] = j;
    if ((status = ops->compute->describe(&ops->work, ops->costs, err)) ||
        (status = ops->compute->open(&ops->work, holds, &ops->worker, err)) ||
        (status = take_memory(ops, err)))
        return status;
    *ops_out = ops;
    ops = NULL; /* owned by the caller now */
    return PP_OK;
}

void pp_ops_free(pp_ops **ops)
{
    pp_ops *o = *ops;
    if (!o)
        return;
    if (o->compute)
        o->compute->close(o->worker);
    pp_costs_free(&o->costs);
    pp_workload_free(&o->workload);
    free(o->memory);
    free(o);
    *ops = NULL;
}

/* The output of the first stage serves as the input and as the output gradient. */
pp_status pp_ops_begin(pp_ops *ops, size_t mix, pp_err *err)
{
    const pp_op op = { .kind = PP_OP_F, .stage = PP_OPS_FIRST, .microbatch = (uint32_t)mix };
    const pp_op_tensors *tensors = ops->stage == PP_OPS_FIRST ? &ops->middle : &ops->first;
    pp_status status = ops->compute->begin(ops->worker, 0, err);
    if (!status)
        status = ops->compute->run(ops->worker, op, tensors, err);
    if (status || !ops->middle.gradient_in)
        return status;
    const size_t at = pp_cost_index(ops->costs, PP_OPS_FIRST, op.microbatch);
    char *gradient = ops->memory + ((const char *)ops->middle.gradient_in - ops->memory);
    memcpy(gradient, tensors->activation_out, (size_t)ops->costs->message_bytes[at]);
    return PP_OK;
}

pp_status pp_ops_run(pp_ops *ops, size_t mix, pp_op_kind kind, pp_err *err)
{
    const pp_op op = { .kind = (uint8_t)kind,
                       .stage = (uint16_t)ops->stage,
                       .microbatch = (uint32_t)mix };
    return ops->compute->run(ops->worker, op, &ops->middle, err);
}
