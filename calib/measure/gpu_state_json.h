/* The states of GPUs as JSON. */
#ifndef PPSIM_CALIB_MEASURE_GPU_STATE_JSON_H
#define PPSIM_CALIB_MEASURE_GPU_STATE_JSON_H

#include "calib/measure/gpu_state.h"
#include "sim/base/json.h"

/* Returns the object that pp_gpu_states_read reads, or NULL when the build failed. */
pp_json *pp_gpu_states_write(const pp_gpu_states *states, pp_json_build *build);
/* Adds to states_out, which must be all zero; states beyond PP_GPU_STATES_MAX are dropped.
 * Fails: INPUT with the place. */
PP_MUST_CHECK pp_status pp_gpu_states_read(const pp_json_at *at, pp_gpu_states *states_out,
                                           pp_err *err);

#endif
