/* Times of the units that are not layers (embedding, loss, multi-token prediction), and the model
 * FLOPs of all units. */
#ifndef PPSIM_SIM_COST_ENDS_H
#define PPSIM_SIM_COST_ENDS_H

#include "sim/cost/gpu_batch.h"

/* The size of the vocabulary, padded to a multiple of 128 x tp. */
double pp_padded_vocab(const pp_cost_context *context);

/* Times of forward and backward, including recomputation. */
pp_work pp_embedding_work(const pp_gpu_batch *local);
pp_work pp_loss_work(const pp_gpu_batch *local);
pp_work pp_mtp_work(const pp_gpu_batch *local);

/* FLOPs of forward + backward of the whole model-parallel group; attention is counted without the
 * causal mask. */
double pp_layer_flops(const pp_gpu_batch *local);
double pp_loss_flops(const pp_gpu_batch *local);
double pp_mtp_flops(const pp_gpu_batch *local);

#endif
