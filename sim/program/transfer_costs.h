/* What transfers take and carry: edges of dependencies, and transfers of programs that communicate.
 */
#ifndef PPSIM_SIM_PROGRAM_TRANSFER_COSTS_H
#define PPSIM_SIM_PROGRAM_TRANSFER_COSTS_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* Until the input of `op` has come from another rank; 0 where there is none. */
pp_ns pp_arrival_latency(const pp_program *program, const pp_costs *costs, pp_op op);

/* Time from the end of the source of instruction `i` until it can be used; 0 without a source. */
pp_ns pp_edge_latency(const pp_program *program, const pp_costs *costs, size_t i);

/* Is a send done at once, whether or not its receive is there? Of unknown size is 1. Tensors of one
 * group are when the largest is. */
bool pp_comm_is_buffered(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);
/* What a transfer takes once both ends are there; buffered: from its send on. */
pp_ns pp_comm_ns(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);
/* Bytes of a transfer; 0: not known. */
int64_t pp_comm_bytes(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);

#endif
