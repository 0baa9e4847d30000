/* Simulates a batch as a framework with fixed shapes runs it: one sequence per row, padded to the
 * longest. The pipeline is that of a plan for the packed batch, so the two differ by the packing
 * alone. The cost is that of one simulation. */
#include "planner/study/padded_rows.h"

#include "planner/candidate/budget.h"
#include "planner/study/pack_pipeline.h"
#include "planner/study/plan_one.h"
#include "sim/schedule/registry.h"

/* Above this number of forwards it is not simulated, nor if the budget does not suffice. */
#define FORWARDS_MOST 1000000

static pp_status simulate(const pp_plan_request *one, pp_ns *step_ns_out, pp_err *err)
{
    pp_search_result *result PP_CLEANUP(pp_search_result_free) = NULL;
    pp_err why = pp_err_like(err);
    pp_status status = pp_plan_one(one, &result, &why);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    if (!status)
        *step_ns_out = result->candidate[0].step_ns;
    return PP_OK;
}

pp_status pp_pad_rows(const pp_plan_request *request, const pp_candidate *like,
                      const int64_t *lengths, size_t count, pp_padded_rows *rows_out, pp_err *err)
{
    pp_padded_rows rows = { .tokens = 0 };
    pp_plan_request one = pp_request_pipeline(request, like);
    const int64_t together =
        one.parallel.dp * one.micro_batch_size * (like->schedule->grouped ? one.parallel.pp : 1);
    for (size_t i = 0; i < count; i++)
        rows.tokens = lengths[i] > rows.tokens ? lengths[i] : rows.tokens;
    one.gpus = 0;
    one.lengths = NULL;
    one.length_count = 0;
    one.grouped = NULL;
    one.exchange.shapes = (pp_size_protocol){ .kind = PP_SIZES_PLAN };
    one.seq_length = rows.tokens;
    one.global_batch_size = ((int64_t)count + together - 1) / together * together;
    one.tie = 0; /* nothing is recommended */
    pp_status status = PP_OK;
    const int64_t forwards =
        one.global_batch_size / one.micro_batch_size * one.parallel.pp * one.parallel.vpp;
    if (forwards <= FORWARDS_MOST && !pp_budget_time_is_up(request) &&
        pp_budget_affords(request, 3 * (double)forwards)) {
        status = simulate(&one, &rows.step_ns, err);
        one.schedule = pp_schedule_find("1f1b");
        one.parallel.vpp = 1;
        if (!status && !rows.step_ns)
            status = simulate(&one, &rows.step_ns, err);
    }
    if (!status)
        *rows_out = rows;
    return status;
}
