/* How long a set of probes takes, and how well two of them agree: `bench_probes [quick] [NAME...]`,
 * also under mpirun -n 2. */

#include "calib/probe/calibrate.h"
#include "calib/profile/interference.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const pp_err *err)
{
    fprintf(stderr, "bench_probes: %s: %s\n", err->where, err->text);
    exit(EXIT_FAILURE);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Over the passes of a point: the median of their medians, or the least of their p10. */
static double over_passes(const pp_series *series, const pp_sample *at, bool least)
{
    double of[64];
    size_t count = 0;
    for (size_t i = 0; i < series->count && count < 64; i++) {
        const pp_sample *s = &series->sample[i];
        if (s->cold == at->cold && memcmp(s->at, at->at, sizeof s->at) == 0) /* NaN too */
            of[count++] = least ? s->p10_s : s->seconds;
    }
    if (!count)
        return NAN;
    qsort(of, count, sizeof of[0], by_size);
    return least ? of[0] : pp_quantile(of, count, 0.5);
}

/* Relative differences of the points of two runs. */
static void compare(const pp_series *a, const pp_series *b)
{
    for (int least = 0; least < 2; least++) {
        double off[256];
        size_t count = 0;
        for (size_t i = 0; i < a->count && count < 256; i++) {
            const pp_sample *x = &a->sample[i];
            double other = over_passes(b, x, least);
            if (x->pass == 0 && !isnan(other))
                off[count++] = fabs(other / over_passes(a, x, least) - 1);
        }
        qsort(off, count, sizeof off[0], by_size);
        if (count)
            printf("  %s %5.1f %% to %5.1f %%", least ? "p10" : "again",
                   100 * pp_quantile(off, count, 0.5), 100 * pp_quantile(off, count, 0.9));
    }
}

static void print(const pp_samples *samples, const pp_calibration *c, const pp_samples *again)
{
    for (size_t k = 0; k < c->count; k++) {
        const pp_series_note *n = &c->note[k];
        const pp_series *s = pp_samples_find(samples, n->class_name);
        const pp_series *s2 = pp_samples_find(again, n->class_name);
        if (!s)
            continue;
        printf("%-20s %3u points %5.1f %% precise %3u crowded %5.1f %% void  interval %5.2f %% "
               "drift %5.1f %%%s%s",
               n->class_name, n->points, 100.0 * n->precise / n->points, n->crowded,
               100.0 * (double)n->voided / (double)n->timings, 100 * n->interval, 100 * n->drift,
               n->drifts ? " DRIFTS" : "", n->throttled ? " THROTTLED" : "");
        if (s2)
            compare(s, s2);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    pp_calibrate_options options = pp_calibrate_default(quick);
    pp_samples samples[2] = { { .count = 0 }, { .count = 0 } };
    pp_calibration calibration[2] = { { .count = 0 }, { .count = 0 } };
    pp_interference found;
    pp_err err = { 0 };
    if (argc > 1 + quick)
        options.names = (const char *const *)&argv[1 + quick];
    for (int i = 0; i < 2; i++) {
        double begin_s = now_s();
        options.protocol.seed = (uint64_t)i + 1;
        if (pp_calibrate_probes(&options, &samples[i], &calibration[i], &err))
            die(&err);
        if (calibration[i].helped)
            return EXIT_SUCCESS;
        if (getenv("OMPI_COMM_WORLD_SIZE")) /* one world per process */
            i++;
        if (i == 0 || getenv("OMPI_COMM_WORLD_SIZE"))
            printf("%s, %d cores, load %.1f, %s\n", samples[0].device,
                   calibration[0].environment.cores, calibration[0].environment.load,
                   calibration[0].environment.kernel);
        printf("took %.1f s\n", now_s() - begin_s);
        fflush(stdout);
    }
    print(&samples[0], &calibration[0], &samples[1]);
    if (pp_interference_of(&samples[0], &found, &err))
        die(&err);
    printf(
        "compute x%.3f during a transfer, x%.3f during a copy; a transfer x%.3f during compute\n",
        found.compute, found.compute_beside_copy, found.comm);
    for (size_t i = 0; getenv("BENCH_POINTS") && i < samples[0].count; i++) {
        for (size_t k = 0; k < samples[0].series[i].count; k++) {
            const pp_sample *s = &samples[0].series[i].sample[k];
            printf("%s", samples[0].series[i].class_name);
            for (int v = 0; v < PP_VARIABLE_COUNT; v++)
                if (!isnan(s->at[v]))
                    printf(" %s=%.0f", pp_variable_key((pp_variable)v), s->at[v]);
            printf("%s pass %u: %.3f us (%.3f to %.3f) of %u\n", s->cold ? " cold" : "", s->pass,
                   1e6 * s->seconds, 1e6 * s->p10_s, 1e6 * s->p90_s, s->repeats);
        }
    }
    if (samples[0].skipped)
        printf("%s", samples[0].skipped);
    for (int i = 0; i < 2; i++) {
        pp_samples_free(&samples[i]);
        pp_calibration_free(&calibration[i]);
    }
    return EXIT_SUCCESS;
}
