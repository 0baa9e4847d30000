/* Jitter follows its distributions and closed forms, and the kernel for blocks equals the
 * engine. */
#include "planner/robustness/jitter.h"
#include "planner/robustness/jitter_run.h"
#include "planner/robustness/jitter_spec.h"
#include "sim/base/alloc.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "tests/support/step.h"

#include <inttypes.h>
#include <math.h>

static pp_jitter_spec spec_of(const char *text)
{
    pp_jitter_spec spec = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_jitter_parse(text, &spec, &err), err);
    return spec;
}

static pp_jitter_subject subject_of(const step *s)
{
    return (pp_jitter_subject){
        .program = s->program, .timeline = s->timeline, .costs = s->costs, .step_sync = true
    };
}

static pp_jitter_result study(const step *s, const char *text, uint64_t seed, uint32_t threads)
{
    const pp_jitter_subject subject = subject_of(s);
    const pp_jitter_spec spec = spec_of(text);
    pp_jitter_result result = { .min_ns = -1 };
    pp_err err = { 0 };
    STEP_OK(pp_jitter_study(&subject, &spec, seed, threads, &result, &err), err);
    return result;
}

/* The caller frees the result with free(). */
static pp_ns *run(const step *s, const char *text, uint64_t seed, uint32_t threads)
{
    const pp_jitter_subject subject = subject_of(s);
    const pp_jitter_spec spec = spec_of(text);
    pp_ns *step_ns = calloc((size_t)spec.scenarios, sizeof *step_ns);
    pp_err err = { 0 };
    STEP_OK(pp_jitter_run(&subject, &spec, seed, threads, step_ns, &err), err);
    return step_ns;
}

/* The same order under another framework; only program and timeline differ. */
static step lowered(const step *from, const char *name)
{
    step s = *from;
    const pp_framework *framework = NULL;
    pp_err err = { 0 };
    s.timeline = NULL;
    STEP_OK(pp_framework_get(name, &framework, &err), err);
    STEP_OK(framework->lower(s.order, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    return s;
}

static void lowered_free(step *s)
{
    pp_timeline_free(&s->timeline);
    pp_program_free(&s->program);
}

static step one_f_one_b(uint32_t p, uint32_t m, const char *costs)
{
    return step_of(step_order("1f1b", p, 1, m, 0), costs);
}

static const char *const frameworks[] = { "ideal", "torch", "megatron" };

/* No spread: every scenario is the plain step. */
START_TEST(without_jitter_nothing_changes)
{
    step s = one_f_one_b(4, 8, "F=1001ns,B=2003ns,comm=77ns");
    step other = lowered(&s, frameworks[_i]);
    pp_ns makespan = pp_timeline_makespan(other.timeline);
    pp_jitter_result r = study(&other, "scenarios=100", 7, 2);
    ck_assert_int_eq(r.min_ns, makespan);
    ck_assert_int_eq(r.p50_ns, makespan);
    ck_assert_int_eq(r.max_ns, makespan);
    ck_assert(r.mean_ns == (double)makespan);
    ck_assert(r.deviation_ns == 0);
    lowered_free(&other);
    step_free(&s);
}
END_TEST

/* 1F1B, free links, rank r takes twice as long, D = 2 (f + b) per microbatch: it begins after r
 * forwards, is idle for (p - 1 - r)(b - f) between its p - r first forwards and the first gradient
 * and never again, and r backwards follow. (By hand; m >= p, b >= f.) */
START_TEST(a_slow_rank_delays_by_the_closed_form)
{
    step s = one_f_one_b(4, 12, "F=1000ns,B=2000ns,comm=0");
    char text[64];
    snprintf(text, sizeof text, "slow-rank=%d:2,scenarios=3", _i);
    step other = lowered(&s, "torch");
    for (int engine = 0; engine < 2; engine++) {
        pp_jitter_result r = study(engine ? &other : &s, text, 0, 1);
        ck_assert_int_eq(r.min_ns, 12 * 6000 + _i * 3000 + (3 - _i) * 1000);
        ck_assert_int_eq(r.max_ns, r.min_ns);
    }
    lowered_free(&other);
    step_free(&s);
}
END_TEST

/* One microbatch on three ranks: two unlike links, each crossed once in each direction. */
START_TEST(a_slow_link_delays_both_directions)
{
    step s = { .order = step_order("1f1b", 3, 1, 1, 0) };
    s.costs = step_costs("F=1000ns,B=2000ns,comm=100ns", 3, 1, 1);
    s.costs->send_f_ns[1] = s.costs->send_b_ns[2] = 400;
    step_simulate(&s);
    ck_assert_int_eq(s.report->makespan_ns, 9000 + 2 * 100 + 2 * 400);
    step torch = lowered(&s, "torch");
    for (int engine = 0; engine < 2; engine++) {
        const step *one = engine ? &torch : &s;
        ck_assert_int_eq(study(one, "slow-link=0:3,scenarios=1", 0, 1).p50_ns, 9000 + 600 + 800);
        ck_assert_int_eq(study(one, "slow-link=1:5,scenarios=1", 0, 1).p50_ns, 9000 + 200 + 4000);
        pp_jitter_result any = study(one, "slow-link=any:5,scenarios=200", 3, 1);
        ck_assert_int_eq(any.min_ns, 9000 + 1000 + 800);
        ck_assert_int_eq(any.max_ns, 9000 + 200 + 4000);
    }
    lowered_free(&torch);
    step_free(&s);
}
END_TEST

/* On a loop the last rank sends to the first; between stages of one rank there is no link. */
START_TEST(a_link_may_close_the_loop)
{
    step s = step_of(step_order("interleaved", 3, 2, 3, 0), "F=1000ns,B=2000ns,comm=10ns");
    ck_assert_int_gt(study(&s, "slow-link=2:1000,scenarios=1", 0, 1).p50_ns,
                     s.report->makespan_ns + 2 * 9000);
    step_free(&s);
    s = one_f_one_b(3, 3, "F=1000ns,B=2000ns,comm=10ns");
    const pp_jitter_subject subject = subject_of(&s);
    pp_jitter_spec spec = spec_of("slow-link=2:2,scenarios=1");
    pp_ns step_ns = 0;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_jitter_run(&subject, &spec, 0, 1, &step_ns, &err), PP_USAGE);
    ck_assert_str_eq(err.where, "jitter slow-link");
    step_free(&s);
}
END_TEST

/* Any rank may be slow: on unequal stages each scenario is one of p steps, and all of them
 * occur. */
START_TEST(a_random_slow_rank_visits_all)
{
    pp_err err = { 0 };
    step s = { .order = step_order("1f1b", 4, 1, 4, 0) };
    s.costs = step_costs("F=1000ns,B=2000ns,comm=0", 4, 1, 4);
    for (int r = 0; r < 4; r++)
        s.costs->f_ns[r] = 1000 + 10 * r;
    step_simulate(&s);
    pp_ns one[4];
    int seen[4] = { 0 };
    int orders = 0;
    for (int r = 0; r < 4; r++) {
        char text[64];
        snprintf(text, sizeof text, "slow-rank=%d:1.5,scenarios=1", r);
        one[r] = study(&s, text, 0, 1).p50_ns;
    }
    pp_ns *all = run(&s, "slow-rank=any:1.5,scenarios=4000", 5, 2);
    for (int k = 0; k < 4000; k++) {
        int r = 0;
        while (r < 4 && one[r] != all[k])
            r++;
        ck_assert_int_lt(r, 4);
        seen[r]++;
    }
    for (int r = 0; r < 4; r++)
        ck_assert_msg(seen[r] == 1000, "rank %d: %d times; %s", r, seen[r], err.text);
    for (int k = 0; k < 4000; k += 4) { /* each once in four, but not always in the same order */
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < i; j++)
                ck_assert_int_ne(all[k + i], all[k + j]);
        orders += all[k] != all[0] || all[k + 1] != all[1];
    }
    ck_assert_int_gt(orders, 500);
    free(all);
    step_free(&s);
}
END_TEST

/* Rank 0 runs one op of 1 ms: the step is its factor. Percentiles of a lognormal are exp(sigma z),
 * its mean exp(sigma^2 / 2). 100000 scenarios: standard error of the mean 0.2 / 316 = 0.06 %. */
START_TEST(one_op_is_lognormal)
{
    step s = step_of(step_order("1f1b", 1, 1, 1, 0), "F=1ms,B=0,comm=0");
    pp_jitter_result r = study(&s, "F=0.2,scenarios=100000", (uint64_t)_i, 2);
    ck_assert_double_eq_tol((double)r.p50_ns, 1e6, 3e3);
    ck_assert_double_eq_tol((double)r.p95_ns, 1e6 * exp(0.2 * 1.644854), 6e3);
    ck_assert_double_eq_tol((double)r.p99_ns, 1e6 * exp(0.2 * 2.326348), 12e3);
    ck_assert_double_eq_tol(r.mean_ns, 1e6 * exp(0.02), 3e3);
    ck_assert_double_eq_tol(r.deviation_ns, 1e6 * exp(0.02) * sqrt(exp(0.04) - 1), 3e3);
    ck_assert_int_gt(r.max_ns, (pp_ns)(1e6 * exp(0.2 * 3.7)));
    step_free(&s);
}
END_TEST

/* A sum of n independent factors has n times the mean and sqrt(n) times the deviation. If the ops
 * of a scenario, or the scenarios, were correlated, the deviation would differ. */
START_TEST(ops_are_independent)
{
    step s = step_of(step_order("1f1b", 1, 1, 200, 0), "F=1ms,B=1ms,comm=0");
    pp_jitter_result r = study(&s, "compute=0.1,scenarios=20000", (uint64_t)_i, 2);
    double mean = exp(0.005);
    double deviation = mean * sqrt(exp(0.01) - 1);
    ck_assert_double_eq_tol(r.mean_ns / (400e6 * mean), 1, 2e-4); /* 3 standard errors: 1e-4 */
    ck_assert_double_eq_tol(r.deviation_ns / (1e6 * sqrt(400) * deviation), 1, 0.025);
    step_free(&s);
}
END_TEST

/* One microbatch through 8 ranks is a chain of 16 ops and 14 transfers, all of 1 ms and one sigma:
 * 30 independent factors. If an op and its transfer, or two stages, had the same factors, the
 * variance would be up to twice as large. */
START_TEST(ops_and_transfers_are_drawn_apart)
{
    step s = one_f_one_b(8, 1, "F=1ms,B=1ms,comm=1ms");
    ck_assert_int_eq(s.report->makespan_ns, 30000000);
    pp_jitter_result r = study(&s, "compute=0.1,comm=0.1,scenarios=40000", (uint64_t)_i, 2);
    double mean = exp(0.005);
    double deviation = mean * sqrt(exp(0.01) - 1);
    ck_assert_double_eq_tol(r.mean_ns / (30e6 * mean), 1, 5e-4);
    ck_assert_double_eq_tol(r.deviation_ns / (1e6 * sqrt(30) * deviation), 1, 0.02);
    step_free(&s);
}
END_TEST

/* Percentile q is the ceil(q n)-th smallest; mean and deviation of a sample. */
START_TEST(the_summary_is_of_the_scenarios)
{
    static const struct {
        int count, p50, p95, p99;
    } cases[] = { { 1, 1, 1, 1 },     { 2, 1, 2, 2 },      { 3, 2, 3, 3 },
                  { 20, 10, 19, 20 }, { 100, 50, 95, 99 }, { 101, 51, 96, 100 } };
    step s = one_f_one_b(2, 2, "F=1ms,B=1ms,comm=1ms");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char text[64];
        const int n = cases[c].count;
        snprintf(text, sizeof text, "compute=0.3,scenarios=%d", n);
        pp_ns *all = run(&s, text, 2, 1);
        pp_jitter_result r = study(&s, text, 2, 1);
        double mean = 0;
        double squares = 0;
        for (int k = 0; k < n; k++) { /* insertion sort */
            pp_ns one = all[k];
            int at = k;
            for (; at > 0 && all[at - 1] > one; at--)
                all[at] = all[at - 1];
            all[at] = one;
            mean += (double)one / n;
        }
        for (int k = 0; k < n; k++)
            squares += ((double)all[k] - mean) * ((double)all[k] - mean);
        ck_assert_int_eq(r.min_ns, all[0]);
        ck_assert_int_eq(r.p50_ns, all[cases[c].p50 - 1]);
        ck_assert_int_eq(r.p95_ns, all[cases[c].p95 - 1]);
        ck_assert_int_eq(r.p99_ns, all[cases[c].p99 - 1]);
        ck_assert_int_eq(r.max_ns, all[n - 1]);
        ck_assert_double_eq_tol(r.mean_ns, mean, 1e-3);
        ck_assert_double_eq_tol(r.deviation_ns, n > 1 ? sqrt(squares / (n - 1)) : 0, 1e-3);
        free(all);
    }
    step_free(&s);
}
END_TEST

/* 1.4 * 333 = 466.2 and 1.4 * 334 = 467.6: each op is rounded to the nearest nanosecond. */
START_TEST(durations_are_rounded_one_by_one)
{
    step s = step_of(step_order("1f1b", 1, 1, 10, 0), "F=333ns,B=334ns,comm=0");
    ck_assert_int_eq(study(&s, "slow-rank=0:1.4,scenarios=1", 0, 1).p50_ns, 10 * (466 + 468));
    step_free(&s);
}
END_TEST

/* The scenarios of a block are independent: correlation of step k with step k + d. */
START_TEST(scenarios_are_independent)
{
    enum { COUNT = 40000 };
    step s = step_of(step_order("1f1b", 1, 1, 20, 0), "F=1ms,B=1ms,comm=0");
    pp_ns *step_ns = run(&s, "compute=0.1,scenarios=40000", 11, 2);
    static const int distances[] = { 1, 2, 7, 63, 64, 65 };
    double mean = 0;
    double variance = 0;
    for (int k = 0; k < COUNT; k++)
        mean += (double)step_ns[k] / COUNT;
    for (int k = 0; k < COUNT; k++)
        variance += ((double)step_ns[k] - mean) * ((double)step_ns[k] - mean);
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
        double together = 0;
        for (int k = 0; k + distances[d] < COUNT; k++)
            together += ((double)step_ns[k] - mean) * ((double)step_ns[k + distances[d]] - mean);
        ck_assert_double_eq_tol(together / variance, 0, 0.025); /* standard error 0.005 */
    }
    free(step_ns);
    step_free(&s);
}
END_TEST

/* The mean of the larger of two independent lognormals with sigma s is 2 exp(s^2 / 2) Phi(s / sqrt
 * 2) (Nadarajah and Kotz 2008 for normals; by symmetry). Two ranks work independently with one op
 * each: the makespan is the larger. */
START_TEST(the_step_is_the_mean_of_the_larger)
{
    step s = one_f_one_b(2, 1, "F=1ms,B=0,comm=0");
    s.costs->f_ns[1] = 0;
    s.costs->b_ns[1] = 1000000;
    pp_jitter_subject subject = subject_of(&s);
    for (size_t i = 0; i < s.program->count; i++)
        s.program->source[i] = PP_NO_SOURCE;
    pp_err err = { 0 };
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    pp_jitter_spec spec = spec_of("compute=0.3,scenarios=100000");
    pp_jitter_result r = { 0 };
    STEP_OK(pp_jitter_study(&subject, &spec, 4, 2, &r, &err), err);
    double phi = 0.5 * erfc(-0.3 / 2);
    ck_assert_double_eq_tol(r.mean_ns, 1e6 * 2 * exp(0.045) * phi, 4e3);
    step_free(&s);
}
END_TEST

/* The same seed gives the same bytes, whatever the number of threads; another seed gives other
 * bytes; and scenario k is the same however many there are. */
START_TEST(the_seed_alone_decides)
{
    step s = one_f_one_b(4, 8, "F=1ms,B=2ms,comm=100us");
    step other = lowered(&s, frameworks[_i]);
    static const char text[] = "compute=0.1,comm=0.3,slow-rank=any:1.2,slow-link=any:2,scenarios=";
    char many[128];
    char few[128];
    snprintf(many, sizeof many, "%s300", text);
    snprintf(few, sizeof few, "%s70", text);
    pp_ns *one = run(&other, many, 9, 1);
    for (uint32_t threads = 2; threads <= 7; threads++) {
        pp_ns *same = run(&other, many, 9, threads);
        ck_assert_mem_eq(one, same, 300 * sizeof *one);
        free(same);
    }
    pp_ns *start = run(&other, few, 9, 2);
    ck_assert_mem_eq(one, start, 70 * sizeof *one);
    pp_ns *another = run(&other, many, 10, 1);
    int differ = 0;
    for (int k = 0; k < 300; k++)
        differ += one[k] != another[k];
    ck_assert_int_gt(differ, 290);
    free(one);
    free(start);
    free(another);
    lowered_free(&other);
    step_free(&s);
}
END_TEST

/* Scenario by scenario, to the nanosecond: each way of running the batch against the ordinary
 * engine with drawn costs, on every schedule. */
START_TEST(every_batch_equals_the_engine)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    const uint32_t chunks = schedule->chunks ? schedule->chunks : 2;
    pp_schedule_params shape = { .ranks = 4, .chunks = chunks, .microbatches = 8 };
    static const char *const texts[] = {
        "compute=0.2,comm=0.4,slow-rank=any:1.4,slow-link=any:3,scenarios=130",
        "F=0.1,I=0.3,W=0.5,B=0.2,comm=0.4,scenarios=70",
        "comm=1.5,slow-link=1:0.3,scenarios=65",
    };
    pp_err err = { 0 };
    step s = { .costs = step_costs("F=1003ns,I=1501ns,W=907ns,comm=333ns", 4, chunks, 8) };
    shape.costs = s.costs;
    STEP_OK(pp_schedule_build(schedule, &shape, &s.order, &err), err);
    step_simulate(&s);
    const pp_jitter_subject subject = subject_of(&s);
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        const pp_jitter_spec spec = spec_of(texts[t]);
        pp_ns one[130];
        pp_ns other[130];
        STEP_OK(pp_jitter_run_by(NULL, &subject, &spec, 21, 1, one, &err), err);
        ck_assert_int_ne(one[0], one[1]);
        for (size_t k = 0; k < pp_jitter_kernel_count(); k++) {
            pp_jitter_kernel *kernel = pp_jitter_kernel_at(k);
            if (!kernel)
                continue;
            STEP_OK(pp_jitter_run_by(kernel, &subject, &spec, 21, 1, other, &err), err);
            ck_assert_mem_eq(one, other, (size_t)spec.scenarios * sizeof *one);
        }
    }
    step_free(&s);
}
END_TEST

/* It makes no difference which half of a pair comes first. */
START_TEST(pairs_may_begin_with_their_backward)
{
    static const char *const rows[] = {
        "0F0,(0F1;0B0)OVERLAP_F_B,(0F2;0B1)OVERLAP_F_B,0B2\n",
        "0F0,(0B0;0F1)OVERLAP_F_B,(0B1;0F2)OVERLAP_F_B,0B2\n",
    };
    const pp_jitter_spec spec = spec_of("F=0.5,scenarios=40");
    pp_ns times[2][40];
    for (size_t k = 0; k < 2; k++) {
        step s = { .costs = step_costs("F=1us,B=2us,FB=2500ns,comm=0", 1, 1, 3) };
        pp_err err = { 0 };
        STEP_OK(pp_format_read(rows[k], strlen(rows[k]), "rows", &s.order, &err), err);
        step_simulate(&s);
        const pp_jitter_subject subject = subject_of(&s);
        STEP_OK(pp_jitter_run(&subject, &spec, 5, 1, times[k], &err), err);
        step_free(&s);
    }
    ck_assert_int_ne(times[0][0], times[0][1]);
    ck_assert_mem_eq(times[0], times[1], sizeof times[0]);
}
END_TEST

static bool ends(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

/* A study that is ended early is that of the scenarios until then: whole blocks of the kernel, or
 * one after the other by the engine. */
START_TEST(an_ended_study_is_one_of_fewer_scenarios)
{
    static const char *const fewer[] = { "compute=0.3,scenarios=64", "compute=0.3,scenarios=25" };
    step s = one_f_one_b(3, 5, "F=7us,B=12us,comm=1us");
    step other = lowered(&s, "torch");
    const step *of = _i ? &other : &s;
    pp_jitter_spec spec = spec_of("compute=0.3,scenarios=200");
    const pp_jitter_result expected = study(of, fewer[_i], 9, 1);
    int left = _i ? 25 : 1;
    pp_jitter_result result;
    pp_err err = { 0 };
    pp_jitter_subject subject = subject_of(of);
    subject.is_over = ends;
    subject.context = &left;
    STEP_OK(pp_jitter_study(&subject, &spec, 9, 1, &result, &err), err);
    ck_assert_int_eq(result.spec.scenarios, _i ? 25 : 64);
    ck_assert_int_eq(result.p50_ns, expected.p50_ns);
    ck_assert_int_eq(result.p99_ns, expected.p99_ns);
    left = 0;
    STEP_OK(pp_jitter_study(&subject, &spec, 9, 1, &result, &err), err);
    ck_assert_int_eq(result.spec.scenarios, 0);
    lowered_free(&other);
    step_free(&s);
}
END_TEST

/* Gradient sync, tied embedding and optimizer follow as in report.c. */
START_TEST(the_step_boundary_is_added)
{
    step s = one_f_one_b(3, 4, "F=1000ns,B=2000ns,comm=0");
    for (int r = 0; r < 3; r++) {
        s.costs->grad_sync_ns[r] = 100 * (r + 1);
        s.costs->optimizer_ns[r] = 7 + 90 * r;
    }
    s.costs->tied_ns[0] = s.costs->tied_ns[1] = 50;
    s.costs->fixed_ns = 3;
    pp_report *report = NULL;
    pp_err err = { 0 };
    pp_ns steps[2];
    for (int sync = 0; sync < 2; sync++) {
        pp_jitter_subject subject = subject_of(&s);
        subject.step_sync = sync != 0;
        pp_jitter_spec spec = spec_of("compute=0,scenarios=1");
        pp_ns step_ns = 0;
        STEP_OK(
            pp_report_build("x", NULL, s.program, s.timeline, s.costs, sync != 0, &report, &err),
            err);
        ck_assert_int_gt(report->step_ns, report->makespan_ns + 100);
        STEP_OK(pp_jitter_run(&subject, &spec, 0, 1, &step_ns, &err), err);
        ck_assert_int_eq(step_ns, report->step_ns);
        steps[sync] = step_ns;
        pp_report_free(&report);
    }
    ck_assert_int_ne(steps[0], steps[1]);
    step_free(&s);
}
END_TEST

/* Sums that a double would round are refused. */
START_TEST(too_long_is_refused)
{
    step s = one_f_one_b(2, 2, "F=300000s,B=300000s,comm=0");
    const pp_jitter_subject subject = subject_of(&s);
    const pp_jitter_spec spec = spec_of("compute=0.5,scenarios=1");
    pp_ns step_ns = -1;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_jitter_run(&subject, &spec, 0, 1, &step_ns, &err), PP_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "shorter durations"));
    ck_assert_int_eq(step_ns, -1);
    step_free(&s);
}
END_TEST

/* A hang does not depend on durations: the engine's message is returned, from any thread. */
START_TEST(a_hang_passes_on)
{
    step s = one_f_one_b(2, 2, "F=1us,B=1us,comm=1us");
    step other = lowered(&s, "torch");
    pp_comm *comm = other.program->comm;
    comm->step_begin[2] = comm->step_begin[1] + 1; /* rank 1 ends after its first step */
    const pp_jitter_subject subject = subject_of(&other);
    const pp_jitter_spec spec = spec_of("compute=0.5,scenarios=9");
    pp_ns step_ns[9];
    pp_err err = { 0 };
    ck_assert_int_eq(pp_jitter_run(&subject, &spec, 0, 3, step_ns, &err), PP_INFEASIBLE);
    ck_assert_ptr_nonnull(strstr(err.text, "hangs"));
    lowered_free(&other);
    step_free(&s);
}
END_TEST

START_TEST(words_are_read)
{
    pp_jitter_spec spec = spec_of("F=0.25,compute=0.5,B=1,comm=0.125,slow-rank=3:1.5");
    ck_assert(spec.sigma[PP_OP_F] == 0.25 && spec.sigma[PP_OP_I] == 0.5);
    ck_assert(spec.sigma[PP_OP_W] == 0.5 && spec.sigma[PP_OP_B] == 1 && spec.comm_sigma == 0.125);
    ck_assert_int_eq(spec.rank.at, 3);
    ck_assert(spec.rank.factor == 1.5 && spec.link.factor == 0);
    ck_assert_int_eq(spec.scenarios, 1000);
    spec = spec_of("slow-link=any:2,scenarios=10000000");
    ck_assert_int_eq(spec.link.at, PP_JITTER_ANY);
    ck_assert_int_eq(spec.scenarios, 10000000);
    static const char *const bad[] = {
        "",
        "F",
        "F=",
        "=1",
        "F=1,",
        "F=-0.1",
        "F=nan",
        "F=2.1",
        "F=0x1",
        "G=1",
        "F=1,F=1",
        "scenarios=0",
        "F=1e-1",
        "slow-rank=",
        "slow-rank=3",
        "slow-rank=3:0",
        "slow-rank=-1:2",
        "slow-link=x:2",
        "comm=1,,",
        "F=1.5.2",
        "scenarios=10000001",
        "slow-rank=any:1001",
        "F=.",
        "F=1 ",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pp_err err = { 0 };
        ck_assert_msg(pp_jitter_parse(bad[i], &spec, &err) == PP_USAGE, "'%s'", bad[i]);
        ck_assert_int_eq(strncmp(err.where, "jitter", 6), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitter");
    TCase *tc = tcase_create("jitter");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, without_jitter_nothing_changes, 0, 3);
    tcase_add_loop_test(tc, a_slow_rank_delays_by_the_closed_form, 0, 4);
    tcase_add_test(tc, a_slow_link_delays_both_directions);
    tcase_add_test(tc, a_link_may_close_the_loop);
    tcase_add_test(tc, a_random_slow_rank_visits_all);
    tcase_add_loop_test(tc, one_op_is_lognormal, 0, 4);
    tcase_add_loop_test(tc, ops_are_independent, 0, 2);
    tcase_add_loop_test(tc, ops_and_transfers_are_drawn_apart, 0, 2);
    tcase_add_test(tc, the_summary_is_of_the_scenarios);
    tcase_add_test(tc, durations_are_rounded_one_by_one);
    tcase_add_test(tc, scenarios_are_independent);
    tcase_add_test(tc, the_step_is_the_mean_of_the_larger);
    tcase_add_loop_test(tc, the_seed_alone_decides, 0, 3);
    tcase_add_loop_test(tc, every_batch_equals_the_engine, 0, (int)pp_schedule_count());
    tcase_add_test(tc, pairs_may_begin_with_their_backward);
    tcase_add_loop_test(tc, an_ended_study_is_one_of_fewer_scenarios, 0, 2);
    tcase_add_test(tc, the_step_boundary_is_added);
    tcase_add_test(tc, too_long_is_refused);
    tcase_add_test(tc, a_hang_passes_on);
    tcase_add_test(tc, words_are_read);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
