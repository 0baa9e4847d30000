/* Counts the graphs that a compiling runtime (PyTorch/XLA, neuronx-distributed) makes of a program.
 * Equal ops on equal sizes share a graph. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_GRAPHS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_GRAPHS_H

#include "sim/cost/costs.h"
#include "sim/program/program.h"

/* What a compiled graph contains. */
typedef enum pp_graphs {
    PP_GRAPHS_NONE,      /* the runtime compiles none */
    PP_GRAPHS_PER_TASK,  /* one compute op, or one transfer */
    PP_GRAPHS_PER_CYCLE, /* one forward, the backwards right after it, and their transfers */
} pp_graphs;

/* The number of distinct graphs of the rank that has most of them, since ranks compile in
 * parallel; 0 for PP_GRAPHS_NONE. Microbatches of one class of `costs` have equal sizes.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_graphs_count(const pp_program *program, const pp_costs *costs,
                                        pp_graphs graphs, uint32_t *most_out, pp_err *err);

#endif
