/* The program of a step that runs its pipeline schedule several times. */
#ifndef PPSIM_SIM_PROGRAM_REPEAT_H
#define PPSIM_SIM_PROGRAM_REPEAT_H

#include "sim/program/program.h"

/* Makes the program of `runs` runs, one after the other, of `once`, which is lowered from `order`,
 * before it is lowered for a size protocol. Run k has the microbatches from k * once->microbatches
 * on. The order is not bidirectional.
 * Fails: INPUT when the ops or microbatches are too many, NOMEM. */
PP_MUST_CHECK pp_status pp_program_repeat(const pp_program *once, const pp_order *order,
                                          uint32_t runs, pp_program **program_out, pp_err *err);

#endif
