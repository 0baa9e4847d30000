/* What ppsim compare reports, and what it takes for a regression (docs/reference/compare.md). */
#include "sim/base/random.h"
#include "tests/support/step.h"
#include "tools/ppsim/compare/cells.h"
#include "tools/ppsim/compare/print.h"
#include "tools/ppsim/compare/read.h"

#include <math.h>

typedef struct compared {
    pp_compare_file base, now;
    pp_differences differences;
} compared;

static void free_compared(compared *c)
{
    pp_differences_free(&c->differences);
    pp_compare_file_free(&c->base);
    pp_compare_file_free(&c->now);
}

static void parse(const char *text, pp_compare_file *file)
{
    pp_err err = { 0 };
    STEP_OK(pp_compare_parse(text, strlen(text), "x.json", file, &err), err);
}

/* tolerances: separated by blanks, "strict" among them; NULL: none. */
static void read_tolerances(const char *text, pp_tolerances *tolerances)
{
    char words[256];
    char *rest = words;
    pp_err err = { 0 };
    snprintf(words, sizeof words, "%s", text ? text : "");
    while (*rest) {
        size_t length = strcspn(rest, " ");
        bool more = rest[length] == ' ';
        rest[length] = '\0';
        tolerances->strict |= strcmp(rest, "strict") == 0;
        if (strcmp(rest, "strict") != 0) {
            STEP_OK(pp_tolerance_add(rest, true, tolerances, &err), err);
            STEP_OK(pp_tolerance_add(rest, false, tolerances, &err), err);
        }
        rest += length + more;
    }
}

static void compare_texts(const char *base, const char *now, const char *tolerance, compared *c)
{
    pp_tolerances tolerances = { 0 };
    pp_err err = { 0 };
    read_tolerances(tolerance, &tolerances);
    parse(base, &c->base);
    parse(now, &c->now);
    STEP_OK(pp_compare_judge("x", &c->base, &c->now, &tolerances, &c->differences, &err), err);
    pp_differences_sort(&c->differences);
}

static const char *report(char *text, size_t size, double step_ns, double throughput, double bound)
{
    snprintf(text, size,
             "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":%.0f,"
             "\"makespan_ns\":1000,\"tokens_per_s\":%.17g,\"lower_bound_ns\":%.0f}",
             step_ns, throughput, bound);
    return text;
}

/* Tolerance, differences in parts of 100000 of step, throughput and bound, number of failures,
 * verdict of the worst. */
static const struct {
    const char *tolerance;
    int step, throughput, bound;
    size_t fails;
    pp_compare_verdict worst;
} rules[] = {
    { NULL, 0, 0, 0, 0, PP_VERDICT_SAME },
    { NULL, 1, 0, 0, 1, PP_VERDICT_WORSE },
    { NULL, -1, 0, 0, 0, PP_VERDICT_BETTER },
    { NULL, 0, -1, 0, 1, PP_VERDICT_WORSE },
    { NULL, 0, 1, 0, 0, PP_VERDICT_BETTER },
    { NULL, 0, 0, 1, 0, PP_VERDICT_CHANGED },
    { NULL, 1, -1, 1, 2, PP_VERDICT_WORSE },
    { "step=1%", 1000, 0, 0, 0, PP_VERDICT_ALLOWED },
    { "step=1%", 1001, 0, 0, 1, PP_VERDICT_WORSE },
    { "step=1%", -1001, 0, 0, 0, PP_VERDICT_BETTER },
    { "step=1%", -1000, 0, 0, 0, PP_VERDICT_ALLOWED },
    { "step=10us", 10, 0, 0, 1, PP_VERDICT_WORSE },
    { "step=1s", 10, 0, 0, 0, PP_VERDICT_ALLOWED },
    { "step=-1%", -1001, 0, 0, 1, PP_VERDICT_WORSE },
    { "step=-1%", -1000, 0, 0, 0, PP_VERDICT_ALLOWED },
    { "step=-1%", 1, 0, 0, 1, PP_VERDICT_WORSE },
    { "step=+1%", -1, 0, 0, 0, PP_VERDICT_BETTER },
    { "throughput=+1%", 0, 1001, 0, 1, PP_VERDICT_WORSE },
    { "throughput=1%", 0, -1001, 0, 1, PP_VERDICT_WORSE },
    { "lower-bound=0", 0, 0, 1, 1, PP_VERDICT_WORSE },
    { "lower-bound=1%", 0, 0, -1000, 0, PP_VERDICT_ALLOWED },
    { "all=1%", 1000, -1000, 1000, 0, PP_VERDICT_ALLOWED },
    { "all=1%", 1001, -1000, 1001, 1, PP_VERDICT_WORSE },
    { "all=1% step=0", 1, -1000, 0, 1, PP_VERDICT_WORSE },
    { "step=0 all=1%", 1, -1000, 0, 1, PP_VERDICT_WORSE },
    { "step=any", 50000, 0, 0, 0, PP_VERDICT_ALLOWED },
    /* What a limit names is judged alone, unless there is one for all; "any" only exempts. */
    { "step=1%", 0, -1, 0, 0, PP_VERDICT_CHANGED },
    { "step=1%", 0, 1, 0, 0, PP_VERDICT_CHANGED },
    { "step=1% all=0", 0, -1, 0, 1, PP_VERDICT_WORSE },
    { "all=0 step=1%", 1000, 1, 0, 0, PP_VERDICT_BETTER },
    { "step=any", 0, -1, 0, 1, PP_VERDICT_WORSE },
    { "step=1% strict", 0, -1, 0, 1, PP_VERDICT_CHANGED },
    { "strict", 0, 0, 1, 1, PP_VERDICT_CHANGED },
    { "strict", -1, 1, 0, 2, PP_VERDICT_BETTER },
    { "strict", 0, 0, 0, 0, PP_VERDICT_SAME },
};

START_TEST(a_difference_counts_in_the_direction_and_beyond_the_limit_that_was_said)
{
    char base[300];
    char now[300];
    compared c PP_CLEANUP(free_compared) = { 0 };
    report(base, sizeof base, 1e9, 1e9, 1e9);
    report(now, sizeof now, 1e9 + 1e4 * rules[_i].step, 1e9 + 1e4 * rules[_i].throughput,
           1e9 + 1e4 * rules[_i].bound);
    compare_texts(base, now, rules[_i].tolerance, &c);
    ck_assert_uint_eq(c.differences.fails, rules[_i].fails);
    ck_assert_int_eq(c.differences.row[0].verdict, rules[_i].worst);
}
END_TEST

/* Steps are compared as whole numbers, even if %g would show no difference. */
START_TEST(one_nanosecond_in_a_hundred_days_is_seen)
{
    char base[300];
    char now[300];
    pp_compare_cells cells;
    compared c PP_CLEANUP(free_compared) = { 0 };
    compare_texts(report(base, sizeof base, 9007199254740991.0, 1, 1),
                  report(now, sizeof now, 9007199254740992.0, 1, 1), NULL, &c);
    ck_assert_uint_eq(c.differences.fails, 1);
    pp_compare_cells_of(&c.differences.row[0], &cells);
    ck_assert_str_eq(cells.delta, "+1 ns");
    ck_assert_str_eq(cells.before, "9007199254740991 ns");
    ck_assert_str_eq(cells.after, "9007199254740992 ns");
}
END_TEST

/* A metric that is missing does not pass. */
START_TEST(a_metric_that_vanished_fails)
{
    char base[300];
    compared c PP_CLEANUP(free_compared) = { 0 };
    compare_texts(report(base, sizeof base, 10, 1, 1),
                  "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":10}", NULL, &c);
    ck_assert_uint_eq(c.differences.fails, 2); /* makespan and throughput; the bound is for
                                                  information only */
    ck_assert_uint_eq(c.differences.verdicts[PP_VERDICT_GONE], 3);
}
END_TEST

static double uniform(uint64_t *seed)
{
    return (double)(pp_random_next(seed) >> 11) * 0x1p-53;
}

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - uniform(seed))) * cos(2 * M_PI * uniform(seed));
}

/* Makes a report of `count` iterations around step_ns; the first two are a warm-up. */
static void run_report(uint64_t *seed, double step_ns, double sigma, int count, char *text,
                       size_t size)
{
    int used = snprintf(text, size,
                        "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":%.0f,"
                        "\"execution\":{\"iterations\":[",
                        step_ns);
    for (int i = 0; i < count; i++) {
        double warm = count > 10 && i < 2 ? (i ? 1.16 : 90) : 1;
        double ns = nearbyint(step_ns * warm * exp(sigma * normal(seed)));
        used += snprintf(text + used, size - (size_t)used,
                         "%s{\"step_ns\":%.0f,\"makespan_ns\":%.0f,\"void\":false}", i ? "," : "",
                         ns, ns);
    }
    snprintf(text + used, size - (size_t)used, "]}}");
}

/* Reruns of the same thing give less than 1 % false alarms, whatever the number of iterations. */
START_TEST(reruns_are_no_regression)
{
    static const int counts[] = { 5, 6, 8, 12, 20, 50 };
    enum { RERUNS = 1000 };
    int alarms = 0;
    uint64_t seed = 7 + (uint64_t)_i;
    char base[8192];
    char now[8192];
    for (int k = 0; k < RERUNS; k++) {
        compared c PP_CLEANUP(free_compared) = { 0 };
        run_report(&seed, 1e9, 0.013, counts[_i], base, sizeof base);
        run_report(&seed, 1e9, 0.013, counts[_i], now, sizeof now);
        compare_texts(base, now, NULL, &c);
        alarms += c.differences.fails > 0;
    }
    ck_assert_msg(alarms < RERUNS / 100, "%d false alarms in %d reruns of %d iterations", alarms,
                  RERUNS, counts[_i]);
}
END_TEST

START_TEST(what_is_slower_than_the_spread_is_a_regression)
{
    uint64_t seed = 3;
    char base[8192];
    char now[8192];
    for (int k = 0; k < 100; k++) {
        compared c PP_CLEANUP(free_compared) = { 0 };
        run_report(&seed, 1e9, 0.001, 12, base, sizeof base);
        run_report(&seed, 1.01e9, 0.001, 12, now, sizeof now);
        compare_texts(base, now, NULL, &c);
        ck_assert_uint_eq(c.differences.fails, 1);
        ck_assert_str_eq(c.differences.row[0].metric->name, "step");
    }
}
END_TEST

/* Megatron's stored golden values: the first step takes 90 times the median, the second 16 % more,
 * the fourth and fifth 5.5 %. */
START_TEST(leading_steps_slower_than_the_second_half_are_warm_up)
{
    double steps[] = { 90, 1.16, 1.01, 1.055, 1.055, 1, 0.99, 1.01, 1, 1.02, 1, 0.98 };
    double few[] = { 90, 1.16, 1, 1.01, 1 };
    double slow_end[] = { 1.1, 1, 1, 1, 1, 1, 1, 1.2 };
    pp_quantity q = { 0 };
    pp_compare_spread(steps, sizeof steps / sizeof *steps, &q);
    ck_assert(q.spread);
    ck_assert_double_eq_tol(q.value, 1.005, 1e-12);
    ck_assert_double_eq_tol(q.high, 1.055, 1e-12); /* the first two are excluded, the others are
                                                      not */
    pp_compare_spread(few, sizeof few / sizeof *few, &q);
    ck_assert(q.spread);
    ck_assert_double_eq(q.high, 90); /* five always stay */
    pp_compare_spread(slow_end, sizeof slow_end / sizeof *slow_end, &q);
    ck_assert_double_eq(q.high, 1.2);
    pp_compare_spread(slow_end, 4, &q);
    ck_assert(!q.spread); /* four values are too few for a spread */
}
END_TEST

/* 500 ops that differ, the worst of them last in the file. */
START_TEST(markdown_has_ten_rows_and_the_worst_first)
{
    pp_text sides[2] = { { 0 }, { 0 } };
    pp_text table = { 0 };
    compared c PP_CLEANUP(free_compared) = { 0 };
    pp_compare_pairs pairs = { 0 };
    size_t lines = 0;
    for (int side = 0; side < 2; side++) {
        pp_text_add(&sides[side], "{\"otherData\":{\"producer\":\"ppsim\"},\"traceEvents\":[");
        for (int j = 0; j < 500; j++)
            pp_text_add(&sides[side],
                        "%s{\"ph\":\"X\",\"pid\":0,\"cat\":\"compute\",\"ts\":%d.000,"
                        "\"dur\":%d.%03d,\"name\":\"0F%d\"}",
                        j ? "," : "", 1000 * j, 1, side * (j + 1), j);
        pp_text_add(&sides[side], "]}");
    }
    compare_texts(sides[0].data, sides[1].data, "op=0 all=0", &c);
    ck_assert_uint_eq(c.differences.fails, 501); /* An unknown key is compared nevertheless. */
    const pp_tolerances tolerances = { 0 };
    pp_compare_print print = { .base = "a",
                               .now = "b",
                               .pairs = &pairs,
                               .differences = &c.differences,
                               .tolerances = &tolerances,
                               .rows = 40 };
    pp_compare_markdown(&print, &table);
    for (const char *at = table.data; (at = strstr(at, "\n| worse |")); at++)
        lines++;
    ck_assert_uint_eq(lines, 10);
    const char *worst = strstr(table.data, "op 0F499 of rank 0 ");
    ck_assert_ptr_nonnull(worst);
    ck_assert_ptr_nonnull(strstr(worst, "op 0F498 of rank 0 "));
    ck_assert_ptr_nonnull(strstr(table.data, "492 more"));
    pp_text_free(&table);
    print.all = true;
    lines = 0;
    pp_compare_markdown(&print, &table);
    for (const char *at = table.data; (at = strstr(at, "\n| worse |")); at++)
        lines++;
    ck_assert_uint_eq(lines, 40);
    pp_text_free(&table);
    pp_text_free(&sides[0]);
    pp_text_free(&sides[1]);
}
END_TEST

/* An unknown key is compared all the same. */
START_TEST(a_key_without_a_row_is_compared_by_its_pointer)
{
    compared c PP_CLEANUP(free_compared) = { 0 };
    compare_texts(
        "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":10,\"later\":{\"x\":[1,2]}}",
        "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":10,\"later\":{\"x\":[1,3]}}", NULL,
        &c);
    ck_assert_uint_eq(c.differences.verdicts[PP_VERDICT_CHANGED], 1);
    ck_assert_str_eq(c.differences.row[0].place, "/later/x/1");
}
END_TEST

START_TEST(peak_memory_names_the_rank_and_the_component)
{
    static const char form[] =
        "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":10,\"peak_memory_bytes\":%d,"
        "\"peak_memory_rank\":%d,\"per_rank\":["
        "{\"rank\":0,\"memory_at_peak\":{\"activations\":%d,\"parameters\":100}},"
        "{\"rank\":1,\"memory_at_peak\":{\"activations\":50,\"parameters\":%d}}]}";
    char base[600];
    char now[600];
    compared c PP_CLEANUP(free_compared) = { 0 };
    snprintf(base, sizeof base, form, 1100, 0, 1000, 100);
    snprintf(now, sizeof now, form, 5050, 1, 1000, 5000);
    compare_texts(base, now, NULL, &c);
    ck_assert_str_eq(c.differences.row[0].metric->name, "peak-memory");
    ck_assert_str_eq(c.differences.row[0].detail,
                     "of rank 1, was rank 0; most of it parameters, +4.785 KiB");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *tc = tcase_create("compare");
    tcase_add_loop_test(tc, a_difference_counts_in_the_direction_and_beyond_the_limit_that_was_said,
                        0, (int)(sizeof rules / sizeof rules[0]));
    tcase_add_test(tc, one_nanosecond_in_a_hundred_days_is_seen);
    tcase_add_test(tc, a_metric_that_vanished_fails);
    tcase_add_loop_test(tc, reruns_are_no_regression, 0, 6);
    tcase_add_test(tc, what_is_slower_than_the_spread_is_a_regression);
    tcase_add_test(tc, leading_steps_slower_than_the_second_half_are_warm_up);
    tcase_add_test(tc, markdown_has_ten_rows_and_the_worst_first);
    tcase_add_test(tc, a_key_without_a_row_is_compared_by_its_pointer);
    tcase_add_test(tc, peak_memory_names_the_rank_and_the_component);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
