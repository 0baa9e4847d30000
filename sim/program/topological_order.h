/* Sorts the instructions of a program so that each comes after everything that it needs. */
#ifndef PPSIM_SIM_PROGRAM_TOPOLOGICAL_ORDER_H
#define PPSIM_SIM_PROGRAM_TOPOLOGICAL_ORDER_H

#include "sim/program/program.h"

/* Fills program->topological_order.
 * Fails: INFEASIBLE when the program cannot finish (err names the ranks that wait for each other
 * and their ops), NOMEM. */
PP_MUST_CHECK pp_status pp_program_sort_topologically(pp_program *program, pp_err *err);

#endif
