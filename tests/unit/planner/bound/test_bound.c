/* Lower bounds hold for every order, and meet closed forms if there are any. */
#include "planner/bound/bound.h"
#include "sim/order/order_check.h"
#include "tests/support/step.h"

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static pp_bound bound_of(const step *s, bool split, int64_t limit_bytes)
{
    pp_bound bound;
    pp_err err = { 0 };
    STEP_OK(pp_bound_makespan(s->costs, s->order->stage_rank, split, limit_bytes, &bound, &err),
            err);
    return bound;
}

/* Every entry of every table is drawn; some are zero. One class per microbatch, or a few. */
static pp_costs *random_costs(const pp_order *order, uint64_t *seed)
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
        costs->b_ns[k] = costs->i_ns[k] + costs->w_ns[k];
        costs->send_f_ns[k] = (pp_ns)draw(seed, 300);
        costs->send_b_ns[k] = (pp_ns)draw(seed, 300);
        costs->activation_bytes[k] = (int64_t)draw(seed, 1000);
        costs->stash_bytes[k] = costs->activation_bytes[k] / 2;
        costs->recompute_bytes[k] = (int64_t)draw(seed, 200);
        costs->logits_bytes[k] = k % order->stages + 1 == order->stages ? 150 : 0;
    }
    for (uint32_t r = 0; r < order->ranks; r++)
        costs->parameter_bytes[r] = (int64_t)draw(seed, 2000);
    costs->has_memory = true;
    return costs;
}

static const char *const names[] = { "gpipe", "1f1b", "interleaved" };

/* A bound that a legal order beats is wrong. The memory limit is the order's own peak, the smallest
 * that it can be held to. 3 schedules x 2000 draws. */
START_TEST(no_order_beats_its_bound)
{
    uint64_t seed = 77;
    const char *name = names[_i];
    for (int draw_number = 0; draw_number < 2000; draw_number++) {
        uint32_t p = 1 + (uint32_t)draw(&seed, 6);
        uint32_t v = strcmp(name, "interleaved") == 0 ? 2 + (uint32_t)draw(&seed, 2) : 1;
        uint32_t m = v > 1 ? p * (1 + (uint32_t)draw(&seed, 3)) : 1 + (uint32_t)draw(&seed, 12);
        step s = { .order = step_order(name, p, v, m, 0) };
        s.costs = random_costs(s.order, &seed);
        step_simulate(&s);
        for (int split = 0; split < 2; split++) {
            pp_bound bound = bound_of(&s, split, s.report->peak_memory_bytes);
            ck_assert(bound.fits);
            ck_assert_msg(bound.ns <= s.report->makespan_ns,
                          "%s p=%u v=%u m=%u draw %d: %s %lld above %lld", name, p, v, m,
                          draw_number, pp_bound_text(bound.part), (long long)bound.ns,
                          (long long)s.report->makespan_ns);
        }
        step_free(&s);
    }
}
END_TEST

/* Like no_order_beats_its_bound, for orders that split the backward: 1F1B with each B replaced by
 * I, and its W at a random later place. */
START_TEST(no_split_order_beats_its_bound)
{
    uint64_t seed = 5;
    for (int draw_number = 0; draw_number < 2000; draw_number++) {
        uint32_t p = 1 + (uint32_t)draw(&seed, 5);
        uint32_t m = 1 + (uint32_t)draw(&seed, 8);
        pp_order *fused = step_order("1f1b", p, 1, m, 0);
        pp_order *order = NULL;
        pp_err err = { 0 };
        STEP_OK(pp_order_new(p, p, m, PP_PLACE_LOOP, (size_t)3 * p * m, &order, &err), err);
        for (uint32_t r = 0; r < p; r++) {
            uint32_t pending = 0;
            for (size_t i = fused->rank_begin[r]; i < fused->rank_begin[r + 1]; i++) {
                pp_op op = fused->ops[i];
                bool back = op.kind == PP_OP_B;
                pp_order_add(order, r, back ? PP_OP_I : PP_OP_F, r, op.microbatch);
                for (pending += back; pending && draw(&seed, 2); pending--)
                    pp_order_add(order, r, PP_OP_W, r, op.microbatch + 1 - pending);
                ck_assert(back || !pending || op.kind == PP_OP_F);
                while (pending && !back) { /* its W before the next forward */
                    pp_order_add(order, r, PP_OP_W, r, fused->ops[i - 1].microbatch + 1 - pending);
                    pending--;
                }
            }
            for (; pending; pending--)
                pp_order_add(order, r, PP_OP_W, r, m - pending);
        }
        pp_order_end(order);
        pp_order_free(&fused);
        if (pp_order_check(order, "drawn", &err)) {
            pp_order_free(&order);
            continue; /* the draw did not give a legal order */
        }
        step s = { .order = order };
        s.costs = random_costs(s.order, &seed);
        step_simulate(&s);
        pp_bound bound = bound_of(&s, true, s.report->peak_memory_bytes);
        ck_assert_int_le(bound.ns, s.report->makespan_ns);
        step_free(&s);
    }
}
END_TEST

/* Huang 2019, Narayanan 2021: equal stages, free links: (m + p - 1)(F + B). The bound meets it, so
 * GPipe and 1F1B are optimal there. */
START_TEST(equal_stages_meet_the_closed_form)
{
    for (uint32_t p = 1; p <= 9; p++) {
        for (uint32_t m = 1; m <= 20; m++) {
            step s = step_of(step_order(names[_i], p, 1, m, 0), "F=1us,B=2us,comm=0");
            pp_bound bound = bound_of(&s, false, 0);
            ck_assert_int_eq(s.report->makespan_ns, (m + p - 1) * 3000);
            ck_assert_int_eq(bound.ns, (m + p - 1) * 3000);
            step_free(&s);
        }
    }
}
END_TEST

/* One microbatch: the bound is exactly its path, p F + p B + 2 (p - 1) links. */
START_TEST(one_microbatch_is_its_path)
{
    step s = step_of(step_order("1f1b", 5, 1, 1, 0), "F=1us,B=2us,comm=100ns");
    pp_bound bound = bound_of(&s, false, 0);
    ck_assert_int_eq(bound.part_ns[PP_BOUND_PATH], 15800);
    ck_assert_int_eq(bound.ns, 15800);
    ck_assert_int_eq(s.report->makespan_ns, 15800);
    step_free(&s);
}
END_TEST

/* Two ranks, m = 8, links of 10, F = B = 3 on rank 0 and 1 on rank 1. The first gradient is back at
 * 25. Before that rank 0 can run the k forwards that fit: 25 - 3 k idle, 48 of work. */
START_TEST(memory_bounds_the_start)
{
    for (uint32_t k = 1; k <= 8; k++) {
        step s = step_of(step_order("1f1b", 2, 1, 8, 0), "F=1us,B=1us,comm=10us");
        pp_memory_costs memory;
        pp_err err = { 0 };
        STEP_OK(pp_memory_costs_parse("F=100B,I=-50B,W=-50B", &memory, &err), err);
        pp_costs_set_memory(s.costs, &memory);
        s.costs->f_ns[0] = s.costs->b_ns[0] = 3000;
        pp_bound bound = bound_of(&s, false, 100 * k);
        ck_assert_int_eq(bound.part_ns[PP_BOUND_START], 25000 - 3000 * k + 48000);
        ck_assert_int_eq(bound.part_rank[PP_BOUND_START], 0);
        step_free(&s);
    }
}
END_TEST

/* The same setup with the bound `area`: 8 activations, each held 23 us on rank 0, at most k at
 * once. */
START_TEST(memory_bounds_the_area)
{
    for (uint32_t k = 1; k <= 8; k++) {
        step s = step_of(step_order("1f1b", 2, 1, 8, 0), "F=1us,B=1us,comm=10us");
        pp_memory_costs memory;
        pp_err err = { 0 };
        STEP_OK(pp_memory_costs_parse("F=100B,I=-50B,W=-50B", &memory, &err), err);
        pp_costs_set_memory(s.costs, &memory);
        pp_bound bound = bound_of(&s, false, 100 * k);
        pp_ns exact = 8 * 24000 / (pp_ns)k;
        ck_assert_int_le(bound.part_ns[PP_BOUND_AREA], exact);
        ck_assert_int_ge(bound.part_ns[PP_BOUND_AREA], exact - 2);
        step_free(&s);
    }
}
END_TEST

START_TEST(a_microbatch_above_the_limit_fits_nothing)
{
    step s = step_of(step_order("1f1b", 2, 1, 4, 0), "F=1us,B=1us,comm=0");
    pp_memory_costs memory;
    pp_err err = { 0 };
    STEP_OK(pp_memory_costs_parse("F=100B,I=-50B,W=-50B", &memory, &err), err);
    pp_costs_set_memory(s.costs, &memory);
    ck_assert(!bound_of(&s, false, 99).fits);
    ck_assert(bound_of(&s, false, 100).fits);
    step_free(&s);
}
END_TEST

START_TEST(a_report_gets_its_bound)
{
    step s = step_of(step_order("1f1b", 8, 1, 32, 0), "F=1us,I=1us,W=1us,comm=0");
    pp_err err = { 0 };
    STEP_OK(pp_bound_report(s.costs, s.order, true, s.report, &err), err);
    ck_assert(s.report->has_bound);
    ck_assert_int_eq(s.report->lower_bound_ns, 117000);
    ck_assert_str_eq(s.report->bound_name, "load of rank 7 (any order of these ops)");
    step_free(&s);
}
END_TEST

/* No simulation may be shorter than its bound: one of the two is wrong, and no number is shown. */
START_TEST(a_makespan_below_its_bound_is_an_internal_error)
{
    step s = step_of(step_order("1f1b", 8, 1, 32, 0), "F=1us,I=1us,W=1us,comm=0");
    pp_err err = { 0 };
    s.report->makespan_ns = 116999;
    ck_assert_int_eq(pp_bound_report(s.costs, s.order, true, s.report, &err), PP_INTERNAL);
    ck_assert_int_eq(pp_status_exit(PP_INTERNAL), 8);
    ck_assert_msg(strstr(err.text, "report") != NULL, "%s", err.text);
    step_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bound");
    TCase *tc = tcase_create("bound");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, no_order_beats_its_bound, 0, 3);
    tcase_add_test(tc, no_split_order_beats_its_bound);
    tcase_add_loop_test(tc, equal_stages_meet_the_closed_form, 0, 2);
    tcase_add_test(tc, one_microbatch_is_its_path);
    tcase_add_test(tc, memory_bounds_the_start);
    tcase_add_test(tc, memory_bounds_the_area);
    tcase_add_test(tc, a_microbatch_above_the_limit_fits_nothing);
    tcase_add_test(tc, a_report_gets_its_bound);
    tcase_add_test(tc, a_makespan_below_its_bound_is_an_internal_error);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
