/* What a target runs instead of an order that it refuses. */
#ifndef PPSIM_TOOLS_PPSIM_EXPORT_NEAREST_H
#define PPSIM_TOOLS_PPSIM_EXPORT_NEAREST_H

#include "traces/format/export/format.h"

/* Called when a target refused the order: adds to *err the fastest schedule on the same stages that
 * the target runs, and how much slower that is, as far as both are known. */
void pp_add_nearest(const pp_format *format, const pp_export *data, pp_err *err);

#endif
