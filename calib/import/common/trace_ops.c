/* Gathers single ops into series: ops are sorted by stage, kind and variables, so that the repeats
 * of a point lie next to each other; each point becomes their median. O(n log n). */

#include "calib/import/common/trace_ops.h"
#include "calib/import/common/skips.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_trace_class(pp_op_kind kind, int64_t stage, char *name, size_t size)
{
    const char *letter = kind == PP_OP_F   ? "f"
                         : kind == PP_OP_I ? "i"
                         : kind == PP_OP_W ? "w"
                                           : "b";
    if (stage < 0)
        snprintf(name, size, "stage_%s", letter);
    else
        snprintf(name, size, "stage_%s %" PRId64, letter, stage);
}

static int compare_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) == isnan(b) ? 0 : isnan(a) ? -1 : 1;
    return (a > b) - (a < b);
}

static int compare_series(const pp_trace_op *a, const pp_trace_op *b)
{
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_point(const pp_trace_op *a, const pp_trace_op *b)
{
    int order = compare_series(a, b);
    for (size_t v = 0; v < PP_VARIABLE_COUNT && !order; v++)
        order = compare_real(a->at[v], b->at[v]);
    return order;
}

static int compare(const void *left, const void *right)
{
    const pp_trace_op *a = left;
    const pp_trace_op *b = right;
    int order = compare_point(a, b);
    return order ? order : compare_real(a->seconds, b->seconds);
}

pp_status pp_trace_ops_gather(pp_trace_op *ops, size_t count, bool host, const char *file,
                              pp_samples *samples, pp_err *err)
{
    pp_status status = PP_OK;
    pp_series *series = NULL;
    double *times = pp_alloc_array(count, sizeof *times);
    if (!times)
        return pp_err_nomem(err);
    qsort(ops, count, sizeof *ops, compare);
    for (size_t i = 0; i < count && !status;) {
        size_t same = 0;
        for (; i + same < count && compare_point(&ops[i], &ops[i + same]) == 0; same++)
            times[same] = ops[i + same].seconds;
        if (i == 0 || compare_series(&ops[i - 1], &ops[i]) != 0) {
            char name[sizeof series->class_name];
            pp_trace_class(ops[i].kind, ops[i].stage, name, sizeof name);
            if ((status = pp_samples_add_series(samples, name, &series, err)))
                break;
            snprintf(series->source, sizeof series->source, "%s%.110s", host ? PP_SOURCE_HOST : "",
                     pp_file_name(file));
        }
        pp_sample sample = pp_sample_of_repeats(times, same);
        memcpy(sample.at, ops[i].at, sizeof sample.at);
        status = pp_series_add(series, &sample, err);
        i += same;
    }
    free(times);
    return status;
}
