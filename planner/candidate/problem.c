/* From a request to the problem that is searched: impossible requests are refused, and values that
 * need no choice are filled in. */
#include "planner/candidate/problem.h"

#include "planner/candidate/rules.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/framework/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static pp_status check_positive(int64_t value, const char *option, pp_err *err)
{
    if (value >= 0 && value <= PP_MICROBATCHES_MAX)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, option, "must be from 1 to %" PRId64 ", not %" PRId64,
                      (int64_t)PP_MICROBATCHES_MAX, value);
}

static int64_t or_one(int64_t value)
{
    return value ? value : 1;
}

static pp_status check_request(const pp_plan_request *request, pp_err *err)
{
    const struct {
        int64_t value;
        const char *option;
    } rows[] = {
        { request->parallel.pp, pp_err_name(err, PP_FIELD_RANKS) },
        { request->parallel.tp, pp_err_name(err, PP_FIELD_TP) },
        { request->parallel.cp, pp_err_name(err, PP_FIELD_CP) },
        { request->parallel.dp, pp_err_name(err, PP_FIELD_DP) },
        { request->parallel.ep, pp_err_name(err, PP_FIELD_EP) },
        { request->parallel.etp, pp_err_name(err, PP_FIELD_ETP) },
        { request->parallel.vpp, pp_err_name(err, PP_FIELD_CHUNKS) },
        { request->seq_length, pp_err_name(err, PP_FIELD_SEQ_LENGTH) },
        { request->micro_batch_size, pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE) },
        { request->global_batch_size, pp_err_name(err, PP_FIELD_GLOBAL_BATCH_SIZE) },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pp_status status = check_positive(rows[i].value, rows[i].option, err);
        if (status)
            return status;
    }
    if (request->memory_limit_bytes < 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_MEMORY_LIMIT),
                          "must be positive, not %" PRId64 " bytes", request->memory_limit_bytes);
    if (!(request->tie >= 0 && request->tie <= 1) || request->headroom_bytes < 0)
        return pp_err_set(err, PP_USAGE, NULL,
                          "tie must be from 0 to 1, and headroom not negative");
    const char *no_bare_ends = request->framework ? request->framework->no_bare_ends : NULL;
    if (no_bare_ends &&
        (request->bare_ends == PP_BARE_ENDS_ON || request->partition == PP_PARTITION_BARE))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_BARE_ENDS),
                          "executor %s %s; leave this option out, or choose another executor",
                          request->framework->name, no_bare_ends);
    const bool bare = pp_request_bare_ends(request) && request->partition != PP_PARTITION_UNIFORM;
    int64_t parts = request->model->layers + request->model->mtp_layers + (bare ? 2 : 0);
    int64_t pp = request->parallel.pp;
    if (pp < 1)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RANKS),
                          "the number of pipeline ranks must be given, "
                          "from 1 to %" PRId64,
                          parts);
    if (pp * or_one(request->parallel.vpp) > parts && request->partition != PP_PARTITION_LAYOUT)
        return pp_err_set(
            err, PP_USAGE,
            pp <= parts ? pp_err_name(err, PP_FIELD_CHUNKS) : pp_err_name(err, PP_FIELD_RANKS),
            "%s has %" PRId64 " layers, so %" PRId64 " ranks "
            "x %" PRId64 " stage%s would leave some empty; choose pp x vpp up to %" PRId64
            "%s, or place them with %s LAYOUT",
            request->model->name, request->model->layers, pp, or_one(request->parallel.vpp),
            or_one(request->parallel.vpp) == 1 ? "" : "s", parts,
            bare ? " (embedding and head may be stages of their own)" : "",
            pp_err_name(err, PP_FIELD_PARTITION));
    if (request->lengths && request->global_batch_size)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_GLOBAL_BATCH_SIZE),
            "%s already determines what one step trains (%zu sequences); give only one of the two",
            pp_err_name(err, PP_FIELD_LENGTHS), request->length_count);
    return PP_OK;
}

/* A free order numbers microbatches anew; with lengths, those of each replica differently. */
static pp_status check_tokens(const pp_plan_request *request, pp_err *err)
{
    if (!request->expert_tokens || !request->lengths || request->orders != PP_ORDERS_PLANNED ||
        request->schedule)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SCHEDULE),
                      "planned numbers the microbatches of each replica anew, but the tokens of "
                      "experts are given for those of all; name a schedule, or give one imbalance "
                      "for all");
}

static pp_status check_split(const pp_plan_problem *problem, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    if (!problem->framework->splits_late || !request->schedule ||
        !request->schedule->splits_backward || !request->switches.given.recompute ||
        request->switches.value.recompute != PP_RECOMPUTE_SELECTIVE)
        return PP_OK;
    return pp_err_set(
        err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
        "PyTorch cannot recompute selectively and split the backward into I and W, "
        "as %s does: it stops with \"Trying to backward an extra time\". Give none or "
        "full, or a schedule with B, such as 1f1b or interleaved",
        request->schedule->name);
}

/* Megatron-Core recomputes no whole layers beside a forward, and overlaps shared experts with no
 * exchange that a backward hides (transformer_config.py). */
static pp_status check_overlap(const pp_plan_problem *problem, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    if (!request->schedule || !request->schedule->overlaps_experts)
        return PP_OK;
    if (request->model->experts <= 0 || problem->parallel.ep <= 1)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SCHEDULE),
                          "%s hides the exchange of experts, of which there is none without "
                          "expert parallelism; give %s, or schedule interleaved",
                          request->schedule->name, pp_err_name(err, PP_FIELD_EP));
    if (request->switches.given.dispatcher &&
        request->switches.value.dispatcher == PP_DISPATCHER_ALLGATHER)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_DISPATCHER),
                          "%s cannot hide the exchange of allgather, as in Megatron-Core; give "
                          "another, or schedule interleaved",
                          request->schedule->name);
    if (request->switches.given.moe_shared_expert_overlap &&
        request->switches.value.moe_shared_expert_overlap)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHARED_OVERLAP),
                          "%s hides the exchange of experts behind a backward, and Megatron-Core "
                          "does not do both; leave out one of them",
                          request->schedule->name);
    if (!request->switches.given.recompute ||
        (request->switches.value.recompute != PP_RECOMPUTE_FULL &&
         !request->switches.value.recompute_layers))
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
                      "%s recomputes no whole layers, as Megatron-Core; give selective, or "
                      "schedule interleaved",
                      request->schedule->name);
}

static pp_status check_graphs(const pp_plan_problem *problem, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    const pp_recompute how = request->switches.value.recompute;
    const bool whole = how == PP_RECOMPUTE_FULL || how > PP_RECOMPUTE_AUTO;
    if (!request->switches.given.recompute || !whole || pp_rules_allow_full_recompute(request))
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_CUDA_GRAPHS),
                      "parts of a layer are captured with %s none or selective only; give full, or "
                      "another %s",
                      pp_err_name(err, PP_FIELD_RECOMPUTE), pp_err_name(err, PP_FIELD_RECOMPUTE));
}

static pp_status check_reshard(const pp_plan_problem *problem, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    return request->switches.value.reshard_after_forward == PP_RESHARD_NEVER
               ? PP_OK
               : pp_framework_check_reshard(problem->framework,
                                            request->schedule && request->schedule->splits_backward,
                                            err);
}

static pp_status check_zero(const pp_plan_problem *problem, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    const pp_switch_request *s = &request->switches;
    if (!s->given.zero || s->value.zero < 2)
        return PP_OK;
    if (s->given.grad_sync_overlap)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_GRAD_SYNC),
                          "has no effect with %s %d, where the executor decides; leave it out",
                          pp_err_name(err, PP_FIELD_ZERO), s->value.zero);
    if (s->given.low_parameters && s->value.low_parameters)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_LOW_PARAMETERS),
                          "on is not predicted with %s %d; leave it out",
                          pp_err_name(err, PP_FIELD_ZERO), s->value.zero);
    return request->framework ? pp_framework_check_zero(request->framework, s->value.zero, err)
                              : PP_OK;
}

uint32_t pp_problem_runs(const pp_plan_problem *problem)
{
    return (uint32_t)or_one(problem->request->exchange.runs);
}

/* Trainers of PyTorch accumulate gradients in shards between the runs, or in a replica of its own;
 * an order that was found is not one that repeats. */
static pp_status check_runs(const pp_plan_problem *problem, pp_err *err)
{
    const pp_plan_request *request = problem->request;
    const pp_switch_request *s = &request->switches;
    const char *option = pp_err_name(err, PP_FIELD_RUNS);
    if (pp_problem_runs(problem) == 1)
        return PP_OK;
    if (problem->parallel.dp * problem->parallel.cp > 1 && !(s->given.zero && s->value.zero == 3))
        return pp_framework_refuse_runs(err);
    if (!request->schedule && request->orders == PP_ORDERS_PLANNED)
        return pp_err_set(err, PP_USAGE, option,
                          "is modelled for named schedules; name one, or leave it out");
    return pp_framework_check_runs(problem->framework, request->exchange.runs, err);
}

static pp_status check_batch(const pp_plan_problem *problem, pp_err *err)
{
    int64_t each = problem->parallel.dp * or_one(problem->request->micro_batch_size);
    int64_t batch = problem->global_batch_size;
    if (problem->request->lengths || batch % each == 0)
        return PP_OK;
    char below[32] = "";
    if (batch > each)
        snprintf(below, sizeof below, "%" PRId64 " and ", batch / each * each);
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_GLOBAL_BATCH_SIZE),
                      "%" PRId64 " sequences are not a multiple of "
                      "dp %" PRId64 " x micro-batch size %" PRId64
                      "; the nearest that are: %s%" PRId64,
                      batch, problem->parallel.dp, or_one(problem->request->micro_batch_size),
                      below, (batch / each + 1) * each);
}

/* Checks the layout, which also determines the number of chunks. */
static pp_status check_layout(pp_plan_problem *problem, pp_err *err)
{
    const pp_model *model = problem->request->model;
    pp_stage *stages = NULL;
    uint32_t count;
    pp_err why = pp_err_like(err);
    pp_status status = pp_layout_parse(problem->request->layout, model->layers, model->mtp_layers,
                                       &stages, &count, &why);
    if (!status)
        status = pp_framework_check_stages(problem->framework, stages, count, PP_USAGE, "", &why);
    free(stages);
    if (status) {
        char where[sizeof why.where];
        snprintf(where, sizeof where, "%s%s%.200s", pp_err_name(err, PP_FIELD_PARTITION),
                 why.where[0] ? ", " : "", why.where);
        return pp_err_set(err, status, where, "%s", why.text);
    }
    int64_t pp = problem->parallel.pp;
    if (count % pp != 0 || (problem->parallel.vpp && count != pp * problem->parallel.vpp))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_PARTITION),
                          "the layout has %" PRIu32 " stages, which "
                          "is not pp %" PRId64 " x vpp%s; give as many stages as pp x vpp",
                          count, pp, problem->parallel.vpp ? "" : " for any vpp");
    problem->parallel.vpp = count / pp;
    return PP_OK;
}

static pp_status read_overrides(pp_plan_problem *problem, pp_err *err)
{
    const pp_rank_overrides *overrides = problem->request->overrides;
    const uint32_t ranks = (uint32_t)problem->parallel.pp;
    if (!overrides)
        return PP_OK;
    pp_status status = pp_rank_overrides_check(overrides, ranks, err);
    if (status)
        return status;
    problem->rank_speed = pp_alloc_array((size_t)2 * ranks, sizeof *problem->rank_speed);
    if (!problem->rank_speed)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < ranks; r++) {
        const double limit = (double)problem->memory_limit_bytes;
        const double own = (double)pp_rank_overrides_memory_bytes(overrides, r);
        const double share = own > 0 && own < limit ? own / limit : 1;
        problem->rank_speed[r] = pp_rank_overrides_speed(overrides, r);
        problem->rank_speed[ranks + r] = share * problem->rank_speed[r];
        problem->fitted |= share < 1;
    }
    return PP_OK;
}

static pp_status fill(pp_plan_problem *problem, const pp_plan_request *request, pp_err *err)
{
    *problem = (pp_plan_problem){ .request = request, .parallel = request->parallel };
    pp_status status = check_request(request, err);
    if (status)
        return status;
    problem->parallel.cp = or_one(request->parallel.cp);
    problem->parallel.dp = or_one(request->parallel.dp);
    problem->parallel.ep = or_one(request->parallel.ep);
    if (request->model->experts > 0)
        problem->parallel.etp = pp_parallel_etp_of(&problem->parallel, request->experts);
    problem->seq_length =
        request->seq_length ? request->seq_length : request->model->max_seq_length;
    problem->global_batch_size =
        request->global_batch_size ? request->global_batch_size : pp_default_batch_size(request);
    if (request->lengths)
        problem->global_batch_size = (int64_t)request->length_count;
    problem->memory_limit_bytes =
        request->memory_limit_bytes ? request->memory_limit_bytes
        : request->hardware->memory_bytes
            ? request->hardware->memory_bytes - pp_memory_reserve_bytes(request->hardware)
            : PP_BYTES_MAX;
    problem->comfortable_bytes = problem->memory_limit_bytes - request->headroom_bytes;
    if ((status = read_overrides(problem, err)))
        return status;
    problem->framework = request->framework ? request->framework : &pp_framework_ideal;
    status = check_tokens(request, err);
    if (!status)
        status = check_overlap(problem, err);
    if (!status)
        status = check_graphs(problem, err);
    if (!status)
        status = check_zero(problem, err);
    if (!status)
        status = check_reshard(problem, err);
    if (!status)
        status = pp_framework_check_settings(problem->framework, &request->exchange.pytorch, err);
    if (!status)
        status = check_runs(problem, err);
    if (!status)
        status = check_split(problem, err);
    if (!status)
        status = check_batch(problem, err);
    return status || request->partition != PP_PARTITION_LAYOUT ? status
                                                               : check_layout(problem, err);
}

static void problem_free(pp_plan_problem **problem)
{
    if (*problem)
        free((*problem)->rank_speed);
    free(*problem);
    *problem = NULL;
}

pp_status pp_plan_problem_new(const pp_plan_request *request, const pp_plan_problem **problem_out,
                              pp_err *err)
{
    pp_plan_problem *problem PP_CLEANUP(problem_free) = pp_alloc_array(1, sizeof *problem);
    if (!problem)
        return pp_err_nomem(err);
    pp_status status = fill(problem, request, err);
    if (status)
        return status;
    *problem_out = problem;
    problem = NULL;
    return PP_OK;
}

pp_plan_problem pp_plan_problem_limited(const pp_plan_problem *problem, int64_t memory_limit_bytes)
{
    pp_plan_problem limited = *problem;
    limited.memory_limit_bytes = memory_limit_bytes;
    return limited;
}

void pp_plan_problem_free(const pp_plan_problem **problem)
{
    pp_plan_problem *owned = (pp_plan_problem *)*problem; /* const for all but its owner */
    problem_free(&owned);
    *problem = NULL;
}
