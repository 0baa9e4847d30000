/* Bytes of a rank and their times, by hand: memory that remains for the whole step, that grows, and
 * that B leaves. */
#include "sim/cost/costs_json.h"
#include "tests/support/executors.h"

static pp_costs *costs_of(uint32_t p, uint32_t m)
{
    pp_costs *costs = step_costs("F=10ns,I=10ns,W=10ns,comm=5ns", p, 1, m);
    costs->has_memory = true;
    for (uint32_t s = 0; s < p; s++)
        costs->activation_bytes[s] = 1000;
    return costs;
}

static step run(const char *framework, pp_order *order, pp_costs *costs)
{
    step s = { .order = order, .costs = costs };
    const pp_framework *found = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get(framework, &found, &err), err);
    STEP_OK(pp_framework_lower(found, s.order, costs, NULL, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    STEP_OK(pp_report_build("test", found, s.program, s.timeline, s.costs, true, &s.report, &err),
            err);
    return s;
}

/* Added to the p - r activations of 1F1B, with a different size on every rank. */
START_TEST(what_stays_is_part_of_every_peak)
{
    static const char *const frameworks[] = { "ideal", "megatron", "torch" };
    static const int64_t live[] = { 2000, 1000 };
    for (size_t e = 0; e < 3; e++) {
        pp_costs *costs = costs_of(2, 4);
        for (int64_t r = 0; r < 2; r++) {
            costs->parameter_bytes[r] = 1000000 + r;
            costs->gradient_bytes[r] = 200000 + 10 * r;
            costs->optimizer_bytes[r] = 30000000 + 100 * r;
            costs->comm_library_bytes[r] = 4000000000 + 1000 * r;
        }
        step s PP_CLEANUP(step_free) = run(frameworks[e], step_order("1f1b", 2, 1, 4, 0), costs);
        for (int64_t r = 0; r < 2; r++) {
            const pp_memory_peak *peak = &s.report->per_rank[r].memory;
            ck_assert_int_eq(peak->bytes[PP_MEMORY_PARAMETERS], 1000000 + r);
            ck_assert_int_eq(peak->bytes[PP_MEMORY_GRADIENTS], 200000 + 10 * r);
            ck_assert_int_eq(peak->bytes[PP_MEMORY_OPTIMIZER], 30000000 + 100 * r);
            ck_assert_int_eq(peak->bytes[PP_MEMORY_COMM_LIBRARY], 4000000000 + 1000 * r);
            ck_assert_int_eq(peak->total_bytes, 4031200000 + 1111 * r + live[r]);
        }
    }
}
END_TEST

/* Weight gradients deferred to the end: each has a stash, the last one in addition to the last
 * activation. One by one there is a single stash. */
START_TEST(deferred_weight_gradients_pile_up)
{
    const char *const late[] = { "0F0 0I0 0F1 0I1 0F2 0I2 0F3 0I3 0W0 0W1 0W2 0W3" };
    const char *const early[] = { "0F0 0I0 0W0 0F1 0I1 0W1 0F2 0I2 0W2 0F3 0I3 0W3" };
    for (int k = 0; k < 2; k++) {
        pp_costs *costs = costs_of(1, 4);
        costs->stash_bytes[0] = 700;
        step s PP_CLEANUP(step_free) =
            run("ideal", step_order_of_rows(1, 4, k ? early : late, 1), costs);
        const pp_memory_peak *peak = &s.report->per_rank[0].memory;
        ck_assert_int_eq(peak->total_bytes, k ? 1000 : 1000 + 3 * 700);
        ck_assert_int_eq(peak->bytes[PP_MEMORY_WEIGHT_STASH], k ? 0 : 3 * 700);
    }
}
END_TEST

/* An input gradient that leaves 1600 bytes although its forward held 1000: 2 x 1600 after the
 * second. */
START_TEST(a_backward_may_leave_more_than_it_frees)
{
    const char *const rows[] = { "0F0 0I0 0F1 0I1 0W0 0W1" };
    pp_costs *costs = costs_of(1, 2);
    costs->stash_bytes[0] = 1600;
    step s PP_CLEANUP(step_free) = run("ideal", step_order_of_rows(1, 2, rows, 1), costs);
    const pp_rank_report *rank = &s.report->per_rank[0];
    ck_assert_int_eq(rank->memory.total_bytes, 2 * 1600);
    ck_assert_int_eq(rank->peak_op.kind, PP_OP_W);
    ck_assert_uint_eq(rank->peak_op.microbatch, 0);
}
END_TEST

/* Recomputed activations exist while B runs, for one microbatch; the peak names B. */
START_TEST(recomputation_has_a_transient_of_its_own)
{
    static const char *const frameworks[] = { "ideal", "deepspeed" };
    for (size_t e = 0; e < 2; e++) {
        pp_costs *costs = costs_of(2, 4);
        costs->recompute_bytes[0] = 5000;
        step s PP_CLEANUP(step_free) = run(frameworks[e], step_order("1f1b", 2, 1, 4, 0), costs);
        const pp_rank_report *first = &s.report->per_rank[0];
        ck_assert_int_eq(first->memory.bytes[PP_MEMORY_RECOMPUTE], 5000);
        ck_assert_int_eq(first->memory.total_bytes, 2 * 1000 + 5000);
        ck_assert_int_eq(first->peak_op.kind, PP_OP_B);
        ck_assert_int_eq(s.report->per_rank[1].memory.total_bytes, 1000);
    }
}
END_TEST

/* GPipe, stages of 10, 20, 10: the slow one determines the pace. The time is 10 before it, 4 x 20
 * in it and 10 after it, and the same back; with three stages of the mean, 40 / 3, it would be far
 * less. */
START_TEST(the_slowest_stage_sets_the_pace)
{
    pp_costs *costs = step_costs("F=10ns,B=10ns,comm=0", 3, 1, 4);
    costs->f_ns[1] = costs->b_ns[1] = 20;
    step s PP_CLEANUP(step_free) = run("ideal", step_order("gpipe", 3, 1, 4, 0), costs);
    ck_assert_int_eq(s.report->makespan_ns, 2 * (10 + 4 * 20 + 10));
    ck_assert_int_eq(s.report->per_rank[1].busy_ns, 160);
}
END_TEST

/* Routing: on one stage the second of three microbatches takes 1.5 times as long and holds three
 * times as much. Forwards of p = 2, one after the other: 10, then 10 + 15 + 10 on the second. */
START_TEST(a_microbatch_may_be_hotter_than_others)
{
    static const char text[] =
        "{\"format\":\"ppsim.costs\",\"version\":1,\"stages\":2,\"microbatches\":3,"
        "\"forward_ns\":[10,[10,15,10]],\"backward_ns\":[20,[20,30,20]],\"comm_ns\":0,"
        "\"memory\":{\"activation_bytes\":[1000,[1000,3000,1000]]}}";
    pp_json *json = NULL;
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_json_parse(text, sizeof text - 1, "costs.json", &json, &err), err);
    const pp_json_at root = pp_json_root(json, "costs.json");
    STEP_OK(pp_costs_read(&root, 2, 2, 3, &costs, &err), err);
    pp_json_free(&json);
    step s PP_CLEANUP(step_free) = run("ideal", step_order("gpipe", 2, 1, 3, 0), costs);
    ck_assert_int_eq(s.report->makespan_ns, (10 + 10 + 15 + 10) + (20 + 30 + 20 + 20));
    ck_assert_int_eq(s.report->per_rank[1].busy_ns, 35 + 70);
    ck_assert_int_eq(s.report->per_rank[0].memory.total_bytes, 3000);
    ck_assert_int_eq(s.report->per_rank[1].memory.total_bytes, 5000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("footprint");
    TCase *tc = tcase_create("footprint");
    tcase_add_test(tc, what_stays_is_part_of_every_peak);
    tcase_add_test(tc, deferred_weight_gradients_pile_up);
    tcase_add_test(tc, a_backward_may_leave_more_than_it_frees);
    tcase_add_test(tc, recomputation_has_a_transient_of_its_own);
    tcase_add_test(tc, the_slowest_stage_sets_the_pace);
    tcase_add_test(tc, a_microbatch_may_be_hotter_than_others);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
