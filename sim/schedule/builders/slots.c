/* A dense grid of ranks x slots with the inverse table, so that placing, moving and finding an
 * op take constant time. */
#include "sim/schedule/builders/slots.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdlib.h>

#define SLOTS_MAX ((uint64_t)1 << 30)

pp_status pp_slots_new(const pp_schedule_params *params, uint64_t length, pp_slots **slots_out,
                       pp_err *err)
{
    pp_slots *slots PP_CLEANUP(pp_slots_free) = NULL;
    if (length > SLOTS_MAX / params->ranks)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RANKS),
                          "%" PRIu32 " ranks need %" PRIu64 " slots each for %" PRIu32
                          " microbatches, more than %" PRIu64 " in all; choose fewer ranks",
                          params->ranks, length, params->microbatches, SLOTS_MAX);
    slots = pp_alloc_array(1, sizeof *slots);
    if (!slots)
        return pp_err_nomem(err);
    slots->ranks = params->ranks;
    slots->microbatches = params->microbatches;
    slots->length = (uint32_t)length;
    slots->cell = pp_alloc_array((size_t)length * params->ranks, sizeof *slots->cell);
    slots->slot = pp_alloc_array((size_t)PP_SLOT_TYPES * params->microbatches * params->ranks,
                                 sizeof *slots->slot);
    if (!slots->cell || !slots->slot)
        return pp_err_nomem(err);
    *slots_out = slots;
    slots = NULL; /* the caller's now */
    return PP_OK;
}

void pp_slots_free(pp_slots **slots)
{
    if (!*slots)
        return;
    free((*slots)->cell);
    free((*slots)->slot);
    free(*slots);
    *slots = NULL;
}

void pp_slots_put(pp_slots *slots, uint32_t rank, uint32_t at, uint32_t op)
{
    *pp_slots_cell(slots, rank, at) = op;
    *pp_slots_slot(slots, rank, op) = at;
}

void pp_slots_move(pp_slots *slots, uint32_t rank, uint32_t from, uint32_t to)
{
    uint32_t op = *pp_slots_cell(slots, rank, from);
    *pp_slots_cell(slots, rank, from) = 0;
    pp_slots_put(slots, rank, to, op);
}

pp_status pp_slots_order(const pp_slots *slots, bool fused, pp_order **order_out, pp_err *err)
{
    static const uint8_t kinds[PP_SLOT_TYPES] = { PP_OP_F, PP_OP_F, PP_OP_I,
                                                  PP_OP_I, PP_OP_W, PP_OP_W };
    static const bool is_a[PP_SLOT_TYPES] = { true, false, false, true, false, true };
    uint32_t p = slots->ranks;
    uint32_t m = slots->microbatches;
    pp_order *order = NULL;
    pp_status status =
        pp_order_new(p, 2 * p, m, PP_PLACE_V, (size_t)(fused ? 4 : 6) * p * m, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++) {
        for (uint32_t at = 0; at < slots->length; at++) {
            uint32_t op = *pp_slots_cell(slots, r, at);
            if (!op)
                continue;
            uint32_t type = (op - 1) / m;
            pp_op_kind kind = (pp_op_kind)kinds[type];
            if (fused && kind == PP_OP_W)
                continue;
            pp_order_add(order, r, fused && kind == PP_OP_I ? PP_OP_B : kind,
                         is_a[type] ? r : 2 * p - 1 - r, (op - 1) % m);
        }
    }
    *order_out = order;
    return PP_OK;
}
