/* Times of layers and ends of stages as they were measured. */
#ifndef PPSIM_SIM_COST_MEASURED_LAYER_H
#define PPSIM_SIM_COST_MEASURED_LAYER_H

#include "sim/cost/gpu_batch.h"

/* Looks up F, I, W and B, which are the four kinds from `first_kind` on. If only B was measured, I
 * and W are half of it each. Returns false when they were not measured. */
bool pp_measured_work(const pp_gpu_batch *local, pp_measured_kind first_kind, pp_work *work_out);

#endif
