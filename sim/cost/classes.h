/* Groups microbatches of equal cost into classes, so that each is costed once. */
#ifndef PPSIM_SIM_COST_CLASSES_H
#define PPSIM_SIM_COST_CLASSES_H

#include "sim/cost/cost_model.h"

/* All that the cost of a microbatch depends on. */
typedef struct pp_batch {
    int64_t tokens, square_sum;
    double longest, tiles;           /* 0: sequences are assumed to be equally long */
    double imbalance;                /* of experts; 0: that of the switches */
    const pp_recomputed *recomputed; /* [stages], borrowed; NULL: all microbatches are alike */
} pp_batch;

/* The longest sequence and the tiles are filled in only if the hardware has measurements, since
 * nothing else needs them. microbatch: one of the workload's. */
pp_batch pp_batch_of(const pp_cost_context *context, const pp_workload *workload,
                     const pp_microbatch *microbatch);

/* Numbers the classes in the order of their first microbatch. class_of: [count], receives the
 * class of each microbatch.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_cost_classify(const pp_cost_context *context,
                                         const pp_workload *workload,
                                         const pp_microbatch *microbatches, uint32_t count,
                                         uint32_t *class_of, uint32_t *classes_out, pp_err *err);

#endif
