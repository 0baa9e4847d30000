/* The memory that an order alone shows: never above what a simulation needs, whichever framework
 * runs it, and equal to it without communication. Ceilings are never below it, whatever buffers are
 * for, and the peak that is found with them is that of all ranks. */
#include "sim/analysis/memory_ceiling.h"
#include "sim/analysis/memory_floor.h"
#include "sim/schedule/registry.h"
#include "tests/support/executors.h"
#include "tests/support/sample.h"

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

/* Under one policy for buffers; large: messages are larger than activations. Returns the ceilings
 * that are known. */
static size_t compare_ceilings(const pp_schedule *schedule, const pp_framework *framework,
                               uint32_t chunks, pp_buffers buffers, bool large)
{
    const pp_schedule_params params = { .ranks = 4, .chunks = chunks, .microbatches = 8 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *all PP_CLEANUP(pp_report_free) = NULL;
    pp_report *peak PP_CLEANUP(pp_report_free) = NULL;
    pp_err err = { 0 };
    size_t known = 0;
    if (pp_schedule_build(schedule, &params, &order, &err))
        return 0;
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        costs_of(order->ranks, order->stages, order->microbatches);
    for (uint32_t s = 0; s < order->stages && large; s++)
        costs->message_bytes[s] = 2000 + 700 * (s % 3);
    if (pp_framework_lower(framework, order, costs, NULL, &program, &err) || !program->comm)
        return 0;
    program->comm->buffers = buffers;
    if (pp_simulate(program, costs, &timeline, &err))
        return 0;
    STEP_OK(pp_report_build("test", framework, program, timeline, costs, true, &all, &err), err);
    STEP_OK(pp_report_build_peak("test", framework, program, timeline, costs, true, &peak, &err),
            err);
    for (uint32_t r = 0; r < order->ranks; r++) {
        const int64_t most = pp_memory_ceiling(program, timeline, costs, r);
        known += most < INT64_MAX;
        ck_assert_msg(most >= all->per_rank[r].memory.total_bytes,
                      "%s under %s, rank %u, recv %d, send %d: at most %lld bytes, %lld simulated",
                      schedule->name, framework->name, r, buffers.recv, buffers.send,
                      (long long)most, (long long)all->per_rank[r].memory.total_bytes);
    }
    ck_assert_int_eq(peak->peak_memory_bytes, all->peak_memory_bytes);
    ck_assert_uint_eq(peak->peak_memory_rank, all->peak_memory_rank);
    ck_assert_mem_eq(peak->per_rank[all->peak_memory_rank].memory.bytes,
                     all->per_rank[all->peak_memory_rank].memory.bytes,
                     sizeof all->per_rank[0].memory.bytes);
    return known;
}

START_TEST(no_simulation_needs_more_than_its_ceiling)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    size_t known = 0, number = 0;
    for (size_t k = 0; k < pp_framework_count(); k++) {
        for (int policy = 0; policy < PP_RECV_BUFFERS_COUNT * PP_SEND_BUFFERS_COUNT; policy++) {
            const pp_buffers buffers = { .recv = (uint8_t)(policy / PP_SEND_BUFFERS_COUNT),
                                         .send = (uint8_t)(policy % PP_SEND_BUFFERS_COUNT),
                                         .recv_copied = policy % 2,
                                         .return_outputs = policy % 3 == 0,
                                         .fused_backward = policy % 4 == 0 };
            for (uint32_t chunks = 1; chunks <= 3; chunks++) {
                if (sample_skips(number++, 1, 4))
                    continue;
                known += compare_ceilings(schedule, pp_framework_at(k), chunks, buffers, false);
                known += compare_ceilings(schedule, pp_framework_at(k), chunks, buffers, true);
            }
        }
    }
    const bool pairs = schedule->overlaps_experts || strncmp(schedule->name, "dualpipe", 8) == 0;
    ck_assert(pairs || known > 0); /* of overlapped pairs none are known */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_floor");
    TCase *tcase = tcase_create("order");
    tcase_add_loop_test(tcase, no_simulation_needs_less_than_its_order, 0,
                        (int)pp_schedule_count());
    tcase_add_loop_test(tcase, no_simulation_needs_more_than_its_ceiling, 0,
                        (int)pp_schedule_count());
    suite_add_tcase(suite, tcase);
    return step_run(suite);
}
