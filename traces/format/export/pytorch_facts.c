/* Gathers facts about an order in one pass over its ops, and prints PyTorch's schedule rows. */
#include "traces/format/export/pytorch_facts.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool lengths_differ(const pp_export *data)
{
    const pp_workload *workload = data->plan ? &data->plan->workload : NULL;
    if (!workload || !workload->microbatch)
        return data->costs && data->costs->classes > 1;
    for (size_t i = 1; i < (size_t)workload->replicas * workload->microbatches; i++) {
        if (workload->microbatch[i].tokens != workload->microbatch[0].tokens)
            return true;
    }
    return false;
}

static pp_status count_stages(const pp_order *order, uint32_t *per_rank_out, pp_err *err)
{
    uint32_t *count = pp_alloc_array(order->ranks, sizeof *count);
    if (!count)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < order->stages; s++)
        count[order->stage_rank[s]]++;
    uint32_t per_rank = count[0];
    for (uint32_t r = 1; r < order->ranks; r++) {
        if (count[r] != count[0])
            per_rank = 0;
    }
    free(count);
    *per_rank_out = per_rank;
    return PP_OK;
}

bool pp_pytorch_losses_shuffled(const pp_order *order)
{
    uint32_t losses = 0;
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        const pp_op op = order->ops[i];
        if (op.kind == PP_OP_F && op.stage + 1u == order->stages && op.microbatch != losses++)
            return true;
    }
    return false;
}

const char *pp_pytorch_losses_warning(const pp_err *err, char *buffer, size_t size)
{
    snprintf(buffer, size,
             "the last stage computes forwards in another order than that of the microbatches: "
             "PyTorch keeps losses in that order, looks them up by microbatch, and silently "
             "computes wrong gradients; number the microbatches, in all rows and in the data, in "
             "the order of the last stage's forwards, as %s does",
             pp_err_name(err, PP_FIELD_ASK_PLAN));
    return buffer;
}

pp_status pp_pytorch_facts_gather(const pp_export *data, pp_pytorch_facts *facts_out, pp_err *err)
{
    const pp_order *order = data->order;
    pp_pytorch_facts facts = { .lengths_differ = lengths_differ(data),
                               .forward_only = pp_order_forward_only(order) };
    facts.placed = pp_order_placement(order, &facts.placement);
    facts.losses_shuffled = pp_pytorch_losses_shuffled(order);
    pp_status status = pp_order_one_rank(order, "pytorch-csv", err);
    if (status)
        return status;
    for (uint32_t r = 0; r < order->ranks; r++) {
        if (order->rank_begin[r] == order->rank_begin[r + 1])
            return pp_err_set(err, PP_INFEASIBLE, "pytorch-csv",
                              "rank %" PRIu32
                              " has no ops, and PyTorch refuses an empty line; use fewer ranks",
                              r);
        for (size_t i = order->rank_begin[r]; i < order->rank_begin[r + 1]; i++) {
            pp_op op = order->ops[i];
            uint32_t home = pp_order_rank(order, op.stage, op.microbatch);
            if (home != r)
                return pp_err_set(
                    err, PP_INFEASIBLE, "pytorch-csv",
                    "stage %u runs on ranks %" PRIu32 " and %" PRIu32
                    "; PyTorch's rows put each stage on one rank, so choose a schedule that does",
                    op.stage, home < r ? home : r, home < r ? r : home);
            facts.split |= op.kind == PP_OP_I || op.kind == PP_OP_W;
            facts.overlapped |= op.paired;
        }
    }
    if ((status = count_stages(order, &facts.per_rank, err)))
        return status;
    *facts_out = facts;
    return PP_OK;
}

bool pp_pytorch_is_v(const pp_pytorch_facts *facts)
{
    return facts->placed && facts->placement == PP_PLACE_V && facts->per_rank == 2;
}

const char *pp_pytorch_schedule_name(const pp_export *data, const pp_pytorch_facts *facts)
{
    if (!facts->placed || !facts->per_rank)
        return NULL;
    if (facts->per_rank == 1) {
        bool gpipe = data->plan && strcmp(data->plan->schedule, "gpipe") == 0;
        return gpipe ? "GPipe" : "1F1B";
    }
    if (facts->placement == PP_PLACE_LOOP)
        return "Interleaved1F1B";
    if (!pp_pytorch_is_v(facts))
        return NULL;
    return facts->overlapped ? "DualPipeV" : "ZBVZeroBubble";
}

void pp_pytorch_rows_print(const pp_order *order, pp_text *text)
{
    char cell[80];
    for (uint32_t r = 0; r < order->ranks; r++) {
        size_t end = order->rank_begin[r + 1];
        for (size_t i = order->rank_begin[r]; i < end;) {
            i += pp_cell_print(order, i, cell, sizeof cell);
            pp_text_add_bytes(text, cell, strlen(cell));
            pp_text_add_bytes(text, i < end ? "," : "\n", 1);
        }
    }
}
