/* Scores of candidates, and the schedule of free orders. */
#include "planner/candidate/candidate.h"

#include "sim/base/field.h"
#include "sim/schedule/registry.h"

const char *pp_candidate_status_name(pp_candidate_status status)
{
    static const char *const names[] = { "ok", "pruned", "infeasible" };
    return names[status];
}

double pp_candidate_score(const pp_candidate *candidate, pp_ns step_ns)
{
    return (double)step_ns * (double)pp_parallel_gpus(&candidate->parallel);
}

double pp_candidate_more(const pp_candidate *c, const pp_candidate *best)
{
    const pp_candidate *const both[2] = { c, best };
    const bool chosen = c->searched_ns && best->searched_ns;
    double score[2];
    for (size_t i = 0; i < 2; i++)
        score[i] =
            pp_candidate_score(both[i], !chosen && both[i]->searched_ns ? both[i]->searched_ns
                                        : both[i]->step_ns              ? both[i]->step_ns
                                                                        : both[i]->least_step_ns);
    return score[0] / score[1] - 1;
}

bool pp_is_worth(double least, double score, double best_score)
{
    return least * (1 + 1.0 / PP_MEASURABLE_PART) < best_score &&
           score - best_score <= 5 * (best_score - least);
}

static pp_status build_nothing(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    (void)params;
    (void)order_out;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SCHEDULE),
                      "planned orders are searched for, not generated");
}

const pp_schedule pp_planned_schedule = {
    .name = "planned",
    .summary = "an order found for these costs and this memory",
    .build = build_nothing,
};

bool pp_candidate_is_named(const pp_candidate *c)
{
    return pp_schedule_find(c->schedule->name) == c->schedule;
}
