/* The memory-time curve: every point is what a search with that limit finds, and one byte less
 * gives the next. */
#include "planner/study/pareto.h"
#include "planner/study/pareto_json.h"
#include "tests/support/planning.h"
#include "tests/support/sample.h"

static pp_pareto *curve_of(const pp_plan_request *request)
{
    pp_pareto *pareto = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_pareto_find(request, &pareto, &err), err);
    return pareto;
}

/* The fastest point within the limit. */
static const pp_pareto_point *row_at(const pp_pareto *curve, int64_t limit_bytes)
{
    for (size_t i = 0; i < curve->count; i++) {
        if (curve->point[i].candidate.peak_bytes <= limit_bytes)
            return &curve->point[i];
    }
    return NULL;
}

static double score(const pp_candidate *c)
{
    return (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
}

static const struct {
    const char *model, *hardware;
    const pp_framework *framework;
    int64_t pp, tp, batch;
    bool replicas;
} cases[] = {
    { "gpt22b", "h100-80g", NULL, 4, 4, 16, false },
    { "llama3-8b", "h200-141g", &pp_framework_megatron, 4, 0, 16, false },
    { "llama3-8b", "h100-80g", NULL, 2, 4, 0, true },
};

START_TEST(points_are_what_a_search_finds)
{
    planning p = planning_of(cases[_i].model, cases[_i].hardware);
    int64_t lengths[48];
    for (size_t k = 0; k < 48; k++)
        lengths[k] = 64 + (int64_t)(k * 7919 % 1900);
    pp_plan_request request = request_of(&p, cases[_i].pp);
    request.parallel.tp = cases[_i].tp;
    request.global_batch_size = cases[_i].batch;
    request.framework = cases[_i].framework;
    if (cases[_i].replicas) {
        request.parallel.dp = 2;
        request.seq_length = 2048;
        request.lengths = lengths;
        request.length_count = 48;
    }
    pp_pareto *curve = curve_of(&request);
    ck_assert_uint_ge(curve->count, 3);
    for (size_t i = 0; i < curve->count; i++) {
        const pp_pareto_point *point = &curve->point[i];
        for (int least = 0; least < 2; least++) { /* both ends of its range */
            request.memory_limit_bytes = least ? point->candidate.peak_bytes : point->limit_bytes;
            request.recompute_uniform = true; /* like the curve */
            pp_search_result *choice = choose(&request);
            ck_assert(score(&choice->candidate[0]) == score(&point->candidate));
            pp_search_result_free(&choice);
        }
        ck_assert_int_le(point->candidate.peak_bytes, point->limit_bytes);
        ck_assert_int_le(point->least_step_ns, point->candidate.step_ns);
        ck_assert_int_gt(point->least_step_ns, 0);
        if (i == 0)
            continue;
        ck_assert_int_eq(point->limit_bytes, point[-1].candidate.peak_bytes - 1);
        ck_assert(score(&point->candidate) > score(&point[-1].candidate));
    }
    request.memory_limit_bytes = curve->point[curve->count - 1].candidate.peak_bytes - 1;
    refuse(&request, PP_INFEASIBLE, "nothing fits");
    pp_pareto_free(&curve);
}
END_TEST

/* Nowhere slower than named schedules, faster at some limits, and never below the bound. */
START_TEST(orders_found_only_better_the_curve)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 4;
    request.global_batch_size = 16;
    pp_pareto *named = curve_of(&request);
    request.orders = PP_ORDERS_BETTER;
    pp_pareto *found = curve_of(&request);
    size_t faster = 0;
    for (size_t i = 0; i < named->count; i++) {
        const pp_pareto_point *point = &named->point[i];
        const pp_pareto_point *row = row_at(found, point->limit_bytes);
        ck_assert_ptr_nonnull(row);
        ck_assert(score(&row->candidate) <= score(&point->candidate));
        faster += score(&row->candidate) < 0.999 * score(&point->candidate);
    }
    ck_assert_uint_ge(faster, 2);
    for (size_t i = 0; i < found->count; i++) {
        const pp_pareto_point *point = &found->point[i];
        ck_assert_int_le(point->candidate.peak_bytes, point->limit_bytes);
        ck_assert_int_le(point->least_step_ns, point->candidate.step_ns);
        if (i == 0)
            continue;
        ck_assert_int_eq(point->limit_bytes, point[-1].candidate.peak_bytes - 1);
        ck_assert(score(&point->candidate) > score(&point[-1].candidate));
        ck_assert_int_ge(point->least_step_ns, point[-1].least_step_ns);
    }
    pp_pareto_free(&named);
    pp_pareto_free(&found);
}
END_TEST

/* The result of a number of iterations depends on nothing else. */
START_TEST(a_counted_budget_repeats)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.micro_batch_size = 1;
    request.orders = PP_ORDERS_BETTER;
    request.max_simulations = 1200;
    char *text[2];
    for (uint32_t k = 0; k < 2; k++) {
        pp_json_build build = { 0 };
        pp_err err = { 0 };
        size_t bytes;
        request.threads = 1 + 2 * k;
        pp_pareto *curve = curve_of(&request);
        pp_json *json = pp_pareto_write(curve, &request, &build);
        STEP_OK(pp_json_print(&build, json, &text[k], &bytes, &err), err);
        ck_assert(!curve->stopped);
        pp_json_free(&json);
        pp_pareto_free(&curve);
    }
    ck_assert_str_eq(text[0], text[1]);
    free(text[0]);
    free(text[1]);
    request.max_simulations = 20; /* of about 150 */
    pp_pareto *curve = curve_of(&request);
    ck_assert(curve->stopped);
    ck_assert_uint_eq(curve->simulated, 20);
    pp_pareto_free(&curve);
}
END_TEST

static double nothing(void *context)
{
    (void)context;
    return 0;
}

/* Whenever the budget ends, the points that were found until then are the answer, the plain
 * pipeline at least. */
START_TEST(it_can_be_interrupted)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    size_t count = 0;
    bool stopped = true;
    for (int64_t looks = 0; stopped; looks = 4 * looks + 1) {
        int64_t left = looks;
        request.stop = planning_late;
        request.spent = nothing;
        request.context = &left;
        pp_pareto *curve = curve_of(&request);
        stopped = curve->stopped;
        ck_assert(looks > 0 || stopped);
        ck_assert_uint_ge(curve->count, 1);
        count = curve->count;
        for (size_t i = 0; i < curve->count; i++)
            ck_assert_int_le(curve->point[i].least_step_ns, curve->point[i].candidate.step_ns);
        pp_pareto_free(&curve);
    }
    ck_assert_uint_gt(count, 1);
}
END_TEST

START_TEST(nothing_fits_is_said)
{
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.memory_limit_bytes = 1 << 20;
    pp_pareto *pareto = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_pareto_find(&request, &pareto, &err), PP_INFEASIBLE);
    ck_assert_ptr_null(pareto);
    ck_assert_ptr_nonnull(strstr(err.text, "nothing fits"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pareto");
    TCase *tc = tcase_create("pareto");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, points_are_what_a_search_finds, 0, (int)(sizeof cases / sizeof *cases));
    sample_add_test(tc, orders_found_only_better_the_curve, 2);
    sample_add_test(tc, a_counted_budget_repeats, 2);
    sample_add_test(tc, it_can_be_interrupted, 2);
    sample_add_test(tc, nothing_fits_is_said, 2);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
