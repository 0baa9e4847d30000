/* The memory that an order alone shows: never above what a simulation needs, whichever framework
 * runs it, and equal to it without communication. */
#include "sim/analysis/memory_floor.h"
#include "sim/schedule/registry.h"
#include "tests/support/executors.h"

/* Sizes that differ between stages and between components. */
static pp_costs *costs_of(uint32_t ranks, uint32_t stages, uint32_t m)
{
    pp_costs *costs = step_costs("F=10ns,I=11ns,W=7ns,comm=5ns", ranks, stages / ranks, m);
    costs->has_memory = true;
    for (uint32_t s = 0; s < stages; s++) {
        costs->activation_bytes[s] = 1000 + 10 * s;
        costs->stash_bytes[s] = 300 + s;
        costs->message_bytes[s] = 70;
        costs->temporary_bytes[s] = 100 + s;
        costs->recompute_bytes[s] = 40;
        costs->parameter_bytes[s % ranks] = 5000 + s;
    }
    costs->logits_bytes[stages - 1] = 50;
    costs->output_bytes[stages - 1] = 30;
    return costs;
}

/* Compares each rank of one schedule under one framework. Returns false if it does not run. */
static bool compare(const pp_schedule *schedule, const pp_framework *framework, uint32_t chunks)
{
    const pp_schedule_params params = { .ranks = 4, .chunks = chunks, .microbatches = 8 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err err = { 0 };
    if (pp_schedule_build(schedule, &params, &order, &err))
        return false;
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        costs_of(order->ranks, order->stages, order->microbatches);
    if (pp_framework_lower(framework, order, costs, NULL, &program, &err) ||
        pp_simulate(program, costs, &timeline, &err))
        return false;
    STEP_OK(pp_report_build("test", framework, program, timeline, costs, true, &report, &err), err);
    const bool outputs = program->comm && program->comm->buffers.return_outputs;
    for (uint32_t r = 0; r < order->ranks; r++) {
        pp_memory_peak floor;
        const pp_memory_peak *peak = &report->per_rank[r].memory;
        pp_memory_floor(order, costs, r, outputs, &floor);
        ck_assert_msg(floor.total_bytes <= peak->total_bytes,
                      "%s under %s, rank %u: %lld bytes by the order, %lld simulated",
                      schedule->name, framework->name, r, (long long)floor.total_bytes,
                      (long long)peak->total_bytes);
        if (!program->comm && !costs->has_pairs)
            ck_assert_int_eq(floor.total_bytes, peak->total_bytes);
    }
    return true;
}

START_TEST(no_simulation_needs_less_than_its_order)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    size_t compared = 0;
    for (size_t k = 0; k < pp_framework_count(); k++) {
        for (uint32_t chunks = 1; chunks <= 3; chunks++)
            compared += compare(schedule, pp_framework_at(k), chunks);
    }
    ck_assert_uint_gt(compared, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_floor");
    TCase *tcase = tcase_create("order");
    tcase_add_loop_test(tcase, no_simulation_needs_less_than_its_order, 0,
                        (int)pp_schedule_count());
    suite_add_tcase(suite, tcase);
    return step_run(suite);
}
