/* Runs the probes that were asked for, one after the other, within one time budget. */
#ifndef PPSIM_CALIB_PROBE_CALIBRATE_H
#define PPSIM_CALIB_PROBE_CALIBRATE_H

#include "calib/measure/gpu_state.h"
#include "calib/probe/registry.h"
#include "calib/samples/environment.h"

typedef struct pp_calibrate_options {
    const char *const *names; /* of probes, NULL at the end; NULL: all but those with `asked` */
    pp_probe_options probe;
    pp_protocol protocol; /* total_ns is for all probes together; flush_bytes 0: twice the
                             last-level cache, if its size is known */
} pp_calibrate_options;

/* Options for all points, which take less than 2 minutes, or for a quick set: less than 20 s. */
pp_calibrate_options pp_calibrate_default(bool quick);

/* The results of a run, except its samples. The owner frees it with pp_calibration_free. */
typedef struct pp_calibration {
    pp_environment environment;
    pp_gpu_states gpus;   /* before and after each probe on a GPU */
    pp_series_note *note; /* [count], one per measured series */
    size_t count, capacity;
    bool interrupted; /* calling it again with the same options and samples resumes */
    uint32_t
        unfinished; /* bits by pp_probe_at of the probes that were asked for and not completed */
    int sm_count;   /* of the GPU that was measured; 0: none */
    bool helped;    /* another process has the samples; this one has nothing to write */
} pp_calibration;

/* Runs probes and adds their points to `samples`. Points that `samples` already has, from an
 * interrupted run, are not measured again. Probes that cannot run here add a line to
 * samples->skipped. Under mpirun -n 2 both processes call it with the same options; the first one
 * gets the samples.
 * Fails: USAGE (an unknown name, settings), INPUT, NOMEM; as the runtime. Even then `samples` keeps
 * the finished points, and calibration_out is set, with `interrupted`. */
PP_MUST_CHECK pp_status pp_calibrate_probes(const pp_calibrate_options *options,
                                            pp_samples *samples, pp_calibration *calibration_out,
                                            pp_err *err);
void pp_calibration_free(
    pp_calibration *calibration); /* for PP_CLEANUP; accepts an all-zero object */

#endif
