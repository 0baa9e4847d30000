/* Graphs that a compiling runtime (PyTorch/XLA, neuronx-distributed) makes of a program: equal ops
 * on equal shapes share one. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_GRAPHS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_GRAPHS_H

#include "sim/cost/costs.h"
#include "sim/program/program.h"

/* What one compiled graph holds, where a runtime compiles ahead. */
typedef enum pp_graphs {
    PP_GRAPHS_NONE,
    PP_GRAPHS_PER_TASK,  /* one compute op, or one transfer */
    PP_GRAPHS_PER_CYCLE, /* one forward, the backwards right after it, and their transfers */
} pp_graphs;

/* Distinct graphs of the rank that has most of them; ranks compile side by side. Shapes are the
 * classes of `costs`. 0 for PP_GRAPHS_NONE. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_graphs_count(const pp_program *program, const pp_costs *costs,
                                        pp_graphs graphs, uint32_t *most_out, pp_err *err);

#endif
