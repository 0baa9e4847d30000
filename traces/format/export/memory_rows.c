/* Memory over time for the formats that show it. A simulation is replayed rank by rank
 * (pp_memory_replay); the samples of a recording are searched once per rank. */
#include "traces/format/export/memory_rows.h"

#include "sim/base/field.h"

bool pp_export_has_memory(const pp_export *data)
{
    return data->costs ? data->costs->has_memory
                       : data->recorded && data->recorded->sample_count > 0;
}

pp_status pp_export_memory(const pp_export *data, uint32_t rank, pp_memory_sample visit,
                           void *context, pp_err *err)
{
    pp_memory_peak peak;
    if (data->costs)
        return pp_memory_replay(data->program, data->timeline, data->costs, rank, visit, context,
                                &peak, err);
    for (size_t i = 0; i < data->recorded->sample_count; i++) {
        const pp_memory_sample_row *sample = &data->recorded->sample[i];
        if (sample->rank == rank)
            visit(context, sample->at_ns, sample->bytes);
    }
    return PP_OK;
}

typedef struct rows {
    pp_memory_row *row;
    pp_text *text;
    size_t count;
    uint32_t rank;
} rows;

static void add_row(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    rows *r = context;
    int64_t total = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        total += bytes[c];
    r->row(r->text, r->count++, r->rank, at_ns, bytes, total);
}

pp_status pp_memory_rows(const pp_export *data, const char *format, pp_memory_row *row,
                         pp_text *text, pp_err *err)
{
    rows r = { .row = row, .text = text };
    if (!pp_export_has_memory(data))
        return pp_err_set(
            err, PP_INFEASIBLE, format,
            "memory is unknown; give %s with units, a costs file with memory, or a plan of a model",
            pp_err_name(err, PP_FIELD_MEMORY_COSTS));
    for (r.rank = 0; r.rank < data->program->ranks; r.rank++) {
        if (!pp_export_shows(data, r.rank))
            continue;
        pp_status status = pp_export_memory(data, r.rank, add_row, &r, err);
        if (status)
            return status;
    }
    return PP_OK;
}
