/* Summarises a Monte Carlo simulation: percentiles that are values of scenarios (the nearest-rank
 * method), with distribution-free confidence intervals from order statistics (David and Nagaraja,
 * Order Statistics, 2003), mean and standard deviation. O(n log n) for n scenarios, and 8 bytes for
 * each. */
#include "planner/robustness/jitter.h"

#include "planner/robustness/jitter_run.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static int compare_ns(const void *a, const void *b)
{
    pp_ns x = *(const pp_ns *)a;
    pp_ns y = *(const pp_ns *)b;
    return x < y ? -1 : x > y;
}

/* The ceil(q n)-th smallest of n values. */
static pp_ns percentile(const pp_ns *sorted, int64_t count, int64_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

/* Half of the interval that contains the percentile with a probability of 95 %. How many of n
 * values fall below it is binomial, approximated as normal. */
static pp_ns percentile_error(const pp_ns *sorted, int64_t count, int64_t percent)
{
    double q = 0.01 * (double)percent;
    double middle = q * (double)count;
    double width = 1.96 * sqrt(middle * (1 - q));
    double low = floor(middle - width);
    double high = ceil(middle + width);
    size_t from = low < 1 ? 0 : (size_t)low - 1;
    size_t to = high > (double)count ? (size_t)count - 1 : (size_t)high - 1;
    return (sorted[to] - sorted[from] + 1) / 2;
}

static void summarise(pp_ns *step_ns, int64_t count, pp_jitter_result *out)
{
    qsort(step_ns, (size_t)count, sizeof *step_ns, compare_ns);
    out->min_ns = step_ns[0];
    out->p50_ns = percentile(step_ns, count, 50);
    out->p95_ns = percentile(step_ns, count, 95);
    out->p99_ns = percentile(step_ns, count, 99);
    out->max_ns = step_ns[count - 1];
    for (int i = 0; i < PP_JITTER_TWENTIETHS; i++)
        out->twentieth_ns[i] = percentile(step_ns, count, 5 * (i + 1));
    out->p50_error_ns = percentile_error(step_ns, count, 50);
    out->p95_error_ns = percentile_error(step_ns, count, 95);
    double above = 0; /* above the minimum, since sums of small numbers lose less */
    for (int64_t i = 0; i < count; i++)
        above += (double)(step_ns[i] - out->min_ns);
    above /= (double)count;
    double squares = 0;
    for (int64_t i = 0; i < count; i++) {
        double off = (double)(step_ns[i] - out->min_ns) - above;
        squares += off * off;
    }
    out->mean_ns = (double)out->min_ns + above;
    out->deviation_ns = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

pp_status pp_jitter_report(const pp_jitter_result *result, int64_t replicas, pp_report *report,
                           pp_err *err)
{
    report->robustness.jitter = *result;
    report->robustness.has_jitter = true;
    if (replicas < 2)
        return PP_OK;
    return pp_notes_add(&report->assumptions, err, "jitter",
                        "the slowest of %" PRId64
                        " replicas is simulated alone; in reality each waits for the slowest",
                        replicas);
}

pp_status pp_jitter_study(const pp_jitter_subject *subject, const pp_jitter_spec *spec,
                          uint64_t seed, uint32_t threads, pp_jitter_result *out, pp_err *err)
{
    pp_ns *step_ns = pp_alloc_array((size_t)spec->scenarios, sizeof *step_ns);
    if (!step_ns)
        return pp_err_nomem(err);
    pp_status status = pp_jitter_run(subject, spec, seed, threads, step_ns, err);
    if (!status) {
        *out = (pp_jitter_result){ .spec = *spec, .seed = seed };
        out->spec.scenarios = 0;
        while (out->spec.scenarios < spec->scenarios &&
               step_ns[out->spec.scenarios] != PP_JITTER_NOT_RUN)
            out->spec.scenarios++;
        if (out->spec.scenarios)
            summarise(step_ns, out->spec.scenarios, out);
    }
    free(step_ns);
    return status;
}
