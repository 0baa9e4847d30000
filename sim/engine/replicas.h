/* Whether replicas with sharded parameters can run together: each gather and reduction of a rank is
 * a collective with the same rank of all other replicas. */
#ifndef PPSIM_SIM_ENGINE_REPLICAS_H
#define PPSIM_SIM_ENGINE_REPLICAS_H

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

#endif
