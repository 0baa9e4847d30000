/* What probes of kernels on a GPU share: the GPU, the model that the shapes are of, and points
 * whose work is prepared, heated and timed by the module. */
#ifndef PPSIM_CALIB_MEASURE_GPU_PROBE_H
#define PPSIM_CALIB_MEASURE_GPU_PROBE_H

#include "calib/measure/probe_options.h"
#include "runtime/gpu/gpu.h"

#define PP_GPU_PROBE_SETTINGS \
    "hidden=4096,heads=32,mlp=16384,gated=off,vocab=32000,tp=1,tokens=16384"

enum { PP_GPU_PROBE_POINTS = 192, PP_GPU_PROBE_SERIES = 16, PP_GPU_PROBE_TOKENS = 10 };

/* Of a layer, and of the ends of a model. tp: GPUs that share each of them; tokens: of the largest
 * microbatch. */
typedef struct pp_gpu_shapes {
    int64_t hidden, heads, kv_heads, mlp, vocab, tp, tokens;
    bool gated; /* SwiGLU, in place of GELU */
} pp_gpu_shapes;

/* What is not said has its default; kv_heads: as many as heads. Settings of compute cpu that change
 * no shape may be there too. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_gpu_shapes_parse(const char *text, pp_gpu_shapes *settings_out,
                                            pp_err *err);

/* What a point is timed beside, and how. */
typedef struct pp_gpu_probe_point {
    pp_gpu_work work, beside; /* beside: where has_beside */
    bool has_beside;
    bool posting;  /* the host's time to launch it */
    pp_ns rest_ns; /* nothing runs for so long before every timing */
    pp_ns heat_ns; /* the work runs for so long before the timings of a pass; 0: the probe's;
 at most a sixth of the probe's budget */
} pp_gpu_probe_point;

typedef struct pp_gpu_probe {
    const pp_gpu_table *calls;
    pp_gpu *gpu;
    pp_gpu_shapes settings;
    pp_gpu_task *task, *beside; /* of the point that is prepared */
    pp_ns first_heat_ns, heat_ns, heat_most_ns;
    const volatile sig_atomic_t *stop; /* NULL: nobody can */
    bool hot;
    char source[128];
    pp_subject subject;
    pp_subject_series series[PP_GPU_PROBE_SERIES];
    char library[32]; /* of series that use it */
    pp_point point[PP_GPU_PROBE_POINTS];
    pp_gpu_probe_point of[PP_GPU_PROBE_POINTS];
} pp_gpu_probe;

/* No points yet. series: copied. Owner closes it. Fails: UNAVAILABLE, USAGE, NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_probe_open(const pp_probe_options *options, const char *name,
                                          const pp_subject_series *series, size_t series_count,
                                          pp_gpu_probe **probe_out, pp_err *err);
void pp_gpu_probe_close(void *probe); /* NULL is fine */

/* Its place is the caller's to fill in: all variables are NaN. */
pp_point *pp_gpu_probe_add(pp_gpu_probe *probe, uint32_t series, const pp_gpu_probe_point *of);

/* Token counts of microbatches, most telling first. Returns how many. */
size_t pp_gpu_probe_tokens(const pp_gpu_probe *probe, pp_probe_scale scale,
                           int64_t tokens_out[PP_GPU_PROBE_TOKENS]);

#endif
