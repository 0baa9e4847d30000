/* Lowers transfers to blocking collectives of two ranks, for runtimes without send and receive
 * (neuronx-distributed, PyTorch/XLA). */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_COLLECTIVE_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_COLLECTIVE_H

#include "sim/framework/lowering/lower.h"

/* Lowers 1f1b, and interleaved in groups of p microbatches, with the transfers in the order of
 * neuronx-distributed (pipeline/scheduler.py: Train1F1BSchedule, TrainInterleavedSchedule without
 * fused graphs), whose 1F1B receives a gradient before it sends an activation.
 * framework: for messages.
 * Fails: USAGE for any other order, NOMEM. */
PP_MUST_CHECK pp_status pp_lower_pairs(const pp_order *order, const char *framework,
                                       pp_program **program_out, pp_err *err);

/* Like pp_lower_pairs, but also lowers any other order, with the transfers in the single order
 * that PyTorch's passes give to all ranks.
 * Fails: INFEASIBLE when it cannot finish, NOMEM. */
PP_MUST_CHECK pp_status pp_lower_pairs_any(const pp_order *order, const char *framework,
                                           pp_program **program_out, pp_err *err);

#endif
