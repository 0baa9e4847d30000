/* Defaults of a request, and the names of partitions and packings. */
#include "planner/candidate/request.h"

#include <stdio.h>

const char *pp_partition_name(pp_partition_kind kind)
{
    static const char *const names[] = { "auto",      "uniform", "balanced", "layout",
                                         "bare-ends", "fitted",  "shifted" };
    return names[kind];
}

const char *pp_packing_name(pp_packing packing)
{
    static const char *const names[] = { "given", "first-fit", "equal", "ramped" };
    return names[packing];
}

const char *pp_sorting_name(pp_sorting sorting)
{
    static const char *const names[] = { "given", "ascending", "descending", "tent" };
    return names[sorting];
}

const char *pp_packing_method_print(const pp_packing_method *method, char *buffer, size_t size)
{
    static const char *const packings[] = { "consecutive sequences", "first fit", "equal work",
                                            "ramped (less work first and last)" };
    static const char *const orders[] = { "", ", light microbatches first",
                                          ", heavy microbatches first",
                                          ", light microbatches first and last" };
    snprintf(buffer, size, "%s%s%s", packings[method->packing],
             method->packing == PP_PACKING_RAMPED ? "" : orders[method->sorting],
             method->searched ? ", then sequences moved and swapped" : "");
    return buffer;
}

bool pp_request_bare_ends(const pp_plan_request *request)
{
    return request->bare_ends != PP_BARE_ENDS_OFF &&
           !(request->framework && request->framework->no_bare_ends);
}

int64_t pp_memory_reserve_bytes(const pp_hardware *hardware)
{
    return hardware->memory_bytes / 20;
}

static int64_t or_one(int64_t value)
{
    return value ? value : 1;
}

int64_t pp_default_batch_size(const pp_plan_request *request)
{
    int64_t size = or_one(request->micro_batch_size);
    if (request->gpus)
        return request->gpus * size;
    int64_t each = (8 * request->parallel.pp + size - 1) / size * size;
    return each * or_one(request->parallel.dp);
}

pp_switches pp_switches_requested(const pp_switch_request *request, pp_switches stack)
{
    const pp_switches *value = &request->value;
    if (request->given.sequence_parallel)
        stack.sequence_parallel = value->sequence_parallel;
    if (request->given.flash_attention)
        stack.flash_attention = value->flash_attention;
    if (request->given.grad_sync_overlap)
        stack.grad_sync_overlap = value->grad_sync_overlap;
    if (request->given.dtype)
        stack.dtype = value->dtype;
    if (request->given.precision) {
        stack.precision = value->precision;
        stack.low_parameters = pp_recipe_of(value->precision)->parameters;
    }
    if (request->given.low_parameters)
        stack.low_parameters = value->low_parameters;
    if (request->given.grad_dtype)
        stack.grad_dtype = value->grad_dtype;
    if (request->given.moments)
        stack.moments = value->moments;
    if (request->given.transformer_engine)
        stack.transformer_engine = value->transformer_engine;
    if (request->given.eager_loss)
        stack.eager_loss = value->eager_loss;
    if (request->given.eager_layers)
        stack.eager_layers = value->eager_layers;
    stack.tp_overlap &= pp_recipe_of(stack.precision)->tp_overlap;
    if (request->given.tp_overlap)
        stack.tp_overlap = value->tp_overlap;
    if (request->given.zero)
        stack.zero = value->zero;
    stack.dp_replicate = value->dp_replicate;
    stack.reshard_after_forward = value->reshard_after_forward;
    stack.low_parameters &= stack.zero == 1; /* the gather of ZeRO-1 brings the weights */
    if (request->given.scatter_gather)
        stack.scatter_gather = value->scatter_gather;
    if (request->given.p2p)
        stack.p2p = value->p2p;
    if (request->given.cp_comm)
        stack.cp_comm = value->cp_comm;
    if (request->given.dispatcher)
        stack.dispatcher = value->dispatcher;
    if (request->given.moe_fp8_dispatch)
        stack.moe_fp8_dispatch = value->moe_fp8_dispatch;
    stack.moe_fp8_dispatch &= pp_dispatcher_has_fp8(stack.dispatcher);
    if (request->given.moe_shared_expert_overlap)
        stack.moe_shared_expert_overlap = value->moe_shared_expert_overlap;
    stack.moe_shared_expert_overlap &= stack.dispatcher != PP_DISPATCHER_ALLGATHER;
    stack.moe_imbalance = value->moe_imbalance;
    stack.moe_capacity = value->moe_capacity;
    stack.moe_pads = value->moe_pads;
    if (request->given.cuda_graphs) {
        stack.cuda_graphs = false;
        stack.graphs = value->graphs;
    }
    stack.recompute_layers = request->given.recompute ? value->recompute_layers : 0;
    stack.recompute_modules =
        request->given.recompute_modules ? value->recompute_modules : PP_MODULES_CORE;
    if (stack.recompute_modules >> PP_MODULE_SHARED_EXPERTS & 1)
        stack.moe_shared_expert_overlap = false;
    stack.communicators = value->communicators;
    return stack;
}
