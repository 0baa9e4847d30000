/* Opens, continues and closes the state of one search, and determines when its budget is used
 * up. */
#include "planner/candidate/search_state.h"

#include "planner/candidate/budget.h"
#include "sim/base/alloc.h"
#include "sim/cost/unit_cache.h"

#include <string.h>

pp_status pp_search_open(pp_search *search, const pp_plan_request *request, pp_err *err)
{
    *search = (pp_search){ .orders = request->threads <= 1 ? request->kept : NULL };
    return pp_plan_problem_new(request, &search->problem, err);
}

pp_status pp_search_continue(pp_search *search, const pp_plan_request *request, pp_err *err)
{
    const pp_plan_problem *problem;
    pp_status status = pp_plan_problem_new(request, &problem, err);
    if (status)
        return status;
    pp_plan_problem_free(&search->problem);
    search->problem = problem;
    return PP_OK;
}

void pp_search_close(pp_search *search)
{
    pp_search_drop_costs(search);
    if (search->own_orders)
        pp_kept_orders_free(&search->orders);
    for (size_t i = 0; i < PP_KEPT_REPORTS; i++)
        pp_report_free(&search->reports.row[i].report);
    pp_unit_cache_free(&search->units.cache);
    pp_pool_free(&search->pool);
    pp_plan_problem_free(&search->problem);
    *search = (pp_search){ 0 };
}

pp_unit_cache *pp_search_units(pp_search *search, const pp_cost_context *context)
{
    pp_kept_units *kept = &search->units;
    if (!search->problem->request->lengths)
        return NULL; /* all microbatches are alike */
    if (!kept->cache)
        kept->cache = pp_unit_cache_new();
    else if (kept->tp != context->parallel.tp || kept->recompute != context->switches.recompute)
        pp_unit_cache_clear(kept->cache);
    kept->tp = context->parallel.tp;
    kept->recompute = context->switches.recompute;
    return kept->cache;
}

void pp_search_drop_costs(pp_search *search)
{
    pp_cost_set_free(&search->kept.set);
}

double pp_ops_of(const pp_parallel *parallel, uint32_t microbatches, uint32_t replicas)
{
    return 3.0 * (double)(parallel->pp * parallel->vpp) * microbatches * replicas;
}

double pp_search_ops(const pp_search *search, const pp_candidate *candidate)
{
    const pp_setup *setup = &search->pool.setup[candidate->setup];
    return pp_ops_of(&candidate->parallel, candidate->microbatches,
                     setup->unseen ? 1 : search->pool.data[setup->data].workload.replicas);
}

bool pp_search_affords(const pp_search *search, const pp_candidate *candidate)
{
    const pp_plan_request *request = search->problem->request;
    const double ops = pp_search_ops(search, candidate);
    const uint64_t used = search->progress.simulated; /* what is tried beyond the budget is small */
    return pp_budget_affords(request, ops) &&
           (!request->max_simulations || used >= request->max_simulations ||
            pp_budget_iterations(ops) <= request->max_simulations - used);
}

bool pp_search_is_over(const pp_search *search)
{
    const pp_plan_request *request = search->problem->request;
    return (request->max_simulations && search->progress.simulated >= request->max_simulations) ||
           pp_budget_is_over(request, search->progress.ops);
}

pp_status pp_refuse(pp_progress *progress, const pp_err *why, pp_err *err)
{
    if (why->status != PP_USAGE && why->status != PP_INPUT) {
        *err = *why;
        return why->status;
    }
    if (!progress->refusal.status)
        progress->refusal = *why;
    return PP_OK;
}

void pp_search_count(pp_progress *progress, double effort)
{
    const double before = progress->bounding;
    progress->bounding += effort;
    progress->simulated += pp_budget_bounding(progress->bounding) - pp_budget_bounding(before);
}

pp_status pp_search_add_setup(pp_search *search, pp_setup setup, pp_err *err)
{
    pp_status status = pp_pool_append_setup(&search->pool, setup, err);
    if (status)
        return status;
    pp_setup *added = &search->pool.setup[search->pool.setup_count - 1];
    pp_err why = pp_err_like(err);
    added->legal = pp_setup_find_bound(added, search->problem, &search->pool.data[added->data],
                                       pp_search_units(search, &added->context), &why) == PP_OK;
    search->progress.usable += added->legal && added->bound.fits;
    const pp_parallel *parallel = &added->context.parallel;
    pp_search_count(&search->progress,
                    pp_budget_bound_effort(added->classes, (double)(parallel->pp * parallel->vpp)));
    if (added->legal)
        return PP_OK;
    added->reason = pp_reason_refused(&why);
    return pp_refuse(&search->progress, &why, err);
}

pp_status pp_search_add_twin(pp_search *search, size_t index, pp_err *err)
{
    const pp_setup *setup = &search->pool.setup[index];
    const size_t stages = (size_t)(setup->context.parallel.pp * setup->context.parallel.vpp);
    pp_setup twin = *setup;
    twin.split = !setup->split;
    twin.twin = (pp_twin_bound){ .wanted = false };
    twin.stages = pp_alloc_array(stages, sizeof *twin.stages);
    if (!twin.stages)
        return pp_err_nomem(err);
    memcpy(twin.stages, setup->stages, stages * sizeof *twin.stages);
    if (setup->legal && !setup->twin.wanted) {
        twin.bound = (pp_bound){ 0 };
        twin.least_step_ns = 0;
        twin.classes = 0;
        return pp_search_add_setup(search, twin, err);
    }
    twin.bound = setup->twin.bound;
    twin.least_step_ns = setup->twin.least_step_ns;
    search->progress.usable += twin.legal && twin.bound.fits;
    return pp_pool_append_setup(&search->pool, twin, err);
}
