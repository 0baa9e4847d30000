/* Writes arguments for Megatron-LM's pretraining scripts. Megatron-LM makes its schedule itself, so
 * the order must be one of those that it makes (1F1B and interleaved, in schedules.py, and
 * interleaved with overlapped pairs, in combined_1f1b.py). The same
 * schedule is built here and compared with the order op by op. */
#include "sim/framework/registry.h"
#include "sim/schedule/registry.h"
#include "traces/target/target.h"

#include <inttypes.h>
#include <string.h>

/* Its own default is overlap_p2p_comm, which changes interleaved schedules only. */
static const pp_framework *const frameworks[] = { &pp_framework_megatron_overlap,
                                                  &pp_framework_megatron,
                                                  &pp_framework_megatron_overlap_flush, NULL };
static const pp_schedule *const schedules[] = { &pp_schedule_one_f_one_b, &pp_schedule_interleaved,
                                                &pp_schedule_combined_1f1b, NULL };

/* Returns Megatron-LM's microbatch group size: the number of forwards of its first chunk that rank
 * 0 runs in a row. */
static uint32_t group_size(const pp_order *order)
{
    uint32_t count = 0;
    for (size_t i = order->rank_begin[0]; i < order->rank_begin[1]; i++) {
        if (order->ops[i].kind != PP_OP_F)
            continue;
        if (order->ops[i].stage != 0)
            break;
        count++;
    }
    return count;
}

static bool has_pairs(const pp_order *order)
{
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        if (order->ops[i].paired)
            return true;
    }
    return false;
}

/* Fails: INFEASIBLE when Megatron does not run this order, NOMEM. */
static pp_status check_schedule(const pp_export *data, uint32_t chunks, uint32_t group, pp_err *err)
{
    const pp_order *order = data->order;
    const char *wanted = has_pairs(order) ? "combined-1f1b" : chunks < 2 ? "1f1b" : "interleaved";
    const pp_schedule_params shape = {
        .ranks = order->ranks,
        .chunks = chunks,
        .microbatches = order->microbatches,
        .group_size = chunks > 1 ? group : 0,
    };
    const pp_schedule *schedule;
    pp_order *own PP_CLEANUP(pp_order_free) = NULL;
    pp_err reason = pp_err_like(err);
    pp_status status = pp_schedule_get(wanted, &schedule, err);
    if (status)
        return status;
    if (pp_order_forward_only(order))
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "these arguments are for training; Megatron-LM evaluates with the same "
                          "ones, so write those of the whole schedule");
    if (chunks > 1 && order->ranks < 2)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM needs at least 2 ranks to interleave; choose '1f1b'");
    pp_placement placement = PP_PLACE_V;
    bool loop = pp_order_placement(order, &placement) && placement == PP_PLACE_LOOP;
    bool fused = true;
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++)
        fused &= order->ops[i].kind == PP_OP_F || order->ops[i].kind == PP_OP_B;
    if (loop && fused)
        status = pp_schedule_build(schedule, &shape, &own, &reason);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    if (status)
        return pp_err_set(err, PP_INFEASIBLE, "megatron", "Megatron-LM refuses this shape: %.600s",
                          reason.text);
    if (!own || !pp_order_equal(order, own))
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM makes its own schedule, which is '%s' for these stages, but "
                          "'%.64s' is another order",
                          wanted, data->plan->schedule);
    return PP_OK;
}

static void add_int(pp_text *text, const char *option, int64_t value)
{
    pp_text_add(text, "--%s %" PRId64 "\n", option, value);
}

static void add_known(pp_text *text, const char *option, int64_t value)
{
    if (value > 0)
        add_int(text, option, value);
}

/* Megatron-LM accepts either a layout or a number of virtual stages (arguments.py). */
static void add_stages(const pp_export *data, uint32_t chunks, pp_text *text)
{
    if (data->plan->partition) {
        pp_text_add(text, "--pipeline-model-parallel-layout \"");
        pp_layout_print(data->plan->partition, data->order->stages, text);
        pp_text_add(text, "\"\n");
    } else if (chunks > 1) {
        add_int(text, "num-virtual-stages-per-pipeline-rank", chunks);
    }
}

/* PipelineParallelLayerLayout wants all MTP modules in one stage, the last one of its rank. */
static pp_status check_mtp(const pp_export *data, uint32_t chunks, pp_err *err)
{
    const pp_stage *stage = data->plan->partition;
    uint32_t ranks = data->order->ranks;
    uint32_t holders = 0;
    for (uint32_t s = 0; stage && s < data->order->stages; s++) {
        if (!stage[s].mtp)
            continue;
        if (++holders > 1 || s / ranks + 1 != chunks)
            return pp_err_set(err, PP_INFEASIBLE, "megatron",
                              "Megatron-LM puts all MTP modules into one stage, the last of its "
                              "rank, and stage %" PRIu32
                              " is not the last; give --partition such a layout",
                              s);
    }
    return PP_OK;
}

static void add_mtp(const pp_export *data, pp_text *text)
{
    int64_t count = 0;
    for (uint32_t s = 0; data->plan->partition && s < data->order->stages; s++)
        count += data->plan->partition[s].mtp;
    add_known(text, "mtp-num-layers", count);
}

/* With an interleaved schedule, Megatron-LM overlaps transfers unless an argument says otherwise;
 * on 2 ranks it requires that they overlap. */
static pp_status add_transfers(const pp_export *data, uint32_t chunks, pp_text *text, pp_err *err)
{
    const pp_framework *framework = data->plan->framework;
    const bool apart = chunks > 1 && framework == &pp_framework_megatron;
    if (apart && data->order->ranks == 2)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "on 2 ranks Megatron-LM interleaves with overlapped transfers only; plan "
                          "with --executor megatron-overlap");
    if (apart)
        pp_text_add(text, "--no-overlap-p2p-communication\n");
    if (chunks > 1 && framework == &pp_framework_megatron_overlap_flush)
        pp_text_add(text, "--overlap-p2p-communication-warmup-flush\n");
    return PP_OK;
}

/* The method "block" recomputes the same number of layers, the first ones, of every stage; with an
 * interleaved schedule, of every chunk. */
static pp_status add_block(const pp_plan *plan, uint32_t stages, pp_text *text, pp_err *err)
{
    int64_t layers = 0;
    for (uint32_t s = 0; plan->partition && s < stages; s++) {
        const pp_recomputed here = pp_plan_recomputed(plan, s);
        layers = here.full > layers ? here.full : layers;
    }
    for (uint32_t s = 0; s < stages; s++) {
        const pp_stage *stage = plan->partition ? &plan->partition[s] : NULL;
        const int64_t all = stage && stage->layers < layers ? stage->layers : layers;
        const pp_recomputed here = stage ? pp_plan_recomputed(plan, s) : (pp_recomputed){ 0 };
        if (!stage || here.selective || here.full != all)
            return pp_err_set(
                err, PP_INFEASIBLE, "megatron",
                "Megatron-LM recomputes the same number of whole layers on every stage, but here "
                "stage %" PRIu32
                " differs; plan with --target megatron, or --recompute none, selective or full",
                s);
    }
    if (layers) {
        pp_text_add(text, "--recompute-granularity full\n--recompute-method block\n");
        add_int(text, "recompute-num-layers", layers);
    }
    return PP_OK;
}

/* Fails, and names the nearest setting: the most layers that any stage recomputes of any
 * microbatch. */
static pp_status refuse_microbatches(const pp_recompute_table *table, pp_err *err)
{
    const size_t count = (size_t)table->replicas * table->microbatches * table->stages;
    int32_t layers = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t here = table->of[i].full + table->of[i].selective;
        layers = here > layers ? here : layers;
    }
    return pp_err_set(
        err, PP_INFEASIBLE, "megatron",
        "Megatron-LM recomputes the same layers for all microbatches, but here they differ; the "
        "nearest is --recompute-granularity full --recompute-method block --recompute-num-layers "
        "%" PRId32 ", which no microbatch exceeds; plan with --target megatron to predict its step",
        layers);
}

static void add_modules(unsigned modules, pp_text *text)
{
    pp_text_add(text, "--recompute-granularity selective\n");
    if (!modules || modules == PP_MODULES_CORE)
        return;
    pp_text_add(text, "--recompute-modules");
    for (int k = 0; k < PP_MODULES; k++) {
        if (modules >> k & 1)
            pp_text_add(text, " %s", pp_recompute_module_names()[k]);
    }
    pp_text_add(text, "\n");
}

static pp_status add_recompute(const pp_plan *plan, uint32_t stages, pp_text *text, pp_err *err)
{
    const pp_recompute recompute = pp_plan_recompute(plan, stages);
    if (recompute == PP_RECOMPUTE_STAGES)
        return add_block(plan, stages, text, err);
    if (recompute == PP_RECOMPUTE_MICROBATCHES)
        return refuse_microbatches(&plan->recomputed, err);
    if (recompute == PP_RECOMPUTE_FULL)
        pp_text_add(text,
                    "--recompute-granularity full\n--recompute-method uniform\n"
                    "--recompute-num-layers %" PRId64 "\n",
                    plan->recompute == PP_RECOMPUTE_FULL && plan->recompute_layers
                        ? plan->recompute_layers
                        : 1);
    else if (recompute == PP_RECOMPUTE_SELECTIVE)
        add_modules(plan->recompute_modules, text);
    return PP_OK;
}

/* Megatron-Core's recipes (megatron/core/enums.py). The formats are those of Megatron-Bridge. */
static void add_precision(const pp_plan *plan, pp_text *text)
{
    static const char *const arguments[PP_PRECISIONS] = {
        [PP_PRECISION_FP8] = "--fp8-format hybrid\n--fp8-recipe delayed\n",
        [PP_PRECISION_FP8_CURRENT] = "--fp8-format hybrid\n--fp8-recipe tensorwise\n"
                                     "--first-last-layers-bf16\n",
        [PP_PRECISION_FP8_CURRENT_ALL] = "--fp8-format hybrid\n--fp8-recipe tensorwise\n",
        [PP_PRECISION_FP8_BLOCK] = "--fp8-format e4m3\n--fp8-recipe blockwise\n",
        [PP_PRECISION_MXFP8] = "--fp8-format e4m3\n--fp8-recipe mxfp8\n",
        [PP_PRECISION_NVFP4] = "--fp4-format e2m1\n--fp4-recipe nvfp4\n",
    };
    if (plan->precision == PP_PRECISION_BF16)
        return;
    pp_text_add(text, "%s%s", arguments[plan->precision],
                plan->low_parameters ? "--fp8-param-gather\n" : "");
}

/* Megatron-LM's arguments.py: moments in fewer bits want the precision-aware optimizer, which wants
 * the distributed one, and which is told the type of the gradients once more. */
static void add_state(const pp_plan *plan, pp_text *text)
{
    const bool low = plan->moments != PP_MOMENTS_FP32, half = plan->grad_dtype == PP_DTYPE_BF16;
    const char *moments = pp_moments_names()[plan->moments];
    if (plan->zero > 0 || low)
        pp_text_add(text, "--use-distributed-optimizer\n");
    if (half)
        pp_text_add(text, "--grad-reduce-in-bf16\n");
    if (low)
        pp_text_add(
            text, "--use-precision-aware-optimizer\n--exp-avg-dtype %s\n--exp-avg-sq-dtype %s\n%s",
            moments, moments, half ? "--main-grads-dtype bf16\n" : "");
}

/* Megatron-LM hands the kind on to TransformerEngine, which knows all_gather by this name only. */
static void add_context(const pp_plan *plan, pp_text *text)
{
    static const char *const kinds[] = { "p2p", "a2a", "all_gather", "a2a+p2p" };
    add_known(text, "context-parallel-size", plan->parallel.cp);
    if (plan->parallel.cp <= 1)
        return;
    pp_text_add(text, "--cp-comm-type %s\n", kinds[plan->cp_comm]);
    if (plan->cp_comm == PP_CP_COMM_HIERARCHICAL)
        pp_text_add(text, "--hierarchical-context-parallel-sizes %" PRId64 " %" PRId64 "\n",
                    plan->cp_inner, plan->parallel.cp / plan->cp_inner);
}

/* True if a stage recomputes a whole layer, for any microbatch. */
static bool recomputes_layers(const pp_plan *plan, uint32_t stages)
{
    const pp_recompute_table *table = &plan->recomputed;
    const size_t cells = (size_t)table->replicas * table->microbatches * table->stages;
    bool whole = pp_plan_recompute(plan, stages) == PP_RECOMPUTE_FULL;
    for (uint32_t s = 0; plan->partition && plan->recompute == PP_RECOMPUTE_STAGES && s < stages;
         s++)
        whole |= pp_plan_recomputed(plan, s).full > 0;
    for (size_t i = 0; i < cells; i++)
        whole |= table->of[i].full > 0;
    return whole;
}

/* TransformerEngine's graphs, of which Megatron-Core can capture the router apart. What is refused
 * is what its TransformerConfig asserts against. */
static pp_status add_graphs(const pp_export *data, pp_text *text, pp_err *err)
{
    const pp_plan *plan = data->plan;
    const unsigned graphs = plan->graphs, routed = 1U << PP_GRAPH_MOE | 1U << PP_GRAPH_ROUTER;
    const char *fault = pp_graphs_fault(graphs, plan->moe_pads);
    if (!fault && graphs & routed && !plan->experts && plan->parallel.ep <= 1)
        fault = "the model has no experts; leave out moe and moe_router";
    if (!fault && graphs >> PP_GRAPH_ROUTER & 1 && plan->recompute == PP_RECOMPUTE_SELECTIVE &&
        plan->recompute_modules >> PP_MODULE_MOE & 1)
        fault = "recomputation of moe holds moe_router; leave out one";
    if (fault)
        return pp_err_set(err, PP_INFEASIBLE, "megatron", "CUDA graphs: %s", fault);
    if (!pp_graphs_allow_full_recompute(graphs) && recomputes_layers(plan, data->order->stages))
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM recomputes no whole layers of which CUDA graphs capture "
                          "parts; plan with --recompute none or selective, or with --cuda-graphs "
                          "off or full");
    if (graphs & PP_GRAPHS_FULL) /* graphs of an iteration hold no check of it by the host */
        pp_text_add(text, "--cuda-graph-impl full_iteration\n"
                          "--no-check-for-nan-in-loss-and-grad\n");
    if (!graphs || graphs & PP_GRAPHS_FULL)
        return PP_OK;
    pp_text_add(text, "--cuda-graph-impl transformer_engine\n--cuda-graph-modules");
    for (int k = 0; pp_graph_names()[k]; k++) {
        if (graphs >> k & 1)
            pp_text_add(text, " %s", pp_graph_names()[k]);
    }
    pp_text_add(text, "\n");
    return PP_OK;
}

/* What Megatron-Core asserts for overlap_moe_expert_parallel_comm (transformer_config.py). The
 * gradients of weights are computed apart, so that more of the exchange hides. */
static pp_status add_pairs(const pp_export *data, pp_text *text, pp_err *err)
{
    const pp_plan *plan = data->plan;
    const pp_recompute recompute = pp_plan_recompute(plan, data->order->stages);
    if (!has_pairs(data->order))
        return PP_OK;
    if (plan->parallel.ep <= 1)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM overlaps forwards and backwards to hide the exchange of "
                          "experts, of which there is none without expert parallelism; choose "
                          "'interleaved'");
    if (plan->dispatcher == PP_DISPATCHER_ALLGATHER)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM cannot hide the exchange of dispatcher allgather; choose "
                          "another, or 'interleaved'");
    if (plan->moe_shared_expert_overlap)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM overlaps either shared experts or a backward with the "
                          "exchange of experts; choose 'interleaved', or plan with "
                          "--moe-shared-expert-overlap off");
    if (plan->graphs >> PP_GRAPH_MLP & 1 || plan->graphs >> PP_GRAPH_MOE & 1)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM captures neither mlp nor moe where forwards overlap with "
                          "backwards; choose 'interleaved', or plan with other --cuda-graphs");
    if (recompute == PP_RECOMPUTE_FULL || recompute == PP_RECOMPUTE_STAGES)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM recomputes no whole layers where forwards overlap with "
                          "backwards; choose 'interleaved', or recompute modules");
    pp_text_add(text, "--overlap-moe-expert-parallel-comm\n--delay-wgrad-compute\n");
    return PP_OK;
}

static pp_status emit(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err)
{
    static const char *const dispatchers[] = { [PP_DISPATCHER_ALLTOALL] = "alltoall",
                                               [PP_DISPATCHER_ALLGATHER] = "allgather",
                                               [PP_DISPATCHER_DEEPEP] =
                                                   "flex\n--moe-flex-dispatcher-backend deepep",
                                               [PP_DISPATCHER_DEEPEP_LL] = "",
                                               [PP_DISPATCHER_HYBRIDEP] =
                                                   "flex\n--moe-flex-dispatcher-backend hybridep" };
    const pp_plan *plan = data->plan;
    const pp_order *order = data->order;
    (void)companion;
    if (plan->runs > 1)
        return pp_err_set(
            err, PP_INFEASIBLE, "megatron",
            "Megatron-LM runs the schedule once per step, with all microbatches; plan "
            "without --pipeline-runs");
    if (order->stages % order->ranks != 0)
        return pp_err_set(err, PP_INFEASIBLE, "megatron",
                          "Megatron-LM needs the same number of "
                          "stages on every rank, but %" PRIu32 " is not a multiple of %" PRIu32
                          " ranks; choose '1f1b'",
                          order->stages, order->ranks);
    uint32_t chunks = order->stages / order->ranks;
    uint32_t group = group_size(order);
    pp_status status = check_schedule(data, chunks, group, err);
    if (status || (status = check_mtp(data, chunks, err)))
        return status;
    add_int(text, "pipeline-model-parallel-size", order->ranks);
    add_stages(data, chunks, text);
    if (chunks > 1 && group != order->ranks)
        add_int(text, "microbatch-group-size-per-virtual-pipeline-stage", group);
    add_known(text, "tensor-model-parallel-size", plan->parallel.tp);
    add_context(plan, text);
    add_known(text, "expert-tensor-parallel-size", plan->parallel.etp);
    if (plan->parallel.ep > 1) {
        add_int(text, "expert-model-parallel-size", plan->parallel.ep);
        pp_text_add(text, "--moe-token-dispatcher-type %s\n", dispatchers[plan->dispatcher]);
        if (plan->moe_shared_expert_overlap)
            pp_text_add(text, "--moe-shared-expert-overlap\n");
    }
    if (plan->moe_capacity > 0)
        pp_text_add(text, "--moe-expert-capacity-factor %g\n", plan->moe_capacity);
    if (plan->moe_pads)
        pp_text_add(text, "--moe-pad-expert-input-to-capacity\n");
    if ((status = add_graphs(data, text, err)))
        return status;
    add_state(plan, text);
    if (plan->sequence_parallel > 0 && plan->parallel.tp > 1)
        pp_text_add(text, "--sequence-parallel\n");
    add_precision(plan, text);
    add_known(text, "micro-batch-size", plan->micro_batch_size);
    add_known(text, "global-batch-size", plan->global_batch_size);
    add_known(text, "seq-length", plan->seq_length);
    add_mtp(data, text);
    if ((status = add_transfers(data, chunks, text, err)) || (status = add_pairs(data, text, err)))
        return status;
    status = add_recompute(plan, order->stages, text, err);
    return status ? status : pp_text_check(text, err);
}

const pp_target pp_target_megatron = {
    .limits = { .name = "megatron",
                .rules = "Megatron-LM makes its own schedule: 1f1b, interleaved or combined-1f1b, "
                         "with whole backwards and stages on a loop; if microbatches differ in "
                         "size, it sends "
                         "the sizes (variable_seq_lengths)",
                .frameworks = frameworks,
                .only = schedules,
                .recompute_alike = true,
                .recompute_modules = true,
                .recompute_chunks = true,
                .precisions = 1 << PP_PRECISION_FP8 | 1 << PP_PRECISION_FP8_CURRENT |
                              1 << PP_PRECISION_FP8_CURRENT_ALL | 1 << PP_PRECISION_FP8_BLOCK |
                              1 << PP_PRECISION_MXFP8 | 1 << PP_PRECISION_NVFP4,
                .low_parameters = true,
                .dispatchers = 1 << PP_DISPATCHER_ALLTOALL | 1 << PP_DISPATCHER_ALLGATHER |
                               1 << PP_DISPATCHER_DEEPEP | 1 << PP_DISPATCHER_HYBRIDEP,
                .dispatcher = PP_DISPATCHER_ALLTOALL,
                .shared_expert_overlap = true,
                .expert_capacity = true,
                .cuda_graphs = true,
                .full_graphs_pad = true,
                .unequal = PP_SIZES_MESSAGE },
    .format = { .name = "megatron",
                .summary = "command-line arguments for Megatron-LM, with the layout string (1f1b, "
                           "interleaved, combined-1f1b)",
                .holds = PP_HOLDS_ORDER,
                .emit = emit },
};
