#include "traces/memory_rows.h"

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
    if (!data->costs || !data->costs->has_memory)
        return pp_err_set(err, PP_INFEASIBLE, format,
                          "memory is not known; give --memory-costs with units, a costs file with "
                          "memory, or a plan of a model");
    for (r.rank = 0; r.rank < data->program->ranks; r.rank++) {
        pp_memory_peak peak;
        pp_status status = pp_memory_walk(data->program, data->timeline, data->costs, r.rank,
                                          add_row, &r, &peak, err);
        if (status)
            return status;
    }
    return PP_OK;
}
