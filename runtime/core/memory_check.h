/* Checks that the memory that the ranks counted is the memory that the simulator predicts. */
#ifndef PPSIM_RUNTIME_CORE_MEMORY_CHECK_H
#define PPSIM_RUNTIME_CORE_MEMORY_CHECK_H

#include "runtime/core/record.h"

/* Compares, at the start and the end of every op, each component that `record` counted with the
 * simulator's account of `timeline`, and each rank's most activations with those of its order.
 * *checks grows by the number of instants compared.
 * Fails: INFEASIBLE, naming the first difference; as pp_memory_replay. */
PP_MUST_CHECK pp_status pp_memory_check(const pp_program *program, const pp_costs *costs,
                                        const pp_record *record, const pp_timeline *timeline,
                                        uint64_t *checks, pp_err *err);

#endif
