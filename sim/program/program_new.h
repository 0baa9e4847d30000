/* Makes and frees programs. A program owns its communication (sim/program/comm.h). */
#ifndef PPSIM_SIM_PROGRAM_PROGRAM_NEW_H
#define PPSIM_SIM_PROGRAM_PROGRAM_NEW_H

#include "sim/program/program.h"

/* Makes a program of the compute ops of an order, with sources and topological order. Frameworks
 * add the communication.
 * Fails: INFEASIBLE when the order cannot finish (err names the ranks that wait for each other and
 * their ops), NOMEM. */
PP_MUST_CHECK pp_status pp_program_from_order(const pp_order *order, pp_program **program_out,
                                              pp_err *err);

/* The same of rows with transfers of which some are missing: an op on another rank counts as done,
 * unless a transfer of the excerpt waits for it. */
PP_MUST_CHECK pp_status pp_program_from_excerpt(const pp_order *order, pp_program **program_out,
                                                pp_err *err);

void pp_program_free(pp_program **program); /* for PP_CLEANUP; *program NULL is fine */

#endif
