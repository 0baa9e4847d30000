/* Transfers as collectives of two ranks, one at a time: what runtimes without send and receive do
 * (neuronx-distributed, PyTorch/XLA). */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_COLLECTIVE_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_COLLECTIVE_H

#include "sim/framework/lowering/lower.h"

/* 1f1b and interleaved in groups of p microbatches, in neuronx-distributed's order
 * (pipeline/scheduler.py: Train1F1BSchedule, TrainInterleavedSchedule without fused graphs): 1F1B
 * receives a gradient before it sends an activation.
 * Fails: USAGE for any other order (`framework` is for the text), NOMEM. */
PP_MUST_CHECK pp_status pp_lower_pairs(const pp_order *order, const char *framework,
                                       pp_program **program_out, pp_err *err);

/* The same, and any other order with its transfers in the one order that PyTorch's passes give all
 * ranks. Fails: INFEASIBLE when it cannot finish, NOMEM. */
PP_MUST_CHECK pp_status pp_lower_pairs_any(const pp_order *order, const char *framework,
                                           pp_program **program_out, pp_err *err);

#endif
