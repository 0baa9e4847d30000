/* Budgets of iterations: more of them find nothing worse, whatever the seed, and threads change
 * nothing. */
#include "planner/candidate/budget.h"

#include "tests/support/planning.h"

#include <math.h>

enum { SEQUENCES = 96 };

static const struct {
    const char *model;
    int64_t pp, gpus;
    bool lengths;
} jobs[] = {
    { "llama3-8b", 4, 0, false },
    { "gpt1.7b", 4, 0, true },
    { "llama3-8b", 0, 8, false },
};

enum { JOBS = sizeof jobs / sizeof *jobs };

/* The fastest plan is asked for, as with --fastest. */
static pp_plan_request request_for(const planning *p, int job, int64_t *lengths)
{
    pp_plan_request request = request_of(p, jobs[job].pp);
    request.gpus = jobs[job].gpus;
    request.parallel.tp = jobs[job].gpus ? 0 : 2;
    request.orders = PP_ORDERS_BETTER;
    request.threads = 1;
    for (size_t k = 0; k < SEQUENCES; k++)
        lengths[k] = 100 + (int64_t)(k * 7919 % 1900);
    if (jobs[job].lengths) {
        request.lengths = lengths;
        request.length_count = SEQUENCES;
        request.seq_length = 2048;
    }
    return request;
}

START_TEST(more_iterations_find_nothing_worse)
{
    static const uint64_t budgets[] = { 1, 3, 10, 30, 100, 300 };
    planning p = planning_of(jobs[_i].model, "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_plan_request request = request_for(&p, _i, lengths);
    for (request.seed = 0; request.seed < 2; request.seed++) {
        double last = HUGE_VAL;
        double first = 0;
        for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
            request.max_simulations = budgets[k];
            pp_search_result *choice = choose(&request);
            const pp_candidate *c = &choice->candidate[0];
            const double score = pp_candidate_score(c, c->step_ns);
            ck_assert_msg(score <= last, "seed %d, %d iterations: %g after %g", (int)request.seed,
                          (int)budgets[k], score, last);
            first = k ? first : score;
            last = score;
            pp_search_result_free(&choice);
        }
        ck_assert(last < first);
    }
}
END_TEST

START_TEST(threads_change_nothing)
{
    planning p = planning_of(jobs[_i % JOBS].model, "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_plan_request request = request_for(&p, _i % JOBS, lengths);
    request.max_simulations = _i < JOBS ? 0 : 60;
    request.tie = 0.01; /* the recommended plan */
    request.headroom_bytes = (int64_t)8 << 30;
    check_threads(request, NULL);
}
END_TEST

START_TEST(a_begun_million_of_ops_is_an_iteration)
{
    const pp_plan_request request = { .max_simulations = 2 };
    ck_assert_uint_eq(pp_budget_iterations(12), 1);
    ck_assert_uint_eq(pp_budget_iterations(2e6), 2);
    ck_assert_uint_eq(pp_budget_iterations(2.5e6), 3);
    ck_assert(pp_budget_affords(&request, 1.9e6));
    ck_assert(!pp_budget_affords(&request, 2.1e6));
    ck_assert(pp_budget_bounds(&request, 4e5));
    ck_assert(!pp_budget_bounds(&request, 5e5));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget");
    TCase *tc = tcase_create("budget");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, more_iterations_find_nothing_worse, 0, JOBS);
    tcase_add_loop_test(tc, threads_change_nothing, 0, 2 * JOBS);
    tcase_add_test(tc, a_begun_million_of_ops_is_an_iteration);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
