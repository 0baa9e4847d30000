/* What came of a sweep: tables, JSON, CSV. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_PRINT_H
#define PPSIM_TOOLS_PPSIM_SWEEP_PRINT_H

#include "tools/ppsim/sweep/file.h"

/* The best `top` points of every model, in 80 columns; or as JSON. */
PP_MUST_CHECK pp_status pp_sweep_print(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                       size_t top, pp_text *text, pp_err *err);
PP_MUST_CHECK pp_status pp_sweep_print_json(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                            size_t top, pp_text *text, pp_err *err);
/* One row per line, an axis or a number per column. */
PP_MUST_CHECK pp_status pp_sweep_print_csv(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                           pp_text *text, pp_err *err);

#endif
