/* Writes memory over time as JSON: the columns of memory-csv, and a list per row. */
#include "traces/format/export/format.h"
#include "traces/format/export/memory_rows.h"

#include <inttypes.h>

static void add_row(pp_text *text, size_t index, uint32_t rank, pp_ns time_ns,
                    const int64_t bytes[PP_MEMORY_COUNT], int64_t total_bytes)
{
    pp_text_add(text, "%s  [%" PRIu32 ", %" PRId64, index ? ",\n" : "", rank, time_ns);
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        pp_text_add(text, ", %" PRId64, bytes[c]);
    pp_text_add(text, ", %" PRId64 "]", total_bytes);
}

static pp_status trace(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_text_add(text, "{\n \"columns\": [\"rank\", \"time_ns\"");
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        pp_text_add(text, ", \"%s\"", pp_memory_key((pp_memory_component)c));
    pp_text_add(text, ", \"total\"],\n \"format\": \"ppsim.memory\",\n \"rows\": [\n");
    pp_status status = pp_memory_rows(data, "memory-json", add_row, text, err);
    pp_text_add(text, "\n ],\n \"version\": 1\n}\n");
    return status ? status : pp_text_check(text, err);
}

const pp_format pp_format_memory_json = {
    .name = "memory-json",
    .summary = "memory of every rank over time, as JSON",
    .holds = PP_HOLDS_MEMORY,
    .trace = trace,
};
