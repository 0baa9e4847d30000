/* The common part of probes of kernels on a GPU: the GPU, the shapes of a model, and points whose
 * work the GPU module prepares, heats and times. */
#ifndef PPSIM_CALIB_MEASURE_GPU_PROBE_H
#define PPSIM_CALIB_MEASURE_GPU_PROBE_H

#include "calib/measure/probe_options.h"
#include "runtime/gpu/gpu.h"

#define PP_GPU_PROBE_SETTINGS \
    "hidden=4096,heads=32,mlp=16384,gated=off,vocab=32000,tp=1,tokens=16384,experts=8"

enum { PP_GPU_EXPERTS_MAX = 256 };
enum { PP_GPU_PROBE_POINTS = 192, PP_GPU_PROBE_SERIES = 16, PP_GPU_PROBE_TOKENS = 10 };

/* Shapes of a layer and of the ends of a model. `tp` GPUs share each of them but experts; `tokens`
 * is the size of the largest microbatch, and the most rows of all experts together. */
typedef struct pp_gpu_shapes {
    int64_t hidden, heads, kv_heads, mlp, vocab, tp, tokens;
    int64_t experts, expert_mlp; /* those of one GPU, and the width of one there */
    bool gated;                  /* SwiGLU instead of GELU */
} pp_gpu_shapes;

/* Parses "hidden=4096,heads=32,...". Missing settings have the values of PP_GPU_PROBE_SETTINGS, and
 * kv_heads equals heads, expert_mlp equals mlp. Settings of compute cpu that do not change shapes
 * are ignored. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_gpu_shapes_parse(const char *text, pp_gpu_shapes *settings_out,
                                            pp_err *err);

/* The work of a point and how it is timed. */
typedef struct pp_gpu_probe_point {
    pp_gpu_work work, beside; /* `beside` runs at the same time as `work` if has_beside */
    bool has_beside;
    bool posting;  /* time the launch on the host, not the work */
    pp_ns rest_ns; /* idle time before every timing; 0: the GPU is heated up instead */
    pp_ns heat_ns; /* how long the work runs before the timings of a pass, at most a sixth of the
                      probe's budget; 0: the default of the probe */
} pp_gpu_probe_point;

typedef struct pp_gpu_probe {
    const pp_gpu_table *calls;
    pp_gpu *gpu;
    pp_gpu_shapes settings;
    pp_gpu_task *task, *beside; /* of the prepared point */
    pp_ns first_heat_ns, heat_ns, heat_most_ns;
    const volatile sig_atomic_t *stop; /* as in pp_probe_options */
    bool hot;                          /* the first heating is over */
    char source[128];
    pp_subject subject;
    pp_subject_series series[PP_GPU_PROBE_SERIES];
    char library[32]; /* for series that a library runs */
    pp_point point[PP_GPU_PROBE_POINTS];
    pp_gpu_probe_point of[PP_GPU_PROBE_POINTS];
} pp_gpu_probe;

/* Opens the GPU and makes a probe without points. `series` is copied. The caller closes the probe.
 * Fails: UNAVAILABLE, USAGE, NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_probe_open(const pp_probe_options *options, const char *name,
                                          const pp_subject_series *series, size_t series_count,
                                          pp_gpu_probe **probe_out, pp_err *err);
void pp_gpu_probe_close(void *probe); /* NULL is fine */

/* Writes the source of the series. what: at most 35 characters, "gpu-gemm, device time: bf16". */
void pp_gpu_probe_describe(pp_gpu_probe *probe, const char *what);

/* Adds a point and returns it; all its variables are NaN, for the caller to set. */
pp_point *pp_gpu_probe_add(pp_gpu_probe *probe, uint32_t series, const pp_gpu_probe_point *of);

/* Writes token counts of microbatches, in the order in which short scales take them. Returns how
 * many the scale takes. */
size_t pp_gpu_probe_tokens(const pp_gpu_probe *probe, pp_probe_scale scale,
                           int64_t tokens_out[PP_GPU_PROBE_TOKENS]);

#endif
