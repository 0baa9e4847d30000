/* A transfer between two ranks is charged once, whatever the executor and the stack: by an executor
 * that communicates, otherwise by the stack. Latencies of seconds make the step a whole number of
 * transfers. */
#include "sim/framework/registry.h"
#include "sim/job/software.h"
#include "sim/schedule/registry.h"
#include "tests/support/planning.h"

#include <inttypes.h>
#include <stdlib.h>

/* The longest op takes far less than a transfer, so that all that waits waits for transfers. */
#define LATENCY_S 10.0

/* The step on two ranks; 0: the executor does not run it. */
static pp_ns step_with(const pp_framework *framework, const char *stack, int64_t vpp, int64_t m,
                       double latency_s)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    p.hardware.node_p2p.alpha_s = latency_s;
    pp_plan_request request = request_of(&p, 2);
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_err err = { 0 };
    request.framework = framework;
    request.schedule = vpp > 1 ? &pp_schedule_interleaved : &pp_schedule_one_f_one_b;
    request.parallel.tp = 1;
    request.parallel.vpp = vpp;
    request.micro_batch_size = 1;
    request.global_batch_size = m;
    request.memory_limit_bytes = (int64_t)1 << 40;
    request.switches.stack = stack_named(stack);
    request.switches.given.recompute = true;
    request.switches.value.recompute = PP_RECOMPUTE_NONE;
    return pp_plan_search(&request, &choice, &err) ? 0 : choice->candidate[0].step_ns;
}

/* The transfers that the step waits for: what one second more of latency adds to it. */
static int64_t transfers_of(const pp_framework *framework, const char *stack, int64_t vpp,
                            int64_t m)
{
    const pp_ns before = step_with(framework, stack, vpp, m, LATENCY_S);
    const pp_ns after = step_with(framework, stack, vpp, m, LATENCY_S + 1);
    const int64_t transfers = (after - before + 500000000) / 1000000000;
    ck_assert(before > 0 || after == 0);
    ck_assert_msg(llabs(after - before - transfers * 1000000000) < 1000, "%s %s: %" PRId64 " ns",
                  framework->name, stack, after - before);
    return transfers;
}

/* These run both schedules, so that none is left out unnoticed. */
static bool must_run(const pp_framework *framework)
{
    return framework == &pp_framework_ideal || framework == &pp_framework_torch ||
           framework == &pp_framework_megatron || framework == &pp_framework_megatron_overlap ||
           framework == &pp_framework_zero_bubble || framework == &pp_framework_ppsim;
}

/* One microbatch goes forth and back: two transfers. */
START_TEST(one_microbatch_pays_there_and_back)
{
    const pp_framework *framework = pp_framework_at((size_t)_i);
    for (const char *const *stack = stack_names(); *stack; stack++) {
        const int64_t transfers = transfers_of(framework, *stack, 1, 1);
        if (transfers || must_run(framework))
            ck_assert_int_eq(transfers, 2);
    }
}
END_TEST

/* Two ranks of two stages, two microbatches. A microbatch alone pays 2 (p v - 1) transfers, and all
 * microbatches together m times as many at most. An executor that communicates takes as many
 * whatever the stack. Under ideal, a rank waits after each of its 2 v m ops if the stack does not
 * overlap, and the first and the last op of the other rank add 2 (p - 1). */
START_TEST(interleaved_pays_once)
{
    enum { P = 2, V = 2, M = 2, ALONE = 2 * (P * V - 1), BLOCKED = 2 * V * M + 2 * (P - 1) };
    const pp_framework *framework = pp_framework_at((size_t)_i);
    const int64_t own = transfers_of(framework, "every-schedule", V, M);
    if (own == 0 && !must_run(framework))
        return;
    ck_assert_int_ge(own, ALONE);
    ck_assert_int_le(own, M * ALONE);
    for (const char *const *stack = stack_names(); *stack; stack++) {
        const int64_t paid = transfers_of(framework, *stack, V, M);
        if (framework->size_protocols)
            ck_assert_msg(paid == own, "%s, %s: %" PRId64 ", not %" PRId64, framework->name, *stack,
                          paid, own);
        else
            ck_assert_int_eq(paid, stack_named(*stack)->switches.p2p_overlap ? ALONE : BLOCKED);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transfer_charge");
    TCase *tc = tcase_create("charge");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, one_microbatch_pays_there_and_back, 0, (int)pp_framework_count());
    tcase_add_loop_test(tc, interleaved_pays_once, 0, (int)pp_framework_count());
    suite_add_tcase(s, tc);
    return step_run(s);
}
