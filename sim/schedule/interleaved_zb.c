/* PyTorch's ScheduleInterleavedZeroBubble: interleaved 1F1B with the backward split into I and W.
 * With g microbatches per group, the warm-up has p - 1 - r + (v - 1) g forwards; the W of the n-th
 * I runs after r more I's. */
#include "sim/schedule/builders/rounds.h"
#include "sim/schedule/schedule.h"

typedef struct table {
    uint32_t p, v, group;
} table;

/* Op k of `kind` of rank r, in the order in which this kind runs. */
static void add(pp_order *order, uint32_t r, pp_op_kind kind, uint64_t k, table t)
{
    uint64_t block = k / t.group;
    uint32_t chunk = (uint32_t)(block % t.v);
    uint64_t microbatch = block / t.v * t.group + k % t.group;
    if (kind != PP_OP_F)
        chunk = t.v - 1 - chunk;
    pp_order_add(order, r, kind, chunk * t.p + r, (uint32_t)microbatch);
}

static void fill_rank(pp_order *order, uint32_t r, uint64_t total, table t)
{
    uint64_t warmup = (uint64_t)(t.v - 1) * t.group + (t.p - 1 - r);
    uint64_t done = 0; /* W's */
    if (warmup > total)
        warmup = total;
    for (uint64_t k = 0; k < warmup; k++)
        add(order, r, PP_OP_F, k, t);
    for (uint64_t k = 0; k < total; k++) {
        if (k + warmup < total)
            add(order, r, PP_OP_F, k + warmup, t);
        add(order, r, PP_OP_I, k, t);
        if (k >= r)
            add(order, r, PP_OP_W, done++, t);
    }
    while (done < total)
        add(order, r, PP_OP_W, done++, t);
}

static pp_status interleaved_zb_build(const pp_schedule_params *params, pp_order **order_out,
                                      pp_err *err)
{
    table t = { .p = params->ranks, .v = params->chunks };
    uint32_t m = params->microbatches;
    uint64_t total = (uint64_t)m * t.v;
    pp_order *order = NULL;
    pp_status status = pp_rounds_group("interleaved-zb", false, t.p, m, &t.group, err);
    if (status)
        return status;
    status = pp_order_new(t.p, t.p * t.v, m, PP_PLACE_LOOP, 3 * (size_t)total * t.p, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < t.p; r++)
        fill_rank(order, r, total, t);
    *order_out = order;
    return PP_OK;
}

const pp_schedule pp_schedule_interleaved_zb = {
    .name = "interleaved-zb",
    .summary = "interleaved 1F1B with each backward split into input and weight parts (PyTorch "
               "InterleavedZeroBubble)",
    .placement = PP_PLACE_LOOP,
    .splits_backward = true,
    .build = interleaved_zb_build,
};
