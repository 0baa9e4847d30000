/* What a training runtime can execute, as limits of a search. Each target of traces/targets.def has
 * them; docs/reference/targets.md gives rules and sources. */
#ifndef PPSIM_SIM_FRAMEWORK_TARGET_LIMITS_H
#define PPSIM_SIM_FRAMEWORK_TARGET_LIMITS_H

#include "sim/framework/framework.h"
#include "sim/schedule/schedule.h"

#include <stdbool.h>

typedef struct pp_target_limits {
    const char *name;
    const char *rules; /* the limits in words, for the plan's assumptions */
    /* Frameworks whose communication it may use, ends with NULL; the first is its own. */
    const pp_framework *const *frameworks;
    const pp_schedule *const *only; /* schedules, ends with NULL; NULL: all that can be planned */
    bool orders;                    /* it takes an order from a file */
    bool one_order;                 /* all replicas run the same order */
    bool recompute_alike;           /* all stages recompute equally many layers */
    bool recompute_uniform;         /* all stages recompute either all layers or none */
    bool fsdp; /* data parallelism shards the optimizer; tensor parallelism does not overlap */
    bool low_precision;            /* ppsim knows how to tell it to compute in 8 or 4 bits */
    bool no_mtp;                   /* it has no multi-token prediction modules */
    bool constant_shapes;          /* all microbatches of a step have one size, by padding */
    bool drops_outputs;            /* by default its trainer keeps no outputs of the last stage */
    pp_size_protocol_kind unequal; /* default protocol for unequal sizes, if not constant_shapes */
} pp_target_limits;

#endif
