/* Probe of F, I, W and B of a stage of compute cpu, over tokens and mixes of sequence lengths, for
 * a stage in the middle of the pipeline, the first one and the last one. All other processors
 * compute meanwhile, as they do in a step. */
#include "calib/measure/ops.h"
#include "calib/probe/probe.h"
#include "calib/samples/environment.h"
#include "sim/base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MIXES_MAX = 24, POINTS_MAX = PP_OPS_STAGES * MIXES_MAX, NEIGHBOURS_MAX = 63 };

/* A thread that computes while another one is measured. In a step all processors compute, and they
 * share caches, memory bandwidth and clocks. */
typedef struct neighbour {
    pp_ops *ops;
    size_t mix;
    const atomic_bool *over;
    pthread_t thread;
    bool started;
} neighbour;

typedef struct stage {
    pp_subject subject;
    pp_point point[POINTS_MAX];
    uint32_t stage_of[POINTS_MAX];
    size_t mix_of[POINTS_MAX];
    pp_mix mix[MIXES_MAX];
    size_t mixes;
    pp_ops *ops[PP_OPS_STAGES];
    neighbour neighbour[NEIGHBOURS_MAX];
    atomic_bool over;
    char source[128];
} stage;

static void *keep_busy(void *argument)
{
    static const pp_op_kind kinds[] = { PP_OP_F, PP_OP_I, PP_OP_W };
    const neighbour *n = argument;
    pp_err ignored = { 0 };
    pp_status status = pp_ops_begin(n->ops, n->mix, &ignored);
    for (size_t k = 0; !status && !atomic_load(n->over); k++)
        status = pp_ops_run(n->ops, n->mix, kinds[k % 3], &ignored);
    return NULL;
}

/* Starts a neighbour on each other processor. If memory or threads run out, there are fewer
 * neighbours and the measured times are too short. */
static void start_load(const pp_probe_options *options, stage *s)
{
    pp_environment machine;
    pp_err ignored = { 0 };
    pp_environment_look(&machine);
    for (int32_t k = 0; k + 1 < machine.cores && k < NEIGHBOURS_MAX; k++) {
        neighbour *n = &s->neighbour[k];
        n->over = &s->over;
        n->mix = s->mixes / 2;
        if (!pp_ops_new(options, PP_OPS_MIDDLE, s->mix, s->mixes, &n->ops, &ignored))
            n->started = pthread_create(&n->thread, NULL, keep_busy, n) == 0;
    }
}

static void stop_load(stage *s)
{
    atomic_store(&s->over, true);
    for (size_t k = 0; k < NEIGHBOURS_MAX; k++) {
        if (s->neighbour[k].started)
            pthread_join(s->neighbour[k].thread, NULL);
        pp_ops_free(&s->neighbour[k].ops);
    }
}

static void ops_close(void *state)
{
    stage *s = state;
    if (!s)
        return;
    stop_load(s);
    for (size_t k = 0; k < PP_OPS_STAGES; k++)
        pp_ops_free(&s->ops[k]);
    free(s);
}

static pp_status ops_prepare(void *context, size_t point, pp_err *err)
{
    stage *s = context;
    return pp_ops_begin(s->ops[s->stage_of[point]], s->mix_of[point], err);
}

/* Runs a forward before each backward, as a step does. */
static pp_status ops_run(void *context, size_t point, uint32_t runs, pp_timing *timing, pp_err *err)
{
    static const pp_op_kind kinds[] = { PP_OP_F, PP_OP_I, PP_OP_W, PP_OP_F, PP_OP_B };
    stage *s = context;
    pp_ops *ops = s->ops[s->stage_of[point]];
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < runs && !status; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && !status; k++) {
            pp_timing_begin(timing);
            status = pp_ops_run(ops, s->mix_of[point], kinds[k], err);
            pp_timing_end(timing, kinds[k], 1);
        }
    }
    return status;
}

static void add_point(stage *s, uint32_t which, size_t mix)
{
    const size_t at = s->subject.point_count++;
    s->stage_of[at] = which;
    s->mix_of[at] = mix;
    s->point[at] = pp_point_of(which * PP_OP_KIND_COUNT, PP_OP_KIND_COUNT);
    pp_mix_variables(&s->mix[mix], s->point[at].at);
}

/* Adds points of the middle stage and, with `ends`, of the first and the last one. */
static void add(stage *s, pp_mix mix, bool ends)
{
    const size_t at = s->mixes++;
    s->mix[at] = mix;
    add_point(s, PP_OPS_MIDDLE, at);
    if (!ends)
        return;
    add_point(s, PP_OPS_FIRST, at);
    add_point(s, PP_OPS_LAST, at);
}

static void add_points(stage *s, pp_probe_scale scale)
{
    if (scale == PP_PROBE_TINY) {
        add(s, pp_mix_one(32), true);
        add(s, pp_mix_skewed(32), false);
        return;
    }
    for (int64_t tokens = 64; tokens <= (scale == PP_PROBE_FULL ? 1024 : 512); tokens *= 2) {
        if (scale == PP_PROBE_QUICK && tokens == 128)
            continue;
        add(s, pp_mix_one(tokens), true);
        add(s, pp_mix_skewed(tokens), true);
        if (scale == PP_PROBE_FULL)
            add(s, pp_mix_four(tokens), false);
    }
    if (scale == PP_PROBE_FULL) {
        add(s, pp_mix_one(384), true);
        add(s, pp_mix_four(768), false);
        add(s, pp_mix_skewed(768), true);
    }
}

static pp_status open_ops(const pp_probe_options *options, stage *s, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t k = 0; k < PP_OPS_STAGES && !status; k++)
        status = pp_ops_new(options, k, s->mix, s->mixes, &s->ops[k], err);
    return status;
}

static pp_status ops_open(const pp_probe_options *options, void **state_out,
                          const pp_subject **subject_out, pp_err *err)
{
    /* by stage, then by kind of op */
    static const pp_subject_series series[PP_OPS_STAGES * PP_OP_KIND_COUNT] = {
        { .class_name = "stage_f first" }, { .class_name = "stage_i first" },
        { .class_name = "stage_w first" }, { .class_name = "stage_b first" },
        { .class_name = "stage_f" },       { .class_name = "stage_i" },
        { .class_name = "stage_w" },       { .class_name = "stage_b" },
        { .class_name = "stage_f last" },  { .class_name = "stage_i last" },
        { .class_name = "stage_w last" },  { .class_name = "stage_b last" },
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
                               .series_count = sizeof series / sizeof series[0],
                               .point = s->point,
                               .context = s,
                               .prepare = ops_prepare,
                               .run = ops_run };
    add_points(s, options->scale);
    pp_status status = open_ops(options, s, err);
    if (status) {
        ops_close(s);
        return status;
    }
    start_load(options, s);
    *state_out = s;
    *subject_out = &s->subject;
    return PP_OK;
}

const pp_probe pp_probe_cpu_ops = {
    .name = "cpu-ops",
    .summary = "time of the ops of one stage by tokens and mix of sequence lengths (compute cpu)",
    .share = 60,
    .open = ops_open,
    .close = ops_close,
};
