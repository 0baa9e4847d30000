/* Layers that scan the tokens with a state: gated delta nets, Mamba-2, lightning attention. */
#ifndef PPSIM_SIM_COST_SCAN_H
#define PPSIM_SIM_COST_SCAN_H

#include "sim/cost/gpu_batch.h"

/* Sizes of a scan, whole or on one GPU, in elements per token. */
typedef struct pp_scan {
    double heads;        /* of values */
    double key_heads;    /* that have products of their own */
    double keys, values; /* widths of both kinds of keys together, and of values */
    double inner;        /* outputs of the input projection */
    double other;        /* parameters besides the two projections, without norm */
    double norm;         /* parameters of the norm */
} pp_scan;

/* parts: the GPUs that divide the heads. */
pp_scan pp_scan_of(const pp_model *model, pp_mixer mixer, double parts);
/* FLOPs per token of the products within and between chunks, of the whole layer, forwards. */
double pp_scan_flops(const pp_model *model, pp_mixer mixer);
/* Adds the projections, the convolution, the products of the chunks, gate and norm. */
void pp_add_scan(const pp_gpu_batch *local, pp_work *work);

#endif
