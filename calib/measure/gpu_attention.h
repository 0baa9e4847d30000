/* The common part of probes of attention on a GPU: mixes of sequence lengths, forward and backward.
 */
#ifndef PPSIM_CALIB_MEASURE_GPU_ATTENTION_H
#define PPSIM_CALIB_MEASURE_GPU_ATTENTION_H

#include "calib/measure/gpu_probe.h"
#include "calib/measure/ops.h"
#include "calib/measure/probe_options.h"

enum { PP_GPU_ATTENTION_SERIES = 2 };

/* What distinguishes the probes: series and kinds of work for forward and backward, the largest
 * number of token counts, and the largest sum of squared lengths that is measured. Sequences of one
 * token are left out, since cuDNN rejects them. */
typedef struct pp_gpu_attention_how {
    const char *name;
    const pp_subject_series *series;
    pp_gpu_work_kind forward, backward;
    size_t tokens;
    double squares;
} pp_gpu_attention_how;

typedef struct pp_gpu_attention {
    pp_gpu_probe *probe;
    pp_mix mix[3 * PP_GPU_PROBE_TOKENS]; /* referenced by the work of the points */
    size_t mixes;
} pp_gpu_attention;

/* Opens the probe with all its points. The caller closes it.
 * Fails: UNAVAILABLE, USAGE, NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_attention_open(const pp_probe_options *options,
                                              const pp_gpu_attention_how *how,
                                              pp_gpu_attention **attention_out, pp_err *err);
void pp_gpu_attention_close(void *attention); /* NULL is fine */

#endif
