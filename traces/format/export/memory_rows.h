/* Memory over time of every rank, row by row, for the formats that write it. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_MEMORY_ROWS_H
#define PPSIM_TRACES_FORMAT_EXPORT_MEMORY_ROWS_H

#include "traces/format/export/export.h"

bool pp_export_has_memory(const pp_export *data);
/* pp_memory_replay, or what was recorded. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_export_memory(const pp_export *data, uint32_t rank,
                                         pp_memory_sample visit, void *context, pp_err *err);

/* One row: `bytes` hold on `rank` from `time_ns` on. index: of the row. */
typedef void pp_memory_row(pp_text *text, size_t index, uint32_t rank, pp_ns time_ns,
                           const int64_t bytes[PP_MEMORY_COUNT], int64_t total_bytes);

/* Rank by rank, in time order; of several changes at one instant the ones that matter at the peak
 * are all there. Fails: INFEASIBLE when memory is not known, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_memory_rows(const pp_export *data, const char *format,
                                       pp_memory_row *row, pp_text *text, pp_err *err);

#endif
