/* Classes of matrix products, which probes on processors and on GPUs have in common. */
#ifndef PPSIM_CALIB_MEASURE_GEMM_SERIES_H
#define PPSIM_CALIB_MEASURE_GEMM_SERIES_H

#include "calib/measure/protocol.h"

/* Classes of the products of a layer, as plans ask for them: forward, gradient of the input,
 * gradient of the weight, each for qkv, proj, mlp_up and mlp_down. */
#define PP_GEMM_SERIES 12
extern const pp_subject_series pp_gemm_series[PP_GEMM_SERIES];

#endif
