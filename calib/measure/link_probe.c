/* Measures a link over a fixed list of message sizes, which are ordered so that the first few of
 * them, taken alone by the short scales, already span the range. */
#include "calib/measure/link_probe.h"

#include "calib/measure/probe_options.h"

#include "sim/base/alloc.h"

#include <stdlib.h>

enum { POINTS_MAX = 11 };

typedef struct linking {
    pp_subject subject;
    pp_subject_series series;
    pp_point point[POINTS_MAX];
    pp_ping *ping;
} linking;

void pp_link_probe_close(void *state)
{
    linking *l = state;
    if (!l)
        return;
    pp_ping_free(&l->ping);
    free(l);
}

static pp_status link_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                          pp_err *err)
{
    linking *l = context;
    return pp_ping_run(l->ping, (size_t)l->point[point].at[PP_VARIABLE_BYTES], runs, timing, err);
}

pp_status pp_link_probe_open(const pp_probe_options *options, const char *class_name,
                             const char *source, pp_link_join join, void **state_out,
                             const pp_subject **subject_out, pp_err *err)
{
    static const size_t bytes[POINTS_MAX] = { 64,     65536,  1048576, 4194304, 4096, 262144,
                                              524288, 131072, 16384,   2097152, 1024 };
    static const size_t counts[] = {
        [PP_PROBE_FULL] = POINTS_MAX, [PP_PROBE_QUICK] = 5, [PP_PROBE_TINY] = 2
    };
    size_t bytes_max = 0;
    linking *l = pp_alloc_array(1, sizeof *l);
    if (!l)
        return pp_err_nomem(err);
    l->series = (pp_subject_series){ .class_name = class_name, .link = true, .ranks = 2 };
    l->subject = (pp_subject){ .source = source,
                               .stopwatch = PP_STOPWATCH_WALL,
                               .series = &l->series,
                               .series_count = 1,
                               .point = l->point,
                               .point_count = counts[options->scale],
                               .context = l,
                               .run = link_run };
    for (size_t i = 0; i < l->subject.point_count; i++) {
        l->point[i] = pp_point_of(0, 1);
        l->point[i].at[PP_VARIABLE_BYTES] = (double)bytes[i];
        bytes_max = bytes[i] > bytes_max ? bytes[i] : bytes_max;
    }
    pp_status status = join(bytes_max, &l->ping, err);
    if (status) {
        pp_link_probe_close(l);
        return status;
    }
    *state_out = l;
    *subject_out = pp_ping_is_partner(l->ping) ? NULL : &l->subject;
    return PP_OK;
}
