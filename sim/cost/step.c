/* Costs of a rank: parameters and their state, gradient sync, tied embedding, optimizer.
 * docs/explanation/cost-model.md explains them in sections 6 and 7. */

#include "sim/cost/step.h"

#include "sim/cost/dispatch.h"
#include "sim/cost/ends.h"
#include "sim/cost/gpu_batch.h"
#include "sim/cost/stage_memory.h"
#include "sim/cost/transfer.h"
#include "sim/cost/workspace.h"

#include <math.h>

/* Megatron's gradient bucket: max(40e6, 1e6 dp) parameters. */
#define BUCKET_PARAMETERS 40e6

/* NCCL's buffers of one channel: Simple 4 MiB, LL128 4.7 MiB, LL 0.25 MiB. */
#define CHANNEL_BYTES 9e6

/* Factor of NCCL's collectives beside compute, with which they share memory bandwidth, caches and
 * power (nccl#1433). Galvatron's probe (profile_overlap.py: all-reduces of 64 MiB and products with
 * 4096 x 4096 weights, alone and beside each other) keeps the larger of both sides' factors. Five
 * are recorded: 1.09, 1.12, 1.15, 1.15 and 1.26 (overlap_coefficient.json of Time-has-wings, which
 * has two, of Fizzmy, AFDWang and moodom / Hetu-Galvatron); this is the median. Its documentation
 * has 1.1 to 1.3, and its planner takes the factor for either side. */
#define GATHER_SLOWDOWN 1.15

typedef struct rank_parameters {
    double dense, expert;
    double low;  /* the part of both that is quantized */
    double ends; /* the part of `dense` in the embedding, the head and its norm */
    pp_rank_units units;
    pp_ns first_f_ns; /* of the first chunk for the first microbatch; overlaps with the all-gather
                         of the parameters */
    pp_ns last_b_ns;  /* of the first chunk for the last microbatch; overlaps with the reduction of
                         the gradients */
} rank_parameters;

/* type: of a layer. */
static void add_unit(const pp_cost_context *context, pp_unit_kind kind, int type, double times,
                     rank_parameters *sum)
{
    pp_gpu_batch local = kind == PP_UNIT_LAYER ? pp_gpu_batch_of_type(context, type, 1, 1)
                                               : pp_gpu_batch_of(context, 1, 1);
    pp_unit_cost cost = { 0 };
    if (times <= 0)
        return;
    if (kind == PP_UNIT_LAYER)
        local.recipe = pp_recipe_of(context->switches.precision);
    switch (kind) {
    case PP_UNIT_EMBEDDING:
        pp_embedding_memory(&local, &cost);
        break;
    case PP_UNIT_LAYER:
        pp_layer_memory(&local, &cost);
        break;
    case PP_UNIT_MTP:
        pp_mtp_memory(&local, &cost);
        break;
    case PP_UNIT_LOSS:
        pp_loss_memory(&local, &cost);
        break;
    }
    sum->dense += times * (cost.parameters - cost.expert_parameters);
    sum->expert += times * cost.expert_parameters;
    sum->low += times * cost.low_parameters;
}

static double table_parameters(const pp_cost_context *context)
{
    return pp_padded_vocab(context) / (double)context->parallel.tp * (double)context->model->hidden;
}

/* The parameters of this rank's layers at the ends of the model, which a recipe does not quantize.
 */
static double edge_parameters(const pp_cost_context *context, const pp_stage *stages,
                              const pp_costs *costs, uint32_t rank)
{
    const int64_t edge = pp_recipe_of(context->switches.precision)->edge_layers;
    const int64_t high = context->model->layers - edge;
    rank_parameters sum = { 0 };
    for (uint32_t s = 0; s < costs->stages && edge; s++) {
        const int64_t first = stages[s].first_layer, end = first + stages[s].layers;
        if (!pp_placement_holds(context->placement, s, costs->ranks, rank))
            continue;
        for (int64_t l = first; l < end; l++) {
            if (l < edge || l >= high)
                add_unit(context, PP_UNIT_LAYER, pp_model_type_at(context->model, l), 1, &sum);
        }
    }
    return sum.low;
}

/* Equal units of a stage. */
typedef struct stage_unit {
    pp_unit_kind kind;
    int type;
    double times;
} stage_unit;
enum { STAGE_UNITS_MAX = PP_LAYER_TYPES_MAX + 3 };

/* Lists the units of a stage: its layers by type, embedding, loss and MTP modules. Returns how many
 * entries there are; some may have no unit. */
static int units_of(const pp_cost_context *context, const pp_stage *stage,
                    stage_unit units[STAGE_UNITS_MAX])
{
    const int types = pp_model_types(context->model);
    int64_t layers[PP_LAYER_TYPES_MAX];
    pp_model_count_types(context->model, stage->first_layer, stage->layers, layers);
    for (int k = 0; k < types; k++)
        units[k] = (stage_unit){ PP_UNIT_LAYER, k, (double)layers[k] };
    units[types] = (stage_unit){ PP_UNIT_EMBEDDING, 0, stage->embedding };
    units[types + 1] = (stage_unit){ PP_UNIT_LOSS, 0, stage->loss };
    units[types + 2] = (stage_unit){ PP_UNIT_MTP, 0, (double)stage->mtp };
    return types + 3;
}

static bool is_end(pp_unit_kind kind)
{
    return kind == PP_UNIT_EMBEDDING || kind == PP_UNIT_LOSS;
}

static rank_parameters rank_parameters_of(const pp_cost_context *context, const pp_stage *stages,
                                          const pp_costs *costs, uint32_t rank)
{
    rank_parameters sum = { .first_f_ns = -1 };
    const int last = pp_model_type_at(context->model, context->model->layers);
    stage_unit units[STAGE_UNITS_MAX];
    for (uint32_t s = 0; s < costs->stages; s++) {
        const pp_stage *stage = &stages[s];
        if (!pp_placement_holds(context->placement, s, costs->ranks, rank))
            continue;
        const int count = units_of(context, stage, units);
        for (int k = 0; k < count; k++) {
            const double before = sum.dense;
            add_unit(context, units[k].kind, units[k].type, units[k].times, &sum);
            if (is_end(units[k].kind))
                sum.ends += sum.dense - before;
            if (units[k].kind == PP_UNIT_LAYER)
                sum.units.layer[k] |= units[k].times > 0 || (stage->mtp > 0 && k == last);
        }
        sum.units.embedding |= stage->embedding;
        sum.units.loss |= stage->loss;
        sum.units.mtp |= stage->mtp > 0;
        if (sum.first_f_ns < 0) {
            sum.first_f_ns = costs->f_ns[pp_cost_index(costs, s, 0)];
            sum.last_b_ns = costs->b_ns[pp_cost_index(costs, s, costs->microbatches - 1)];
        }
    }
    sum.low -= edge_parameters(context, stages, costs, rank);
    if (sum.units.mtp && !sum.units.embedding) /* its look-up needs the embedding table */
        sum.dense += table_parameters(context);
    /* one table is both embedding and head; with pp == 1 it was counted once */
    if (context->model->tied_embeddings && sum.units.embedding && sum.units.loss &&
        context->parallel.pp > 1)
        sum.dense -= table_parameters(context);
    return sum;
}

/* Seconds to reduce the gradients over a group, and to gather the updated parameters. */
typedef struct sync_time {
    double reduce, gather;
} sync_time;

/* gathered_bytes: of a parameter. */
static sync_time sync_of(const pp_cost_context *context, pp_collective_group group,
                         double parameters, double gathered_bytes)
{
    const pp_switches *sw = &context->switches;
    const double gradients = parameters * (double)pp_dtype_bytes(sw->grad_dtype);
    sync_time t = { 0 };
    if (sw->zero == 0) {
        t.reduce = pp_collective_seconds(context->hardware, PP_ALL_REDUCE, group, gradients);
        return t;
    }
    if (sw->zero == 1) /* otherwise gradients are reduced before the end of the step */
        t.reduce = pp_collective_seconds(context->hardware, PP_REDUCE_SCATTER, group, gradients);
    t.gather =
        pp_collective_seconds(context->hardware, PP_ALL_GATHER, group, parameters * gathered_bytes);
    return t;
}

/* Bytes of a parameter that its owner sends to the others, on average. */
static double gathered_bytes_of(const pp_cost_context *context, const rank_parameters *rank)
{
    const pp_switches *sw = &context->switches;
    const double plain = (double)pp_dtype_bytes(sw->dtype);
    const double all = rank->dense + rank->expert;
    if (!sw->low_parameters || !(all > 0))
        return plain;
    return plain - (plain - pp_recipe_of(sw->precision)->element_bytes) * rank->low / all;
}

static double parameter_bytes(const pp_cost_context *context, const rank_parameters *rank)
{
    const pp_switches *sw = &context->switches;
    const double plain = (double)pp_dtype_bytes(sw->dtype);
    return (rank->dense + rank->expert) * plain + rank->low * (pp_weight_bytes(sw) - plain);
}

/* The reduction overlaps with the backward of the last microbatch, chunk by chunk, except for the
 * last bucket, after which there is no compute. The gather overlaps with the first forward. */
static double exposed_sync(const pp_cost_context *context, pp_collective_group group,
                           double parameters, const rank_parameters *rank)
{
    const double gathered_bytes = gathered_bytes_of(context, rank);
    const sync_time whole = sync_of(context, group, parameters, gathered_bytes);
    /* ppsim's runtime gathers after the step (pp_sharding_end) */
    if (!context->switches.grad_sync_overlap ||
        (context->switches.zero == 2 && !context->shards_ops))
        return whole.reduce + whole.gather;
    const double chunks = (double)context->parallel.vpp;
    const double bucket =
        fmin(parameters, fmax(BUCKET_PARAMETERS, 1e6 * (double)context->parallel.dp));
    const sync_time last = sync_of(context, group, bucket, gathered_bytes);
    const double reduce = fmax(whole.reduce / chunks - 1e-9 * (double)rank->last_b_ns, last.reduce);
    const double gather = fmax(whole.gather / chunks - 1e-9 * (double)rank->first_f_ns,
                               fmin(last.gather, whole.gather));
    return reduce + gather;
}

static double tied_seconds(const pp_cost_context *context, const rank_parameters *rank)
{
    const pp_parallel *par = &context->parallel;
    const bool shared = context->model->tied_embeddings || context->model->mtp_layers > 0;
    if (!shared || par->pp == 1 || rank->units.embedding == (rank->units.loss || rank->units.mtp))
        return 0;
    const int64_t stride = par->tp * par->cp * par->dp * (par->pp - 1);
    const pp_collective_group group = {
        .ranks = 2, .members = stride < pp_hardware_node_part(context->hardware, par) ? 2 : 1
    };
    return pp_collective_seconds(context->hardware, PP_ALL_REDUCE, group,
                                 table_parameters(context) *
                                     (double)pp_dtype_bytes(context->switches.grad_dtype));
}

static double comm_library_bytes(const pp_cost_context *context, uint32_t rank, uint32_t stages)
{
    const pp_parallel *par = &context->parallel;
    const int communicators = (par->tp > 1) + (par->dp * par->cp > 1) + (par->cp > 1) +
                              (par->ep > 1) + pp_pipeline_communicators(context, rank, stages);
    return communicators * context->hardware->node_p2p.channels_max * CHANNEL_BYTES;
}

/* The GPUs that have the same dense parameters, and those that have the same experts. */
typedef struct data_groups {
    pp_collective_group dense, expert;
    pp_collective_group dense_copies, expert_copies; /* with several copies of sharded parameters:
                                                        of these GPUs, those with the same shard;
                                                        dense and expert are one copy then */
    pp_collective_group dense_kept, expert_kept; /* of one copy, those among which parameters stay
                                                    divided after a forward that frees them */
} data_groups;

static data_groups data_groups_of(const pp_cost_context *context)
{
    const pp_parallel *par = &context->parallel;
    const int64_t node_part = pp_hardware_node_part(context->hardware, par);
    const int64_t copies = context->switches.dp_replicate > 1 ? context->switches.dp_replicate : 1;
    const int64_t dense = par->dp * par->cp / copies;
    const int64_t expert = pp_parallel_expert_gpus(par) / par->ep / copies;
    const int64_t stride = pp_parallel_etp(par) * par->ep;
    const int64_t kept = context->switches.reshard_after_forward;
    return (data_groups){
        .dense = pp_group_of(node_part, dense, par->tp),
        .expert = pp_group_of(node_part, expert, stride),
        .dense_copies = pp_group_of(node_part, copies, par->tp * dense),
        .expert_copies = pp_group_of(node_part, copies, stride * expert),
        .dense_kept = pp_group_of(node_part, kept > 0 ? kept : dense, par->tp),
        .expert_kept = pp_group_of(node_part, kept > 0 ? kept : expert, stride),
    };
}

/* Bytes of an element of the parameters that FSDP2 keeps in shards, which the optimizer updates
 * (torchtitan, AutoModel: fp32). */
#define SHARD_BYTES 4.0

/* True if a forward of the stage begins with a unit of this kind or, `first` false, ends with it.
 */
static bool is_end_unit(const pp_cost_context *context, const pp_stage *stage,
                        const stage_unit *unit, bool first)
{
    const int64_t layer = first ? stage->first_layer : stage->first_layer + stage->layers - 1;
    if (unit->times <= 0)
        return false;
    if (first && stage->embedding > 0)
        return unit->kind == PP_UNIT_EMBEDDING;
    if (!first && stage->loss > 0)
        return unit->kind == PP_UNIT_LOSS;
    if (stage->layers == 0 || (!first && stage->mtp > 0))
        return unit->kind == PP_UNIT_MTP || stage->mtp == 0;
    return unit->kind == PP_UNIT_LAYER && unit->type == pp_model_type_at(context->model, layer);
}

/* What stays gathered of a stage after a forward. */
typedef struct kept_sum {
    double parameters;
    double largest, second; /* units; while the next one is gathered, two are there */
} kept_sum;

/* Adds `times` equal units. After a forward a parameter is on one of the GPUs that keep it, in the
 * type of training, or nowhere but in the shards: with `always`, and if all GPUs that share it keep
 * it (_get_post_forward_mesh_info, which the group of experts may be). */
static void add_kept(const data_groups *groups, const rank_parameters *one, double times,
                     int64_t reshard, kept_sum *sum)
{
    const double unit = one->dense + one->expert;
    if (reshard > 0 && groups->dense_kept.ranks < groups->dense.ranks)
        sum->parameters += times * one->dense / (double)groups->dense_kept.ranks;
    if (reshard > 0 && groups->expert_kept.ranks < groups->expert.ranks)
        sum->parameters += times * one->expert / (double)groups->expert_kept.ranks;
    for (int k = 0; k < 2 && times > k; k++) {
        sum->second = fmax(sum->second, fmin(sum->largest, unit));
        sum->largest = fmax(sum->largest, unit);
    }
}

/* FSDP2 gathers and reduces unit by unit: every layer, the embedding, and the head with its norm is
 * one (torchtitan and AutoModel, apply_fsdp). Before a gather the shards are cast to the type of
 * training, and after it copied into the parameters, both on the stream of the compute; before a
 * reduction the gradients are copied (foreach_all_gather, get_all_gather_streams and foreach_reduce
 * in torch/distributed/fsdp/_fully_shard). Compute beside a gather lacks the SMs that NCCL holds,
 * and slows it down. What a forward frees is gathered again from the GPUs that keep it
 * (_get_post_forward_mesh_info). */
static pp_status fill_sharding(const pp_cost_context *context, const pp_stage *stage,
                               pp_costs *costs, uint32_t s, pp_err *err)
{
    const pp_hardware *hw = context->hardware;
    const pp_switches *sw = &context->switches;
    const data_groups groups = data_groups_of(context);
    const double bytes = (double)pp_dtype_bytes(sw->dtype);
    const double gradient_bytes = (double)pp_dtype_bytes(sw->grad_dtype);
    const double memory_bytes_per_s = hw->elementwise * hw->memory_bytes_per_s;
    double gather = 0, copy = 0, reduce = 0, again = 0, first = 0, last = 0;
    double parameters = 0, owned = 0;
    kept_sum kept = { 0 };
    stage_unit units[STAGE_UNITS_MAX];
    const int count = units_of(context, stage, units);
    for (int k = 0; k < count; k++) {
        rank_parameters one = { 0 };
        add_unit(context, units[k].kind, units[k].type, units[k].times > 0, &one);
        if (units[k].kind == PP_UNIT_MTP && units[k].times > 0 && !stage->embedding)
            one.dense += table_parameters(context); /* for its look-up */
        const struct {
            double parameters;
            pp_collective_group group, copies, kept;
        } parts[] = { { one.dense, groups.dense, groups.dense_copies, groups.dense_kept },
                      { one.expert, groups.expert, groups.expert_copies, groups.expert_kept } };
        double regather = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            const double n = parts[i].parameters, ranks = (double)parts[i].group.ranks;
            const double times = units[k].times;
            if (!(n > 0))
                continue;
            parameters += times * n;
            owned += times * n / ranks;
            copy += times * n / ranks * (SHARD_BYTES + bytes);
            reduce += times * 2 * n * gradient_bytes / memory_bytes_per_s;
            if (parts[i].copies.ranks > 1)
                reduce += times * pp_collective_seconds(hw, PP_ALL_REDUCE, parts[i].copies,
                                                        n / ranks * gradient_bytes);
            if (ranks < 2)
                continue;
            copy += times * 2 * n * bytes;
            gather += times * pp_collective_seconds(hw, PP_ALL_GATHER, parts[i].group, n * bytes);
            reduce += times * pp_collective_seconds(hw, PP_REDUCE_SCATTER, parts[i].group,
                                                    n * gradient_bytes);
            regather += pp_collective_seconds(hw, PP_ALL_GATHER, parts[i].kept, n * bytes);
        }
        again += units[k].times * regather;
        add_kept(&groups, &one, units[k].times, sw->reshard_after_forward, &kept);
        first = is_end_unit(context, stage, &units[k], true) ? regather : first;
        last = is_end_unit(context, stage, &units[k], false) ? regather : last;
    }
    const bool divided = sw->zero == 3; /* otherwise the parameters stay whole */
    costs->sharded = true;
    costs->regathers = sw->reshard_after_forward != PP_RESHARD_NEVER;
    costs->gathered_stages = context->gathers_all ? 0 : PP_GATHERED_STAGES;
    costs->unshard_slowdown = 1 / (1 - pp_collective_sm_share(hw, groups.dense));
    costs->gather_slowdown = groups.dense.ranks > 1 ? GATHER_SLOWDOWN : 1;
    const struct {
        double bytes;
        int64_t *out;
    } sizes[] = {
        { divided ? parameters * bytes : 0, &costs->gathered_bytes[s] },
        { parameters * gradient_bytes, &costs->whole_gradient_bytes[s] },
        { owned * (divided ? SHARD_BYTES : gradient_bytes), &costs->gradient_shard_bytes[s] },
        { kept.parameters * bytes, &costs->kept_bytes[s] },
        { fmin(parameters, kept.parameters + kept.largest + kept.second) * bytes,
          &costs->passing_bytes[s] },
    };
    for (size_t k = 0; k < (costs->regathers ? 5 : 3); k++) {
        if (!(sizes[k].bytes <= (double)PP_BYTES_MAX))
            return pp_err_set(err, PP_INPUT, NULL,
                              "stage %u needs %g bytes: the model is too large", s, sizes[k].bytes);
        *sizes[k].out = (int64_t)(sizes[k].bytes + 0.5);
    }
    const struct {
        double seconds;
        const char *what;
        pp_ns *ns;
    } parts[] = {
        { divided ? gather : 0, "gather of a stage's parameters", &costs->unshard_ns[s] },
        { divided ? copy / memory_bytes_per_s : 0, "copy of a stage's parameters",
          &costs->unshard_copy_ns[s] },
        { reduce, "reduction of a stage's gradients", &costs->reduce_grad_ns[s] },
        { again, "gather after a forward", &costs->regather_ns[s] },
        { first, "gather of a stage's first layer", &costs->regather_first_ns[s] },
        { last, "gather of a stage's last layer", &costs->regather_last_ns[s] },
    };
    const size_t count_ns = costs->regathers ? sizeof parts / sizeof parts[0] : 3;
    pp_status status = PP_OK;
    for (size_t k = 0; k < count_ns && !status; k++)
        status = pp_ns_from_seconds(parts[k].seconds, parts[k].what, parts[k].ns, err);
    return status;
}

/* Megatron-FSDP's smallest number of elements in its queue of reductions, of which it gathers a
 * half ahead (_init_fsdp_param_and_grad_buffer, suggested_communication_unit_size). */
#define FSDP_QUEUE_ELEMENTS 1e9

/* What Megatron-FSDP divides of the units of a stage. */
typedef struct op_sums {
    double gather, reduce, ends; /* seconds: of the layers, of all, and to gather the ends */
    double layers, all, count;   /* elements in layers and in all units; the number of layers */
    double largest_layer, largest;
    double first, last, last_reduction; /* seconds of single units */
} op_sums;

/* Adds `times` equal units. Its parts are coalesced over their groups (_coalescing_manager). */
static void add_op_unit(const pp_cost_context *context, const pp_stage *stage,
                        const data_groups *groups, const stage_unit *unit, op_sums *sum)
{
    const pp_hardware *hw = context->hardware;
    const double bytes = (double)pp_dtype_bytes(context->switches.dtype);
    const double gradient_bytes = (double)pp_dtype_bytes(context->switches.grad_dtype);
    const bool layer = !is_end(unit->kind);
    pp_stage inner = *stage; /* its layers */
    inner.embedding = inner.loss = 0;
    rank_parameters one = { 0 };
    add_unit(context, unit->kind, unit->type, unit->times > 0, &one);
    if (unit->kind == PP_UNIT_MTP && unit->times > 0 && !stage->embedding)
        one.dense += table_parameters(context); /* for its look-up */
    const struct {
        double parameters;
        pp_collective_group group;
    } parts[] = { { one.dense, groups->dense }, { one.expert, groups->expert } };
    double gather = 0, reduce = 0, n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!(parts[i].parameters > 0) || parts[i].group.ranks < 2)
            continue; /* whole (is_data_distributed) */
        n += parts[i].parameters;
        gather +=
            pp_collective_seconds(hw, PP_ALL_GATHER, parts[i].group, parts[i].parameters * bytes);
        reduce += pp_collective_seconds(hw, PP_REDUCE_SCATTER, parts[i].group,
                                        parts[i].parameters * gradient_bytes);
        reduce += 3 * parts[i].parameters / (double)parts[i].group.ranks * gradient_bytes /
                  (hw->elementwise * hw->memory_bytes_per_s); /* added to the shard */
    }
    sum->gather += layer ? unit->times * gather : 0;
    sum->ends += layer ? 0 : unit->times * gather;
    sum->reduce += unit->times * reduce;
    sum->layers += layer ? unit->times * n : 0;
    sum->count += layer ? unit->times : 0;
    sum->all += unit->times * n;
    if (unit->times > 0)
        sum->largest = fmax(sum->largest, n);
    if (unit->times > 0 && layer)
        sum->largest_layer = fmax(sum->largest_layer, n);
    sum->first = layer && is_end_unit(context, &inner, unit, true) ? gather : sum->first;
    sum->last = layer && is_end_unit(context, &inner, unit, false) ? gather : sum->last;
    sum->last_reduction = is_end_unit(context, stage, unit, true) ? reduce : sum->last_reduction;
}

/* Megatron-FSDP, of whose megatron_fsdp.py and param_and_grad_buffer.py this names functions. A
 * layer is gathered before its forward and before its backward, by a look-ahead of at least half of
 * the queue (all_gather_params), and freed after each (release_module_parameters); embedding and
 * head are gathered once in a step and stay (reset, preserve_non_fsdp_units). All gradients are
 * reduced in every backward (_process_post_backward_gradients), and each backward waits for them
 * (_root_post_backward). Whole gradients are kept until the queue is too long
 * (wait_for_previous_grad_reduce): those in it, those that are added, and those of the unit that
 * runs. ZeRO 2 (optim_grads) only reduces. */
static pp_status fill_op_sharding(const pp_cost_context *context, const pp_stage *stage,
                                  pp_costs *costs, uint32_t s, pp_err *err)
{
    const data_groups groups = data_groups_of(context);
    const pp_switches *sw = &context->switches;
    op_sums sum = { 0 };
    stage_unit units[STAGE_UNITS_MAX];
    const int count = units_of(context, stage, units);
    for (int k = 0; k < count; k++)
        add_op_unit(context, stage, &groups, &units[k], &sum);
    const bool gathers = sw->zero == 3;
    const double mean = gathers && sum.count > 0 ? sum.layers / sum.count : 0;
    const double queue = fmax(FSDP_QUEUE_ELEMENTS, 2 * mean);
    const double ahead =
        sum.largest_layer > 0 ? ceil(queue / 2 / sum.largest_layer) * sum.largest_layer : 0;
    costs->sharded = costs->shards_ops = true;
    costs->gathered_stages = 1;
    costs->unshard_slowdown = 1 / (1 - pp_collective_sm_share(context->hardware, groups.dense));
    costs->gather_slowdown = groups.dense.ranks > 1 ? GATHER_SLOWDOWN : 1;
    const double held = gathers ? fmin(sum.layers, sum.largest_layer + ahead) : 0;
    const double whole = fmin(sum.all, queue + 2 * sum.largest);
    costs->gathered_bytes[s] = (int64_t)(held * (double)pp_dtype_bytes(sw->dtype) + 0.5);
    costs->whole_gradient_bytes[s] =
        (int64_t)(whole * (double)pp_dtype_bytes(sw->grad_dtype) + 0.5);
    const struct {
        double seconds;
        const char *what;
        pp_ns *ns;
    } parts[] = {
        { sum.reduce, "reduction of a stage's gradients", &costs->reduce_grad_ns[s] },
        { sum.last_reduction, "reduction of a stage's last unit", &costs->reduce_last_ns[s] },
        { sum.ends, "gather of embedding and head", &costs->unshard_ns[s] },
        { sum.gather, "gather of a stage's layers", &costs->regather_ns[s] },
        { sum.first, "gather of a stage's first layer", &costs->regather_first_ns[s] },
        { sum.last, "gather of a stage's last layer", &costs->regather_last_ns[s] },
    };
    pp_status status = PP_OK;
    for (size_t k = 0; k < (gathers ? sizeof parts / sizeof parts[0] : 2) && !status; k++)
        status = pp_ns_from_seconds(parts[k].seconds, parts[k].what, parts[k].ns, err);
    return status;
}

/* The stage of a rank whose gradients are reduced after its last op: its first one, whose B follows
 * that of every later stage for the same microbatch. (An order with W may end with the W of another
 * one, of which this is an estimate; named schedules do not.) */
static pp_ns last_reduction(const pp_cost_context *context, const pp_costs *costs, uint32_t rank)
{
    uint32_t s = 0;
    while (s + 1 < costs->stages && !pp_placement_holds(context->placement, s, costs->ranks, rank))
        s++;
    return costs->reduce_grad_ns[s];
}

/* Megatron-FSDP has shards in the type of training, and embedding and head also whole. */
static double op_parameter_bytes(const data_groups *groups, const rank_parameters *p, double bytes)
{
    const double dense = p->dense / (double)groups->dense.ranks;
    const double expert = p->expert / (double)groups->expert.ranks;
    return bytes * (dense + expert + (groups->dense.ranks > 1 ? p->ends : 0));
}

/* Copies sum their shards in the last backward (outer_fsdp_group_grad_reduce). */
static double copies_seconds(const pp_cost_context *context, const data_groups *groups,
                             const rank_parameters *p)
{
    const double bytes = (double)pp_dtype_bytes(context->switches.grad_dtype);
    const struct {
        double parameters;
        pp_collective_group copies;
    } parts[] = { { p->dense / (double)groups->dense.ranks, groups->dense_copies },
                  { p->expert / (double)groups->expert.ranks, groups->expert_copies } };
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].copies.ranks > 1 && parts[i].parameters > 0)
            sum += pp_collective_seconds(context->hardware, PP_ALL_REDUCE, parts[i].copies,
                                         parts[i].parameters * bytes);
    return sum;
}

static pp_status fill_rank(const pp_cost_context *context, const rank_parameters *p,
                           pp_costs *costs, uint32_t rank, pp_err *err)
{
    const pp_hardware *hw = context->hardware;
    const data_groups groups = data_groups_of(context);
    const double all = p->dense + p->expert;
    const bool sharded = costs->sharded, ops = costs->shards_ops;
    const bool divided = context->switches.zero == 3; /* the parameters */
    const double dtype_bytes = (double)pp_dtype_bytes(context->switches.dtype);
    const double gradient_bytes = (double)pp_dtype_bytes(context->switches.grad_dtype);
    /* parameters whose optimizer state this GPU holds */
    const double owned = context->switches.zero ? p->dense / (double)groups.dense.ranks +
                                                      p->expert / (double)groups.expert.ranks
                                                : all;
    const double state_bytes = pp_optimizer_bytes(&context->switches);
    /* weights that are gathered in 16 bits are quantized once per step */
    const double quantized =
        context->switches.low_parameters
            ? 0
            : p->low * pp_recipe_of(context->switches.precision)->quantize_bytes;
    /* both moments are read and written */
    const double updated_bytes = fmax(0, hw->optimizer_bytes_per_parameter -
                                             4 * (4 - pp_moment_bytes(context->switches.moments)));
    const struct {
        double seconds;
        pp_ns *ns;
    } times[] = {
        { divided ? 0
                  : exposed_sync(context, groups.dense, p->dense, p) +
                        exposed_sync(context, groups.expert, p->expert, p),
          &costs->grad_sync_ns[rank] },
        { tied_seconds(context, p), &costs->tied_ns[rank] },
        { (owned * updated_bytes + quantized) / (hw->elementwise * hw->memory_bytes_per_s),
          &costs->optimizer_ns[rank] },
    };
    const struct {
        double bytes;
        int64_t *out;
    } sizes[] = {
        { !divided ? parameter_bytes(context, p)
          : ops    ? op_parameter_bytes(&groups, p, dtype_bytes)
                   : owned * SHARD_BYTES,
          &costs->parameter_bytes[rank] },
        { ops       ? owned * gradient_bytes
          : sharded ? 0
                    : all * gradient_bytes,
          &costs->gradient_bytes[rank] },
        /* the shards of FSDP2 are the main parameters */
        { owned * (divided && !ops ? fmax(0, state_bytes - SHARD_BYTES) : state_bytes),
          &costs->optimizer_bytes[rank] },
        { pp_workspace_bytes(context, &p->units), &costs->workspace_bytes[rank] },
        { comm_library_bytes(context, rank, costs->stages), &costs->comm_library_bytes[rank] },
    };
    pp_status status = PP_OK;
    for (size_t k = 0; k < sizeof times / sizeof times[0] && !status; k++)
        status = pp_ns_from_seconds(times[k].seconds, "end of step", times[k].ns, err);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0] && !status; k++) {
        if (!(sizes[k].bytes <= (double)PP_BYTES_MAX))
            return pp_err_set(err, PP_INPUT, NULL, "rank %u needs %g bytes: the model is too large",
                              rank, sizes[k].bytes);
        *sizes[k].out = (int64_t)(sizes[k].bytes + 0.5);
    }
    if (!status && ops && divided)
        return pp_ns_from_seconds(copies_seconds(context, &groups, p), "reduction over copies",
                                  &costs->grad_sync_ns[rank], err);
    if (!status && sharded && !ops)
        costs->grad_sync_ns[rank] += last_reduction(context, costs, rank);
    return status;
}

pp_status pp_cost_step(const pp_cost_context *context, const pp_stage *stages, pp_costs *costs,
                       pp_err *err)
{
    const double fixed_s = context->hardware->step_fixed_s + context->switches.step_offset_s;
    pp_status status = pp_ns_from_seconds(fixed_s, "end of step", &costs->fixed_ns, err);
    const bool sharded = context->switches.zero >= 2;
    for (uint32_t s = 0; sharded && s < costs->stages && !status; s++)
        status = (context->shards_ops ? fill_op_sharding : fill_sharding)(context, &stages[s],
                                                                          costs, s, err);
    for (uint32_t r = 0; r < costs->ranks && !status; r++) {
        const rank_parameters p = rank_parameters_of(context, stages, costs, r);
        costs->limit_bytes[r] = pp_rank_overrides_memory_bytes(context->overrides, r);
        status = fill_rank(context, &p, costs, r, err);
    }
    return status;
}
