/* Memory over time of every rank, row by row, for the formats that write it. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_MEMORY_ROWS_H
#define PPSIM_TRACES_FORMAT_EXPORT_MEMORY_ROWS_H

#include "traces/format/export/export.h"

/* Returns whether the costs or the recording have memory. */
bool pp_export_has_memory(const pp_export *data);
/* Calls `visit` for each change of the memory of `rank`: of the simulation (pp_memory_replay), or
 * of the recording if there are no costs. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_export_memory(const pp_export *data, uint32_t rank,
                                         pp_memory_sample visit, void *context, pp_err *err);

/* Appends a row: from `time_ns` on, `rank` holds `bytes`, in total total_bytes. index: number of
 * the row, from 0. */
typedef void pp_memory_row(pp_text *text, size_t index, uint32_t rank, pp_ns time_ns,
                           const int64_t bytes[PP_MEMORY_COUNT], int64_t total_bytes);

/* Calls `row` for the memory of every rank that is shown, rank by rank and in order of time. Of
 * several changes at one instant, all that matter for the peak have a row. format: named in errors.
 * Fails: INFEASIBLE when memory is not known, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_memory_rows(const pp_export *data, const char *format,
                                       pp_memory_row *row, pp_text *text, pp_err *err);

#endif
