/* Turns the samples of series into the points that forms are fitted to: checks them, adds the size,
 * the channels by NCCL's rule and the share of a ring, sorts them by size, and numbers the sizes so
 * that all repeats of a size can be left out together. O(n log n). */
#include "calib/fit/fit_points.h"

#include "sim/base/alloc.h"
#include "sim/cost/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_p2p(const pp_series *series)
{
    return starts_with(series->class_name, "send_recv") ||
           starts_with(series->class_name, "sendrecv");
}

static double times_of_collective(const pp_series *series)
{
    if (starts_with(series->class_name, "all_reduce"))
        return 2;
    return starts_with(series->class_name, "all_gather") ||
           starts_with(series->class_name, "reduce_scatter");
}

/* Returns the channels of a message by NCCL's rule, from the channels of the communicator that
 * NCCL's log gives, or NaN if the rule does not apply. Inside one node, missing numbers default to
 * those of NVSwitch machines; if that is wrong, the held-out error shows it. */
static double channels_of(const pp_series *series, double bytes, bool *assumed_out)
{
    int32_t all = series->channels_max, peer = series->channels_peer;
    if (!is_p2p(series) || series->ranks < 2 || !(bytes >= 0) || bytes > 1e18)
        return NAN;
    if (series->nodes == 1 && (all <= 0 || peer <= 0)) {
        all = all > 0 ? all : 32;
        peer = peer > 0 ? peer : all;
        *assumed_out = true;
    }
    if (all <= 0 || peer <= 0 || series->nodes <= 0)
        return NAN;
    const pp_communicator communicator = { series->ranks, series->nodes > 1 };
    return (double)pp_nccl_channels(all, peer, communicator, bytes);
}

static double size_of(const pp_series *series, const double *at)
{
    const double flops = 2 * at[PP_VARIABLE_ROWS] * at[PP_VARIABLE_COLUMNS] * at[PP_VARIABLE_DEPTH];
    const double candidates[] = { flops, at[PP_VARIABLE_TOKENS], at[PP_VARIABLE_PARAMETERS] };
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0] && !series->link; i++) {
        if (!isnan(candidates[i]))
            return candidates[i];
    }
    return at[PP_VARIABLE_BYTES];
}

pp_fit_point pp_fit_point_of(const pp_series *series, const pp_sample *sample, bool *assumed_out)
{
    pp_fit_point point = { .seconds = sample->seconds, .sample = sample };
    memcpy(point.at, sample->at, sizeof point.at);
    if (isnan(point.at[PP_VARIABLE_CHANNELS]))
        point.at[PP_VARIABLE_CHANNELS] =
            channels_of(series, point.at[PP_VARIABLE_BYTES], assumed_out);
    point.size = size_of(series, point.at);
    point.ranks = series->ranks;
    point.share =
        series->ranks > 1 ? times_of_collective(series) * (point.ranks - 1) / point.ranks : 0;
    return point;
}

static pp_status check(const pp_series *series, size_t index, pp_err *err)
{
    const pp_sample *sample = &series->sample[index];
    char where[128];
    snprintf(where, sizeof where, "%s, sample %zu", series->class_name, index);
    if (!(sample->seconds > 0 && sample->seconds <= 1e9))
        return pp_err_set(err, PP_INPUT, where,
                          "its time must be positive and at most 1e9 s, not %g", sample->seconds);
    for (int i = 0; i < PP_VARIABLE_COUNT; i++) {
        const double value = sample->at[i];
        if (!isnan(value) && !(value >= 0 && value <= 1e30))
            return pp_err_set(err, PP_INPUT, where, "%s must be from 0 to 1e30, not %g",
                              pp_variable_key((pp_variable)i), value);
    }
    const double channels = sample->at[PP_VARIABLE_CHANNELS];
    if (!isnan(channels) && !(channels >= 1))
        return pp_err_set(err, PP_INPUT, where, "channels must be at least 1, not %g", channels);
    return PP_OK;
}

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

/* Compares the variables that were measured. Channels are left out, since NCCL may give repeats of
 * one size different channels. */
static int compare_at(const pp_fit_point *a, const pp_fit_point *b)
{
    int order = compare_numbers(a->size, b->size);
    for (int i = 0; i < PP_VARIABLE_COUNT && !order; i++) {
        if (i != PP_VARIABLE_CHANNELS)
            order = compare_numbers(a->at[i], b->at[i]);
    }
    return order;
}

static int compare_points(const void *a, const void *b)
{
    const pp_fit_point *x = a, *y = b;
    int order = compare_at(x, y);
    if (!order)
        order = compare_numbers(x->ranks, y->ranks);
    return order ? order : compare_numbers(x->seconds, y->seconds);
}

static void number_keys(pp_fit_points *points)
{
    uint32_t key = 0;
    for (size_t i = 0; i < points->count; i++) {
        key += i > 0 && compare_at(&points->point[i - 1], &points->point[i]) != 0;
        points->point[i].key = key;
    }
    points->keys = (size_t)key + 1;
}

static void free_points(pp_fit_points *points)
{
    free(points->point);
}

static pp_status check_size(const pp_series *series, double size, pp_err *err)
{
    if (size >= 0 && size <= 1e60)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, series->class_name,
                      series->link ? "every sample of a link needs bytes"
                                   : "every sample needs tokens, m, n and k, parameters or bytes");
}

pp_status pp_fit_points_of(const pp_series *const series[], size_t count, double sm_count,
                           pp_fit_points *points_out, pp_err *err)
{
    pp_fit_points points PP_CLEANUP(free_points) = { .known = ~0u, .sm_count = sm_count };
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += series[i]->count;
    if (total == 0)
        return pp_err_set(err, PP_INPUT, count ? series[0]->class_name : "fit",
                          "there are no samples; measure or import some");
    points.point = pp_alloc_array(total, sizeof *points.point);
    if (!points.point)
        return pp_err_nomem(err);
    points.link = series[0]->link;
    points.p2p = is_p2p(series[0]);
    points.collective = times_of_collective(series[0]) > 0;
    for (size_t i = 0; i < count; i++) {
        if (series[i]->link != points.link)
            return pp_err_set(err, PP_INPUT, series[i]->class_name,
                              "a link and a kernel cannot share a curve; fit them separately");
        for (size_t k = 0; k < series[i]->count; k++) {
            pp_status status = check(series[i], k, err);
            pp_fit_point *point = &points.point[points.count++];
            *point = pp_fit_point_of(series[i], &series[i]->sample[k], &points.assumed);
            if (status || (status = check_size(series[i], point->size, err)))
                return status;
            for (unsigned v = 0; v < PP_VARIABLE_COUNT; v++) {
                if (isnan(point->at[v]))
                    points.known &= ~(1u << v);
            }
        }
    }
    qsort(points.point, points.count, sizeof *points.point, compare_points);
    number_keys(&points);
    *points_out = points;
    points.point = NULL;
    return PP_OK;
}
