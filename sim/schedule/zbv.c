/* PyTorch's ScheduleZBVZeroBubble, which is a closed form: it is built for max(m, 2p - 1)
 * microbatches, and those from m on are omitted. On the way down rank r has stage r, on the way up
 * stage 2p - 1 - r. */
#include "sim/schedule/schedule.h"

typedef struct filling {
    pp_order *order;
    uint32_t rank;
    uint32_t next[PP_OP_KIND_COUNT][2]; /* [kind][chunk]: microbatch of the next op */
} filling;

enum { DOWN, UP }; /* the chunks: stages r and 2p - 1 - r */

static void add(filling *f, pp_op_kind kind, int chunk)
{
    uint32_t j = f->next[kind][chunk]++;
    uint32_t stage = chunk == DOWN ? f->rank : f->order->stages - 1 - f->rank;
    if (j < f->order->microbatches)
        pp_order_add(f->order, f->rank, kind, stage, j);
}

static void add_backward(filling *f, int chunk)
{
    add(f, PP_OP_I, chunk);
    add(f, PP_OP_W, chunk);
}

/* Fills one rank as if there were n microbatches; `add` omits those beyond the order's own
 * number. */
static void fill_rank(filling *f, uint32_t p, uint32_t n)
{
    uint32_t r = f->rank;
    /* warm-up: until the first microbatch has come down and up again to this rank */
    for (uint32_t k = 0; k < 2 * (p - r) - 1; k++)
        add(f, PP_OP_F, DOWN);
    for (uint32_t k = 0; k < r; k++) {
        add(f, PP_OP_F, UP);
        add(f, PP_OP_F, DOWN);
    }
    for (uint32_t k = 0; k < p - r; k++) {
        add(f, PP_OP_F, UP);
        add_backward(f, UP);
    }
    /* steady state: one forward and one backward of either chunk */
    while (f->next[PP_OP_F][UP] < n) {
        if (f->next[PP_OP_F][DOWN] < n)
            add(f, PP_OP_F, DOWN);
        add_backward(f, DOWN);
        add(f, PP_OP_F, UP);
        add_backward(f, UP);
    }
    /* cool-down: W's are delayed if they would hold up the I's of other ranks */
    for (uint32_t k = 0; k < r; k++) {
        add(f, PP_OP_I, DOWN);
        add(f, PP_OP_I, UP);
    }
    for (uint32_t k = 0; k < p - r; k++)
        add_backward(f, DOWN);
    while (f->next[PP_OP_W][UP] < n)
        add(f, PP_OP_W, UP);
    while (f->next[PP_OP_W][DOWN] < n)
        add(f, PP_OP_W, DOWN);
}

static pp_status zbv_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    uint32_t p = params->ranks;
    uint32_t m = params->microbatches;
    pp_order *order = NULL;
    pp_status status = pp_order_new(p, 2 * p, m, PP_PLACE_V, (size_t)6 * p * m, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++) {
        filling f = { .order = order, .rank = r };
        fill_rank(&f, p, m < 2 * p - 1 ? 2 * p - 1 : m);
    }
    *order_out = order;
    return PP_OK;
}

const pp_schedule pp_schedule_zbv = {
    .name = "zbv",
    .summary = "zero-bubble schedule with two stages per rank on a V, in the memory of 1F1B (Qi "
               "2024; PyTorch ZBVZeroBubble)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .splits_backward = true,
    .build = zbv_build,
};
