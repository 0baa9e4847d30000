/* What a rank needs at least, known from the order of its ops alone. */
#ifndef PPSIM_SIM_ANALYSIS_MEMORY_FLOOR_H
#define PPSIM_SIM_ANALYSIS_MEMORY_FLOOR_H

#include "sim/analysis/memory_change.h"

/* Finds the peak of the memory that does not depend on times or communication: the sizes that last
 * for the whole step, activations, logits, stashes and temporaries. The peak of every simulation of
 * the order is at least as high, under each framework; without communication and without pairs of
 * ops that run together it is the same. costs.has_memory must be set, and the order must have
 * backward ops. outputs: the framework keeps the outputs of the last stage. peak_out: at_ns is 0
 * and recv_bytes and send_bytes, too; instruction is an index into order->ops. A sum beyond
 * PP_MEMORY_TOTAL_MAX ends the count. */
void pp_memory_floor(const pp_order *order, const pp_costs *costs, uint32_t rank, bool outputs,
                     pp_memory_peak *peak_out);

#endif
