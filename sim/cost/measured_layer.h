/* Stages as they were measured. */
#ifndef PPSIM_SIM_COST_MEASURED_LAYER_H
#define PPSIM_SIM_COST_MEASURED_LAYER_H

#include "sim/cost/gpu_batch.h"

/* As measured: F, I, W and B of the kinds from `first_kind` on. B alone is taken as I and W of
 * equal length. False: not measured. */
bool pp_measured_work(const pp_gpu_batch *local, pp_measured_kind first_kind, pp_work *work_out);

#endif
