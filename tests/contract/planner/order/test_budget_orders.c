/* Ten times as many iterations find no longer order of an instance, whatever the seed. Annealing
 * cools down over all of its iterations, so that a little more of them may find another order. */
#include "planner/order/problem_read.h"
#include "planner/order/search.h"
#include "tests/support/step.h"

#include <inttypes.h>

static const char *const instances[] = {
    "m01_u_p4_m12_h1mem",  "m03_zb1.5B_p8_m24_1p",  "m07_var7B_p4_m16", "m08_var7B_p8_m32",
    "m11_V_p8_m32_half",   "m13_loop_var7B_p4_m32", "s01_u_p2_m4",      "s02_u_p3_m4_c2",
    "s03_u_p4_m4_fbw",     "s04_var_p2_m5",         "s05_var_p3_m4",    "s06_var_p4_m6",
    "m12_V_var13B_p8_m32",
};

static int64_t makespan_of(const pp_order_problem *problem, int64_t bound, int64_t iterations,
                           uint64_t seed)
{
    const pp_order_search_options budget = { .iterations = iterations, .seed = seed, .threads = 2 };
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_search(problem, bound, &budget, &found, &err), err);
    return found->makespan;
}

START_TEST(ten_times_as_many_find_nothing_longer)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *problem PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    char path[512];
    snprintf(path, sizeof path, PPSIM_SOURCE_DIR "/tests/data/instances/%s.json", instances[_i]);
    STEP_OK(pp_json_load(path, &json, &err), err);
    const pp_json_at root = pp_json_root(json, path);
    STEP_OK(pp_order_problem_read(&root, &problem, &err), err);
    STEP_OK(pp_order_bounds_find(problem, &limits, &err), err);
    for (uint64_t seed = 0; seed < 2; seed++) {
        for (int64_t first = 1; first <= 3; first += 2) {
            int64_t last = INT64_MAX;
            for (int64_t n = first; n <= 300; n *= 10) {
                const int64_t now = makespan_of(problem, limits.ticks, n, seed);
                ck_assert_msg(now <= last, "seed %d, %d iterations: %" PRId64 " after %" PRId64,
                              (int)seed, (int)n, now, last);
                last = now;
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget_orders");
    TCase *tc = tcase_create("budget_orders");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, ten_times_as_many_find_nothing_longer, 0,
                        (int)(sizeof instances / sizeof *instances));
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
