/* The weights of a model's units: how long forward and backward of each take. Units are the
 * embedding, the layers, the modules of multi-token prediction (MTP), and the head with the loss.
 */
#ifndef PPSIM_PLANNER_BOUND_UNIT_WEIGHTS_H
#define PPSIM_PLANNER_BOUND_UNIT_WEIGHTS_H

#include "sim/cost/cost_model.h"

/* Forward + backward of one average microbatch. */
typedef struct pp_unit_weights {
    int64_t layers, mtp;
    pp_ns *layer_ns; /* [layers] */
    pp_ns embedding_ns, loss_ns;
    pp_ns mtp_ns;    /* of each module */
    pp_ns stage_ns;  /* fixed, per stage */
    pp_ns spared_ns; /* of all units: what pairs hide and fused backwards save, if they do */
} pp_unit_weights;

/* Weights for the average microbatch of `workload`. Owner frees *out with pp_unit_weights_free,
 * also on failure. Fails: like pp_cost_unit; INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_unit_weights_of(const pp_cost_context *context,
                                           const pp_workload *workload, pp_unit_weights *out,
                                           pp_err *err);
void pp_unit_weights_free(pp_unit_weights *weights); /* for PP_CLEANUP */

/* A lower bound of step time x GPUs for `microbatches` equal microbatches, in ns: whatever the
 * schedule and the partition, some rank has at least an equal share of the work. */
double pp_unit_weights_least_score(const pp_cost_context *context, const pp_unit_weights *weights,
                                   uint32_t microbatches);

#endif
