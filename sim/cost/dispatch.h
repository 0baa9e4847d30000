/* What a layer of experts exchanges: tokens on their way to experts and back. */
#ifndef PPSIM_SIM_COST_DISPATCH_H
#define PPSIM_SIM_COST_DISPATCH_H

#include "sim/cost/gpu_batch.h"

/* Seconds in which tokens reach their experts and what these return comes back, in one direction of
 * the layer (the backward exchanges as much), and bytes that kernels before and after move, which
 * put rows in order. */
typedef struct pp_dispatch_cost {
    double seconds;
    double there_seconds; /* of these: while rows are on their way to experts */
    double bytes[4];      /* of a kernel each; 0: none */
} pp_dispatch_cost;

/* The exchange of the stack's dispatcher (pp_dispatcher), without seconds if the context omits the
 * exchange of experts. */
pp_dispatch_cost pp_dispatch_of(const pp_gpu_batch *local);
/* True if etp ranks gather the rows of all of them after the exchange, which they do unless the
 * dispatcher's own gather brought them. */
bool pp_dispatch_is_followed_by_gather(const pp_gpu_batch *local);
/* The share of the GPU's SMs that the dispatcher's kernels hold while rows are on their way, from 0
 * (one rank) to 1. Compute that overlaps with the exchange has the other SMs only. */
double pp_dispatch_sm_share(const pp_gpu_batch *local);
/* The same of a collective of NCCL; 0 where the hardware file does not say how many SMs there are.
 */
double pp_collective_sm_share(const pp_hardware *hw, pp_collective_group group);

#endif
