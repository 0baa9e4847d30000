/* The weights of a layer's linear maps on one GPU. */
#ifndef PPSIM_SIM_COST_WEIGHTS_H
#define PPSIM_SIM_COST_WEIGHTS_H

#include "sim/cost/gpu_batch.h"

#include <stddef.h>

#define PP_WEIGHTS_MAX 16

/* `count` matrices of n outputs and k inputs. */
typedef struct pp_weight {
    double n, k, count;
    bool replicated; /* every tensor-parallel rank has all of it */
    bool expert;     /* divided over the expert-parallel ranks */
    bool router;     /* always in 16 bits, outside of the kernels of linear layers */
} pp_weight;

/* Fills in the weights of a layer and returns their number. weights_out: [PP_WEIGHTS_MAX]. */
size_t pp_layer_weights(const pp_gpu_batch *local, pp_weight weights_out[]);

double pp_weight_parameters(const pp_weight *weight);

#endif
