/* Whether replicas with sharded parameters can run together: each gather and reduction of a rank is
 * a collective with the same rank of all other replicas. */
#ifndef PPSIM_SIM_ENGINE_REPLICAS_H
#define PPSIM_SIM_ENGINE_REPLICAS_H

#include "sim/framework/framework.h"
#include "sim/program/program.h"

/* program: [count], each finishes alone, and has communication; all have the same ranks. Messages
 * count as sent when they are made. A rank waits for a gather where it asks for it, as our runtime
 * does; PyTorch's goes on to the first op that needs it, so that it may finish where replicas take
 * the same actions in one order and still fail here. Programs
 * without UNSHARD and REDUCE_GRAD (executor torch-2.6) always pass.
 * Fails: INFEASIBLE when replicas wait for each other forever, naming rank, replicas and actions;
 * NOMEM. */
PP_MUST_CHECK pp_status pp_replicas_meet(const pp_program *const *program, uint32_t count,
                                         pp_err *err);

/* Whether replicas with these orders, one each, can run together: as pp_replicas_meet, if their
 * costs are sharded. costs: [costs_count], one for all or one each. Fails: like pp_framework_lower
 * and pp_replicas_meet. */
PP_MUST_CHECK pp_status pp_replicas_orders_meet(const pp_framework *framework,
                                                pp_order *const *order, uint32_t orders,
                                                pp_costs *const *costs, uint32_t costs_count,
                                                pp_err *err);

#endif
