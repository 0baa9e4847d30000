/* Runs the probes that were asked for, one after the other, within one budget of time. */
#ifndef PPSIM_CALIB_PROBE_CALIBRATE_H
#define PPSIM_CALIB_PROBE_CALIBRATE_H

#include "calib/measure/gpu_state.h"
#include "calib/probe/registry.h"
#include "calib/samples/environment.h"

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

#endif
