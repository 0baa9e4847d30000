/* The data, setups and candidates of one search. They are arrays that grow, so that indices stay
 * valid while pointers do not. */
#include "planner/candidate/pool.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>

pp_status pp_search_open(pp_search *search, const pp_plan_request *request, pp_err *err)
{
    *search = (pp_search){ .simulated = 0 };
    return pp_plan_problem_open(&search->problem, request, err);
}

void pp_search_close(pp_search *search)
{
    for (size_t i = 0; i < search->data_count; i++) {
        pp_workload_free(&search->data[i].workload);
        pp_workload_free(&search->data[i].real);
    }
    for (size_t i = 0; i < search->setup_count; i++)
        pp_setup_free(&search->setup[i]);
    for (size_t i = 0; i < search->planned_count; i++)
        pp_planned_free(&search->planned[i]);
    free(search->planned);
    pp_plan_problem_free(&search->problem);
    free(search->data);
    free(search->setup);
    free(search->candidate);
    *search = (pp_search){ 0 };
}

double pp_search_least(const pp_search *search)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < search->setup_count; i++) {
        const pp_setup *setup = &search->setup[i];
        const pp_candidate on = { .parallel = setup->context.parallel };
        if (setup->legal && setup->bound.fits && !setup->unseen)
            least = fmin(least, pp_candidate_score(&on, setup->least_step_ns));
    }
    return least;
}

bool pp_search_is_over(const pp_search *search, bool found)
{
    const pp_plan_request *request = search->problem.request;
    bool time_is_up = request->stop && request->stop(request->context);
    return (request->max_simulations && search->simulated >= request->max_simulations) ||
           (time_is_up && found);
}

pp_status pp_search_refuse(pp_search *search, const pp_err *why, pp_err *err)
{
    if (why->status != PP_USAGE && why->status != PP_INPUT) {
        *err = *why;
        return why->status;
    }
    if (!search->refusal.status)
        search->refusal = *why;
    return PP_OK;
}

pp_status pp_search_append_setup(pp_search *search, pp_setup setup, pp_err *err)
{
    void *grown = search->setup;
    pp_status status = pp_grow(&grown, &search->setup_capacity, search->setup_count + 1,
                               sizeof *search->setup, err);
    if (status) {
        pp_setup_free(&setup);
        return status;
    }
    search->setup = grown;
    search->setup[search->setup_count++] = setup;
    return PP_OK;
}

pp_status pp_search_add_setup(pp_search *search, pp_setup setup, pp_err *err)
{
    pp_status status = pp_search_append_setup(search, setup, err);
    if (status)
        return status;
    pp_setup *added = &search->setup[search->setup_count - 1];
    pp_err why = pp_err_like(err);
    added->legal =
        pp_setup_find_bound(added, &search->problem, &search->data[added->data], &why) == PP_OK;
    search->usable += added->legal && added->bound.fits;
    if (added->legal)
        return PP_OK;
    added->reason = pp_reason_refused(&why);
    return pp_search_refuse(search, &why, err);
}

pp_status pp_search_costs(const pp_search *search, const pp_setup *setup, pp_cost_set *set_out,
                          pp_err *err)
{
    return pp_setup_costs(setup, &search->data[setup->data], set_out, err);
}

pp_status pp_search_add_candidate(pp_search *search, const pp_schedule *schedule,
                                  size_t setup_index, pp_err *err)
{
    void *grown = search->candidate;
    pp_status status =
        pp_grow(&grown, &search->capacity, search->count + 1, sizeof *search->candidate, err);
    if (status)
        return status;
    search->candidate = grown;
    const pp_setup *setup = &search->setup[setup_index];
    pp_candidate *c = &search->candidate[search->count++];
    bool possible = setup->legal && setup->bound.fits;
    const pp_workload *workload = setup->unseen ? NULL : &search->data[setup->data].workload;
    *c = (pp_candidate){
        .parallel = setup->context.parallel,
        .micro_batch_size = setup->micro_batch_size,
        .microbatches = workload ? workload->microbatches : 0,
        .group_size = search->problem.request->group_size,
        .recompute = setup->context.switches.recompute,
        .partition = setup->partition,
        .schedule = schedule,
        .status = possible ? PP_CANDIDATE_PRUNED : PP_CANDIDATE_INFEASIBLE,
        .legal = setup->legal,
        .reason = setup->reason,
        .least_step_ns = setup->least_step_ns,
        .bound = setup->bound.part,
        .bound_rank = setup->bound.part_rank[setup->bound.part],
        .short_bytes = setup->short_bytes,
        .peak_rank = setup->short_rank,
        .setup = (uint32_t)setup_index,
    };
    if (c->short_bytes)
        c->peak_bytes = search->problem.memory_limit_bytes + c->short_bytes;
    return PP_OK;
}

void pp_planned_free(pp_planned *planned)
{
    for (uint32_t i = 0; i < planned->count; i++)
        pp_order_free(&planned->order[i]);
    free(planned->order);
    *planned = (pp_planned){ 0 };
}

pp_planned *pp_search_planned(const pp_search *search, size_t index)
{
    for (size_t i = 0; i < search->planned_count; i++) {
        if (search->planned[i].candidate == index)
            return &search->planned[i];
    }
    return NULL;
}
