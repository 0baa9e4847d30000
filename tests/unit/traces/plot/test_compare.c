/* Pictures that compare: what histograms add up to, and what labels say. */
#include "tests/support/step.h"
#include "traces/plot/draw/picture.h"
#include "traces/plot/plot.h"
#include "traces/plot/registry.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_text script_of(const pp_picture *picture, const char *kind, pp_text *data)
{
    const pp_plot *plot = NULL;
    pp_text script = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_plot_choose(kind, picture, &plot, &err), err);
    STEP_OK(pp_plot_draw(plot, picture, &script, data, &err), err);
    return script;
}

/* Returns the scenarios of a data set, in percent: each bar has its share of a bin of `wide`. */
static double sum_of(const char *data, const char *name, double wide)
{
    double sum = 0;
    double at[3];
    char head[64];
    snprintf(head, sizeof head, "# %s\n", name);
    const char *line = strstr(data, head);
    ck_assert_msg(line != NULL, "no %s", name);
    for (line = strchr(line, '\n') + 1; sscanf(line, "%lf %lf %lf", &at[0], &at[1], &at[2]) == 3;
         line = strchr(line, '\n') + 1) {
        sum += at[2] * (at[1] - at[0]) / wide;
        if (line[strcspn(line, "\n") + 1] == '\n' || !line[strcspn(line, "\n") + 1])
            break;
    }
    return sum;
}

/* All scenarios are in the histogram: 95 % up to the p95, and 5 % beyond it. One case has the
 * quantiles of every 5 %, with several scenarios of one time; the other is of an older report. */
START_TEST(a_histogram_holds_all_scenarios)
{
    pp_picture picture PP_CLEANUP(
        pp_picture_free) = { .last_rank = UINT32_MAX, .width = 900, .data_name = "x.dat" };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_spread *spread = pp_picture_add_spread(&picture, &err);
    ck_assert(spread);
    *spread = (pp_spread){ .name = "zbv",
                           .step_ns = 1000000,
                           .jitter = { .spec = { .scenarios = 100 },
                                       .min_ns = 1000000,
                                       .p50_ns = 1200000,
                                       .p95_ns = 1400000,
                                       .p99_ns = 1450000,
                                       .max_ns = 1500000 } };
    for (int i = 0; i < PP_JITTER_TWENTIETHS && _i == 0; i++)
        spread->jitter.twentieth_ns[i] = i < 10 ? 1200000 : 1200000 + 22222 * (i - 9);
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "jitter", &data);
    double low;
    double high;
    ck_assert_int_eq(
        sscanf(strstr(script.data, "set xrange ["), "set xrange [%lf:%lf]", &low, &high), 2);
    double wide = (high - low) / 59; /* 826 pixels in bins of 14 */
    ck_assert_double_eq_tol(sum_of(data.data, "steps 0:", wide), 95, 1.5);
    ck_assert_double_eq_tol(sum_of(data.data, "tail 0:", wide), 5, 1.5);
    ck_assert_double_eq_tol(
        sum_of(data.data, "steps 0:", wide) + sum_of(data.data, "tail 0:", wide), 100, 0.1);
    ck_assert_ptr_nonnull(strstr(script.data, "median 1.200 ms, +20.00 %"));
    ck_assert_ptr_nonnull(strstr(script.data, "p95 1.400 ms, +40.00 %"));
    ck_assert_int_eq(strstr(script.data, "guesses") != NULL, _i == 1);
}
END_TEST

/* A label says in what the setups of its front differ, and nothing else. */
START_TEST(labels_of_setups_say_what_differs)
{
    pp_picture picture PP_CLEANUP(pp_picture_free) = { .last_rank = UINT32_MAX,
                                                       .data_name = "x.dat" };
    pp_text data PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_front *front = pp_picture_add_front(&picture, &err);
    ck_assert(front);
    *front = (pp_front){ .name = "llama3-8b on h100-80g, pp 4", .model = "llama3-8b", .gpus = 8 };
    for (int i = 0; i < 2; i++) {
        pp_trade *trade = pp_picture_add_trade(&picture, &err);
        ck_assert(trade);
        *trade = (pp_trade){ .peak_bytes = i ? 20 : 50,
                             .limit_bytes = i ? 49 : 80,
                             .cost_s = i ? 9 : 5,
                             .least_s = 4,
                             .schedule = "zbv",
                             .tp = 2,
                             .vpp = 2,
                             .micro_batch = 1 };
        snprintf(trade->recompute, sizeof trade->recompute, "%s", i ? "full" : "none");
    }
    pp_text script PP_CLEANUP(pp_text_free) = script_of(&picture, "pareto", &data);
    ck_assert_ptr_nonnull(strstr(script.data, "set label 'no recompute' at"));
    ck_assert_ptr_nonnull(strstr(script.data, "set label 'full recompute' at"));
    ck_assert_ptr_nonnull(strstr(script.data, "All setups: zbv, tp 2, vpp 2, micro-batch 1."));
    ck_assert_ptr_nonnull(strstr(script.data, "llama3-8b on h100-80g, pp 4, 8 GPUs"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *tc = tcase_create("pictures");
    tcase_add_loop_test(tc, a_histogram_holds_all_scenarios, 0, 2);
    tcase_add_test(tc, labels_of_setups_say_what_differs);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
