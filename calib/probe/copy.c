/* Probe of copies within memory, which is how the runtime hands a tensor over between threads. */
#include "calib/probe/probe.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 16 };

typedef struct copying {
    pp_subject subject;
    pp_subject_series series;
    pp_point point[POINTS_MAX];
    size_t bytes_max;
    char *from, *to;
} copying;

static void copy_close(void *state)
{
    copying *c = state;
    if (!c)
        return;
    free(c->from);
    free(c->to);
    free(c);
}

static pp_status copy_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                          pp_err *err)
{
    const copying *c = context;
    const size_t bytes = (size_t)c->point[point].at[PP_VARIABLE_BYTES];
    (void)err;
    pp_timing_begin(timing);
    for (uint32_t i = 0; i < runs; i++) {
        memcpy(c->to, c->from, bytes);
        __asm__ volatile("" : : "r"(c->to) : "memory"); /* all copies are wanted */
    }
    pp_timing_end(timing, 0, runs);
    return PP_OK;
}

static void add(copying *c, size_t bytes, bool cold)
{
    pp_point *point = &c->point[c->subject.point_count++];
    *point = pp_point_of(0, 1);
    point->at[PP_VARIABLE_BYTES] = (double)bytes;
    point->cold = cold;
    c->bytes_max = bytes > c->bytes_max ? bytes : c->bytes_max;
}

static pp_status copy_open(const pp_probe_options *options, void **state_out,
                           const pp_subject **subject_out, pp_err *err)
{
    static const size_t warm[] = {
        4096, 65536, 1048576, 16777216, 16384, 262144, 4194304, 67108864
    };
    static const size_t cold[] = { 1048576, 65536, 16777216, 262144, 4194304 };
    static const struct {
        size_t warm, cold;
    } counts[] = {
        [PP_PROBE_FULL] = { 8, 5 }, [PP_PROBE_QUICK] = { 7, 4 }, [PP_PROBE_TINY] = { 1, 1 }
    };
    copying *c = pp_alloc_array(1, sizeof *c);
    if (!c)
        return pp_err_nomem(err);
    c->series = (pp_subject_series){ .class_name = "copy" };
    c->subject = (pp_subject){ .source = "probe copy, thread time",
                               .stopwatch = PP_STOPWATCH_THREAD,
                               .series = &c->series,
                               .series_count = 1,
                               .point = c->point,
                               .context = c,
                               .run = copy_run };
    for (size_t i = 0; i < counts[options->scale].warm; i++)
        add(c, warm[i], false);
    for (size_t i = 0; i < counts[options->scale].cold; i++)
        add(c, cold[i], true);
    c->from = aligned_alloc(64, c->bytes_max);
    c->to = aligned_alloc(64, c->bytes_max);
    if (!c->from || !c->to) {
        copy_close(c);
        return pp_err_nomem(err);
    }
    memset(c->from, 1, c->bytes_max);
    memset(c->to, 2, c->bytes_max);
    *state_out = c;
    *subject_out = &c->subject;
    return PP_OK;
}

const pp_probe pp_probe_copy = {
    .name = "copy",
    .summary = "time of copies within memory by size, also with empty caches",
    .share = 10,
    .open = copy_open,
    .close = copy_close,
};
