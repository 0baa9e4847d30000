/* The entry of the planner. What the request leaves open decides which nested loops run the
 * searches: over frameworks, over splits of GPUs, over packings, and inside these one search. Free
 * orders and packings are searched last, for what came out best before, which may be something
 * worse with more iterations. So that these never find less, searches with 1, 2, 4, ... iterations
 * follow each other as long as they fit into the budget together, and the best answer is taken.
 *
 * If nothing fits and recomputation is free, full recomputation of N layers at a time follows, with
 * N = 2, 3, 4, 6, 8, 12, ... It takes as long as of one at a time, keeps fewer inputs of layers and
 * holds more layers while it recomputes, so that it only matters where that does not fit. A larger
 * N is tried until the step gets no shorter. If nothing fits then and parameters are sharded, the
 * same is searched with parameters that forwards free, which makes no step shorter, wholly or down
 * to a part of the GPUs that share them. */
#include "planner/study/plan_search.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/rules.h"
#include "planner/study/framework_choice.h"
#include "planner/study/gpu_splits.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <stdio.h>

static pp_status plan(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    const pp_free_settings *f = &request->free;
    return f->framework || f->shapes || f->communicators
               ? pp_plan_frameworks(request, choice_out, err)
               : pp_plan_splits(request, choice_out, err);
}

/* True if the search that comes last depends on what the others found. */
static bool depends(const pp_plan_request *request)
{
    return request->orders == PP_ORDERS_PLANNED || (request->lengths && request->packings);
}

static pp_status plan_in_steps(const pp_plan_request *request, pp_search_result **choice_out,
                               pp_err *err)
{
    pp_search_result *best PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request one = *request;
    pp_err why = pp_err_like(err);
    uint64_t left = request->max_simulations;
    size_t simulated = 0;
    bool whole = false;
    pp_status status = PP_UNDECIDED;
    one.max_simulations = 1;
    while (left >= one.max_simulations && !whole &&
           (one.max_simulations == 1 || !pp_budget_time_is_up(request)) &&
           (!status || status == PP_UNDECIDED || status == PP_INFEASIBLE)) {
        pp_search_result *now PP_CLEANUP(pp_search_result_free) = NULL;
        const bool last = left < 3 * one.max_simulations;
        why = pp_err_like(err);
        one.no_advice = request->no_advice || !last;
        one.missed = last ? request->missed : NULL;
        status = plan(&one, &now, &why);
        left -= one.max_simulations;
        one.max_simulations *= 2;
        if (status)
            continue;
        whole = !now->stopped;
        simulated += now->simulated;
        if (!best || pp_search_result_fastest(now) < pp_search_result_fastest(best)) {
            pp_search_result_free(&best);
            best = now;
            now = NULL;
        }
    }
    if (!best || status == PP_NOMEM) {
        *err = why;
        return why.status;
    }
    best->stopped = !whole;
    best->simulated = simulated;
    *choice_out = best;
    best = NULL; /* the caller's now */
    return PP_OK;
}

/* Megatron-Core recomputes MTP modules one by one. */
static bool may_recompute_chunks(const pp_plan_request *request)
{
    const pp_switch_request *s = &request->switches;
    return (!s->given.recompute || s->value.recompute == PP_RECOMPUTE_AUTO) && s->stack &&
           s->stack->has.recompute_modules && !request->recompute_uniform &&
           pp_rules_allow_full_recompute(request) && request->model->mtp_layers == 0 &&
           !pp_budget_is_limited(request);
}

/* *choice_out stays NULL if nothing fits. Fails: NOMEM. */
static pp_status plan_in_chunks(const pp_plan_request *request, pp_search_result **choice_out,
                                pp_err *err)
{
    pp_search_result *best PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request one = *request;
    const int64_t ranks = request->parallel.pp > 0 ? request->parallel.pp : 1;
    const int64_t most = (request->model->layers + ranks - 1) / ranks;
    one.no_nearest = true;
    one.switches.given.recompute = true;
    one.switches.value.recompute = PP_RECOMPUTE_FULL;
    for (int64_t n = 2; n <= most; n = n == 2 ? 3 : n % 3 ? n / 2 * 3 : n / 3 * 4) {
        pp_search_result *now PP_CLEANUP(pp_search_result_free) = NULL;
        pp_err why = pp_err_like(err);
        one.switches.value.recompute_layers = n;
        const pp_status status = plan(&one, &now, &why);
        if (status == PP_NOMEM)
            return pp_err_nomem(err);
        if (best && (status || pp_search_result_fastest(now) >= pp_search_result_fastest(best)))
            break;
        if (status)
            continue;
        pp_search_result_free(&best);
        best = now;
        now = NULL;
    }
    *choice_out = best;
    best = NULL; /* the caller's now */
    return PP_OK;
}

/* True if freeing parameters after forwards may make room: with several stages per rank, those
 * whose last op was a forward are not held. */
static bool reshards(const pp_plan_request *request)
{
    const pp_switch_request *s = &request->switches;
    return !request->given_sharding.reshard && s->given.zero && s->value.zero == 3 &&
           request->framework && request->framework->shards && request->framework->splits_late &&
           request->parallel.vpp != 1;
}

static bool may_reshard(const pp_plan_request *request)
{
    return reshards(request) && !pp_budget_is_limited(request);
}

/* Adds to a refusal what was not tried, since a limited budget is for one search. */
static pp_status with_way_out(const pp_plan_request *request, pp_status status, pp_err *err)
{
    char before[sizeof err->text];
    if (status != PP_INFEASIBLE || !reshards(request) || !pp_budget_is_limited(request))
        return status;
    snprintf(before, sizeof before, "%s", err->text);
    snprintf(err->text, sizeof err->text, "%.900s; %s always, not tried with a budget, needs less",
             before, pp_err_name(err, PP_FIELD_RESHARD));
    return status;
}

/* The most numbers of GPUs that are tried, the largest ones, which need the least memory. */
enum { KEPT_MOST = 3 };

/* The values to try. always needs the least memory, and fewer GPUs less time. */
static size_t list_resharding(const pp_plan_request *request, int64_t values[1 + KEPT_MOST])
{
    const int64_t copies = request->switches.value.dp_replicate;
    const int64_t cp = request->parallel.cp > 1 ? request->parallel.cp : 1;
    const int64_t ranks = request->parallel.dp * cp / (copies > 1 ? copies : 1);
    size_t count = 0;
    values[count++] = PP_RESHARD_ALWAYS;
    if (request->gpus || request->target) /* other splits have other divisors */
        return count;
    for (int64_t n = ranks / 2; n > 1 && count <= KEPT_MOST; n--) {
        if (ranks % n == 0)
            values[count++] = n;
    }
    return count;
}

/* Tries what may fit until a value does not, or is no faster. *choice_out stays NULL if nothing
 * fits. Fails: NOMEM. */
static pp_status plan_resharded(const pp_plan_request *request, pp_search_result **choice_out,
                                pp_err *err)
{
    pp_search_result *best PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request one = *request;
    int64_t values[1 + KEPT_MOST];
    const size_t count = list_resharding(request, values);
    pp_setting_value tried[2 + KEPT_MOST];
    size_t tries = 0, taken = 0;
    bool better = true;
    one.no_nearest = true;
    for (size_t i = 0; i < count && better; i++) {
        pp_search_result *now PP_CLEANUP(pp_search_result_free) = NULL;
        pp_err why = pp_err_like(err);
        one.switches.value.reshard_after_forward = values[i];
        const pp_status status = plan(&one, &now, &why);
        if (status == PP_NOMEM)
            return pp_err_nomem(err);
        if (!best && status)
            return PP_OK;
        tried[tries] =
            (pp_setting_value){ .reshard_after_forward = values[i],
                                .standing = status ? PP_SETTING_NOTHING_FITS : PP_SETTING_SEARCHED,
                                .step_ns = now ? now->candidate[0].step_ns : 0 };
        better =
            !status && (!best || pp_search_result_fastest(now) < pp_search_result_fastest(best));
        if (better) {
            pp_search_result_free(&best);
            best = now;
            now = NULL;
            taken = tries;
        }
        tries++;
    }
    tried[tries++] = (pp_setting_value){ .reshard_after_forward = PP_RESHARD_NEVER,
                                         .standing = PP_SETTING_NOTHING_FITS };
    pp_setting_choice *choice = &best->setting[PP_SETTING_RESHARD];
    choice->value = pp_alloc_array(tries, sizeof *choice->value);
    if (!choice->value)
        return pp_err_nomem(err);
    choice->value[choice->count++] = tried[taken];
    for (size_t i = 0; i < tries; i++) {
        if (i == taken)
            continue;
        pp_setting_value *value = &choice->value[choice->count++];
        *value = tried[i];
        value->more =
            value->step_ns ? (double)value->step_ns / (double)tried[taken].step_ns - 1 : 0;
    }
    *choice_out = best;
    best = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_plan_search(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    pp_plan_request first = *request;
    pp_err why = pp_err_like(err);
    if (request->max_simulations && depends(request))
        return with_way_out(request, plan_in_steps(request, choice_out, err), err);
    if (!may_recompute_chunks(request) && !may_reshard(request))
        return with_way_out(request, plan(request, choice_out, err), err);
    first.no_advice = true;
    first.missed = NULL;
    pp_status status = plan(&first, choice_out, &why);
    if (status == PP_INFEASIBLE) {
        pp_search_result *found = NULL;
        if (may_recompute_chunks(request) && (status = plan_in_chunks(&first, &found, err)))
            return status;
        if (!found && may_reshard(request) && (status = plan_resharded(&first, &found, err)))
            return status;
        if (!found && (!request->no_advice || request->missed))
            return plan(request, choice_out, err); /* with advice */
        if (!found) {
            *err = why;
            return PP_INFEASIBLE;
        }
        *choice_out = found;
    } else if (status) {
        *err = why;
    }
    return status;
}
