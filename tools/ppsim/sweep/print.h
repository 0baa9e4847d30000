/* Prints the result of a sweep as tables, JSON or CSV. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_PRINT_H
#define PPSIM_TOOLS_PPSIM_SWEEP_PRINT_H

#include "tools/ppsim/sweep/file.h"

/* Writes the best `top` points of every model as a table of 80 columns. Fails: INPUT (a line cannot
 * be parsed), NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_print(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                       size_t top, pp_text *text, pp_err *err);
/* Writes the same as JSON, with the best `top` points. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_print_json(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                            size_t top, pp_text *text, pp_err *err);
/* Writes one row per point that is done, with an axis or a number in each column. Fails: INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_print_csv(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                           pp_text *text, pp_err *err);

#endif
