/* The classes of matrix products that probes of processors and of GPUs measure. */
#ifndef PPSIM_CALIB_MEASURE_GEMM_SERIES_H
#define PPSIM_CALIB_MEASURE_GEMM_SERIES_H

#include "calib/measure/protocol.h"

/* Forward, gradient of the input and gradient of the weight, each for qkv, proj, mlp_up and
 * mlp_down. */
#define PP_GEMM_SERIES 12
extern const pp_subject_series pp_gemm_series[PP_GEMM_SERIES];

#endif
