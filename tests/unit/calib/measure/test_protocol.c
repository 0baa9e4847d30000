/* Tests calib/measure/protocol.h on a clock that the tests control, so that the measured values are
 * known. */
#include "calib/measure/protocol.h"
#include "sim/base/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 4, LOG = 4096 };

typedef struct rig {
    pp_instant now;
    pp_protocol protocol;
    pp_subject subject;
    pp_subject_series series[2];
    pp_point point[POINTS];
    pp_samples samples;
    pp_series_note note[2];
    bool interrupted;
    double base_ns;       /* of point k: k + 1 times this */
    double noise;         /* alternate timings are larger and smaller by this part */
    double slow_per_pass; /* every pass is slower than the one before by this factor */
    int preempt_every;    /* every n-th timing is preempted; 0: none */
    volatile sig_atomic_t stop;
    int stop_after; /* timings; 0: never */
    int calls, prepared, released;
    uint32_t runs_last;
    size_t visited[LOG];
    size_t visits;
    uint32_t visits_of[POINTS];
} rig;

static void look(void *context, pp_instant *instant_out)
{
    *instant_out = ((rig *)context)->now;
}

static pp_status prepare(void *context, size_t point, pp_err *err)
{
    rig *r = context;
    (void)err;
    r->prepared++;
    r->visits_of[point]++;
    ck_assert_uint_lt(r->visits, LOG);
    r->visited[r->visits++] = point;
    return PP_OK;
}

static void release(void *context, size_t point)
{
    (void)point;
    ((rig *)context)->released++;
}

static pp_status run(void *context, size_t point, uint32_t runs, pp_timing *timing, pp_err *err)
{
    rig *r = context;
    (void)err;
    r->calls++;
    r->runs_last = runs;
    double drift = pow(1 + r->slow_per_pass, r->visits_of[point] - 1);
    double swing = 1 + r->noise * (r->calls % 2 ? 1 : -1);
    for (uint32_t lap = 0; lap < r->point[point].laps; lap++) {
        r->now.wall_ns += 12345; /* free of charge */
        pp_timing_begin(timing);
        double took_ns = r->base_ns * (double)(point + 1) * drift * swing * runs * (lap + 1);
        bool lost = r->preempt_every && r->calls % r->preempt_every == 0;
        r->now.thread_ns += (pp_ns)took_ns;
        r->now.wall_ns += (pp_ns)(lost ? 50 * took_ns : took_ns);
        r->now.preemptions += lost;
        pp_timing_end(timing, lap, runs);
    }
    if (r->stop_after && r->calls >= r->stop_after)
        r->stop = 1;
    return PP_OK;
}

static void rig_new(rig *r)
{
    *r = (rig){ .base_ns = 1e6 };
    r->series[0] = (pp_subject_series){ .class_name = "one" };
    r->series[1] = (pp_subject_series){ .class_name = "two", .link = true, .ranks = 2 };
    for (size_t k = 0; k < POINTS; k++) {
        r->point[k] = (pp_point){ .laps = 1 };
        for (int v = 0; v < PP_VARIABLE_COUNT; v++)
            r->point[k].at[v] = NAN;
        r->point[k].at[PP_VARIABLE_BYTES] = (double)(k + 1);
    }
    r->protocol = pp_protocol_default(false);
    r->protocol.first_warmup_ns = r->protocol.warmup_ns;
    r->protocol.look = look;
    r->protocol.look_context = r;
    r->protocol.stop = &r->stop;
    r->subject = (pp_subject){ .source = "test",
                               .stopwatch = PP_STOPWATCH_WALL,
                               .series = r->series,
                               .series_count = 2,
                               .point = r->point,
                               .point_count = POINTS,
                               .context = r,
                               .prepare = prepare,
                               .release = release,
                               .run = run };
}

static void measure(rig *r)
{
    pp_err err = { 0 };
    pp_status status =
        pp_measure(&r->protocol, &r->subject, &r->samples, r->note, &r->interrupted, &err);
    ck_assert_msg(status == PP_OK, "%s: %s", err.where, err.text);
    ck_assert_int_eq(r->prepared, r->released);
}

/* Binomial tables (Conover 1999, A3): the ranks that contain the median with 95 %. */
START_TEST(median_interval_is_that_of_the_binomial)
{
    static const struct {
        size_t count, low, high; /* counted from 1, like tables */
    } known[] = { { 6, 1, 6 },    { 8, 1, 8 },    { 9, 2, 8 },   { 11, 2, 10 },
                  { 12, 3, 10 },  { 15, 4, 12 },  { 20, 6, 15 }, { 25, 8, 18 },
                  { 30, 10, 21 }, { 50, 18, 33 }, { 40, 14, 27 } };
    size_t low = 0;
    size_t high = 0;
    for (size_t n = 0; n < 6; n++)
        ck_assert_msg(!pp_median_interval(n, &low, &high), "%zu", n);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ck_assert(pp_median_interval(known[i].count, &low, &high));
        ck_assert_msg(low + 1 == known[i].low && high + 1 == known[i].high, "%zu: %zu to %zu",
                      known[i].count, low + 1, high + 1);
    }
    ck_assert(pp_median_interval(PP_TIMINGS_MAX, &low, &high));
    ck_assert_uint_eq(low + high, PP_TIMINGS_MAX - 1);
    ck_assert_uint_eq(low + 1, 469); /* 500 - 1.96 sqrt(1000) / 2, rounded down */
    ck_assert(!pp_median_interval(PP_TIMINGS_MAX + 1, &low, &high));
}
END_TEST

START_TEST(quantiles_interpolate)
{
    static const double values[] = { 1, 2, 4, 8 };
    ck_assert_double_eq(pp_quantile(values, 4, 0), 1);
    ck_assert_double_eq(pp_quantile(values, 4, 0.5), 3);
    ck_assert_double_eq_tol(pp_quantile(values, 4, 0.9), 6.8, 1e-12);
    ck_assert_double_eq(pp_quantile(values, 4, 1), 8);
    ck_assert_double_eq(pp_quantile(values, 1, 0.5), 1);
}
END_TEST

/* A time that never varies is precise after the least number of timings, and exact. */
START_TEST(stops_when_precise)
{
    rig r;
    rig_new(&r);
    measure(&r);
    const pp_series *series = pp_samples_find(&r.samples, "one");
    ck_assert_ptr_nonnull(series);
    ck_assert_uint_eq(series->count, POINTS * r.protocol.passes);
    ck_assert_str_eq(series->source, "test");
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *s = &series->sample[i];
        ck_assert_double_eq_tol(s->seconds, 1e-3 * s->at[PP_VARIABLE_BYTES], 1e-9);
        ck_assert_uint_eq(s->repeats, r.protocol.timings_min);
        ck_assert_double_eq(s->p10_s, s->p90_s);
        ck_assert(isnan(s->at[PP_VARIABLE_TOKENS]));
    }
    ck_assert_uint_eq(r.note[0].precise, POINTS * r.protocol.passes);
    ck_assert_uint_eq(r.note[0].voided + r.note[0].crowded, 0);
    ck_assert(!r.note[0].drifts && !r.note[0].throttled && !r.interrupted);
    ck_assert_ptr_null(pp_samples_find(&r.samples, "two")); /* no point adds to it */
    pp_samples_free(&r.samples);
}
END_TEST

/* A time that varies by more than the precision is measured up to a limit: of timings, or of
 * time. */
START_TEST(stops_at_the_limits)
{
    rig r;
    rig_new(&r);
    r.noise = 0.05;
    r.protocol.timings_max = 50;
    r.protocol.point_ns = r.protocol.total_ns = (pp_ns)1 << 60;
    measure(&r);
    const pp_series *series = pp_samples_find(&r.samples, "one");
    for (size_t i = 0; i < series->count; i++)
        ck_assert_uint_eq(series->sample[i].repeats, 50);
    ck_assert_uint_eq(r.note[0].precise, 0);
    ck_assert_double_eq_tol(series->sample[0].p90_s / series->sample[0].p10_s, 1.05 / 0.95, 1e-6);
    pp_samples_free(&r.samples);

    rig_new(&r);
    r.noise = 0.05;
    r.protocol.total_ns = 0;
    measure(&r);
    series = pp_samples_find(&r.samples, "one");
    for (size_t i = 0; i < series->count; i++)
        ck_assert_uint_eq(series->sample[i].repeats, PP_TIMINGS_LEAST);
    pp_samples_free(&r.samples);
}
END_TEST

/* The whole takes no longer than its share, apart from the least that every point needs. */
START_TEST(keeps_to_its_time)
{
    rig r;
    rig_new(&r);
    r.noise = 0.05;
    r.protocol.total_ns = 2000000000;
    measure(&r);
    ck_assert_int_gt(r.now.wall_ns, 1500000000);
    ck_assert_int_lt(r.now.wall_ns, 2200000000);
    pp_samples_free(&r.samples);
}
END_TEST

/* Short runs are repeated within a timing; cold ones are not. */
START_TEST(batches_last_long_enough)
{
    rig r;
    rig_new(&r);
    r.base_ns = 100;
    r.subject.point_count = 1;
    measure(&r);
    ck_assert_uint_eq(r.runs_last, (uint32_t)(r.protocol.batch_ns / 100));
    ck_assert_double_eq_tol(r.samples.series[0].sample[0].seconds, 1e-7, 1e-12);
    pp_samples_free(&r.samples);

    rig_new(&r);
    r.base_ns = 100;
    r.subject.point_count = 1;
    r.point[0].cold = true;
    r.protocol.flush_bytes = 1000;
    measure(&r);
    ck_assert_uint_eq(r.runs_last, 1);
    ck_assert(r.samples.series[0].sample[0].cold);
    pp_samples_free(&r.samples);
}
END_TEST

START_TEST(order_is_random_and_repeatable)
{
    rig a;
    rig b;
    rig c;
    rig_new(&a);
    rig_new(&b);
    rig_new(&c);
    a.protocol.passes = b.protocol.passes = c.protocol.passes = 20;
    c.protocol.seed = 2;
    measure(&a);
    measure(&b);
    measure(&c);
    ck_assert_uint_eq(a.visits, 20 * POINTS);
    ck_assert_mem_eq(a.visited, b.visited, sizeof a.visited);
    ck_assert_mem_ne(a.visited, c.visited, sizeof a.visited);
    ck_assert_mem_ne(a.visited, a.visited + POINTS, 4 * POINTS * sizeof a.visited[0]);
    for (size_t pass = 0; pass < 20; pass++) { /* each point once */
        unsigned seen = 0;
        for (size_t i = 0; i < POINTS; i++)
            seen |= 1u << a.visited[pass * POINTS + i];
        ck_assert_uint_eq(seen, (1u << POINTS) - 1);
    }
    pp_samples_free(&a.samples);
    pp_samples_free(&b.samples);
    pp_samples_free(&c.samples);
}
END_TEST

START_TEST(passes_that_differ_are_reported)
{
    rig r;
    rig_new(&r);
    r.slow_per_pass = 0.05;
    measure(&r);
    ck_assert(r.note[0].drifts && r.note[0].throttled);
    ck_assert_double_eq_tol(r.note[0].drift, 1.05 * 1.05 - 1, 1e-4);
    pp_samples_free(&r.samples);

    rig_new(&r);
    r.slow_per_pass = -0.05; /* faster and faster */
    measure(&r);
    ck_assert(r.note[0].drifts && !r.note[0].throttled);
    pp_samples_free(&r.samples);

    rig_new(&r);
    r.slow_per_pass = 0.005; /* within the interval */
    measure(&r);
    ck_assert(!r.note[0].drifts && !r.note[0].throttled);
    pp_samples_free(&r.samples);
}
END_TEST

/* Timings that were preempted do not count if there are others. */
START_TEST(preempted_timings_are_void)
{
    rig r;
    rig_new(&r);
    r.preempt_every = 3;
    r.protocol.point_ns = r.protocol.total_ns = (pp_ns)1 << 60;
    measure(&r);
    const pp_series *series = pp_samples_find(&r.samples, "one");
    for (size_t i = 0; i < series->count; i++)
        ck_assert_double_eq_tol(series->sample[i].p90_s,
                                1e-3 * series->sample[i].at[PP_VARIABLE_BYTES], 1e-9);
    ck_assert_uint_gt(r.note[0].voided, 0);
    ck_assert_uint_eq(r.note[0].crowded, 0);
    pp_samples_free(&r.samples);

    rig_new(&r);
    r.preempt_every = 1;
    r.protocol.point_ns = r.protocol.total_ns = (pp_ns)1 << 60;
    measure(&r);
    series = pp_samples_find(&r.samples, "one");
    ck_assert_uint_eq(series->sample[0].repeats, 2 * r.protocol.timings_min);
    ck_assert_uint_eq(r.note[0].crowded, series->count);
    ck_assert_uint_eq(r.note[0].voided, r.note[0].timings);
    pp_samples_free(&r.samples);
}
END_TEST

START_TEST(thread_time_does_not_see_others)
{
    rig r;
    rig_new(&r);
    r.preempt_every = 1;
    r.subject.stopwatch = PP_STOPWATCH_THREAD;
    measure(&r);
    const pp_series *series = pp_samples_find(&r.samples, "one");
    for (size_t i = 0; i < series->count; i++)
        ck_assert_double_eq_tol(series->sample[i].seconds,
                                1e-3 * series->sample[i].at[PP_VARIABLE_BYTES], 1e-9);
    pp_samples_free(&r.samples);
}
END_TEST

START_TEST(laps_fill_their_series)
{
    rig r;
    rig_new(&r);
    for (size_t k = 0; k < POINTS; k++)
        r.point[k].laps = 2;
    measure(&r);
    const pp_series *one = pp_samples_find(&r.samples, "one");
    const pp_series *two = pp_samples_find(&r.samples, "two");
    ck_assert_uint_eq(one->count, two->count);
    ck_assert(two->link && !one->link);
    ck_assert_int_eq(two->ranks, 2);
    for (size_t i = 0; i < one->count; i++)
        ck_assert_double_eq_tol(2 * one->sample[i].seconds, two->sample[i].seconds, 1e-9);
    pp_samples_free(&r.samples);
}
END_TEST

/* Every finished point is kept, and not measured again. */
START_TEST(interrupted_is_kept_and_resumed)
{
    rig whole;
    rig r;
    rig_new(&whole);
    measure(&whole);
    rig_new(&r);
    int calls = 0;
    size_t kept = 0;
    for (int round = 0; round < 100; round++) {
        r.stop = 0;
        r.calls = 0;
        r.stop_after = 90;
        measure(&r);
        calls += r.calls;
        const pp_series *series = pp_samples_find(&r.samples, "one");
        ck_assert_uint_ge(series ? series->count : 0, kept);
        kept = series ? series->count : 0;
        if (!r.interrupted)
            break;
    }
    ck_assert(!r.interrupted);
    ck_assert_uint_eq(kept, POINTS * r.protocol.passes);
    ck_assert_int_ge(calls, whole.calls);
    const pp_series *a = pp_samples_find(&whole.samples, "one");
    const pp_series *b = pp_samples_find(&r.samples, "one");
    for (size_t i = 0; i < kept; i++) { /* in the same order, too */
        ck_assert_double_eq(a->sample[i].seconds, b->sample[i].seconds);
        ck_assert_uint_eq(a->sample[i].pass, b->sample[i].pass);
    }
    int before = r.calls;
    measure(&r);
    ck_assert_int_eq(r.calls, before);
    ck_assert_uint_eq(pp_samples_find(&r.samples, "one")->count, kept);
    ck_assert(!r.note[0].drifts);
    pp_samples_free(&r.samples);
    pp_samples_free(&whole.samples);
}
END_TEST

static pp_status run_but_one(void *context, size_t point, uint32_t runs, pp_timing *timing,
                             pp_err *err)
{
    const rig *r = context;
    if (point == 1 && r->visits_of[point] == 2)
        return pp_err_set(err, PP_UNAVAILABLE, NULL, "no");
    return run(context, point, runs, timing, err);
}

static pp_status prepare_but_one(void *context, size_t point, pp_err *err)
{
    return point == 2 ? pp_err_set(err, PP_UNAVAILABLE, NULL, "no") : prepare(context, point, err);
}

/* Its first passes are kept. */
START_TEST(a_point_that_cannot_be_measured_is_left_out)
{
    rig r;
    rig_new(&r);
    r.subject.run = run_but_one;
    r.subject.prepare = prepare_but_one;
    measure(&r);
    ck_assert_str_eq(r.samples.skipped, "points of one: no\n");
    ck_assert_uint_eq(r.samples.series[0].count, (POINTS - 2) * r.protocol.passes + 1);
    ck_assert_uint_eq(r.visits_of[1], 2);
    pp_samples_free(&r.samples);
}
END_TEST

/* The lines about one thing that was left out, and about no other. */
START_TEST(what_was_left_out_is_reported_until_it_is_measured)
{
    pp_samples samples = { 0 };
    pp_err err = { 0 };
    static const char *const lines[][2] = {
        { "probe two", "two\nlines" },  { "points of one", "no" },
        { "points of one more", "no" }, { "points of one", "no" },
        { "points of one", "never" },   { "probe one", "points of one: no" }
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert(!pp_samples_skip(&samples, lines[i][0], lines[i][1], &err));
    ck_assert_int_eq(strncmp(samples.skipped, "probe two: two lines\n", 21), 0);
    pp_samples_unskip(&samples, "probe two");
    ck_assert_str_eq(samples.skipped, "points of one: no\npoints of one more: no\n"
                                      "points of one: never\nprobe one: points of one: no\n");
    pp_samples_unskip(&samples, "points of one");
    ck_assert_str_eq(samples.skipped, "points of one more: no\nprobe one: points of one: no\n");
    ck_assert(!pp_samples_skip(&samples, "points of one", "no", &err));
    ck_assert_ptr_nonnull(strstr(samples.skipped, "\npoints of one: no\n"));
    pp_samples_unskip(&samples, "points of one");
    pp_samples_unskip(&samples, "points of one more");
    pp_samples_unskip(&samples, "probe one");
    ck_assert_ptr_null(samples.skipped);
    pp_samples_unskip(&samples, "probe one");
}
END_TEST

static pp_status run_and_fail(void *context, size_t point, uint32_t runs, pp_timing *timing,
                              pp_err *err)
{
    const rig *r = context;
    if (point == 1 && r->visits_of[point] == 2)
        return pp_err_set(err, PP_IO, NULL, "broken");
    return run(context, point, runs, timing, err);
}

START_TEST(what_was_measured_before_a_failure_stays)
{
    rig r;
    pp_err err = { 0 };
    rig_new(&r);
    r.subject.run = run_and_fail;
    ck_assert_int_eq(pp_measure(&r.protocol, &r.subject, &r.samples, r.note, &r.interrupted, &err),
                     PP_IO);
    ck_assert_str_eq(err.text, "broken");
    ck_assert_int_eq(r.prepared, r.released);
    ck_assert_ptr_null(r.samples.skipped);
    ck_assert_int_eq((int)r.samples.series[0].count, r.prepared - 1);
    ck_assert_uint_ge(r.samples.series[0].count, POINTS);
    measure(&r);
    ck_assert_uint_eq(r.samples.series[0].count, POINTS * r.protocol.passes);
    pp_samples_free(&r.samples);
}
END_TEST

START_TEST(impossible_limits_are_refused)
{
    rig r;
    pp_err err = { 0 };
    rig_new(&r);
    r.protocol.timings_min = 5;
    ck_assert_int_eq(pp_measure(&r.protocol, &r.subject, &r.samples, r.note, &r.interrupted, &err),
                     PP_INPUT);
    rig_new(&r);
    r.base_ns = 0;
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_measure(&r.protocol, &r.subject, &r.samples, r.note, &r.interrupted, &err),
                     PP_INPUT);
    ck_assert_str_eq(err.where, "one");
    ck_assert_int_eq(r.prepared, r.released);
    pp_samples_free(&r.samples);
}
END_TEST

/* Other settings count as another source: their points do not belong to this run. */
START_TEST(samples_of_another_source_are_refused)
{
    rig r;
    pp_err err = { 0 };
    rig_new(&r);
    measure(&r);
    r.subject.source = "test of something else";
    ck_assert_int_eq(pp_measure(&r.protocol, &r.subject, &r.samples, r.note, &r.interrupted, &err),
                     PP_INPUT);
    ck_assert_str_eq(err.where, "one");
    pp_samples_free(&r.samples);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("protocol");
    TCase *tc = tcase_create("protocol");
    tcase_add_test(tc, median_interval_is_that_of_the_binomial);
    tcase_add_test(tc, quantiles_interpolate);
    tcase_add_test(tc, stops_when_precise);
    tcase_add_test(tc, stops_at_the_limits);
    tcase_add_test(tc, keeps_to_its_time);
    tcase_add_test(tc, batches_last_long_enough);
    tcase_add_test(tc, order_is_random_and_repeatable);
    tcase_add_test(tc, passes_that_differ_are_reported);
    tcase_add_test(tc, preempted_timings_are_void);
    tcase_add_test(tc, thread_time_does_not_see_others);
    tcase_add_test(tc, laps_fill_their_series);
    tcase_add_test(tc, interrupted_is_kept_and_resumed);
    tcase_add_test(tc, a_point_that_cannot_be_measured_is_left_out);
    tcase_add_test(tc, what_was_left_out_is_reported_until_it_is_measured);
    tcase_add_test(tc, what_was_measured_before_a_failure_stays);
    tcase_add_test(tc, impossible_limits_are_refused);
    tcase_add_test(tc, samples_of_another_source_are_refused);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
