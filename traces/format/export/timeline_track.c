/* Makes a track from a simulated or recorded timeline. Linear in ops and transfers, but for the
 * sorting in pp_track_finish. */
#include "traces/format/export/timeline_track.h"

#include "traces/format/export/transfers.h"

static pp_status add_ops(const pp_export *data, pp_track *track, pp_err *err)
{
    const pp_program *program = data->program;
    for (size_t i = 0; i < program->count; i++) {
        uint32_t rank = pp_program_rank(program, program->op[i]);
        pp_box *box = pp_export_shows(data, rank) ? pp_track_add_box(track, err) : NULL;
        if (!box && pp_export_shows(data, rank))
            return PP_NOMEM;
        if (box)
            *box = (pp_box){ .start_ns = data->timeline->start_ns[i],
                             .end_ns = data->timeline->end_ns[i],
                             .rank = rank,
                             .op = program->op[i] };
    }
    return PP_OK;
}

static pp_status add_transfers(const pp_export *data, pp_track *track, pp_err *err)
{
    pp_transfers list PP_CLEANUP(pp_transfers_free) = { 0 };
    pp_status status = pp_transfers_collect(data, &list, err);
    for (size_t i = 0; i < list.count && !status; i++) {
        if (!pp_export_shows(data, list.item[i].from))
            continue;
        pp_recorded_transfer *transfer = pp_track_add_transfer(track, err);
        if (!transfer)
            return PP_NOMEM;
        *transfer = list.item[i];
    }
    return status;
}

static pp_status add_sharding(const pp_export *data, pp_track *track, pp_err *err)
{
    const pp_comm_timeline *comm = data->recorded ? NULL : data->timeline->comm;
    for (size_t i = 0; comm && i < comm->sharding_count; i++) {
        if (!pp_export_shows(data, comm->sharding[i].rank))
            continue;
        pp_sharding_span *span = pp_track_add_sharding(track, err);
        if (!span)
            return PP_NOMEM;
        *span = comm->sharding[i];
    }
    return PP_OK;
}

pp_status pp_export_track(const pp_export *data, pp_track *track, pp_err *err)
{
    pp_status status = add_ops(data, track, err);
    if (status || (status = add_transfers(data, track, err)) ||
        (status = add_sharding(data, track, err)))
        return status;
    return pp_track_finish(track, err);
}
