/* What a layer with experts hides when its forward of one microbatch overlaps with its backward of
 * another. */
#ifndef PPSIM_SIM_COST_PAIR_H
#define PPSIM_SIM_COST_PAIR_H

/* One layer, in seconds: compute of the half with attention, which ends with the router, and of the
 * half with experts, and the exchange between them. */
typedef struct pp_pair_half {
    double f, i, w;
} pp_pair_half;

typedef struct pp_pair_parts {
    pp_pair_half attention, experts;
    double dispatch, combine; /* rows to experts, and back; the backward sends gradients of outputs
                                 to experts, and those of tokens back, in as long */
} pp_pair_parts;

/* The time by which a layer's forward and backward are shorter as a pair than one after the other.
 * sm_share: the part of the compute's speed that exchange takes from it, from 0 to less than 1. At
 * least 0. */
double pp_pair_hidden_seconds(const pp_pair_parts *parts, double sm_share);

#endif
