/* The measurement protocol. Every pass visits all points in a new random order, so that slow drifts
 * of the machine do not look like an effect of size. A point is warmed up until time and runs
 * suffice; then batches of runs, long enough for the clock, are timed until the 95 % interval of
 * the median is narrow enough (order statistics) or the time of the point is spent. Timings during
 * which the thread was preempted are voided while enough clean ones come.
 * docs/reference/calibration-probes.md explains the reasons. */
#include "calib/measure/protocol.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX (1u << 20)
#define WARMUP_TIMES 10 /* the warm-up of a slow op ends after this many times warmup_ns */

/* The timings of one lap at one point in one pass; clean ones are those without a preemption. */
typedef struct tally {
    double clean[PP_TIMINGS_MAX], all[PP_TIMINGS_MAX];
    uint32_t clean_count, count;
} tally;

typedef struct measuring {
    const pp_protocol *protocol;
    const pp_subject *subject;
    pp_samples *samples;
    pp_series_note *note;
    tally *tally;   /* [PP_LAPS_MAX] */
    double *sorted; /* [PP_TIMINGS_MAX] */
    char *flush;    /* [flush_bytes] */
    size_t *order;  /* [points] */
    bool *left_out; /* [points] */
    pp_ns end_ns;   /* when total_ns is spent */
    size_t left;    /* points still to measure in all passes, including the current one */
    bool hot;       /* the first warm-up is over */
    bool late;      /* total_ns is spent: measure as little as possible */
    uint32_t least; /* timings that the current point needs */
} measuring;

pp_protocol pp_protocol_default(bool quick)
{
    return (pp_protocol){
        .seed = 1,
        .passes = quick ? 2 : 3,
        .warmup_runs = quick ? 2 : 3,
        .warmup_ns = quick ? 2000000 : 10000000,
        .first_warmup_ns = quick ? 50000000 : 200000000,
        .batch_ns = 200000,
        .timings_min = quick ? 6 : 9,
        .timings_max = quick ? 40 : 200,
        .point_ns = quick ? 200000000 : 1000000000,
        .total_ns = quick ? 3000000000 : 20000000000,
        .precision = quick ? 0.02 : 0.01,
    };
}

static pp_instant look(const pp_protocol *protocol)
{
    pp_instant now;
    if (protocol->look) {
        protocol->look(protocol->look_context, &now);
    } else {
        now.preemptions = pp_clock_preemptions();
        now.wall_ns = pp_clock_now_ns();
        now.thread_ns = pp_clock_thread_ns();
    }
    return now;
}

pp_point pp_point_of(uint32_t series, uint32_t laps)
{
    pp_point point = { .series = series, .laps = laps };
    for (int v = 0; v < PP_VARIABLE_COUNT; v++)
        point.at[v] = NAN;
    return point;
}

void pp_timing_begin(pp_timing *timing)
{
    timing->began = look(timing->protocol);
}

void pp_timing_end(pp_timing *timing, uint32_t lap, uint32_t runs)
{
    pp_instant now;
    pp_lap *of = &timing->lap[lap];
    if (timing->protocol->look) {
        now = look(timing->protocol);
    } else { /* in reverse order, so that the time to read the clocks is not measured */
        now.thread_ns = pp_clock_thread_ns();
        now.wall_ns = pp_clock_now_ns();
        now.preemptions = pp_clock_preemptions();
    }
    of->wall_ns += now.wall_ns - timing->began.wall_ns;
    of->thread_ns += now.thread_ns - timing->began.thread_ns;
    of->preemptions += now.preemptions - timing->began.preemptions;
    of->runs += runs;
}

void pp_timing_add(pp_timing *timing, uint32_t lap, uint32_t runs, pp_ns took_ns)
{
    timing->lap[lap].wall_ns += took_ns;
    timing->lap[lap].runs += runs;
}

static bool stopped(const measuring *m)
{
    return m->protocol->stop && *m->protocol->stop;
}

static bool has_sample(const measuring *m, const pp_point *point, uint32_t lap, uint32_t pass)
{
    const char *class_name = m->subject->series[point->series + lap].class_name;
    const pp_series *series = pp_samples_find(m->samples, class_name);
    for (size_t i = 0; series && i < series->count; i++) {
        const pp_sample *sample = &series->sample[i];
        if (sample->pass == pass && sample->cold == point->cold &&
            pp_variables_equal(sample->at, point->at))
            return true;
    }
    return false;
}

static bool is_known(const measuring *m, const pp_point *point, uint32_t pass)
{
    uint32_t lap = 0;
    while (lap < point->laps && has_sample(m, point, lap, pass))
        lap++;
    return lap == point->laps;
}

/* Empties the caches by filling them with other data. */
static void flush(measuring *m)
{
    volatile char *at = m->flush;
    for (size_t i = 0; i < m->protocol->flush_bytes; i += 64)
        at[i] = (char)(at[i] + 1);
}

static pp_status run(measuring *m, size_t index, uint32_t runs, pp_timing *timing, pp_err *err)
{
    const pp_subject *subject = m->subject;
    *timing = (pp_timing){ .protocol = m->protocol };
    if (subject->point[index].cold && subject->stopwatch != PP_STOPWATCH_DEVICE)
        flush(m);
    return subject->run(subject->context, index, runs, timing, err);
}

/* Returns the nanoseconds of one run, summed over all laps. */
static double run_ns(const measuring *m, size_t index, const pp_timing *timing)
{
    double sum = 0;
    for (uint32_t k = 0; k < m->subject->point[index].laps; k++) {
        const pp_lap *lap = &timing->lap[k];
        sum += lap->runs ? (double)lap->wall_ns / lap->runs : 0;
    }
    return sum;
}

/* Runs the point until it is warm. `runs_out` receives how many runs make a timing long enough. */
static pp_status warm_up(measuring *m, size_t index, uint32_t *runs_out, pp_err *err)
{
    const pp_protocol *protocol = m->protocol;
    const bool cold = m->subject->point[index].cold;
    const pp_ns least_ns = m->hot ? protocol->warmup_ns : protocol->first_warmup_ns;
    const pp_ns began_ns = look(protocol).wall_ns;
    double shortest_ns = INFINITY;
    uint32_t runs = 1;
    for (uint64_t done = 0; !stopped(m); done += runs) {
        pp_timing timing;
        pp_ns past_ns = look(protocol).wall_ns - began_ns;
        bool long_ago = past_ns >= least_ns;
        if (done > 0 && m->late)
            break;
        if (done > 0 && long_ago &&
            (done >= protocol->warmup_runs || past_ns >= WARMUP_TIMES * least_ns))
            break;
        pp_status status = run(m, index, runs, &timing, err);
        if (status)
            return status;
        shortest_ns = fmin(shortest_ns, run_ns(m, index, &timing));
        if (!cold && shortest_ns * runs < (double)protocol->batch_ns && runs < RUNS_MAX)
            runs *= 2;
    }
    double wanted = ceil((double)protocol->batch_ns / fmax(shortest_ns, 1));
    *runs_out = cold || !(wanted > 1) ? 1 : wanted < RUNS_MAX ? (uint32_t)wanted : RUNS_MAX;
    m->hot = true;
    return PP_OK;
}

static pp_status note_timing(measuring *m, size_t index, const pp_timing *timing, pp_err *err)
{
    const pp_point *point = &m->subject->point[index];
    for (uint32_t k = 0; k < point->laps; k++) {
        const pp_lap *lap = &timing->lap[k];
        pp_series_note *note = &m->note[point->series + k];
        tally *t = &m->tally[k];
        pp_ns took_ns =
            m->subject->stopwatch == PP_STOPWATCH_THREAD ? lap->thread_ns : lap->wall_ns;
        if (took_ns <= 0 || lap->runs == 0)
            return pp_err_set(err, PP_INPUT, m->subject->series[point->series + k].class_name,
                              "a timing took no time; the clock of this machine is too coarse, or "
                              "it went backwards");
        double seconds = (double)took_ns * 1e-9 / lap->runs;
        t->all[t->count++] = seconds;
        if (lap->preemptions <= 0)
            t->clean[t->clean_count++] = seconds;
        note->timings++;
        note->voided += lap->preemptions > 0;
    }
    return PP_OK;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the timings that count into m->sorted and returns how many there are. Voided timings count
 * if there are too few clean ones. */
static size_t sort(const measuring *m, const tally *t)
{
    bool crowded = t->clean_count < m->least;
    size_t count = crowded ? t->count : t->clean_count;
    memcpy(m->sorted, crowded ? t->all : t->clean, count * sizeof *m->sorted);
    qsort(m->sorted, count, sizeof *m->sorted, by_size);
    return count;
}

static bool is_precise(const measuring *m, const tally *t)
{
    size_t low;
    size_t high;
    size_t count = sort(m, t);
    if (!pp_median_interval(count, &low, &high))
        return false;
    double half = (m->sorted[high] - m->sorted[low]) / 2;
    return half <= m->protocol->precision * pp_quantile(m->sorted, count, 0.5);
}

/* Returns true if every lap is precise. On a busy machine it waits for timings_min clean timings,
 * but for at most twice as many in all. */
static bool is_enough(const measuring *m, uint32_t laps)
{
    const uint32_t least = m->least;
    for (uint32_t k = 0; k < laps; k++) {
        const tally *t = &m->tally[k];
        if (t->clean_count < least && t->count < 2 * least)
            return false;
        if (!is_precise(m, t))
            return false;
    }
    return true;
}

static pp_status add_sample(measuring *m, const pp_point *point, uint32_t lap, uint32_t pass,
                            pp_err *err)
{
    const pp_subject_series *of = &m->subject->series[point->series + lap];
    pp_series *series = pp_samples_find(m->samples, of->class_name);
    pp_series_note *note = &m->note[point->series + lap];
    const tally *t = &m->tally[lap];
    pp_status status =
        series ? PP_OK : pp_samples_add_series(m->samples, of->class_name, &series, err);
    if (status)
        return status;
    if (series->count == 0) {
        series->link = of->link;
        series->ranks = of->ranks;
        series->nodes = of->nodes;
        snprintf(series->library, sizeof series->library, "%s", of->library ? of->library : "");
        snprintf(series->source, sizeof series->source, "%s", m->subject->source);
    }
    bool precise = is_precise(m, t);
    size_t count = sort(m, t);
    pp_sample sample = pp_sample_of(pp_quantile(m->sorted, count, 0.5));
    memcpy(sample.at, point->at, sizeof sample.at);
    sample.p10_s = pp_quantile(m->sorted, count, 0.1);
    sample.p90_s = pp_quantile(m->sorted, count, 0.9);
    sample.repeats = (uint32_t)count;
    sample.pass = pass;
    sample.cold = point->cold;
    memcpy(sample.kernel, point->kernel, sizeof sample.kernel);
    status = pp_series_add(series, &sample, err);
    if (status)
        return status;
    note->points++;
    note->precise += precise;
    note->crowded += t->clean_count < m->least;
    return PP_OK;
}

/* Times the point until the timings are precise or a limit is reached, and adds its samples. */
static pp_status time_point(measuring *m, size_t index, uint32_t pass, pp_err *err)
{
    const pp_protocol *protocol = m->protocol;
    const pp_point *point = &m->subject->point[index];
    uint32_t runs = 1;
    pp_ns began_ns = look(protocol).wall_ns;
    pp_ns share_ns = (m->end_ns - began_ns) / (pp_ns)m->left;
    pp_ns limit_ns = began_ns + (share_ns < protocol->point_ns ? share_ns : protocol->point_ns);
    m->late = share_ns <= 0;
    m->least = m->late ? PP_TIMINGS_LEAST : protocol->timings_min;
    pp_status status = warm_up(m, index, &runs, err);
    for (uint32_t k = 0; k < point->laps; k++)
        m->tally[k].count = m->tally[k].clean_count = 0;
    for (uint32_t i = 0; i < protocol->timings_max && !status; i++) {
        pp_timing timing;
        if (stopped(m))
            return PP_OK;
        if (i >= m->least && (look(protocol).wall_ns >= limit_ns || is_enough(m, point->laps)))
            break;
        status = run(m, index, runs, &timing, err);
        if (!status)
            status = note_timing(m, index, &timing, err);
    }
    for (uint32_t k = 0; k < point->laps && !status; k++) {
        if (!has_sample(m, point, k, pass))
            status = add_sample(m, point, k, pass, err);
    }
    return status;
}

static pp_status measure_point(measuring *m, size_t index, uint32_t pass, pp_err *err)
{
    const pp_subject *subject = m->subject;
    pp_status status = subject->prepare ? subject->prepare(subject->context, index, err) : PP_OK;
    if (status)
        return status;
    status = time_point(m, index, pass, err);
    if (subject->release)
        subject->release(subject->context, index);
    return status;
}

/* Leaves out a point that cannot be measured, so that the others still are. */
static pp_status measure_or_leave_out(measuring *m, size_t index, uint32_t pass, pp_err *err)
{
    char what[96];
    pp_err why = pp_err_like(err);
    pp_status status = measure_point(m, index, pass, &why);
    if (status == PP_UNAVAILABLE) {
        m->left_out[index] = true;
        snprintf(what, sizeof what, "points of %s",
                 m->subject->series[m->subject->point[index].series].class_name);
        return pp_samples_skip(m->samples, what, why.text, err);
    }
    if (status && err)
        *err = why;
    return status;
}

static void shuffle(const measuring *m, uint32_t pass)
{
    uint64_t state = m->protocol->seed * PP_TIMINGS_MAX + pass;
    for (size_t i = 0; i < m->subject->point_count; i++)
        m->order[i] = i;
    for (size_t i = m->subject->point_count; i > 1; i--) {
        size_t other = (size_t)(pp_random_next(&state) % i);
        size_t kept = m->order[i - 1];
        m->order[i - 1] = m->order[other];
        m->order[other] = kept;
    }
}

static void report(const measuring *m, size_t index, size_t total)
{
    if (!m->protocol->progress)
        return;
    const pp_measure_progress progress = {
        .source = m->subject->source,
        .class_name = m->subject->series[m->subject->point[index].series].class_name,
        .done = total - m->left,
        .total = total,
    };
    m->protocol->progress(m->protocol->progress_context, &progress);
}

static pp_status measure_all(measuring *m, pp_err *err)
{
    const size_t points = m->subject->point_count;
    const size_t total = points * m->protocol->passes;
    pp_status status = PP_OK;
    for (uint32_t pass = 0; pass < m->protocol->passes; pass++) {
        for (size_t i = 0; i < points; i++)
            m->left += !is_known(m, &m->subject->point[i], pass);
    }
    for (uint32_t pass = 0; pass < m->protocol->passes && !status; pass++) {
        shuffle(m, pass);
        for (size_t i = 0; i < points && !status && !stopped(m); i++) {
            if (is_known(m, &m->subject->point[m->order[i]], pass))
                continue;
            report(m, m->order[i], total);
            if (!m->left_out[m->order[i]])
                status = measure_or_leave_out(m, m->order[i], pass, err);
            m->left--;
        }
    }
    return status;
}

static pp_status judge_all(const measuring *m, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t k = 0; k < m->subject->series_count && !status; k++) {
        const pp_series *series = pp_samples_find(m->samples, m->note[k].class_name);
        if (series)
            status = pp_series_judge(series, m->protocol->precision, &m->note[k], err);
    }
    return status;
}

static pp_status check(const pp_protocol *p, pp_err *err)
{
    if (p->passes >= 1 && p->timings_min >= PP_TIMINGS_LEAST && p->timings_max >= p->timings_min &&
        p->timings_max <= PP_TIMINGS_MAX && p->precision > 0 && p->total_ns >= 0)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, "protocol",
                      "at least one pass, %d to %d timings and a positive precision are needed",
                      PP_TIMINGS_LEAST, PP_TIMINGS_MAX);
}

/* Fails if samples from an earlier run have another source: they must not be mixed. */
static pp_status check_known(const pp_subject *subject, const pp_samples *samples, pp_err *err)
{
    for (size_t k = 0; k < subject->series_count; k++) {
        const pp_series *series = pp_samples_find(samples, subject->series[k].class_name);
        if (series && series->count && strcmp(series->source, subject->source) != 0)
            return pp_err_set(
                err, PP_INPUT, series->class_name,
                "the samples in the file are from '%s', and these options measure '%s'; continue "
                "with the options of the first run, or start again with a new file",
                series->source, subject->source);
    }
    return PP_OK;
}

pp_status pp_measure(const pp_protocol *protocol, const pp_subject *subject, pp_samples *samples,
                     pp_series_note *note_out, bool *interrupted_out, pp_err *err)
{
    pp_status status = check(protocol, err);
    if (!status)
        status = check_known(subject, samples, err);
    if (status)
        return status;
    measuring m = {
        .protocol = protocol,
        .subject = subject,
        .samples = samples,
        .note = note_out,
        .tally = pp_alloc_array(PP_LAPS_MAX, sizeof *m.tally),
        .sorted = pp_alloc_array(PP_TIMINGS_MAX, sizeof *m.sorted),
        .flush = pp_alloc_array(protocol->flush_bytes, 1),
        .order = pp_alloc_array(subject->point_count, sizeof *m.order),
        .left_out = pp_alloc_array(subject->point_count, sizeof *m.left_out),
        .end_ns = look(protocol).wall_ns + protocol->total_ns,
    };
    for (size_t k = 0; k < subject->series_count; k++) {
        note_out[k] = (pp_series_note){ .stopwatch = subject->stopwatch };
        snprintf(note_out[k].class_name, sizeof note_out[k].class_name, "%s",
                 subject->series[k].class_name);
    }
    if (!m.tally || !m.sorted || !m.flush || !m.order || !m.left_out)
        status = pp_err_nomem(err);
    if (!status)
        status = measure_all(&m, err);
    if (!status)
        status = judge_all(&m, err);
    if (!status)
        *interrupted_out = stopped(&m);
    free(m.tally);
    free(m.sorted);
    free(m.flush);
    free(m.order);
    free(m.left_out);
    return status;
}
