/* What can be measured on this machine: one file in calib/probe/ and one line in calib/probes.def
 * each. docs/calibration-probes.md lists their classes and variables. */
#ifndef PPSIM_CALIB_PROBE_PROBES_H
#define PPSIM_CALIB_PROBE_PROBES_H

#include "calib/measure/gpu_state.h"
#include "calib/measure/protocol.h"
#include "calib/samples/environment.h"

#define PP_PROBE_SETTINGS "hidden=128,heads=4,mlp=512"

/* How many points. */
typedef enum pp_probe_scale {
    PP_PROBE_FULL,
    PP_PROBE_QUICK,
    PP_PROBE_TINY, /* one or two of each class: for tests */
} pp_probe_scale;

typedef struct pp_probe_options {
    pp_probe_scale scale;
    const char *settings; /* of compute cpu; NULL: PP_PROBE_SETTINGS; of a GPU's kernels: NULL:
                             PP_GPU_PROBE_SETTINGS */
    int64_t layers;       /* of the stage that is measured; 0: one */
    uint32_t device;      /* the GPU, among those that are visible */
    pp_ns budget_ns;      /* of the probe; 0: not limited */
    const volatile sig_atomic_t *stop; /* as in pp_protocol */
} pp_probe_options;

typedef struct pp_probe {
    const char *name;
    const char *summary;
    uint32_t share; /* of the time, against the shares of the others */
    bool joint;     /* processes that were started together measure together */
    bool asked;     /* of GPUs: runs only when it is asked for; their clocks are noted around it */
    /* Asked before any probe runs; NULL: nothing to ask. Fails: USAGE. */
    pp_status (*check)(pp_err *err);
    /* subject_out: lives as long as the state; NULL where this process has helped another one that
     * measures, and is done.
     * Fails: UNAVAILABLE, with the reason: the probe is skipped; USAGE (settings), NOMEM. */
    pp_status (*open)(const pp_probe_options *options, void **state_out,
                      const pp_subject **subject_out, pp_err *err);
    void (*close)(void *state); /* NULL is fine */
} pp_probe;

size_t pp_probe_count(void);
const pp_probe *pp_probe_at(size_t index);
/* Bits by pp_probe_at of those named; names ends with NULL; NULL: all that need not be asked for.
 */
uint32_t pp_probe_bits(const char *const *names);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_probe_get(const char *name, const pp_probe **probe_out, pp_err *err);

/* Fails: UNAVAILABLE when this process may not use two processors at once (mpirun binds processes
 * to one each). */
PP_MUST_CHECK pp_status pp_probe_needs_two_cores(pp_err *err);

/* Classes of the products of a layer, as plans ask for them: forward, gradient of the input,
 * gradient of the weight, each for qkv, proj, mlp_up and mlp_down. */
#define PP_GEMM_SERIES 12
extern const pp_subject_series pp_gemm_series[PP_GEMM_SERIES];

/* All variables NaN. */
pp_point pp_point_of(uint32_t series, uint32_t laps);

typedef struct pp_calibrate_options {
    const char *const *names; /* of probes; ends with NULL; NULL: all that need not be asked for */
    pp_probe_options probe;
    pp_protocol protocol; /* total_ns: of all probes together; flush_bytes 0: twice the last cache
                             where that is known */
} pp_calibrate_options;

/* Of a complete set, or a quick one: under 2 minutes, under 20 s. */
pp_calibrate_options pp_calibrate_default(bool quick);

/* Owner frees with pp_calibration_free. */
typedef struct pp_calibration {
    pp_environment environment;
    pp_gpu_states gpus;   /* around probes on GPUs */
    pp_series_note *note; /* one per series that was measured */
    size_t count, capacity;
    bool interrupted;    /* call again with the same options and samples to go on */
    uint32_t unfinished; /* bits by pp_probe_at: asked for, and not done */
    int sm_count;        /* of the GPU that was measured; 0: none was */
    bool helped;         /* another process has the samples: nothing is to be written here */
} pp_calibration;

/* Runs probes into `samples`, which may hold those of an interrupted run: what they have is not
 * measured again. Probes that cannot run here add a line to samples->skipped.
 * Under mpirun -n 2 both processes call it with the same options; the first one has the samples.
 * Fails: USAGE (an unknown name, settings), INPUT, NOMEM; as the runtime. What was measured before
 * stays in `samples`, and in `calibration_out`, which is then interrupted, all else of it. */
PP_MUST_CHECK pp_status pp_calibrate_probes(const pp_calibrate_options *options,
                                            pp_samples *samples, pp_calibration *calibration_out,
                                            pp_err *err);
void pp_calibration_free(pp_calibration *calibration); /* for PP_CLEANUP; all zero is fine */

/* What compute and transfers do to each other (probe interference): the factors of
 * --overlap-slowdown, medians over points and passes, at least 1; NaN: not measured. */
typedef struct pp_interference {
    double compute, comm;
    double compute_beside_copy; /* beside a plain copy in memory */
} pp_interference;

/* Is it a class of probe interference, of which only the ratios count? */
bool pp_interference_class(const char *class_name);

/* Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_interference_of(const pp_samples *samples,
                                           pp_interference *interference_out, pp_err *err);

#endif
