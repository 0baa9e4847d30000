/* Writes the assumptions of a plan: every value that the request left open, how the search filled
 * it in, and what the cost model takes for granted. */
#include "planner/search/assumptions.h"

#include "planner/candidate/evaluate.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>

static pp_status note_split(const pp_plan_problem *problem, const pp_candidate *chosen,
                            pp_notes *notes, pp_err *err)
{
    const pp_parallel *requested = &problem->request->parallel;
    pp_status status = PP_OK;
    if (problem->request->gpus)
        return pp_notes_add(notes, err, "split",
                            "of %" PRId64 " GPUs, where degrees are not given: chosen by the "
                            "search among all legal ones",
                            problem->request->gpus);
    if (!requested->tp)
        status = pp_notes_add(notes, err, "tensor parallel", "tp %" PRId64 ", chosen by the search",
                              chosen->parallel.tp);
    if (!status && !requested->cp)
        status = pp_notes_add(notes, err, "context parallel", "cp 1");
    if (!status && !requested->dp)
        status = pp_notes_add(notes, err, "data parallel",
                              "dp 1: one replica, no gradient "
                              "reduction between replicas");
    if (!status && !requested->ep && problem->request->model->experts)
        status = pp_notes_add(notes, err, "expert parallel", "ep 1");
    return status;
}

/* What first fit made, and why there are more bins now. */
static pp_status note_packing(const pp_plan_problem *problem, const pp_candidate *chosen,
                              const pp_workload *w, pp_notes *notes, pp_err *err)
{
    const int64_t dp = chosen->parallel.dp;
    const int64_t pp = chosen->parallel.pp;
    char split[200] = "";
    char multiple[64] = "";
    char method[120] = "";
    const pp_packing_method *grouped = problem->request->grouped;
    if (grouped)
        pp_packing_method_print(grouped, method, sizeof method);
    if (problem->request->group_count)
        return pp_notes_add(
            notes, err, "packing", "%zu sequence%s in %zu microbatch%s, %s%s",
            problem->request->length_count, problem->request->length_count == 1 ? "" : "s",
            problem->request->group_count, problem->request->group_count == 1 ? "" : "es",
            grouped ? "found by the search: " : "as the file groups them", method);
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
        problem->request->length_count, problem->request->length_count == 1 ? "" : "s",
        problem->seq_length, w->first_fit_bins, w->first_fit_bins == 1 ? "" : "s", split);
}

static pp_status note_data(const pp_plan_problem *problem, const pp_candidate *chosen,
                           const pp_workload *workload, pp_notes *notes, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    pp_status status = PP_OK;
    if (!request->seq_length)
        status = pp_notes_add(notes, err, "sequence length",
                              "%" PRId64 " tokens, the model's "
                              "maximum",
                              problem->seq_length);
    if (!status && request->lengths)
        status = note_packing(problem, chosen, workload, notes, err);
    else if (!status && !request->global_batch_size && request->gpus)
        status = pp_notes_add(
            notes, err, "global batch size", "%" PRId64 " sequences: one, or one %s, per GPU",
            problem->global_batch_size, pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE));
    else if (!status && !request->global_batch_size)
        status = pp_notes_add(notes, err, "global batch size",
                              "%" PRId64 " sequences = 8 x pp x dp, rounded up to whole "
                              "micro-batches",
                              problem->global_batch_size);
    if (!status && !request->micro_batch_size && !request->group_count)
        status = pp_notes_add(notes, err, "micro-batch size",
                              "%" PRId64 " %s%s, chosen by the "
                              "search",
                              chosen->micro_batch_size, request->lengths ? "bin" : "sequence",
                              chosen->micro_batch_size == 1 ? "" : "s");
    return status;
}

static const char *on_off(bool value)
{
    return value ? "on" : "off";
}

static pp_status note_software(const pp_plan_request *request, const pp_switches *s,
                               pp_notes *notes, pp_err *err)
{
    static const char *const dtypes[] = { "bf16", "fp16", "fp32" };
    pp_status status = pp_notes_add(notes, err, "software",
                                    "stack %s: sequence parallel %s, %s attention, gradients %s, "
                                    "gradient sync %s, tp overlap %s, zero %d",
                                    request->switches.stack, on_off(s->sequence_parallel),
                                    s->flash_attention ? "flash" : "unfused", dtypes[s->grad_dtype],
                                    s->grad_sync_overlap ? "overlapped" : "exposed",
                                    on_off(s->tp_overlap), s->zero);
    if (!status && request->target)
        status = pp_notes_add(notes, err, "target", "%s", request->target);
    if (!status && request->no_split)
        status = pp_notes_add(notes, err, "schedule",
                              "no split backward (I and W), which torch.compile does not allow");
    if (!status && !request->framework)
        status = pp_notes_add(notes, err, "executor",
                              "ideal: transfers take time but never wait "
                              "for a link or slow compute down");
    if (!status && !request->no_step_sync)
        status = pp_notes_add(notes, err, "step sync",
                              "on: no rank updates before all gradients "
                              "are there");
    return status;
}

/* How tensors travel between stages, where that is not the default. */
static pp_status note_transfers(const pp_plan_request *request, const pp_switches *s,
                                pp_notes *notes, pp_err *err)
{
    pp_status status = PP_OK;
    if (s->p2p != PP_P2P_SEND_RECV)
        status = pp_notes_add(
            notes, err, "pipeline transfers",
            "a two-rank %s each%s: bytes move both ways, both ranks must be there",
            pp_p2p_names()[s->p2p], request->switches.given.p2p ? "" : ", as the executor does");
    if (!status && s->communicators)
        status = pp_notes_add(notes, err, "communicators",
                              "%s; channels of a message by NCCL's rule for its size and peers",
                              pp_communicators_names()[s->communicators - 1]);
    if (!status && request->switches.given.scatter_gather)
        status = pp_notes_add(notes, err, "scatter-gather", "%s%s", on_off(s->scatter_gather),
                              s->sequence_parallel ? ": no effect beside sequence parallel" : "");
    return status;
}

static bool link_measured(const pp_hardware *hardware, bool inside)
{
    const pp_measured_at at = { .kind = PP_MEASURED_MESSAGE,
                                .bytes = 1 << 20,
                                .ranks = 2,
                                .spans = !inside,
                                .other_node = !inside };
    const pp_measured *measured = hardware->measured;
    double ignored;
    return measured && measured->ask(measured->context, &at, &ignored);
}

/* Tensors go between ranks of neighbouring stages alone. */
static bool link_is_used(const pp_rank_override *link, const pp_cost_context *context)
{
    const uint32_t ranks = (uint32_t)context->parallel.pp;
    const uint32_t stages = ranks * (uint32_t)context->parallel.vpp;
    for (uint32_t s = 0; s + 1 < stages; s++) {
        if (pp_rank_override_joins(link, pp_placement_rank(context->placement, s, ranks),
                                   pp_placement_rank(context->placement, s + 1, ranks)))
            return true;
    }
    return false;
}

/* The overrides of single ranks, which the costs of the plan contain. */
static pp_status note_ranks(const pp_rank_overrides *overrides, const pp_cost_context *context,
                            pp_notes *notes, pp_err *err)
{
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
            status = pp_notes_add(notes, err, keys[t->kind],
                                  "ranks %" PRIu32 " and %" PRIu32 ": %g GB/s behind the link's "
                                  "latency, as given%s",
                                  t->rank, t->other, 1e-9 * t->value,
                                  link_is_used(t, context) ? ""
                                                           : "; without effect: no stage of one "
                                                             "is beside a stage of the other");
    }
    return status;
}

static pp_status note_hardware(const pp_plan_problem *problem, const pp_candidate *chosen,
                               pp_notes *notes, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    const pp_hardware *hardware = request->hardware;
    char limit[32];
    char reserve[32];
    pp_status status = PP_OK;
    if (!request->memory_limit_bytes && !hardware->memory_bytes)
        status = pp_notes_add(notes, err, "memory limit", "none: the memory of %s is not known",
                              hardware->name);
    else if (!request->memory_limit_bytes)
        status = pp_notes_add(
            notes, err, "memory limit",
            "%s per GPU: %s are kept free (5 %%: CUDA context, "
            "fragmentation)",
            pp_format_bytes(limit, sizeof limit, problem->memory_limit_bytes),
            pp_format_bytes(reserve, sizeof reserve, pp_memory_reserve_bytes(hardware)));
    bool inside = pp_parallel_gpus(&chosen->parallel) <= hardware->gpus_per_node;
    const pp_p2p_curve *link = inside ? &hardware->node_p2p : &hardware->network_p2p;
    if (!status && !link_measured(hardware, inside))
        status = pp_notes_add(
            notes, err, "pipeline link", "%s, %s", inside ? "inside a node" : "between nodes",
            link->published ? "measured curve" : "latency + bandwidth (no measurement published)");
    if (!status)
        status =
            pp_notes_add(notes, err, "model FLOPs",
                         "forward + backward without recompute, "
                         "attention counted in full, vocabulary padded to a multiple of %" PRId64,
                         128 * chosen->parallel.tp);
    return status;
}

/* Noted only where sizes cost something. */
static pp_status note_shapes(const pp_plan_problem *problem, const pp_candidate *chosen,
                             const pp_data *data, pp_notes *notes, pp_err *err)
{
    const pp_exchange_options x = pp_candidate_exchange(problem, chosen);
    char takes[32];
    char text[40];
    char host[3][32];
    pp_status status = PP_OK;
    pp_format_duration(takes, sizeof takes, x.shape_message_ns);
    if (x.shapes.kind >= PP_SIZES_PADDED)
        status = pp_notes_add(notes, err, "shapes",
                              "%s: %" PRIu32 " distinct token count%s; the last sequence of a "
                              "microbatch is lengthened; tokens/s counts real ones",
                              pp_size_protocol_print(&x.shapes, text, sizeof text), data->shapes,
                              data->shapes == 1 ? "" : "s");
    else if (!pp_exchange_is_plain(&x))
        status =
            pp_notes_add(notes, err, "shapes", "%s; a message about a shape takes %s%s",
                         pp_size_protocol_print(&x.shapes, text, sizeof text), takes,
                         problem->request->shape_message_given ? "" : ", the latency of the link");
    if (!status && !pp_exchange_is_plain(&x))
        status = pp_notes_add(notes, err, "hosts", "launch %s, sync %s, read %s",
                              pp_format_duration(host[0], sizeof host[0], x.host.launch_ns),
                              pp_format_duration(host[1], sizeof host[1], x.host.sync_ns),
                              pp_format_duration(host[2], sizeof host[2], x.host.read_ns));
    return status;
}

pp_status pp_search_assume(const pp_search *search, const pp_candidate *chosen,
                           const pp_workload *workload, pp_notes *notes, pp_err *err)
{
    const pp_plan_problem *problem = search->problem;
    const pp_plan_request *request = problem->request;
    const pp_setup *setup = &search->pool.setup[chosen->setup];
    const pp_switches *switches = &setup->context.switches;
    pp_status status = PP_OK;
    if (request->assumptions)
        status = pp_notes_copy(request->assumptions, notes, err);
    if (!status)
        status = note_split(problem, chosen, notes, err);
    if (!status)
        status = note_data(problem, chosen, workload, notes, err);
    if (!status)
        status = note_software(request, switches, notes, err);
    if (!status)
        status = note_transfers(request, switches, notes, err);
    if (!status)
        status = note_hardware(problem, chosen, notes, err);
    if (!status)
        status = note_ranks(request->overrides, &setup->context, notes, err);
    if (!status)
        status = note_shapes(problem, chosen, &search->pool.data[setup->data], notes, err);
    if (!status && chosen->group_size && !request->group_size)
        status = pp_notes_add(notes, err, "microbatch group size",
                              "%" PRIu32 ", the smallest "
                              "that is legal here",
                              chosen->group_size);
    return status;
}
