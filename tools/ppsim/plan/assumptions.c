/* Makes sentences of the values that a search assumed. They go to the screen and into the plan
 * file. */
#include "tools/ppsim/plan/assumptions.h"

#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static pp_status note_split(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_assumed *assumed = &result->assumed;
    const pp_parallel *requested = &assumed->requested;
    pp_status status = PP_OK;
    if (assumed->gpus)
        return pp_notes_add(notes, err, "split",
                            "of %" PRId64 " GPUs; the search chose the degrees that are "
                            "not given, among those that runs use",
                            assumed->gpus);
    if (!requested->tp)
        status = pp_notes_add(notes, err, "tensor parallel", "tp %" PRId64 ", chosen by the search",
                              result->candidate[0].parallel.tp);
    if (!status && !requested->cp)
        status = pp_notes_add(notes, err, "context parallel", "cp 1");
    if (!status && !requested->dp)
        status = pp_notes_add(notes, err, "data parallel",
                              "dp 1: one replica, no gradient "
                              "reduction between replicas");
    if (!status && !requested->ep && result->context.model->experts)
        status = pp_notes_add(notes, err, "expert parallel", "ep 1");
    return status;
}

/* Notes how many bins first fit made, and why the plan has more. */
static pp_status note_packing(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_assumed *assumed = &result->assumed;
    const pp_candidate *chosen = &result->candidate[0];
    const pp_workload *w = &result->plan->workload;
    const int64_t dp = chosen->parallel.dp;
    const int64_t pp = chosen->parallel.pp;
    char split[200] = "";
    char multiple[64] = "";
    char method[120] = "";
    if (assumed->regrouped)
        pp_packing_method_print(&assumed->method, method, sizeof method);
    if (assumed->group_count)
        return pp_notes_add(
            notes, err, "packing", "%zu sequence%s in %zu microbatch%s, %s%s",
            assumed->length_count, assumed->length_count == 1 ? "" : "s", assumed->group_count,
            assumed->group_count == 1 ? "" : "es",
            assumed->regrouped ? "found by the search: " : "as the file groups them", method);
    if (chosen->schedule->grouped && pp > 1 && w->microbatches % pp == 0)
        snprintf(multiple, sizeof multiple, ", a multiple of pp %" PRId64, pp);
    if (w->bins > w->first_fit_bins)
        snprintf(split, sizeof split,
                 ", the fullest split until there are %zu, so that each of %" PRId64
                 " replica%s has %" PRIu32 " microbatch%s%s",
                 w->bins, dp, dp == 1 ? "" : "s", w->microbatches, w->microbatches == 1 ? "" : "es",
                 multiple);
    return pp_notes_add(
        notes, err, "packing",
        "%zu sequence%s, first fit in the order given into bins of %" PRId64 " tokens: %zu bin%s%s",
        assumed->length_count, assumed->length_count == 1 ? "" : "s", result->plan->seq_length,
        w->first_fit_bins, w->first_fit_bins == 1 ? "" : "s", split);
}

static pp_status note_data(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_assumed *assumed = &result->assumed;
    const pp_plan *plan = result->plan;
    pp_status status = PP_OK;
    if (!assumed->given.seq_length)
        status = pp_notes_add(notes, err, "sequence length",
                              "%" PRId64 " tokens, the model's "
                              "maximum",
                              plan->seq_length);
    if (!status && assumed->lengths)
        status = note_packing(result, notes, err);
    else if (!status && !assumed->given.global_batch_size && assumed->gpus)
        status = pp_notes_add(notes, err, "global batch size",
                              "%" PRId64 " sequences: one, or one %s, per GPU",
                              plan->global_batch_size, pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE));
    else if (!status && !assumed->given.global_batch_size)
        status = pp_notes_add(notes, err, "global batch size",
                              "%" PRId64 " sequences = 8 x pp x dp, rounded up to whole "
                              "micro-batches",
                              plan->global_batch_size);
    if (!status && !assumed->given.micro_batch_size && !assumed->group_count)
        status = pp_notes_add(notes, err, "micro-batch size",
                              "%" PRId64 " %s%s, chosen by the "
                              "search",
                              plan->micro_batch_size, assumed->lengths ? "bin" : "sequence",
                              plan->micro_batch_size == 1 ? "" : "s");
    return status;
}

static const char *on_off(bool value)
{
    return value ? "on" : "off";
}

static pp_status note_cp_comm(const pp_plan *plan, pp_notes *notes, pp_err *err)
{
    static const char *const how[] = { "keys and values go around while attention runs",
                                       "each rank gets some heads of whole sequences",
                                       "all keys and values are gathered before attention" };
    const char *name = pp_cp_comm_names()[plan->cp_comm];
    if (plan->cp_comm != PP_CP_COMM_HIERARCHICAL)
        return pp_notes_add(notes, err, "context exchange", "%s: %s", name, how[plan->cp_comm]);
    return pp_notes_add(notes, err, "context exchange",
                        "%s: all-to-all among %" PRId64 " ranks, and a ring over %" PRId64
                        " such groups",
                        name, plan->cp_inner, plan->parallel.cp / plan->cp_inner);
}

static pp_status note_dispatch(const pp_plan *plan, pp_notes *notes, pp_err *err)
{
    static const char *const how[] = {
        [PP_DISPATCHER_ALLTOALL] = "NCCL sends a copy of a token to each of its experts",
        [PP_DISPATCHER_ALLGATHER] = "every rank gets all tokens of its group",
        [PP_DISPATCHER_DEEPEP] = "a token goes once to each node that has experts of it",
        [PP_DISPATCHER_DEEPEP_LL] = "a copy of a token goes to each of its experts, in 8 bits",
        [PP_DISPATCHER_HYBRIDEP] = "a token goes once to each node that has experts of it, and is "
                                   "sorted on the way"
    };
    char capacity[120] = "", dropped[40] = "";
    if (plan->moe_kept > 0)
        snprintf(dropped, sizeof dropped, ", which drops %.3g %%", 100 * (1 - plan->moe_kept));
    if (plan->moe_capacity > 0)
        snprintf(capacity, sizeof capacity, "; each expert %s %.4g times it%s",
                 plan->moe_pads ? "is padded to" : "takes at most", plan->moe_capacity, dropped);
    return pp_notes_add(
        notes, err, "experts",
        "dispatcher %s: %s%s%s; the busiest rank has %.4g times the mean of tokens%s%s",
        pp_dispatcher_names()[plan->dispatcher], how[plan->dispatcher],
        plan->moe_fp8_dispatch ? ", there in 8 bits" : "",
        plan->moe_shared_expert_overlap ? ", while shared experts compute" : "",
        plan->moe_imbalance,
        !plan->imbalance_count                   ? ""
        : strcmp(plan->schedule, "planned") == 0 ? ", in the mean over microbatches, which the "
                                                   "order numbers anew"
                                                 : ", in the mean over microbatches",
        capacity);
}

static pp_status note_software(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_assumed *assumed = &result->assumed;
    const pp_switches *s = &result->context.switches;
    char stack[400];
    pp_status status = pp_notes_add(
        notes, err, "software",
        "stack %s: sequence parallel %s, %s attention, gradients %s, "
        "%s%s, tp overlap %s, zero %d",
        pp_stack_print(assumed->stack->name, assumed->stack->stands_for, stack, sizeof stack),
        on_off(s->sequence_parallel), s->flash_attention ? "flash" : "unfused",
        pp_dtype_names()[s->grad_dtype],
        result->context.shards_ops && s->zero >= 2 ? "reduced in every backward"
        : s->zero == 2                             ? "whole until the last backward of their stage"
        : s->zero == 3                             ? s->reshard_after_forward == PP_RESHARD_NEVER
                                                         ? "parameters gathered and gradients whole between microbatches"
                                                         : "parameters freed after forwards (--reshard-after-forward) and "
                                                           "gradients whole between microbatches"
                                                   : "gradient sync ",
        s->zero >= 2           ? ""
        : s->grad_sync_overlap ? "overlapped"
                               : "exposed",
        on_off(s->tp_overlap), s->zero);
    if (!status && s->zero == 3)
        status = pp_notes_add(notes, err, "allocator",
                              "memory is what is allocated; PyTorch reserves more, as torchtitan "
                              "prints it: by 22 %% in two publications (DeepSpeed#1378, "
                              "torchrec#4584), up to 25 %% in a third");
    if (!status && result->plan->runs > 1)
        status = pp_notes_add(notes, err, "pipeline runs",
                              "%" PRId64 " per step, one after the other, each with a warm-up, a "
                              "cool-down, gathers and reductions of its own; free orders are not "
                              "tried",
                              result->plan->runs);
    if (!status && result->plan->parallel.cp > 1)
        status = note_cp_comm(result->plan, notes, err);
    if (!status && result->plan->parallel.ep > 1)
        status = note_dispatch(result->plan, notes, err);
    if (!status && s->moments != PP_MOMENTS_FP32)
        status = pp_notes_add(notes, err, "optimizer",
                              "moments in %s; %g bytes of state per parameter, of which the master "
                              "weight's are %g",
                              pp_moments_names()[s->moments], pp_optimizer_bytes(s),
                              pp_optimizer_bytes(s) - 2 * pp_moment_bytes(s->moments));
    if (!status && s->precision != PP_PRECISION_BF16)
        status = pp_notes_add(
            notes, err, "precision", "%s: GEMMs of layers; attention, head and loss%s in 16 bits%s",
            pp_recipe_of(s->precision)->name,
            pp_recipe_of(s->precision)->edge_layers ? ", first and last layer" : "",
            s->low_parameters ? "" : "; weights kept in 16 bits, too");
    if (!status && result->plan->graphs)
        status = pp_notes_add(notes, err, "CUDA graphs",
                              "their memory (pools, fixed inputs and outputs) is not modelled; "
                              "leave room for it");
    if (!status && assumed->target)
        status = pp_notes_add(notes, err, "target", "%s", assumed->target);
    if (!status && assumed->no_split)
        status = pp_notes_add(notes, err, "schedule",
                              "no split backward (I and W), which torch.compile does not allow");
    if (!status && !assumed->given.framework)
        status = pp_notes_add(notes, err, "executor",
                              "ideal: transfers take time but never wait "
                              "for a link or slow compute down");
    if (!status && result->plan->step_sync)
        status = pp_notes_add(notes, err, "step sync",
                              "on: no rank updates before all gradients "
                              "are there");
    return status;
}

/* Notes how tensors travel between stages, if that is not the default. */
static pp_status note_transfers(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_assumed *assumed = &result->assumed;
    const pp_switches *s = &result->context.switches;
    pp_status status = PP_OK;
    if (s->p2p != PP_P2P_SEND_RECV)
        status = pp_notes_add(
            notes, err, "pipeline transfers",
            "a two-rank %s each%s: bytes move both ways, and each rank waits for the other",
            pp_p2p_names()[s->p2p], assumed->given.p2p ? "" : ", as the executor does");
    if (!status && s->communicators)
        status = pp_notes_add(
            notes, err, "communicators",
            "%s; NCCL's rule gives a message its channels, by size and number of peers",
            pp_communicators_names()[s->communicators - 1]);
    if (!status && assumed->given.scatter_gather)
        status = pp_notes_add(notes, err, "scatter-gather", "%s%s", on_off(s->scatter_gather),
                              s->sequence_parallel ? ": no effect with sequence parallelism" : "");
    return status;
}

/* Notes the overrides of single ranks, which the costs of the plan contain. */
static pp_status note_ranks(const pp_cost_context *context, pp_notes *notes, pp_err *err)
{
    const pp_rank_overrides *overrides = context->overrides;
    static const char *const keys[] = { "rank speed", "rank memory", "rank link" };
    pp_status status = PP_OK;
    for (size_t i = 0; overrides && i < overrides->count && !status; i++) {
        const pp_rank_override *t = &overrides->item[i];
        char size[32];
        if (t->kind == PP_RANK_OVERRIDE_SPEED)
            status = pp_notes_add(notes, err, keys[t->kind],
                                  "rank %" PRIu32 " computes at %g of "
                                  "the hardware's speed, as given",
                                  t->rank, t->value);
        else if (t->kind == PP_RANK_OVERRIDE_MEMORY)
            status = pp_notes_add(notes, err, keys[t->kind], "rank %" PRIu32 " has %s, as given",
                                  t->rank, pp_format_bytes(size, sizeof size, t->bytes));
        else
            status =
                pp_notes_add(notes, err, keys[t->kind],
                             "ranks %" PRIu32 " and %" PRIu32 ": %g GB/s after the link's "
                             "latency, as given%s",
                             t->rank, t->other, 1e-9 * t->value,
                             pp_rank_link_is_used(t, context) ? ""
                                                              : "; without effect: no stage of one "
                                                                "is next to a stage of the other");
    }
    return status;
}

/* Notes how many GPUs of each rack the job has, if it has several. */
static pp_status note_racks(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_hardware *hardware = result->context.hardware;
    const pp_parallel *parallel = &result->candidate[0].parallel;
    const int64_t gpus = pp_parallel_gpus(parallel);
    const int64_t part = pp_hardware_node_part(hardware, parallel);
    if (hardware->gpus_per_tray == hardware->gpus_per_node || gpus <= hardware->gpus_per_node)
        return PP_OK;
    return pp_notes_add(
        notes, err, "racks", "%" PRId64 ", with %" PRId64 " of the %d GPUs of each%s%s",
        (gpus + part - 1) / part, part, hardware->gpus_per_node,
        gpus % part ? ", fewer of the last" : "",
        pp_hardware_tp_straddles(hardware, parallel) ? "; tensor-parallel groups are on several"
                                                     : "; no tensor-parallel group is on two");
}

static pp_status note_hardware(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_assumed *assumed = &result->assumed;
    const pp_hardware *hardware = result->context.hardware;
    char limit[32];
    char reserve[32];
    pp_status status = PP_OK;
    if (!assumed->given.memory_limit && !hardware->memory_bytes)
        status = pp_notes_add(notes, err, "memory limit", "none: the memory of %s is not known",
                              hardware->name);
    else if (!assumed->given.memory_limit)
        status =
            pp_notes_add(notes, err, "memory limit",
                         "%s per GPU: %s are kept free (5 %%: CUDA context, "
                         "fragmentation)",
                         pp_format_bytes(limit, sizeof limit, assumed->memory_limit_bytes),
                         pp_format_bytes(reserve, sizeof reserve, assumed->memory_reserve_bytes));
    if (!status && assumed->link != PP_LINK_MEASURED)
        status = pp_notes_add(notes, err, "pipeline link", "%s, %s",
                              assumed->link_inside_node ? "inside a node" : "between nodes",
                              assumed->link == PP_LINK_PUBLISHED
                                  ? "measured curve"
                                  : "latency + bandwidth (no measurement published)");
    if (!status)
        status = note_racks(result, notes, err);
    if (!status)
        status =
            pp_notes_add(notes, err, "model FLOPs",
                         "forward + backward without recompute, "
                         "attention counted in full, vocabulary padded to a multiple of %" PRId64,
                         128 * result->candidate[0].parallel.tp);
    return status;
}

/* Notes how one of several plans was chosen. */
static pp_status note_choice(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_recommendation *r = &result->recommendation;
    const bool by_jitter = result->ranking.verdict;
    const bool by_one = by_jitter || result->ranking.unstudied; /* beside the headroom */
    char bytes[32];
    if (!(r->tie > 0))
        return pp_notes_add(notes, err, "tie", "none: the fastest plan is taken");
    pp_status status = pp_notes_add(
        notes, err, "tie", "steps within %g %% count as equal; then %s%s decide%s", 100 * r->tie,
        !r->headroom_bytes ? ""
        : by_one           ? "headroom and "
                           : "headroom, ",
        by_jitter ? "the given jitter"
        : by_one  ? "simplicity"
                  : "the p95 (ops vary by 3 %, one rank is 5 % slow) and simplicity",
        by_one && !r->headroom_bytes ? "s" : "");
    if (!status && r->headroom_bytes)
        status =
            pp_notes_add(notes, err, "headroom", "%s per GPU below the limit, which this plan %s",
                         pp_format_bytes(bytes, sizeof bytes, r->headroom_bytes),
                         result->candidate[0].roomy ? "leaves free" : "needs");
    return status;
}

/* Notes how sizes travel, but only if that costs something. */
static pp_status note_shapes(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const pp_exchange_options x = pp_plan_exchange(result->plan);
    const pp_assumed *assumed = &result->assumed;
    char takes[32];
    char text[40];
    char host[3][32];
    pp_status status = PP_OK;
    pp_format_duration(takes, sizeof takes, x.shape_message_ns);
    if (x.shapes.kind == PP_SIZES_PADDED_WIRE)
        status = pp_notes_add(notes, err, "shapes",
                              "%s: tensors are padded while they are sent; every stage copies "
                              "them out of and into padded ones, and computes real tokens",
                              pp_size_protocol_print(&x.shapes, text, sizeof text));
    else if (x.shapes.kind >= PP_SIZES_PADDED)
        status = pp_notes_add(notes, err, "shapes",
                              "%s: %" PRIu32 " distinct token count%s; the last sequence of a "
                              "microbatch is lengthened; tokens/s counts real ones",
                              pp_size_protocol_print(&x.shapes, text, sizeof text),
                              assumed->token_counts, assumed->token_counts == 1 ? "" : "s");
    else if (!pp_exchange_is_plain(&x))
        status = pp_notes_add(notes, err, "shapes", "%s; a message about a shape takes %s%s",
                              pp_size_protocol_print(&x.shapes, text, sizeof text), takes,
                              assumed->given.shape_message ? "" : ", the latency of the link");
    if (!status && !pp_exchange_is_plain(&x))
        status = pp_notes_add(notes, err, "hosts", "launch %s, sync %s, read %s",
                              pp_format_duration(host[0], sizeof host[0], x.host.launch_ns),
                              pp_format_duration(host[1], sizeof host[1], x.host.sync_ns),
                              pp_format_duration(host[2], sizeof host[2], x.host.read_ns));
    return status;
}

static pp_status note_assumed(const pp_search_result *result, pp_notes *notes, pp_err *err)
{
    const uint32_t group_size = result->candidate[0].group_size;
    pp_status status = note_split(result, notes, err);
    if (!status)
        status = note_data(result, notes, err);
    if (!status)
        status = note_software(result, notes, err);
    if (!status)
        status = note_transfers(result, notes, err);
    if (!status)
        status = note_hardware(result, notes, err);
    if (!status)
        status = note_choice(result, notes, err);
    if (!status)
        status = note_ranks(&result->context, notes, err);
    if (!status)
        status = note_shapes(result, notes, err);
    if (!status && group_size && !result->assumed.given.group_size)
        status = pp_notes_add(notes, err, "microbatch group size",
                              "%" PRIu32 ", the smallest "
                              "that is legal here",
                              group_size);
    return status;
}

/* Puts `first` before the existing notes. */
static pp_status put_first(const pp_notes *first, pp_notes *notes, pp_err *err)
{
    pp_notes joined PP_CLEANUP(pp_notes_free) = { 0 };
    pp_status status = pp_notes_copy(first, &joined, err);
    if (!status)
        status = pp_notes_copy(notes, &joined, err);
    if (status)
        return status;
    const pp_notes before = *notes;
    *notes = joined;
    joined = before;
    return PP_OK;
}

pp_status pp_plan_note_assumptions(const pp_search_result *result, const pp_notes *own, pp_err *err)
{
    pp_notes said PP_CLEANUP(pp_notes_free) = { 0 };
    pp_status status = pp_notes_copy(own, &said, err);
    if (!status)
        status = note_assumed(result, &said, err);
    if (!status)
        status = put_first(&said, &result->plan->assumptions, err);
    if (!status)
        status = put_first(&said, &result->plan->prediction->assumptions, err);
    return status;
}
