/* DualPipe: every stage on two ranks. Formulas: README of DeepSeek-AI's DualPipe (3da1bbea), where
 * P counts stages. */
#include "sim/order/order_check.h"
#include "sim/program/program_new.h"
#include "sim/program/transfer_costs.h"
#include "tests/support/executors.h"

static const uint32_t sizes[][2] = {
    { 2, 4 }, { 4, 8 }, { 4, 10 }, { 8, 20 }, { 8, 32 }, { 16, 64 }
};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Microbatch j of direction A runs stage s on rank s, one of direction B on rank p - 1 - s. */
START_TEST(every_stage_lives_on_two_ranks)
{
    uint32_t p = sizes[_i][0];
    uint32_t m = sizes[_i][1];
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("dualpipe", p, 1, m, 0);
    pp_err err = { 0 };
    pp_placement placement = PP_PLACE_LOOP;
    STEP_OK(pp_order_check(order, "dualpipe", &err), err);
    ck_assert_uint_eq(order->stages, p);
    ck_assert(pp_order_placement(order, &placement));
    ck_assert_str_eq(pp_placement_name(placement), "bidirectional");
    for (uint32_t r = 0; r < p; r++) {
        uint32_t seen[2] = { 0, 0 };
        for (size_t i = order->rank_begin[r]; i < order->rank_begin[r + 1]; i++) {
            pp_op op = order->ops[i];
            bool mirrored = op.microbatch >= m / 2;
            ck_assert_uint_eq(op.stage, mirrored ? p - 1 - r : r);
            ck_assert_uint_eq(pp_order_rank(order, op.stage, op.microbatch), r);
            seen[mirrored] += op.kind == PP_OP_F;
        }
        ck_assert_uint_eq(seen[0], m / 2);
        ck_assert_uint_eq(seen[1], m / 2);
        for (uint32_t s = 0; s < p; s++)
            ck_assert_int_eq(pp_placement_holds(placement, s, p, r), s == r || s == p - 1 - r);
    }
}
END_TEST

/* Bubble (P/2 - 1)(F&B + B - 3W) on the middle ranks and less on the others; exact if F = I >= W.
 * At most P + 1 activations on every rank. */
static void check_formulas(const char *schedule, uint32_t v, const char *costs, pp_ns pair_ns,
                           pp_ns f_ns, pp_ns w_ns)
{
    for (int k = 0; k < SIZES; k++) {
        uint32_t p = sizes[k][0];
        uint32_t stages = p * v;
        step s PP_CLEANUP(step_free) =
            step_of(step_order(schedule, p, v, sizes[k][1] * v, 0), costs);
        pp_ns bubble_ns = (stages / 2 - 1) * (pair_ns + (f_ns + w_ns) - 3 * w_ns);
        pp_ns most_ns = 0;
        for (uint32_t r = 0; r < p; r++) {
            pp_ns idle_ns = s.report->makespan_ns - s.report->per_rank[r].busy_ns;
            most_ns = idle_ns > most_ns ? idle_ns : most_ns;
            ck_assert_uint_eq(s.report->per_rank[r].peak_live_activations, stages + 1);
        }
        ck_assert_msg(most_ns == bubble_ns, "%s p=%u %s: %lld, not %lld", schedule, p, costs,
                      (long long)most_ns, (long long)bubble_ns);
        uint32_t middle = v == 1 ? p / 2 - 1 : p - 1;
        ck_assert_int_eq(s.report->makespan_ns - s.report->per_rank[middle].busy_ns, bubble_ns);
    }
}

START_TEST(bubbles_are_those_of_the_published_formula)
{
    static const char *const names[] = { "dualpipe", "dualpipev" };
    uint32_t v = (uint32_t)_i + 1;
    check_formulas(names[_i], v, "F=1us,I=1us,W=1us,FB=3us,comm=0", 3000, 1000, 1000);
    check_formulas(names[_i], v, "F=1us,I=1us,W=1us,FB=2500ns,comm=0", 2500, 1000, 1000);
    check_formulas(names[_i], v, "F=1us,I=1us,W=1us,FB=2us,comm=0", 2000, 1000, 1000);
    check_formulas(names[_i], v, "F=2us,I=2us,W=1us,FB=4us,comm=0", 4000, 2000, 1000);
}
END_TEST

/* Without a duration of their own, pairs run F then B: the idle time is p/2 - 1, half of
 * DualPipeV's (51, 199 and 399 for DualPipeV). */
START_TEST(without_overlap_the_bubble_is_half_of_dualpipev)
{
    static const uint32_t v_makespans[][3] = { { 4, 8, 51 }, { 8, 32, 199 }, { 16, 64, 399 } };
    for (size_t k = 0; k < 3; k++) {
        uint32_t p = v_makespans[k][0];
        uint32_t m = v_makespans[k][1];
        step one PP_CLEANUP(step_free) =
            step_of(step_order("dualpipev", p, 2, m, 0), "F=1ns,I=1ns,W=1ns,comm=0");
        step two PP_CLEANUP(step_free) =
            step_of(step_order("dualpipe", p, 1, m, 0), "F=1ns,I=1ns,W=1ns,comm=0");
        ck_assert_int_eq(one.report->makespan_ns, v_makespans[k][2]);
        ck_assert_int_eq(two.report->makespan_ns, 3 * m + p / 2 - 1);
    }
}
END_TEST

/* Both directions pay the latency of the same edges, and both copies of a stage its cost. */
START_TEST(costs_are_those_of_the_stage_on_either_rank)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("dualpipe", 4, 1, 8, 0) };
    s.costs = step_costs("F=1us,I=1us,W=1us,comm=1us", 4, 1, 8);
    s.costs->f_ns[0] = 5000;
    STEP_OK(lower_with("ideal", s.order, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    for (size_t i = 0; i < s.program->count; i++) {
        pp_op op = s.program->op[i];
        pp_ns takes_ns = s.timeline->end_ns[i] - s.timeline->start_ns[i];
        pp_ns expected_ns = op.kind == PP_OP_F && op.stage == 0 ? 5000
                            : op.kind == PP_OP_B                ? 2000
                                                                : 1000;
        ck_assert_int_eq(takes_ns, expected_ns);
        ck_assert_int_eq(pp_edge_latency(s.program, s.costs, i),
                         s.program->source[i] == PP_NO_SOURCE ? 0 : 1000);
    }
    ck_assert_int_eq(s.timeline->end_ns[s.program->rank_begin[0]], 5000);
    ck_assert_int_eq(s.timeline->end_ns[s.program->rank_begin[3]], 5000);
}
END_TEST

START_TEST(other_shapes_are_refused_with_the_nearest)
{
    static const struct {
        uint32_t p, m;
        const char *words;
    } refused[] = {
        { 1, 8, "1 is odd, and 2 is the nearest even number" },
        { 3, 8, "3 is odd; the nearest even numbers are 2 and 4" },
        { 4, 6, "8 on 4 ranks, not 6" },
        { 4, 9, "9 is odd; the nearest even numbers are 8 and 10" },
        { 4, 7, "8 on 4 ranks, not 7" },
    };
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        const pp_schedule_params shape = { .ranks = refused[k].p,
                                           .chunks = 1,
                                           .microbatches = refused[k].m };
        pp_order *order = NULL;
        pp_err err = { 0 };
        ck_assert_int_eq(pp_schedule_build(pp_schedule_find("dualpipe"), &shape, &order, &err),
                         PP_USAGE);
        ck_assert_msg(strstr(err.text, refused[k].words), "%s", err.text);
    }
}
END_TEST

START_TEST(only_ideal_and_dualpipe_lower_it)
{
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("dualpipe", 4, 1, 8, 0);
    for (size_t e = 0; e < pp_framework_count(); e++) {
        const pp_framework *framework = pp_framework_at(e);
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_err err = { 0 };
        bool right =
            strcmp(framework->name, "ideal") == 0 || strcmp(framework->name, "dualpipe") == 0;
        pp_status status = framework->lower(order, &program, &err);
        ck_assert_msg(status == (right ? PP_OK : PP_USAGE), "%s: %s", framework->name, err.text);
        ck_assert(right || strstr(err.text, "choose"));
    }
}
END_TEST

START_TEST(orders_that_turn_elsewhere_are_not_equal)
{
    pp_order *a PP_CLEANUP(pp_order_free) = step_order("dualpipe", 4, 1, 8, 0);
    pp_order *b PP_CLEANUP(pp_order_free) = step_order("dualpipe", 4, 1, 8, 0);
    ck_assert(pp_order_equal(a, b));
    b->mirrored_from = 5;
    ck_assert(!pp_order_equal(a, b));
}
END_TEST

/* An order with a stage on one rank too many: the rows of dualpipe with one op moved. */
START_TEST(an_op_on_the_wrong_one_of_two_ranks_is_found)
{
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("dualpipe", 4, 1, 8, 0);
    pp_err err = { 0 };
    order->ops[0].microbatch = 4; /* direction B enters at rank 3 */
    ck_assert_int_eq(pp_order_check(order, "x", &err), PP_INPUT);
    ck_assert_str_eq(err.text, "0F4 belongs to another rank");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bidirectional");
    TCase *tc = tcase_create("dualpipe");
    tcase_add_loop_test(tc, every_stage_lives_on_two_ranks, 0, SIZES);
    tcase_add_loop_test(tc, bubbles_are_those_of_the_published_formula, 0, 2);
    tcase_add_test(tc, without_overlap_the_bubble_is_half_of_dualpipev);
    tcase_add_test(tc, costs_are_those_of_the_stage_on_either_rank);
    tcase_add_test(tc, other_shapes_are_refused_with_the_nearest);
    tcase_add_test(tc, only_ideal_and_dualpipe_lower_it);
    tcase_add_test(tc, orders_that_turn_elsewhere_are_not_equal);
    tcase_add_test(tc, an_op_on_the_wrong_one_of_two_ranks_is_found);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
