/* Numbers the microbatches of a step by the order in which the last stage computes them. */
#ifndef PPSIM_PLANNER_ORDER_RENUMBER_H
#define PPSIM_PLANNER_ORDER_RENUMBER_H

#include "sim/job/recompute.h"
#include "sim/job/workload.h"
#include "sim/order/order.h"

/* Renumbers the microbatches in the orders and in everything that describes them. orders: [count],
 * one for all replicas, or one per replica. workloads: [workload_count], of the same microbatches.
 * recomputed: NULL, or the layers that each microbatch recomputes. imbalances: NULL, or
 * [microbatches] of all replicas, for which there must be one order. Fails: NOMEM, before anything
 * is changed. */
PP_MUST_CHECK pp_status pp_renumber_microbatches(pp_order *const *orders, uint32_t count,
                                                 pp_workload *const *workloads,
                                                 size_t workload_count,
                                                 pp_recompute_table *recomputed, double *imbalances,
                                                 pp_err *err);

#endif
