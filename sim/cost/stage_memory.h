/* Bytes and parameters of the units of a stage. */
#ifndef PPSIM_SIM_COST_STAGE_MEMORY_H
#define PPSIM_SIM_COST_STAGE_MEMORY_H

#include "sim/cost/gpu_batch.h"

/* Fill in the byte counts and the parameters of `cost`. */
void pp_layer_memory(const pp_gpu_batch *local, pp_unit_cost *cost);
/* Bytes that the layer need not keep if it recomputes a module. */
double pp_module_bytes(const pp_gpu_batch *local, pp_recompute_module module);
void pp_embedding_memory(const pp_gpu_batch *local, pp_unit_cost *cost);
void pp_loss_memory(const pp_gpu_batch *local, pp_unit_cost *cost);
void pp_mtp_memory(const pp_gpu_batch *local, pp_unit_cost *cost);

#endif
