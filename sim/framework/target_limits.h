/* What a training runtime executes, as limits of a search. One entry of traces/targets.def each;
 * rules and sources: docs/targets.md. */
#ifndef PPSIM_SIM_FRAMEWORK_TARGET_LIMITS_H
#define PPSIM_SIM_FRAMEWORK_TARGET_LIMITS_H

#include "sim/framework/framework.h"

#include <stdbool.h>

typedef struct pp_target_limits {
    const char *name;
    const char *rules; /* in words, for the plan's assumptions */
    const pp_framework *const
        *frameworks; /* whose communication it may have, NULL at the end; the first is its own */
    const char *const *only; /* schedules, NULL at the end; NULL: all that can be planned */
    bool orders;             /* takes an order from a file */
    bool one_order;          /* the same for all replicas */
    bool recompute_alike;    /* every stage recomputes as many layers as the others, */
    bool recompute_uniform;  /* and all or none */
    bool fsdp;   /* data parallelism shards the optimizer; tensor parallelism does not overlap */
    bool no_mtp; /* no multi-token prediction modules */
    bool constant_shapes;          /* one size for all microbatches of a step: others are padded */
    bool drops_outputs;            /* its trainer keeps no outputs of the last stage, unless said */
    pp_size_protocol_kind unequal; /* how sizes travel otherwise, unless said */
} pp_target_limits;

#endif
