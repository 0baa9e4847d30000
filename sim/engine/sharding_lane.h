/* The gathers of parameters and reductions of gradients of each rank. They have one communicator,
 * so that they take place one after the other, beside the compute of their rank: while both run,
 * compute takes compute_factor times as long as alone, and a gather gather_factor times; while the
 * rank waits, a gather has its full speed. Times are rounded to the nearest ns at the end of each
 * op and of each gather. */
#ifndef PPSIM_SIM_ENGINE_SHARDING_LANE_H
#define PPSIM_SIM_ENGINE_SHARDING_LANE_H

#include "sim/program/timeline.h"

typedef struct pp_sharding_lanes pp_sharding_lanes;

/* Lanes on which nothing runs at time 0. Factors below 1 count as 1. timeline: gets a span for each
 * gather and reduction, in the order in which they are added. It must outlive the lanes.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_sharding_lanes_new(uint32_t ranks, double compute_factor,
                                              double gather_factor, pp_comm_timeline *timeline,
                                              pp_sharding_lanes **lanes_out, pp_err *err);
void pp_sharding_lanes_free(pp_sharding_lanes **lanes); /* for PP_CLEANUP; *lanes NULL is fine */

/* Each function below is called with a time now_ns that is not before the end of what the lane of
 * this rank was told before. From there to now_ns the rank has waited. */

/* Queues a gather or reduction of span's rank and stage that takes takes_ns alone; one that takes
 * no time leaves no span. end_out: a mark for pp_sharding_lanes_left. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_sharding_lanes_add(pp_sharding_lanes *lanes, pp_ns now_ns,
                                              const pp_sharding_span *span, pp_ns takes_ns,
                                              pp_ns *end_out, pp_err *err);
/* How long the rank has to wait from now_ns on until all is done up to the mark; a mark of 0 is
 * before all. */
pp_ns pp_sharding_lanes_left(pp_sharding_lanes *lanes, uint32_t rank, pp_ns now_ns, pp_ns mark);
/* Lets the rank compute from now_ns on what takes takes_ns alone. Returns how long that takes. */
pp_ns pp_sharding_lanes_compute(pp_sharding_lanes *lanes, uint32_t rank, pp_ns now_ns,
                                pp_ns takes_ns);
/* Ends all that is queued; nothing computes any more. */
void pp_sharding_lanes_finish(pp_sharding_lanes *lanes);

#endif
