/* F, I, W and B of one stage of compute cpu, over tokens and mixes of sequence lengths. */
#include "calib/ops.h"
#include "calib/probes.h"
#include "sim/alloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { POINTS_MAX = 24 };

typedef struct stage {
    pp_subject subject;
    pp_point point[POINTS_MAX];
    pp_mix mix[POINTS_MAX];
    pp_ops *ops;
    char source[128];
} stage;

static void ops_close(void *state)
{
    stage *s = state;
    if (!s)
        return;
    pp_ops_free(&s->ops);
    free(s);
}

static pp_status ops_prepare(void *context, size_t point, pp_err *err)
{
    stage *s = context;
    return pp_ops_begin(s->ops, point, err);
}

/* Each backward follows a forward, as in a step. */
static pp_status ops_run(void *context, size_t point, uint32_t runs, pp_timing *timing, pp_err *err)
{
    static const pp_op_kind kinds[] = { PP_OP_F, PP_OP_I, PP_OP_W, PP_OP_F, PP_OP_B };
    stage *s = context;
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < runs && !status; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && !status; k++) {
            pp_timing_begin(timing);
            status = pp_ops_run(s->ops, point, kinds[k], err);
            pp_timing_end(timing, kinds[k], 1);
        }
    }
    return status;
}

static void add(stage *s, pp_mix mix)
{
    size_t at = s->subject.point_count++;
    s->mix[at] = mix;
    s->point[at] = pp_point_of(0, PP_OP_KIND_COUNT);
    pp_mix_variables(&mix, s->point[at].at);
}

static void add_points(stage *s, pp_probe_scale scale)
{
    if (scale == PP_PROBE_TINY) {
        add(s, pp_mix_one(32));
        add(s, pp_mix_skewed(32));
        return;
    }
    for (int64_t tokens = 64; tokens <= (scale == PP_PROBE_FULL ? 1024 : 512); tokens *= 2) {
        if (scale == PP_PROBE_QUICK && tokens == 128)
            continue;
        add(s, pp_mix_one(tokens));
        add(s, pp_mix_skewed(tokens));
        if (scale == PP_PROBE_FULL)
            add(s, pp_mix_four(tokens));
    }
    if (scale == PP_PROBE_FULL) {
        add(s, pp_mix_one(384));
        add(s, pp_mix_four(768));
        add(s, pp_mix_skewed(768));
    }
}

static pp_status ops_open(const pp_probe_options *options, void **state_out,
                          const pp_subject **subject_out, pp_err *err)
{
    static const pp_subject_series series[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = { .class_name = "stage_f" },
        [PP_OP_I] = { .class_name = "stage_i" },
        [PP_OP_W] = { .class_name = "stage_w" },
        [PP_OP_B] = { .class_name = "stage_b" },
    };
    stage *s = pp_alloc_array(1, sizeof *s);
    if (!s)
        return pp_err_nomem(err);
    snprintf(s->source, sizeof s->source, "probe cpu-ops, thread time: layers=%lld,%.80s",
             (long long)(options->layers ? options->layers : 1),
             options->settings ? options->settings : PP_PROBE_SETTINGS);
    s->subject = (pp_subject){ .source = s->source,
                               .stopwatch = PP_STOPWATCH_THREAD,
                               .series = series,
                               .series_count = PP_OP_KIND_COUNT,
                               .point = s->point,
                               .context = s,
                               .prepare = ops_prepare,
                               .run = ops_run };
    add_points(s, options->scale);
    pp_status status = pp_ops_new(options, s->mix, s->subject.point_count, &s->ops, err);
    if (status) {
        ops_close(s);
        return status;
    }
    *state_out = s;
    *subject_out = &s->subject;
    return PP_OK;
}

const pp_probe pp_probe_cpu_ops = {
    .name = "cpu-ops",
    .summary = "ops of one stage of compute cpu, over tokens and mixes of sequence lengths",
    .share = 40,
    .open = ops_open,
    .close = ops_close,
};
