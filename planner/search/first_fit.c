/* First fit by a simple rule: what an engineer would write down before a search. Each try is a
 * search that is narrowed to one schedule, so it has at most a few setups, most of which are ruled
 * out by the memory of their order (planner/candidate/evaluate.h). At most a handful of simulations
 * per tensor-parallel degree. If the budget does not suffice for a simulation with one degree, it
 * does not with another, which has as many ops. */
#include "planner/search/first_fit.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/rules.h"
#include "planner/search/branch_and_bound.h"
#include "planner/search/space.h"
#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"

#include <stdlib.h>

void pp_found_free(pp_found **found)
{
    if (!*found)
        return;
    pp_search_close(&(*found)->search);
    free(*found);
    *found = NULL;
}

static bool allows(const pp_plan_request *request, const pp_schedule *schedule)
{
    for (size_t i = 0; request->only && request->only[i]; i++) {
        if (request->only[i] == schedule)
            return true;
    }
    return !request->only;
}

/* An iteration more or less is no reason to have no answer. */
#define ITERATIONS_LEAST 8

/* With less time than for so many simulations, or fewer iterations than for bounds of so many
 * setups, only full recomputation is tried. */
#define TRIES 4
#define SETUPS 32

/* The number of sequences, or what about as many tokens would be in sequences of full length. */
static double sequences(const pp_plan_request *request)
{
    const int64_t most = request->seq_length ? request->seq_length : request->model->max_seq_length;
    double tokens = 0;
    for (size_t i = 0; i < request->length_count; i++)
        tokens += (double)request->lengths[i];
    return request->group_count ? (double)request->group_count
           : request->lengths   ? tokens / (double)most
                                : (double)request->global_batch_size;
}

/* True if there is hardly any budget. */
static bool is_short(const pp_plan_request *one)
{
    const int64_t chunks = one->parallel.vpp ? one->parallel.vpp : 1;
    const double count = sequences(one) / (double)one->micro_batch_size;
    const double stages = (double)(one->parallel.pp * chunks);
    const double ops = 3 * stages * count;
    return (one->spent && !pp_budget_affords(one, TRIES * ops)) ||
           (one->lengths && !pp_budget_bounds(one, SETUPS * pp_budget_bound_effort(count, stages)));
}

static pp_recompute most_recomputed(const pp_plan_request *request)
{
    if (pp_rules_allow_full_recompute(request))
        return PP_RECOMPUTE_FULL;
    return request->switches.stack->has.selective_recompute ? PP_RECOMPUTE_SELECTIVE
                                                            : PP_RECOMPUTE_NONE;
}

/* The request for the plainest pipelines with this tp. */
static pp_plan_request plainest(const pp_plan_request *request, int64_t tp)
{
    pp_plan_request one = *request;
    one.parallel.tp = tp;
    if (!one.lengths) /* the default depends on gpus */
        one.global_batch_size =
            one.global_batch_size ? one.global_batch_size : pp_default_batch_size(request);
    one.gpus = 0;
    one.orders = PP_ORDERS_NAMED;
    if (one.max_simulations && one.max_simulations < ITERATIONS_LEAST)
        one.max_simulations = ITERATIONS_LEAST;
    one.stop = NULL; /* an answer is due even if the time was too short for a search */
    one.found = NULL;
    one.missed = NULL;
    one.jitter = NULL;
    if (!one.micro_batch_size)
        one.micro_batch_size = 1;
    if (!one.schedule && !one.group_size && one.parallel.vpp <= 1 &&
        one.partition != PP_PARTITION_LAYOUT && allows(request, &pp_schedule_one_f_one_b))
        one.schedule = &pp_schedule_one_f_one_b;
    if (!one.parallel.vpp && one.partition != PP_PARTITION_LAYOUT && one.schedule) {
        const uint32_t only = pp_schedule_chunks(one.schedule, (uint32_t)one.parallel.pp);
        one.parallel.vpp = only ? (int64_t)only : 2;
    }
    if (!is_short(&one))
        return one;
    if (one.partition == PP_PARTITION_AUTO)
        one.partition = PP_PARTITION_BALANCED;
    if (!one.switches.given.recompute) {
        one.switches.given.recompute = true;
        one.switches.value.recompute = most_recomputed(&one);
    }
    return one;
}

/* One try. Not legal is not a failure. ended_out: the budget is too small for any. */
static pp_status try_degree(const pp_plan_request *request, int64_t tp, pp_found **found_out,
                            size_t *simulated, bool *ended_out, pp_err *err)
{
    pp_found *found PP_CLEANUP(pp_found_free) = pp_alloc_array(1, sizeof *found);
    pp_err why = pp_err_like(err);
    if (!found)
        return pp_err_nomem(err);
    found->request = plainest(request, tp);
    found->best = SIZE_MAX;
    pp_status status = pp_search_open(&found->search, &found->request, &why);
    if (!status)
        status = pp_search_enumerate(&found->search, &why);
    if (!status)
        status = pp_branch_and_bound(&found->search, &found->best, &why);
    *simulated += found->search.progress.simulated;
    *ended_out = found->search.progress.stopped;
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (status || found->best == SIZE_MAX)
        return PP_OK;
    *found_out = found;
    found = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_search_first_fit(const pp_plan_request *request, pp_found **found_out,
                              size_t *simulated, pp_err *err)
{
    pp_status status = PP_OK;
    bool ended = false;
    int64_t tp = 1;
    if (request->parallel.tp)
        return try_degree(request, request->parallel.tp, found_out, simulated, &ended, err);
    while (tp < PP_PLAIN_TP && 2 * tp <= request->hardware->gpus_per_node)
        tp *= 2;
    for (; tp >= 1 && !status && !*found_out && !ended; tp /= 2) {
        pp_parallel p = request->parallel;
        pp_rule_broken broken;
        p.tp = tp;
        if (tp == 1 || !pp_rules_refuse(request, &p, &broken))
            status = try_degree(request, tp, found_out, simulated, &ended, err);
    }
    return status;
}
