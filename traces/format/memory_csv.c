/* Writes memory over time as CSV: rank, time in nanoseconds, a column per component in bytes, and
 * their total. */
#include "traces/format/export/format.h"
#include "traces/format/export/memory_rows.h"

#include <inttypes.h>

static void add_row(pp_text *text, size_t index, uint32_t rank, pp_ns time_ns,
                    const int64_t bytes[PP_MEMORY_COUNT], int64_t total_bytes)
{
    (void)index;
    pp_text_add(text, "%" PRIu32 ",%" PRId64, rank, time_ns);
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        pp_text_add(text, ",%" PRId64, bytes[c]);
    pp_text_add(text, ",%" PRId64 "\n", total_bytes);
}

static pp_status trace(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_text_add(text, "rank,time_ns");
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        pp_text_add(text, ",%s", pp_memory_key((pp_memory_component)c));
    pp_text_add(text, ",total\n");
    pp_status status = pp_memory_rows(data, "memory-csv", add_row, text, err);
    return status ? status : pp_text_check(text, err);
}

const pp_format pp_format_memory_csv = {
    .name = "memory-csv",
    .summary = "memory of every rank over time, one column per component",
    .holds = PP_HOLDS_MEMORY,
    .trace = trace,
};
