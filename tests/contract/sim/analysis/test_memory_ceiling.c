/* Drawn programs of all schedules and frameworks, with sizes that differ between microbatches and
 * stages, several tensors per boundary, any policy for buffers, ops and transfers that take no
 * time: no rank needs more than its ceiling, and the peak that is found by ceilings is that of all
 * ranks. */
#include "sim/analysis/memory_ceiling.h"
#include "sim/base/random.h"
#include "sim/schedule/registry.h"
#include "tests/support/executors.h"
#include "tests/support/sample.h"

enum { SEEDS = 60000, PARTS = 12 };

static pp_costs *draw_costs(pp_rng *rng, const pp_order *order)
{
    const bool unequal = pp_rng_below(rng, 3) > 0;
    const bool zero = pp_rng_below(rng, 4) == 0;
    const uint32_t message = pp_rng_below(rng, 3) == 0 ? 3000 : 200;
    const uint32_t classes = unequal ? order->microbatches : 1;
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_new(order->ranks, order->stages, order->microbatches, classes, &costs, &err),
            err);
    costs->has_memory = true;
    for (uint32_t j = 0; j < order->microbatches; j++)
        costs->class_of[j] = unequal ? j : 0;
    for (size_t i = 0; i < (size_t)classes * order->stages; i++) {
        const uint32_t s = (uint32_t)(i % order->stages);
        const uint32_t scale = pp_rng_below(rng, 4) == 0 ? 10 : 1;
        const bool last = s + 1 == order->stages;
        costs->f_ns[i] = zero ? pp_rng_below(rng, 2) : 1 + pp_rng_below(rng, 20);
        costs->i_ns[i] = zero ? pp_rng_below(rng, 2) : 1 + pp_rng_below(rng, 20);
        costs->w_ns[i] = zero ? pp_rng_below(rng, 2) : 1 + pp_rng_below(rng, 10);
        costs->b_ns[i] = costs->i_ns[i] + costs->w_ns[i];
        costs->send_f_ns[i] = last ? 0 : pp_rng_below(rng, zero ? 2 : 15);
        costs->send_b_ns[i] = s ? pp_rng_below(rng, zero ? 2 : 15) : 0;
        costs->activation_bytes[i] = scale * pp_rng_below(rng, 1000);
        costs->stash_bytes[i] = pp_rng_below(rng, 1 + 2 * (uint32_t)costs->activation_bytes[i]);
        costs->message_bytes[i] = last ? 0 : scale * pp_rng_below(rng, message);
        costs->temporary_bytes[i] = pp_rng_below(rng, 200);
        costs->recompute_bytes[i] = pp_rng_below(rng, 300);
        costs->w_extra_bytes[i] = pp_rng_below(rng, 3) ? 0 : pp_rng_below(rng, 400);
        costs->logits_bytes[i] = last ? pp_rng_below(rng, 100) : 0;
        costs->output_bytes[i] = last ? pp_rng_below(rng, 60) : 0;
    }
    for (uint32_t r = 0; r < order->ranks; r++)
        costs->parameter_bytes[r] = 5000 + pp_rng_below(rng, 500);
    return costs;
}

/* Returns false if the framework cannot run the order, or does not communicate. */
static bool draw_program(pp_rng *rng, const pp_framework *framework, const pp_order *order,
                         const pp_costs *costs, pp_program **program_out)
{
    pp_exchange_options exchange = { .tensors = 1 + pp_rng_below(rng, 4),
                                     .shape_message_ns = pp_rng_below(rng, 5) };
    pp_err err = { 0 };
    if (pp_rng_below(rng, 2))
        exchange.shapes.kind = (pp_size_protocol_kind)pp_rng_below(rng, 4);
    if (pp_rng_below(rng, 2))
        exchange.host = (pp_host_costs){ pp_rng_below(rng, 5), 3, 2 };
    if (pp_framework_lower(framework, order, costs, NULL, program_out, &err) ||
        !(*program_out)->comm ||
        (pp_rng_below(rng, 2) &&
         pp_exchange_lower(framework, &exchange, costs, *program_out, &err)))
        return false;
    pp_comm *comm = (*program_out)->comm;
    if (pp_rng_below(rng, 3))
        comm->buffers = (pp_buffers){ .recv = (uint8_t)pp_rng_below(rng, PP_RECV_BUFFERS_COUNT),
                                      .send = (uint8_t)pp_rng_below(rng, PP_SEND_BUFFERS_COUNT),
                                      .recv_copied = pp_rng_below(rng, 2),
                                      .return_outputs = pp_rng_below(rng, 2),
                                      .fused_backward = pp_rng_below(rng, 2) };
    comm->collective |= pp_rng_below(rng, 3) == 0;
    if (pp_rng_below(rng, 3) == 0)
        comm->semantics.lanes = (pp_lanes)pp_rng_below(rng, 4);
    if (pp_rng_below(rng, 4) == 0) {
        comm->semantics.mode = PP_COMM_EAGER;
        comm->semantics.eager_bytes = pp_rng_below(rng, 4000);
    }
    return true;
}

/* Returns the ceilings that are known. */
static size_t compare(uint64_t seed)
{
    pp_rng rng = { seed * 7919 + 1 };
    const pp_schedule *schedule = pp_schedule_at(pp_rng_below(&rng, (uint32_t)pp_schedule_count()));
    const pp_framework *framework =
        pp_framework_at(pp_rng_below(&rng, (uint32_t)pp_framework_count()));
    const pp_schedule_params params = { .ranks = 2 + pp_rng_below(&rng, 4),
                                        .chunks = 1 + pp_rng_below(&rng, 3),
                                        .microbatches = 2 + pp_rng_below(&rng, 10) };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *all PP_CLEANUP(pp_report_free) = NULL;
    pp_report *peak PP_CLEANUP(pp_report_free) = NULL;
    pp_err err = { 0 };
    size_t known = 0;
    if (schedule->uses_costs || pp_schedule_build(schedule, &params, &order, &err))
        return 0;
    costs = draw_costs(&rng, order);
    if (!draw_program(&rng, framework, order, costs, &program) ||
        pp_simulate(program, costs, &timeline, &err))
        return 0;
    STEP_OK(pp_report_build("test", framework, program, timeline, costs, true, &all, &err), err);
    STEP_OK(pp_report_build_peak("test", framework, program, timeline, costs, true, &peak, &err),
            err);
    for (uint32_t r = 0; r < order->ranks; r++) {
        const int64_t most = pp_memory_ceiling(program, timeline, costs, r);
        known += most < INT64_MAX;
        ck_assert_msg(most >= all->per_rank[r].memory.total_bytes,
                      "seed %d, %s under %s, rank %u, recv %d, send %d, %d tensors: at most %lld "
                      "bytes, %lld simulated",
                      (int)seed, schedule->name, framework->name, r, program->comm->buffers.recv,
                      program->comm->buffers.send, program->comm->parts, (long long)most,
                      (long long)all->per_rank[r].memory.total_bytes);
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
    size_t known = 0;
    for (uint64_t seed = (uint64_t)_i; seed < SEEDS; seed += PARTS) {
        if (!sample_skips(seed / PARTS, 1, 4))
            known += compare(seed);
    }
    ck_assert_uint_gt(known, 20);
}
END_TEST

/* Ranks without memory of their own in the report have their limits all the same. */
START_TEST(limits_are_those_of_all_ranks)
{
    const pp_schedule_params params = { .ranks = 4, .chunks = 1, .microbatches = 8 };
    const pp_framework *framework = NULL;
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *peak PP_CLEANUP(pp_report_free) = NULL;
    pp_rng rng = { 1 };
    pp_err err = { 0 };
    STEP_OK(pp_framework_get("ppsim", &framework, &err), err);
    STEP_OK(pp_schedule_build(pp_schedule_find("1f1b"), &params, &order, &err), err);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = draw_costs(&rng, order);
    for (uint32_t r = 0; r < 4; r++)
        costs->limit_bytes[r] = 1 << 20;
    STEP_OK(pp_framework_lower(framework, order, costs, NULL, &program, &err), err);
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    STEP_OK(pp_report_build_peak("test", framework, program, timeline, costs, true, &peak, &err),
            err);
    for (uint32_t r = 0; r < 4; r++)
        ck_assert_int_eq(peak->per_rank[r].memory_limit_bytes, 1 << 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_ceiling");
    TCase *tcase = tcase_create("drawn");
    tcase_add_loop_test(tcase, no_simulation_needs_more_than_its_ceiling, 0, PARTS);
    tcase_add_test(tcase, limits_are_those_of_all_ranks);
    suite_add_tcase(suite, tcase);
    return step_run(suite);
}
