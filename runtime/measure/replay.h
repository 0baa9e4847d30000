/* The engine with measured durations: if it then predicts a timeline other than the one that
 * happened, the simulator or the runtime is wrong about more than durations. */
#ifndef PPSIM_RUNTIME_MEASURE_REPLAY_H
#define PPSIM_RUNTIME_MEASURE_REPLAY_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* Simulates `program` with the durations that ops and transfers of tensors had in `measured`.
 * costs: of everything else. Owner frees *replayed_out with pp_timeline_free.
 * Fails: as pp_simulate. */
PP_MUST_CHECK pp_status pp_replay(pp_program *program, const pp_costs *costs,
                                  const pp_timeline *measured, pp_timeline **replayed_out,
                                  pp_err *err);

#endif
