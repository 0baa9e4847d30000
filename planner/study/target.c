/* Applies the rules of a training runtime to a request, and finds what they cost by one search of
 * named schedules without them. */
#include "planner/study/target.h"

#include "planner/study/plan_search.h"
#include "sim/base/field.h"
#include "sim/framework/registry.h"

#include <stdio.h>
#include <string.h>

static bool is_in(const pp_schedule *const *list, const pp_schedule *schedule)
{
    for (size_t i = 0; list && list[i]; i++) {
        if (list[i] == schedule)
            return true;
    }
    return false;
}

static bool communicates_as(const pp_target_limits *target, const pp_framework *framework)
{
    size_t i = 0;
    while (target->frameworks[i] && target->frameworks[i] != framework)
        i++;
    return target->frameworks[i] != NULL;
}

/* Sets the training settings of the target that hold for every schedule, unless the request gives
 * them. */
static void train_as(const pp_target_limits *target, pp_plan_request *request)
{
    pp_switch_request *switches = &request->switches;
    if (target->fsdp && !switches->given.zero) {
        switches->given.zero = true;
        switches->value.zero = 3;
    }
    if (!target->low_parameters && !switches->given.low_parameters) {
        switches->given.low_parameters = true;
        switches->value.low_parameters = false;
    }
    if (target->no_low_state && !switches->given.grad_dtype &&
        switches->stack->switches.grad_dtype == PP_DTYPE_BF16) {
        switches->given.grad_dtype = true;
        switches->value.grad_dtype = PP_DTYPE_FP32;
    }
    if (target->fsdp) { /* its gradients are autograd's, whatever its linear layers are */
        switches->given.transformer_engine = true;
        switches->value.transformer_engine = false;
        switches->given.eager_loss = switches->given.eager_layers = true;
        switches->value.eager_loss = !request->no_split; /* torch.compile fuses the loss, too */
        switches->value.eager_layers = !request->no_split;
    }
    if (target->no_cp_heads && !switches->given.cp_comm) { /* PyTorch's own default */
        switches->given.cp_comm = true;
        switches->value.cp_comm = PP_CP_COMM_ALL_GATHER;
    }
    if (!target->recompute_modules && !switches->given.recompute_modules) {
        switches->given.recompute_modules = true;
        switches->value.recompute_modules = PP_MODULES_CORE;
    }
    const pp_dispatcher stacks = switches->stack->switches.dispatcher;
    const bool pads = target->pads_with_hybridep && switches->value.precision == PP_PRECISION_MXFP8;
    if (!switches->given.dispatcher && (pads || !(target->dispatchers >> stacks & 1))) {
        switches->given.dispatcher = true;
        switches->value.dispatcher = pads ? PP_DISPATCHER_HYBRIDEP : target->dispatcher;
    }
    if (!target->shared_expert_overlap && !switches->given.moe_shared_expert_overlap) {
        switches->given.moe_shared_expert_overlap = true;
        switches->value.moe_shared_expert_overlap = false;
    }
    if (!target->fp8_dispatch && !switches->given.moe_fp8_dispatch) {
        switches->given.moe_fp8_dispatch = true;
        switches->value.moe_fp8_dispatch = false;
    }
    if (!target->cuda_graphs && !switches->given.cuda_graphs) {
        switches->given.cuda_graphs = true;
        switches->value.graphs = 0;
    }
    if (target->fsdp && !switches->given.tp_overlap) {
        switches->given.tp_overlap = true;
        switches->value.tp_overlap = false;
    }
}

/* Leaves out what the runtime does not run, if the request is free. */
static void limit(const pp_target_limits *target, bool shapes_given, pp_plan_request *request)
{
    train_as(target, request);
    request->one_order |= target->one_order;
    request->recompute_alike |= target->recompute_alike;
    request->recompute_uniform |= target->recompute_uniform;
    if (!request->schedule && target->only)
        request->only = target->only;
    if (!target->orders)
        request->orders = PP_ORDERS_NAMED;
    if (request->lengths && !shapes_given && target->constant_shapes)
        request->exchange.shapes.kind = PP_SIZES_PADDED;
    request->free.shapes &= !target->constant_shapes;
}

/* The request under the target's limits and with its framework. */
static pp_plan_request limited(const pp_target_limits *target, bool shapes_given,
                               const pp_plan_request *request)
{
    pp_plan_request own = *request;
    own.framework = request->framework ? request->framework : target->frameworks[0];
    own.target = target->rules;
    own.free.frameworks = target->frameworks;
    if (!request->buffers.has_return_outputs) {
        own.buffers.has_return_outputs = target->drops_outputs;
        own.buffers.return_outputs = false;
    }
    if (request->lengths && !shapes_given)
        own.exchange.shapes.kind = target->unequal;
    own.experts = target->experts;
    limit(target, shapes_given, &own);
    return own;
}

/* True if the target runs the request's schedule. If not, writes why to `why`. */
static bool runs(const pp_target_limits *target, const pp_plan_request *request,
                 const pp_schedule *schedule, const pp_err *err, char *why, size_t size)
{
    const bool named = !target->only || is_in(target->only, schedule);
    const bool split = request->no_split && request->schedule && request->schedule->splits_backward;
    if (!named)
        snprintf(why, size, "does not run");
    else if (split)
        snprintf(why, size, "compiles its stages (%s), which rules out the split backward of",
                 pp_err_name(err, PP_FIELD_TORCH_COMPILE));
    return named && !split;
}

/* Searches the request as it is; *choice_out stays NULL if nothing fits. Fails: NOMEM. */
static pp_status try_request(const pp_plan_request *request, pp_search_result **choice_out,
                             pp_err *err)
{
    pp_err reason = pp_err_like(err);
    return pp_plan_search(request, choice_out, &reason) == PP_NOMEM ? pp_err_nomem(err) : PP_OK;
}

/* Appends "; the nearest that it runs is interleaved, with a step of 2.021 s (+4.90 %)". That
 * schedule is searched and compared with the request under the same framework, or under the
 * request's own framework (ppsim if it has none) if this one does not run the schedule. */
static pp_status find_nearest(const pp_target_limits *target, bool shapes_given,
                              const pp_plan_request *request, char *text, size_t size, pp_err *err)
{
    pp_search_result *asked PP_CLEANUP(pp_search_result_free) = NULL;
    pp_search_result *nearest PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request other = *request;
    char step[32];
    char more[80] = "";
    text[0] = '\0';
    other.schedule = NULL;
    other.orders = PP_ORDERS_NAMED;
    other.free = (pp_free_settings){ .framework = false };
    other = limited(target, shapes_given, &other);
    pp_status status = try_request(&other, &nearest, err);
    if (status || !nearest)
        return status;
    pp_plan_request wanted = *request;
    wanted.free = other.free;
    train_as(target, &wanted);
    wanted.no_split = false;
    wanted.framework = other.framework;
    wanted.buffers = other.buffers;
    if ((status = try_request(&wanted, &asked, err)))
        return status;
    if (!asked) {
        wanted.framework = request->framework ? request->framework : &pp_framework_ppsim;
        wanted.buffers = request->buffers;
        if ((status = try_request(&wanted, &asked, err)))
            return status;
    }
    const pp_candidate *n = &nearest->candidate[0];
    if (asked)
        snprintf(more, sizeof more, " (%+.2f %%%s%s)",
                 100 * (pp_candidate_score(n, n->step_ns) /
                            pp_candidate_score(&asked->candidate[0], asked->candidate[0].step_ns) -
                        1),
                 wanted.framework == other.framework ? "" : " against executor ",
                 wanted.framework == other.framework ? "" : wanted.framework->name);
    snprintf(text, size, "; the nearest that it runs is %.40s, with a step of %s%s",
             n->schedule->name, pp_format_duration(step, sizeof step, n->step_ns), more);
    return PP_OK;
}

static pp_status check_recompute(const pp_target_limits *target, const pp_plan_request *request,
                                 pp_err *err)
{
    const pp_switch_request *s = &request->switches;
    if (s->given.recompute && s->value.recompute == PP_RECOMPUTE_FULL)
        return pp_target_check_told(target, s->value.recompute_layers > 1, target->recompute_chunks,
                                    PP_TARGET_CHUNKS, PP_USAGE,
                                    pp_err_name(err, PP_FIELD_RECOMPUTE_LAYERS), err);
    if (!s->given.recompute || s->value.recompute <= PP_RECOMPUTE_AUTO)
        return PP_OK;
    if (target->recompute_uniform)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
            "target %s recomputes the same on all stages; give none, selective, full or auto",
            target->name);
    if (target->recompute_alike && s->value.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
                          "target %s recomputes the same for all microbatches; give none, "
                          "selective, full, per-stage or auto",
                          target->name);
    return PP_OK;
}

static pp_status check_formats(const pp_target_limits *target, const pp_plan_request *request,
                               pp_err *err)
{
    const pp_switch_request *s = &request->switches;
    const bool parameters = s->given.low_parameters && s->value.low_parameters;
    const bool experts = request->model && request->model->experts > 0;
    const unsigned graphs = s->given.cuda_graphs             ? s->value.graphs
                            : s->stack->switches.cuda_graphs ? PP_GRAPHS_FULL
                                                             : 0;
    const pp_dtype gradients = s->given.grad_dtype ? s->value.grad_dtype : PP_DTYPE_FP32;
    pp_status status = pp_target_check_state(
        target, gradients, s->given.moments ? s->value.moments : PP_MOMENTS_FP32, PP_USAGE,
        pp_err_name(err, gradients != PP_DTYPE_BF16 ? PP_FIELD_MOMENTS : PP_FIELD_GRADIENTS), err);
    if (status)
        return status;
    status = pp_target_check_cp_comm(target, s->given.cp_comm ? s->value.cp_comm : PP_CP_COMM_RING,
                                     PP_USAGE, pp_err_name(err, PP_FIELD_CP_COMM), err);
    if (!status && s->given.recompute_modules && s->value.recompute_modules != PP_MODULES_CORE &&
        !target->recompute_modules)
        status = pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE_MODULES),
                            "target %s cannot be told which modules to recompute", target->name);
    if (!status && s->given.dispatcher)
        status = pp_target_check_dispatcher(target, s->value.dispatcher, PP_USAGE,
                                            pp_err_name(err, PP_FIELD_DISPATCHER), err);
    if (!status && s->given.moe_fp8_dispatch)
        status = pp_target_check_told(target, s->value.moe_fp8_dispatch, target->fp8_dispatch,
                                      PP_TARGET_FP8_DISPATCH, PP_USAGE,
                                      pp_err_name(err, PP_FIELD_FP8_DISPATCH), err);
    if (!status && s->given.moe_shared_expert_overlap)
        status = pp_target_check_told(target, s->value.moe_shared_expert_overlap,
                                      target->shared_expert_overlap, PP_TARGET_SHARED_OVERLAP,
                                      PP_USAGE, pp_err_name(err, PP_FIELD_SHARED_OVERLAP), err);
    if (!status)
        status = pp_target_check_told(target, s->value.moe_capacity > 0, target->expert_capacity,
                                      PP_TARGET_CAPACITY, PP_USAGE,
                                      pp_err_name(err, PP_FIELD_CAPACITY), err);
    if (!status && (s->given.cuda_graphs || target->cuda_graphs))
        status = pp_target_check_graphs(target, graphs, experts, s->value.moe_pads, PP_USAGE,
                                        pp_err_name(err, PP_FIELD_CUDA_GRAPHS), err);
    if (status)
        return status;
    return pp_target_check_precision(target, s->value.precision, parameters, experts, PP_USAGE,
                                     pp_err_name(err, PP_FIELD_PRECISION), err);
}

pp_status pp_target_apply(const pp_target_limits *target, bool shapes_given,
                          pp_plan_request *request, pp_err *err)
{
    const pp_schedule *schedule = request->orders == PP_ORDERS_PLANNED && !request->schedule
                                      ? &pp_planned_schedule
                                      : request->schedule;
    char why[120];
    if (request->framework && !communicates_as(target, request->framework)) {
        const bool other = target->frameworks[1] != NULL;
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                          "target %s communicates like executor %s%s%s; leave this option out",
                          target->name, target->frameworks[0]->name, other ? " or " : "",
                          other ? target->frameworks[1]->name : "");
    }
    if (shapes_given && target->constant_shapes && request->exchange.shapes.kind != PP_SIZES_PADDED)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
            "target %s needs one size for all microbatches; leave this option out, or give padded",
            target->name);
    if (request->free.communicators)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_COMMUNICATORS),
                          "target %s creates its own communicators; give the kind that it uses, or "
                          "leave this option out",
                          target->name);
    if (target->no_mtp && request->model && request->model->mtp_layers > 0)
        return pp_err_set(
            err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_TARGET),
            "%s cannot place multi-token prediction modules, because their names in its models are "
            "unknown; plan a model without them, or for another target",
            target->name);
    if (target->experts && request->parallel.etp)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ETP),
                          "target %s decides whether experts are divided; leave this option out",
                          target->name);
    if (target->experts_in_all_copies && request->switches.value.dp_replicate > 1 &&
        request->model && request->model->experts > 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_DP_REPLICATE),
                          "target %s shards experts over all copies, which is not predicted; leave "
                          "this option out",
                          target->name);
    if (request->switches.given.zero && request->switches.value.zero == 2)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                          "target %s cannot be told to divide gradients alone, as ZeRO 2 does; "
                          "leave this option out, or plan without a target for executor ppsim or "
                          "megatron-fsdp",
                          target->name);
    if (request->switches.given.zero && request->switches.value.zero == 3 &&
        !target->frameworks[0]->shards)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                          "target %s does not shard parameters, as ZeRO 3 does; plan with %s 1, or "
                          "for a target that does, such as torchtitan",
                          target->name, pp_err_name(err, PP_FIELD_ZERO));
    if (target->experts_in_all_copies && request->model && request->model->experts > 0)
        request->given_sharding.copies = true;
    if (request->switches.value.reshard_after_forward > 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
                          "target %s cannot be told a number of GPUs; give always or never",
                          target->name);
    if (request->exchange.pytorch.unshard_lookahead != PP_LOOKAHEAD_FULL)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_UNSHARD_LOOKAHEAD),
                          "target %s cannot be told how far ahead to gather; leave this option "
                          "out, or plan for executor torch-2.15 without a target",
                          target->name);
    pp_status status = check_recompute(target, request, err);
    if (!status)
        status = check_formats(target, request, err);
    if (status)
        return status;
    if (schedule && !runs(target, request, schedule, err, why, sizeof why)) {
        char nearest[200];
        status = find_nearest(target, shapes_given, request, nearest, sizeof nearest, err);
        return status
                   ? status
                   : pp_err_set(
                         err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_SCHEDULE),
                         "target %s %s %s%s; leave out the option, or the target", target->name,
                         why, schedule == &pp_planned_schedule ? "planned orders" : schedule->name,
                         nearest);
    }
    *request = limited(target, shapes_given, request);
    return PP_OK;
}

/* Like pp_search_solve; *best_out is SIZE_MAX also when the request is refused. Fails: NOMEM. */
static pp_status solve(pp_search *search, const pp_plan_request *request, size_t *best_out,
                       pp_err *err)
{
    pp_err why = pp_err_like(err);
    *best_out = SIZE_MAX;
    return pp_search_solve(search, request, best_out, &why) == PP_NOMEM ? pp_err_nomem(err) : PP_OK;
}

pp_status pp_target_compare(const pp_target_limits *target, const pp_plan_request *free_request,
                            pp_search_result *choice, pp_err *err)
{
    const pp_candidate *c = &choice->candidate[0];
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_plan_request one = *free_request;
    size_t best;
    train_as(target, &one);
    one.framework = choice->plan->framework;
    one.buffers = choice->plan->buffers;
    /* chosen for the plan, and no limit of the target */
    one.switches.value.dp_replicate = choice->plan->dp_replicate;
    one.switches.value.reshard_after_forward = choice->plan->reshard_after_forward;
    one.free = (pp_free_settings){ .framework = false };
    one.parallel = choice->plan->parallel;
    one.parallel.vpp = free_request->parallel.vpp;
    if (!one.lengths)
        one.global_batch_size = choice->plan->global_batch_size;
    one.gpus = 0;
    one.orders = PP_ORDERS_NAMED;
    one.found = NULL;
    one.missed = NULL;
    pp_status status = solve(&search, &one, &best, err);
    if (status)
        return status;
    choice->target = (pp_target_cost){ .target = target };
    if (best == SIZE_MAX)
        return PP_OK;
    const pp_candidate *other = &search.pool.candidate[best];
    choice->target.schedule = other->schedule;
    choice->target.step_ns = other->step_ns;
    choice->target.more =
        pp_candidate_score(c, c->step_ns) / pp_candidate_score(other, other->step_ns) - 1;
    return PP_OK;
}
