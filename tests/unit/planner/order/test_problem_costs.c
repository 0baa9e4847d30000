/* An ordering problem made from costs has the times and the memory that the simulator finds. */
#include "planner/bound/bound.h"
#include "planner/order/movable_order.h"
#include "planner/order/problem_costs.h"
#include "sim/order/order_check.h"
#include "tests/support/step.h"

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* Every entry of every table is drawn; some are zero. A fused backward costs more than its
 * halves. */
static pp_costs *draw_costs(const pp_order *order, uint64_t *seed)
{
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    uint32_t m = order->microbatches;
    uint32_t classes = 1 + (uint32_t)draw(seed, m);
    STEP_OK(pp_costs_new(order->ranks, order->stages, m, classes, &costs, &err), err);
    for (uint32_t j = 0; j < m; j++)
        costs->class_of[j] = (uint32_t)draw(seed, classes);
    for (size_t k = 0; k < (size_t)classes * order->stages; k++) {
        costs->f_ns[k] = (pp_ns)draw(seed, 1000);
        costs->i_ns[k] = (pp_ns)draw(seed, 1000);
        costs->w_ns[k] = (pp_ns)draw(seed, 800);
        costs->b_ns[k] = costs->i_ns[k] + costs->w_ns[k] + (pp_ns)draw(seed, 50);
        costs->send_f_ns[k] = (pp_ns)draw(seed, 300);
        costs->send_b_ns[k] = (pp_ns)draw(seed, 300);
        costs->activation_bytes[k] = (int64_t)draw(seed, 1000);
        costs->stash_bytes[k] = costs->activation_bytes[k] / 2;
        costs->recompute_bytes[k] = (int64_t)draw(seed, 200);
        costs->temporary_bytes[k] = (int64_t)draw(seed, 100);
        costs->logits_bytes[k] = k % order->stages + 1 == order->stages ? 150 : 0;
    }
    for (uint32_t r = 0; r < order->ranks; r++) {
        costs->parameter_bytes[r] = (int64_t)draw(seed, 2000);
        costs->gradient_bytes[r] = (int64_t)draw(seed, 2000);
        costs->optimizer_bytes[r] = (int64_t)draw(seed, 2000);
        costs->comm_library_bytes[r] = (int64_t)draw(seed, 200);
    }
    costs->has_memory = true;
    return costs;
}

static const struct {
    const char *name;
    uint32_t chunks;
    bool split;
} rows[] = {
    { "gpipe", 1, false },  { "1f1b", 1, false }, { "interleaved", 2, false },
    { "1f1b-v", 2, false }, { "zb-h1", 1, true }, { "interleaved-zb", 3, true },
    { "zbv", 2, true },     { "v-min", 2, true },
};

/* Returns whether the order fits, as the search sees it, and how long it takes. */
static bool fits(const step *s, bool split, int64_t limit_bytes, int64_t *makespan_out)
{
    pp_order_problem *x = NULL;
    pp_movable_order *movable = NULL;
    pp_order *again = NULL;
    pp_err err = { 0 };
    STEP_OK(
        pp_order_problem_from_costs(s->costs, s->order->stage_rank, split, limit_bytes, &x, &err),
        err);
    STEP_OK(pp_movable_order_new(x, &movable, &err), err);
    uint32_t *ops = calloc(x->ops, sizeof *ops);
    ck_assert_ptr_nonnull(ops);
    pp_order_problem_from_order(x, s->order, ops);
    bool fit = pp_movable_order_set(movable, ops);
    *makespan_out = movable->makespan;
    STEP_OK(pp_order_problem_to_order(x, ops, split, &again, &err), err);
    STEP_OK(pp_order_check(again, "again", &err), err);
    ck_assert(pp_order_equal(again, s->order));
    pp_order_free(&again);
    free(ops);
    pp_movable_order_free(&movable);
    pp_order_problem_free(&x);
    return fit;
}

/* Time to the nanosecond, memory to the byte: the order fits its own peak and nothing less. */
START_TEST(an_instance_is_what_the_simulator_runs)
{
    uint64_t seed = 431;
    for (int n = 0; n < 300; n++) {
        uint32_t p = 1 + (uint32_t)draw(&seed, 5) + (rows[_i].chunks > 1);
        uint32_t m = p * (1 + (uint32_t)draw(&seed, 3));
        step s = { .order = step_order(rows[_i].name, p, rows[_i].chunks, m, 0) };
        for (size_t i = 0; i < s.order->rank_begin[p]; i++)
            s.order->ops[i].paired = 0;
        s.costs = draw_costs(s.order, &seed);
        step_simulate(&s);
        int64_t makespan;
        ck_assert(fits(&s, rows[_i].split, s.report->peak_memory_bytes, &makespan));
        ck_assert_int_eq(makespan, s.report->makespan_ns);
        ck_assert(!fits(&s, rows[_i].split, s.report->peak_memory_bytes - 1, &makespan));
        ck_assert(fits(&s, rows[_i].split, 0, &makespan));
        step_free(&s);
    }
}
END_TEST

/* Limited to its own peak, no schedule beats the bound that its report names. */
START_TEST(no_schedule_beats_the_bound_of_its_report)
{
    uint64_t seed = 679;
    for (int n = 0; n < 300; n++) {
        uint32_t p = 1 + (uint32_t)draw(&seed, 5) + (rows[_i].chunks > 1);
        uint32_t m = p * (1 + (uint32_t)draw(&seed, 3));
        step s = { .order = step_order(rows[_i].name, p, rows[_i].chunks, m, 0) };
        pp_err err = { 0 };
        s.costs = draw_costs(s.order, &seed);
        step_simulate(&s);
        s.report->memory_limit_bytes = s.report->peak_memory_bytes;
        STEP_OK(pp_bound_report(s.costs, s.order, true, s.report, &err), err);
        ck_assert_int_gt(s.report->lower_bound_ns, 0);
        ck_assert_msg(s.report->lower_bound_ns <= s.report->makespan_ns, "%s draw %d: %s",
                      rows[_i].name, n, s.report->bound_name);
        step_free(&s);
    }
}
END_TEST

/* Durations and bytes that are too large for instances are refused, and there are no bounds
 * then. */
START_TEST(what_is_too_large_is_refused)
{
    step s = step_of(step_order("1f1b", 2, 1, 4, 0), "F=1us,I=1us,W=1us,comm=0");
    pp_order_problem *x = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    s.costs->f_ns[0] = PP_ORDER_PROBLEM_TICKS_MAX + 1;
    ck_assert_int_eq(pp_order_problem_from_costs(s.costs, s.order->stage_rank, true, 0, &x, &err),
                     PP_INPUT);
    ck_assert_ptr_null(x);
    STEP_OK(pp_order_bounds_of_order(s.costs, s.order, 0, INT64_MAX, &limits, &err), err);
    ck_assert_int_eq(limits.ticks, 0);
    step_free(&s);
}
END_TEST

/* Microbatches of one class, counted, give the bounds that they give one by one. Which of them
 * share a class is drawn, and so is whether memory is tight. */
START_TEST(classes_that_are_counted_have_the_bounds_of_their_microbatches)
{
    uint64_t seed = 5077;
    int tight = 0;
    for (int n = 0; n < 300; n++) {
        const uint32_t p = 1 + (uint32_t)draw(&seed, 4) + (rows[_i].chunks > 1);
        const uint32_t m = p * (2 + (uint32_t)draw(&seed, 4));
        step s = { .order = step_order(rows[_i].name, p, rows[_i].chunks, m, 0) };
        pp_order_problem *x = NULL;
        pp_order_bounds each, counted, enough;
        pp_err err = { 0 };
        s.costs = draw_costs(s.order, &seed);
        for (uint32_t j = 0; j < m; j++) /* at least two differ: equal ones are counted anyway */
            s.costs->class_of[j] = j == 0 ? 0 : (uint32_t)draw(&seed, s.costs->classes);
        step_simulate(&s);
        const int64_t limit = n % 3 ? s.report->peak_memory_bytes : 0;
        STEP_OK(pp_order_problem_from_costs(s.costs, s.order->stage_rank, rows[_i].split, limit, &x,
                                            &err),
                err);
        STEP_OK(pp_order_bounds_find(x, &each, &err), err);
        STEP_OK(pp_order_bounds_of_order(s.costs, s.order, limit, INT64_MAX, &counted, &err), err);
        for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++)
            ck_assert_msg(each.part[k] == counted.part[k], "%s draw %d, %s: %lld, counted %lld",
                          rows[_i].name, n, pp_order_bound_key((pp_order_bound_part)k),
                          (long long)each.part[k], (long long)counted.part[k]);
        tight += each.ticks > each.part[PP_ORDER_BOUND_JACKSON];
        STEP_OK(pp_order_bounds_of_order(s.costs, s.order, limit, counted.ticks, &enough, &err),
                err);
        ck_assert_int_eq(enough.ticks, each.ticks);
        ck_assert_int_eq(enough.largest, each.largest);
        pp_order_problem_free(&x);
        step_free(&s);
    }
    ck_assert_int_gt(tight, 0);
}
END_TEST

/* Bounds of parts after one that is enough are left out. */
START_TEST(bounds_stop_at_what_is_enough)
{
    step s = step_of(step_order("1f1b", 4, 1, 8, 0), "F=1us,I=1us,W=1us,comm=1us");
    pp_order_bounds all, some;
    pp_err err = { 0 };
    STEP_OK(pp_order_bounds_of_order(s.costs, s.order, 0, INT64_MAX, &all, &err), err);
    ck_assert_int_gt(all.part[PP_ORDER_BOUND_JACKSON], 0);
    ck_assert_int_gt(all.part[PP_ORDER_BOUND_CHAINED], 0);
    STEP_OK(
        pp_order_bounds_of_order(s.costs, s.order, 0, all.part[PP_ORDER_BOUND_LOAD], &some, &err),
        err);
    ck_assert_int_eq(some.part[PP_ORDER_BOUND_LOAD], all.part[PP_ORDER_BOUND_LOAD]);
    ck_assert_int_eq(some.part[PP_ORDER_BOUND_JACKSON], 0);
    ck_assert_int_eq(some.part[PP_ORDER_BOUND_CHAINED], 0);
    step_free(&s);
}
END_TEST

/* The number of microbatches is no reason to have no bound. */
START_TEST(a_bound_is_there_for_any_number_of_microbatches)
{
    pp_order_bounds few, many;
    pp_err err = { 0 };
    for (uint32_t m = 32; m <= 1u << 18; m <<= 13) {
        step s = step_of(step_order("1f1b", 4, 1, m, 0), "F=1us,I=1us,W=1us,comm=1us");
        STEP_OK(
            pp_order_bounds_of_order(s.costs, s.order, 0, INT64_MAX, m == 32 ? &few : &many, &err),
            err);
        step_free(&s);
    }
    ck_assert_int_gt(few.ticks, 0);
    ck_assert_int_eq(many.ticks - few.ticks, ((1 << 18) - 32) * 3000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("instance_costs");
    TCase *tc = tcase_create("instance_costs");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, an_instance_is_what_the_simulator_runs, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(tc, no_schedule_beats_the_bound_of_its_report, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tc, what_is_too_large_is_refused);
    tcase_add_loop_test(tc, classes_that_are_counted_have_the_bounds_of_their_microbatches, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tc, bounds_stop_at_what_is_enough);
    tcase_add_test(tc, a_bound_is_there_for_any_number_of_microbatches);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
