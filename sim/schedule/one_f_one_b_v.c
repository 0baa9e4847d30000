/* 1F1B-V (sail-sg zero-bubble, 1f1bv): a pattern of period 6 in which a fused backward takes two
 * slots, I and W. Its ops are then moved ahead as far as the pattern's peak memory allows. Chunk a
 * of rank r is stage r, chunk b is stage 2p - 1 - r. */
#include "sim/base/alloc.h"
#include "sim/schedule/builders/slots.h"
#include "sim/schedule/schedule.h"

#include <stdlib.h>

enum { PERIOD = 6, NONE = UINT32_MAX };

typedef struct pattern {
    pp_slots *slots;
    int32_t *held; /* [ranks][length]: activations after a slot */
    int32_t peak;
    uint32_t *residue; /* [ranks][PP_SLOT_TYPES]: slots modulo PERIOD */
} pattern;

static void free_pattern(pattern *p)
{
    pp_slots_free(&p->slots);
    free(p->held);
    free(p->residue);
}

static uint32_t *residue_of(const pattern *p, uint32_t r, uint32_t type)
{
    return &p->residue[(size_t)r * PP_SLOT_TYPES + type];
}

/* Finds the slots that ops would have if the first microbatch never waited, modulo PERIOD. */
static void find_residues(pattern *p)
{
    uint32_t ranks = p->slots->ranks;
    uint32_t now = 2 * ranks + 1 + (ranks % 3 == 0 ? 3 : 0);
    uint32_t turn = 3 - (ranks + 2) % 3;
    for (uint32_t r = 0; r < ranks; r++) {
        *residue_of(p, r, PP_SLOT_FA) = (r + 1) % PERIOD;
        *residue_of(p, r, PP_SLOT_FB) = (2 * ranks - r) % PERIOD;
    }
    for (uint32_t k = 0; k < 2 * ranks; k++) { /* down the ranks with b, up with a */
        uint32_t r = k < ranks ? k : 2 * ranks - 1 - k;
        *residue_of(p, r, k < ranks ? PP_SLOT_IB : PP_SLOT_IA) = now % PERIOD;
        *residue_of(p, r, k < ranks ? PP_SLOT_WB : PP_SLOT_WA) = (now + 1) % PERIOD;
        now += 2;
        if (++turn % 3 == 0)
            now += 3;
    }
}

/* The first slot from `at` on that has the residue of `type`. */
static uint32_t next_slot(const pattern *p, uint32_t r, uint32_t type, uint32_t at)
{
    return at + (*residue_of(p, r, type) + PERIOD - at % PERIOD) % PERIOD;
}

static void put_all(const pattern *p, uint32_t r, uint32_t type, uint32_t first)
{
    for (uint32_t j = 0; j < p->slots->microbatches; j++)
        pp_slots_put(p->slots, r, first + PERIOD * j, pp_slots_op(p->slots, type, j));
}

static void lay_out(const pattern *p)
{
    uint32_t ranks = p->slots->ranks;
    uint32_t at = PERIOD;
    for (uint32_t type = PP_SLOT_FA; type <= PP_SLOT_IA; type++) {
        bool downward = type == PP_SLOT_FA || type == PP_SLOT_IB;
        for (uint32_t k = 0; k < ranks; k++) {
            uint32_t r = downward ? k : ranks - 1 - k;
            at = next_slot(p, r, type, at);
            put_all(p, r, type, at++);
            if (type == PP_SLOT_IB)
                put_all(p, r, PP_SLOT_WB, next_slot(p, r, PP_SLOT_WB, at));
            if (type == PP_SLOT_IA)
                put_all(p, r, PP_SLOT_WA, next_slot(p, r, PP_SLOT_WA, at));
        }
    }
}

static uint32_t type_of(const pattern *p, uint32_t op)
{
    return (op - 1) / p->slots->microbatches;
}

static int32_t *held_of(const pattern *p, uint32_t r)
{
    return &p->held[(size_t)r * p->slots->length];
}

static void measure(pattern *p)
{
    for (uint32_t r = 0; r < p->slots->ranks; r++) {
        int32_t held = 0;
        for (uint32_t t = 0; t < p->slots->length; t++) {
            uint32_t op = *pp_slots_cell(p->slots, r, t);
            if (op && type_of(p, op) <= PP_SLOT_FB)
                held++;
            else if (op && type_of(p, op) >= PP_SLOT_WB)
                held--;
            held_of(p, r)[t] = held;
            if (held > p->peak)
                p->peak = held;
        }
    }
}

/* The op that computes the input of `op` of rank r, and its rank; NONE for the first op of a
 * microbatch. */
static uint32_t feeder(const pattern *p, uint32_t r, uint32_t op, uint32_t *rank_out)
{
    uint32_t m = p->slots->microbatches;
    uint32_t last = p->slots->ranks - 1;
    *rank_out = r;
    switch (type_of(p, op)) {
    case PP_SLOT_FA:
        *rank_out = r - 1;
        return r > 0 ? op : NONE;
    case PP_SLOT_FB:
        *rank_out = r < last ? r + 1 : r;
        return r < last ? op : op - m;
    case PP_SLOT_IB:
        *rank_out = r > 0 ? r - 1 : r;
        return r > 0 ? op + 2 * m : op - m;
    case PP_SLOT_IA: /* after W of a on the next rank, or of b on the last rank */
        *rank_out = r < last ? r + 1 : r;
        return r < last ? op + 2 * m : op + m;
    default:
        return op - 2 * m;
    }
}

static void shift_held(const pattern *p, uint32_t r, uint32_t from, uint32_t to, int32_t change)
{
    for (uint32_t t = to; t < from; t++)
        held_of(p, r)[t] += change;
}

/* Forwards move ahead only as long as the memory stays below the peak. */
static uint32_t forward_slot(const pattern *p, uint32_t r, uint32_t lowest, uint32_t own)
{
    uint32_t at = own;
    while (at > lowest && held_of(p, r)[at - 1] < p->peak)
        at--;
    while (at < own && *pp_slots_cell(p->slots, r, at))
        at++;
    return at;
}

static void pull(const pattern *p, uint32_t r, uint32_t own)
{
    const pp_slots *slots = p->slots;
    uint32_t op = *pp_slots_cell(slots, r, own);
    uint32_t type = type_of(p, op);
    uint32_t from_rank;
    uint32_t from = feeder(p, r, op, &from_rank);
    uint32_t at = from == NONE ? 0 : *pp_slots_slot(slots, from_rank, from) + 1;
    if ((op - 1) % slots->microbatches > 0 && at < *pp_slots_slot(slots, r, op - 1) + 1)
        at = *pp_slots_slot(slots, r, op - 1) + 1;
    bool pair = type == PP_SLOT_IB || type == PP_SLOT_IA; /* its W must follow at once */
    while (at < own && (*pp_slots_cell(slots, r, at) || (pair && *pp_slots_cell(slots, r, at + 1))))
        at++;
    if (type <= PP_SLOT_FB && at < own)
        at = forward_slot(p, r, at, own);
    if (at >= own)
        return;
    pp_slots_move(p->slots, r, own, at);
    if (type <= PP_SLOT_FB)
        shift_held(p, r, own, at, 1);
    else if (type >= PP_SLOT_WB)
        shift_held(p, r, own, at, -1);
}

static pp_status one_f_one_b_v_build(const pp_schedule_params *params, pp_order **order_out,
                                     pp_err *err)
{
    pattern p PP_CLEANUP(free_pattern) = { 0 };
    size_t ranks = params->ranks;
    uint64_t length = 4 * PERIOD * (uint64_t)ranks + PERIOD * ((uint64_t)params->microbatches + 4);
    pp_status status = pp_slots_new(params, length, &p.slots, err);
    if (status)
        return status;
    p.held = pp_alloc_array(ranks * (size_t)length, sizeof *p.held);
    p.residue = pp_alloc_array(ranks * PP_SLOT_TYPES, sizeof *p.residue);
    if (!p.held || !p.residue)
        return pp_err_nomem(err);
    find_residues(&p);
    lay_out(&p);
    measure(&p);
    for (uint32_t t = 0; t < p.slots->length; t++) {
        for (uint32_t r = 0; r < params->ranks; r++) {
            if (*pp_slots_cell(p.slots, r, t))
                pull(&p, r, t);
        }
    }
    return pp_slots_order(p.slots, true, order_out, err);
}

const pp_schedule pp_schedule_one_f_one_b_v = {
    .name = "1f1b-v",
    .summary = "1F1B with two stages per rank on a V, with about 3/4 of the memory of 1F1B "
               "(sail-sg 1f1bv)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .build = one_f_one_b_v_build,
};
