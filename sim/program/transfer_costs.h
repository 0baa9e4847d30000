/* Durations and bytes of transfers, for programs with and without communication. */
#ifndef PPSIM_SIM_PROGRAM_TRANSFER_COSTS_H
#define PPSIM_SIM_PROGRAM_TRANSFER_COSTS_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* The latency of the input of `op` if it comes from another rank; otherwise 0. */
pp_ns pp_arrival_latency(const pp_program *program, const pp_costs *costs, pp_op op);

/* The delay from the end of the source of instruction `i` until its result is available to `i`; 0
 * without a source. */
pp_ns pp_edge_latency(const pp_program *program, const pp_costs *costs, size_t i);

/* Returns true if a send is done at once, whether or not its receive is posted. A tensor of unknown
 * size counts as 1 byte. The largest tensor of a group decides for all of them. */
bool pp_comm_is_buffered(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);
/* The duration of a transfer once both ends are posted, or, if buffered, once it is sent. */
pp_ns pp_comm_ns(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);
/* The bytes of a transfer; 0: not known. */
int64_t pp_comm_bytes(const pp_comm *comm, const pp_costs *costs, const pp_transfer *transfer);

#endif
