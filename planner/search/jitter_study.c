/* Runs a Monte Carlo study (planner/robustness/jitter.h) of the slowest replica of a candidate. The
 * candidate is run again to have its program and timeline; the studies cost as much as scenarios *
 * instructions. */
#include "planner/search/jitter_study.h"

#include "planner/candidate/evaluate.h"
#include "sim/analysis/step_tail.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"

/* One replica of a candidate that was run; the slowest one is studied. */
typedef struct replica {
    pp_program *program;
    pp_timeline *timeline;
    pp_ns step_ns;
    const pp_costs *costs;
} replica;

static void replica_free(replica *r)
{
    pp_program_free(&r->program);
    pp_timeline_free(&r->timeline);
}

static pp_status slowest_replica(const pp_plan_problem *problem, const pp_setup *setup,
                                 const pp_candidate *c, const pp_cost_set *set,
                                 pp_order *const *order, uint32_t orders, replica *slowest,
                                 pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < set->count && !status; i++) {
        replica one PP_CLEANUP(replica_free) = { .costs = set->costs[i] };
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        status = pp_candidate_run(problem, setup, c, order[orders > 1 ? i : 0], one.costs,
                                  &one.program, &one.timeline, &report, err);
        one.step_ns = status ? 0 : report->step_ns;
        if (status || (slowest->program && one.step_ns <= slowest->step_ns))
            continue;
        replica swap = *slowest;
        *slowest = one;
        one = swap;
    }
    return status;
}

/* problem: that of the search, or one with another framework. pool: NULL: it is made. until: NULL:
 * all scenarios are run. step_ns_out: without jitter. */
static pp_status study(pp_search *search, const pp_plan_problem *problem, size_t index,
                       const pp_jitter_spec *spec, const pp_jitter_pool *pool,
                       const pp_jitter_until *until, pp_ns *step_ns_out, pp_jitter_result *out,
                       pp_err *err)
{
    const pp_plan_request *request = problem->request;
    pp_candidate *c = &search->pool.candidate[index];
    const pp_setup *setup = &search->pool.setup[c->setup];
    pp_planned *planned = pp_pool_planned(&search->pool, index);
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *named = NULL;
    replica slowest PP_CLEANUP(replica_free) = { 0 };
    pp_status status = pp_pool_costs(&search->pool, setup, &set, err);
    for (uint32_t i = 0; i < set.count && problem->framework == &pp_framework_ideal; i++)
        set.costs[i]->has_memory = false; /* which changes no time: no memory is replayed */
    if (!status && !planned)
        status = pp_search_order(search, problem, c, set.costs[0], &named, err);
    if (!status)
        status = slowest_replica(problem, setup, c, &set, planned ? planned->order : &named,
                                 planned ? planned->count : 1, &slowest, err);
    if (status)
        return status;
    const pp_jitter_subject subject = {
        .program = slowest.program,
        .timeline = slowest.timeline,
        .costs = slowest.costs,
        .pool = pool,
        .step_sync = !request->no_step_sync,
        .chained = request->no_step_sync && pp_step_tail_chained(problem->framework),
        .is_over = until ? until->is_over : NULL,
        .context = until ? until->context : NULL,
    };
    *step_ns_out = slowest.step_ns;
    return pp_jitter_study(&subject, spec, request->seed, request->threads, out, err);
}

pp_status pp_search_study(pp_search *search, size_t candidate, const pp_jitter_spec *spec,
                          const pp_jitter_until *until, pp_jitter_result *out, pp_err *err)
{
    pp_ns step_ns;
    return study(search, search->problem, candidate, spec, NULL, until, &step_ns, out, err);
}

pp_status pp_search_study_growth(pp_search *search, size_t candidate, const pp_jitter_spec *spec,
                                 const pp_jitter_pool *pool, double *growth_out, pp_err *err)
{
    pp_plan_request request = *search->problem->request;
    pp_plan_problem problem = *search->problem; /* borrows what the search's own owns */
    pp_jitter_result result;
    pp_ns step_ns;
    request.exchange = (pp_exchange_options){ .tensors = 0 };
    request.buffers = (pp_buffer_settings){ .has_recv = false };
    problem.request = &request;
    problem.framework = &pp_framework_ideal;
    pp_status status = study(search, &problem, candidate, spec, pool, NULL, &step_ns, &result, err);
    if (!status)
        *growth_out = step_ns > 0 ? (double)result.p95_ns / (double)step_ns : 1;
    return status;
}
