/* Writes the files of --emit and --trace. */
#ifndef PPSIM_TOOLS_PPSIM_EXPORT_EXPORT_H
#define PPSIM_TOOLS_PPSIM_EXPORT_EXPORT_H

#include "tools/ppsim/base/command.h"
#include "traces/format/export/export.h"

/* Writes the file of every --emit FORMAT=FILE and --trace FORMAT=FILE. The formats are those of
 * traces/formats.def and, for --emit, "plan" and "report". Nothing is written before all texts are
 * made. Fails: USAGE, INFEASIBLE (a format cannot hold the data), IO, NOMEM. */
PP_MUST_CHECK pp_status pp_write_exports(const pp_args *args, const pp_export *data, pp_err *err);
/* The same for a plan that has a prediction, which is simulated if a file was asked for. Fails: as
 * pp_write_exports and pp_plan_simulate. */
PP_MUST_CHECK pp_status pp_write_plan_exports(const pp_args *args, const pp_plan *plan,
                                              pp_err *err);
/* Writes one file: `option` is "--emit" or "--trace", `request` is FORMAT=FILE. Fails: as
 * pp_write_exports. */
PP_MUST_CHECK pp_status pp_write_export(const pp_args *args, const char *option,
                                        const char *request, const pp_export *data, pp_err *err);

#endif
