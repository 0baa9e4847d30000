/* Times of what is not a layer, and the model FLOPs of all units. */
#ifndef PPSIM_SIM_COST_ENDS_H
#define PPSIM_SIM_COST_ENDS_H

#include "sim/cost/gpu_batch.h"

/* The vocabulary, padded to a multiple of 128 x tp. */
double pp_padded_vocab(const pp_cost_context *context);

/* Times of forward and backward, recomputation included. */
pp_work pp_embedding_work(const pp_gpu_batch *local);
pp_work pp_loss_work(const pp_gpu_batch *local);
pp_work pp_mtp_work(const pp_gpu_batch *local);

/* Forward + backward over the model-parallel group, attention counted in full. */
double pp_layer_flops(const pp_gpu_batch *local, bool moe);
double pp_loss_flops(const pp_gpu_batch *local);
double pp_mtp_flops(const pp_gpu_batch *local);

#endif
