/* Time of one transformer layer. */
#ifndef PPSIM_SIM_COST_LAYER_H
#define PPSIM_SIM_COST_LAYER_H

#include "sim/cost/gpu_batch.h"

/* Times of forward and backward, including recomputation. */
pp_work pp_layer_work(const pp_gpu_batch *local);
/* The number of ops with weights of their own in a layer: linear layers, that of queries, keys and
 * values being one, and norms. */
double pp_weight_ops(const pp_gpu_batch *local);
/* The time by which a layer with experts is shorter if its forward overlaps with the backward of
 * another microbatch; 0 without exchange of experts. work: of the layer. */
double pp_layer_hidden_seconds(const pp_gpu_batch *local, const pp_work *work);
/* The forward of a module of the layer, in seconds; 0 if the layer has none. */
double pp_module_seconds(const pp_gpu_batch *local, pp_recompute_module module);

#endif
