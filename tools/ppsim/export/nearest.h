/* Suggests a schedule for a target that refuses an order. */
#ifndef PPSIM_TOOLS_PPSIM_EXPORT_NEAREST_H
#define PPSIM_TOOLS_PPSIM_EXPORT_NEAREST_H

#include "traces/format/export/format.h"

/* Adds to *err, which says that a target refused the order, the fastest schedule on the same stages
 * that the target runs, and its step time and difference if costs are known. Adds nothing when
 * there is no such schedule. */
void pp_add_nearest(const pp_format *format, const pp_export *data, pp_err *err);

#endif
