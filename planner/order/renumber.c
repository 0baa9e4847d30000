/* Renumbers microbatches. Frameworks keep the losses of a step in the order in which the last stage
 * computes them and look them up by number (PyTorch's schedules.py), so both must agree. O(ops). */
#include "planner/order/renumber.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* now[j] receives the new number of microbatch j. */
static void number(const pp_order *order, uint32_t *now)
{
    const uint16_t last = (uint16_t)(order->stages - 1);
    const uint32_t rank = order->stage_rank[last];
    uint32_t next = 0;
    for (size_t i = order->rank_begin[rank]; i < order->rank_begin[rank + 1]; i++) {
        pp_op op = order->ops[i];
        if (op.kind == PP_OP_F && op.stage == last)
            now[op.microbatch] = next++;
    }
}

static void reorder(pp_microbatch *microbatch, uint32_t count, const uint32_t *now,
                    pp_microbatch *room)
{
    memcpy(room, microbatch, count * sizeof *room);
    for (uint32_t j = 0; j < count; j++)
        microbatch[now[j]] = room[j];
}

static void renumber_data(pp_workload *workload, uint32_t replica, bool all, const uint32_t *now,
                          pp_microbatch *room)
{
    for (uint32_t i = 0; workload->microbatch && i < workload->replicas; i++) {
        if (all || i == replica)
            reorder(workload->microbatch + (size_t)i * workload->microbatches,
                    workload->microbatches, now, room);
    }
}

/* Like renumber_data. room: [microbatches * stages], scratch memory. */
static void renumber_table(pp_recompute_table *table, uint32_t replica, bool all,
                           const uint32_t *now, pp_recomputed *room)
{
    const size_t stages = table->stages;
    for (uint32_t i = 0; i < table->replicas; i++) {
        pp_recomputed *of = pp_recompute_table_at(table, i, 0);
        if (!all && i != replica)
            continue;
        memcpy(room, of, table->microbatches * stages * sizeof *room);
        for (uint32_t j = 0; j < table->microbatches; j++)
            memcpy(of + now[j] * stages, room + j * stages, stages * sizeof *room);
    }
}

pp_status pp_renumber_microbatches(pp_order *const *orders, uint32_t count,
                                   pp_workload *const *workloads, size_t workload_count,
                                   pp_recompute_table *recomputed, double *imbalances, pp_err *err)
{
    const uint32_t microbatches = orders[0]->microbatches;
    uint32_t *now = pp_alloc_array(microbatches, sizeof *now);
    pp_microbatch *room = pp_alloc_array(microbatches, sizeof *room);
    const size_t cells = recomputed ? (size_t)recomputed->microbatches * recomputed->stages : 0;
    pp_recomputed *column_room = pp_alloc_array(cells + 1, sizeof *column_room);
    double *imbalance_room = pp_alloc_array(microbatches, sizeof *imbalance_room);
    const bool made = now && room && column_room && imbalance_room;
    for (uint32_t r = 0; made && r < count; r++) {
        pp_order *order = orders[r];
        number(order, now);
        for (size_t i = 0; i < order->rank_begin[order->ranks]; i++)
            order->ops[i].microbatch = now[order->ops[i].microbatch];
        for (size_t w = 0; w < workload_count; w++)
            renumber_data(workloads[w], r, count == 1, now, room);
        if (recomputed)
            renumber_table(recomputed, r, count == 1, now, column_room);
        if (imbalances) {
            memcpy(imbalance_room, imbalances, microbatches * sizeof *imbalances);
            for (uint32_t j = 0; j < microbatches; j++)
                imbalances[now[j]] = imbalance_room[j];
        }
    }
    free(now);
    free(room);
    free(column_room);
    free(imbalance_room);
    return made ? PP_OK : pp_err_nomem(err);
}
