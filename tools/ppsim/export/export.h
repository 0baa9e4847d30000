/* --emit and --trace. */
#ifndef PPSIM_TOOLS_PPSIM_EXPORT_EXPORT_H
#define PPSIM_TOOLS_PPSIM_EXPORT_EXPORT_H

#include "tools/ppsim/base/command.h"
#include "traces/format/export/export.h"

/* Carries out every --emit FORMAT=FILE and --trace FORMAT=FILE. Formats "plan" and "report" are
 * known besides those of traces/formats.def. Writes nothing before all texts are made. */
PP_MUST_CHECK pp_status pp_write_exports(const pp_args *args, const pp_export *data, pp_err *err);
/* One of them: option is --emit or --trace, request FORMAT=FILE. */
PP_MUST_CHECK pp_status pp_write_export(const char *option, const char *request,
                                        const pp_export *data, pp_err *err);

#endif
