/* All formats: those of traces/formats.def, then those of the targets. */
#ifndef PPSIM_TRACES_FORMAT_REGISTRY_H
#define PPSIM_TRACES_FORMAT_REGISTRY_H

#include "traces/format/export/format.h"

size_t pp_format_count(void);
const pp_format *pp_format_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_format_get(const char *name, const pp_format **format_out, pp_err *err);

/* Reads a schedule with the first format that recognises it. `file` names it in errors. order_out:
 * the caller frees it with pp_order_free. Fails: INPUT with file:line:column, NOMEM. */
PP_MUST_CHECK pp_status pp_format_read(const char *text, size_t bytes, const char *file,
                                       pp_order **order_out, pp_err *err);

#endif
