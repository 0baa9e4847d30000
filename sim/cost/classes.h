/* Classes of microbatches that cost the same. */
#ifndef PPSIM_SIM_COST_CLASSES_H
#define PPSIM_SIM_COST_CLASSES_H

#include "sim/cost/cost_model.h"

/* A microbatch as costs see it. */
typedef struct pp_batch {
    int64_t tokens, square_sum;
    double longest, tiles;           /* 0: sequences are taken as equally long */
    const pp_recomputed *recomputed; /* by its stages, borrowed; NULL: all microbatches are alike */
} pp_batch;

/* The longest sequence and the tiles: only where something was measured. microbatch: one of the
 * workload's. */
pp_batch pp_batch_of(const pp_cost_context *context, const pp_workload *workload,
                     const pp_microbatch *microbatch);

/* Numbers classes of equal microbatches by first use. class_of: [count]. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_cost_classify(const pp_cost_context *context,
                                         const pp_workload *workload,
                                         const pp_microbatch *microbatches, uint32_t count,
                                         uint32_t *class_of, uint32_t *classes_out, pp_err *err);

#endif
