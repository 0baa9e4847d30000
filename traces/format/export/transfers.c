/* Collects the tensors that travel between ranks: of a recording, of a program with communication
 * from its timeline, or from the edges of a program without. Linear in the transfers. */
#include "traces/format/export/transfers.h"

#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>
#include <string.h>

void pp_transfers_free(pp_transfers *list)
{
    free(list->item);
    *list = (pp_transfers){ 0 };
}

static uint32_t rank_of(const pp_program *program, size_t i)
{
    return pp_program_rank(program, program->op[i]);
}

bool pp_op_is_between_ranks(const pp_program *program, size_t i)
{
    return program->source[i] != PP_NO_SOURCE &&
           rank_of(program, program->source[i]) != rank_of(program, i);
}

/* Collects the transfers of a program without communication: each begins at the end of the producer
 * and takes the latency of the edge. */
static void collect_edges(const pp_export *data, pp_transfers *list)
{
    const pp_program *program = data->program;
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        if (!pp_op_is_between_ranks(program, i))
            continue;
        pp_op producer = program->op[source];
        pp_ns start_ns = data->timeline->end_ns[source];
        pp_ns latency_ns = pp_edge_latency(program, data->costs, i);
        if (latency_ns > 0)
            list->item[list->count++] =
                (pp_recorded_transfer){ .start_ns = start_ns,
                                        .end_ns = start_ns + latency_ns,
                                        .from = rank_of(program, source),
                                        .to = rank_of(program, i),
                                        .microbatch = producer.microbatch,
                                        .stage = producer.stage,
                                        .forward = producer.kind == PP_OP_F };
    }
}

/* Collects the transfers of a program with communication from their timeline. */
static void collect_tensors(const pp_comm *comm, const pp_comm_timeline *timeline,
                            pp_transfers *list)
{
    for (uint32_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *receive = &comm->transfer[t];
        bool tensor = receive->kind == PP_RECV_F || receive->kind == PP_RECV_B;
        if (!tensor || receive->match == PP_NO_SOURCE ||
            timeline->end_ns[t] <= timeline->start_ns[t])
            continue;
        list->item[list->count++] =
            (pp_recorded_transfer){ .start_ns = timeline->start_ns[t],
                                    .end_ns = timeline->end_ns[t],
                                    .from = receive->peer,
                                    .to = receive->rank,
                                    .microbatch = receive->microbatch,
                                    .stage = comm->transfer[receive->match].stage,
                                    .forward = receive->kind == PP_RECV_F };
    }
}

pp_status pp_transfers_collect(const pp_export *data, pp_transfers *list, pp_err *err)
{
    const pp_recorded *recorded = data->recorded;
    const pp_comm_timeline *comm = data->timeline->comm;
    size_t most = recorded ? recorded->transfer_count
                  : comm   ? data->program->comm->transfer_count
                           : data->program->count;
    if (!data->costs && !recorded)
        return PP_OK;
    list->item = pp_alloc_array(most, sizeof *list->item);
    if (!list->item)
        return pp_err_nomem(err);
    if (recorded && most)
        memcpy(list->item, recorded->transfer, most * sizeof *list->item);
    if (recorded)
        list->count = most;
    else if (comm)
        collect_tensors(data->program->comm, comm, list);
    else
        collect_edges(data, list);
    return PP_OK;
}
