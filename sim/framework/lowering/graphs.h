/* Graphs that a compiling runtime (PyTorch/XLA, neuronx-distributed) makes of a program: equal ops
 * on equal shapes share one. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_GRAPHS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_GRAPHS_H

#include "sim/cost/costs.h"
#include "sim/program/program.h"

/* Distinct graphs of the rank that has most of them; ranks compile side by side. Shapes are the
 * classes of `costs`. 0 for PP_GRAPHS_NONE. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_graphs_count(const pp_program *program, const pp_costs *costs,
                                        pp_graphs graphs, uint32_t *most_out, pp_err *err);

#endif
