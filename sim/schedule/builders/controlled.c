/* Builds V-Half and V-Min from a pattern that every microbatch repeats six slots later (Qi et al.
 * 2024, arXiv 2405.15362). The pattern leaves gaps at both ends of the step, into which ops are
 * moved ahead as long as no rank needs more memory than the pattern does. This is done twice: first
 * with the W's in the free slots of the pattern, then without them, where every free slot stands
 * for a W while one is open. Until the end, the W's of the two chunks are not distinguished
 * ("merged"): the n-th W of a rank belongs to its n-th I, and the types WB and WA together have 2m
 * of them. */
#include "sim/schedule/builders/controlled.h"

#include "sim/base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The state before a slot: activations held, and I's whose W has not run. */
typedef struct level {
    int32_t held, open;
} level;

typedef struct pulling {
    pp_slots *slots;
    level *level;     /* [ranks][length + 1] */
    uint32_t *inputs; /* [ranks]: number of I's before the current slot */
    int32_t cap;      /* the largest `held` of any rank */
    bool with_w;
} pulling;

static void free_pulling(pulling *p)
{
    pp_slots_free(&p->slots);
    free(p->level);
    free(p->inputs);
}

static uint32_t type_of(const pulling *p, uint32_t op)
{
    return (op - 1) / p->slots->microbatches;
}

static bool is_input(const pulling *p, uint32_t op)
{
    return op && (type_of(p, op) == PP_SLOT_IB || type_of(p, op) == PP_SLOT_IA);
}

static level *levels_of(const pulling *p, uint32_t r)
{
    return &p->level[(size_t)r * (p->slots->length + 1)];
}

/* The level after a slot that holds `op`. */
static level after(const pulling *p, level l, uint32_t op)
{
    if (op && type_of(p, op) <= PP_SLOT_FB)
        l.held++;
    else if (is_input(p, op))
        l.open++;
    else if (op || (!p->with_w && l.open > 0)) {
        l.held--;
        l.open--;
    }
    return l;
}

/* Computes the levels of all ranks, and the largest of them. */
static void measure(pulling *p)
{
    p->cap = 0;
    for (uint32_t r = 0; r < p->slots->ranks; r++) {
        level *l = levels_of(p, r);
        l[0] = (level){ 0 };
        for (uint32_t t = 0; t < p->slots->length; t++) {
            l[t + 1] = after(p, l[t], *pp_slots_cell(p->slots, r, t));
            if (l[t + 1].held > p->cap)
                p->cap = l[t + 1].held;
        }
    }
}

/* Puts a W into each free slot while one is open. */
static void add_merged(pp_slots *slots)
{
    uint32_t m = slots->microbatches;
    for (uint32_t r = 0; r < slots->ranks; r++) {
        uint32_t opened = 0;
        uint32_t closed = 0;
        for (uint32_t t = 0; t < slots->length; t++) {
            uint32_t op = *pp_slots_cell(slots, r, t);
            if (op && (op - 1) / m >= PP_SLOT_IB)
                opened++;
            else if (!op && closed < opened)
                pp_slots_put(slots, r, t, pp_slots_op(slots, PP_SLOT_WB, closed++));
        }
        assert(closed == 2 * m);
    }
}

/* Like add_merged, for each chunk alone, b first. */
static void add_split(pp_slots *slots)
{
    uint32_t m = slots->microbatches;
    for (uint32_t r = 0; r < slots->ranks; r++) {
        uint32_t opened[2] = { 0 }; /* b, a */
        uint32_t closed[2] = { 0 };
        for (uint32_t t = 0; t < slots->length; t++) {
            uint32_t op = *pp_slots_cell(slots, r, t);
            if (op && (op - 1) / m >= PP_SLOT_IB) {
                opened[(op - 1) / m - PP_SLOT_IB]++;
            } else if (!op && (closed[0] < opened[0] || closed[1] < opened[1])) {
                uint32_t chunk = closed[0] < opened[0] ? 0 : 1;
                pp_slots_put(slots, r, t, pp_slots_op(slots, PP_SLOT_WB + chunk, closed[chunk]++));
            }
        }
        assert(closed[0] == m && closed[1] == m);
    }
}

static void drop_w(pp_slots *slots)
{
    for (size_t i = 0; i < (size_t)slots->ranks * slots->length; i++) {
        if (slots->cell[i] > PP_SLOT_WB * slots->microbatches)
            slots->cell[i] = 0;
    }
}

/* Finds the rank whose op of the same type and microbatch computes the input of an F or I of rank
 * r. Returns false if there is none. */
static bool feeder(const pp_slots *slots, uint32_t r, uint32_t type, uint32_t *rank_out)
{
    bool upward = type == PP_SLOT_FA || type == PP_SLOT_IB;
    if (upward ? r == 0 : r + 1 == slots->ranks)
        return false;
    *rank_out = upward ? r - 1 : r + 1;
    return true;
}

/* The slot of the n-th I of rank r. The rank's I's that are counted are all before slot t. */
static uint32_t input_slot(const pulling *p, uint32_t r, uint32_t n, uint32_t t)
{
    for (uint32_t left = p->inputs[r] - n; left > 0;) {
        t--;
        if (is_input(p, *pp_slots_cell(p->slots, r, t)))
            left--;
    }
    return t;
}

static void lift(uint32_t *lowest, uint32_t slot)
{
    if (*lowest < slot + 1)
        *lowest = slot + 1;
}

/* The first slot that the inputs of `op`, in slot t of rank r, allow. */
static uint32_t lowest_slot(const pulling *p, uint32_t r, uint32_t op, uint32_t t)
{
    const pp_slots *slots = p->slots;
    uint32_t type = type_of(p, op);
    uint32_t j = (op - 1) % slots->microbatches;
    uint32_t lowest = 0;
    uint32_t from;
    if (type >= PP_SLOT_WB) {
        uint32_t n = op - pp_slots_op(slots, PP_SLOT_WB, 0);
        if (n > 0)
            lift(&lowest, *pp_slots_slot(slots, r, op - 1));
        lift(&lowest, input_slot(p, r, n, t));
        return lowest;
    }
    if (j > 0)
        lift(&lowest, *pp_slots_slot(slots, r, op - 1));
    if (type > PP_SLOT_FA)
        lift(&lowest, *pp_slots_slot(slots, r, op - slots->microbatches));
    if (feeder(slots, r, type, &from))
        lift(&lowest, *pp_slots_slot(slots, from, op));
    return lowest;
}

/* Returns true if no level exceeds the cap after the op of slot `from` moves to the earlier free
 * slot `to`. Levels before `to` do not change, nor do those from the first equal one after `from`
 * on. */
static bool fits(const pulling *p, uint32_t r, uint32_t to, uint32_t from)
{
    const level *old = levels_of(p, r);
    uint32_t moved = *pp_slots_cell(p->slots, r, from);
    level l = old[to];
    for (uint32_t t = to; t < p->slots->length; t++) {
        if (t > from && l.open == old[t].open)
            return true;
        l = after(p, l, t == to ? moved : t == from ? 0 : *pp_slots_cell(p->slots, r, t));
        if (l.held > p->cap)
            return false;
    }
    return true;
}

static void move(pulling *p, uint32_t r, uint32_t to, uint32_t from)
{
    level *l = levels_of(p, r);
    pp_slots_move(p->slots, r, from, to);
    for (uint32_t t = to; t < p->slots->length; t++) {
        level next = after(p, l[t], *pp_slots_cell(p->slots, r, t));
        if (t > from && next.open == l[t + 1].open && next.held == l[t + 1].held)
            return;
        l[t + 1] = next;
    }
}

/* With the W's in the grid, only an F is held longer by moving ahead. It can move to where the
 * levels leave room for it. */
static uint32_t lowest_for_memory(const pulling *p, uint32_t r, uint32_t lowest, uint32_t t)
{
    const level *l = levels_of(p, r);
    while (t > lowest && l[t].held < p->cap)
        t--;
    return t;
}

static void pull(pulling *p, uint32_t r, uint32_t t)
{
    uint32_t op = *pp_slots_cell(p->slots, r, t);
    uint32_t lowest = lowest_slot(p, r, op, t);
    if (p->with_w && type_of(p, op) <= PP_SLOT_FB)
        lowest = lowest_for_memory(p, r, lowest, t);
    for (uint32_t to = lowest; to < t; to++) {
        if (*pp_slots_cell(p->slots, r, to) || (!p->with_w && !fits(p, r, to, t)))
            continue;
        move(p, r, to, t);
        return;
    }
}

/* Moves every op right after its inputs and the previous op of its rank, one slot each. */
static void squeeze(pulling *p)
{
    pp_slots *slots = p->slots;
    uint32_t *next = p->inputs; /* [ranks]: the rank's first slot that is not taken */
    memset(next, 0, slots->ranks * sizeof *next);
    for (uint32_t t = 0; t < slots->length; t++) {
        for (uint32_t r = 0; r < slots->ranks; r++) {
            uint32_t op = *pp_slots_cell(slots, r, t);
            uint32_t to = next[r];
            uint32_t from;
            if (!op)
                continue;
            if (type_of(p, op) < PP_SLOT_WB && feeder(slots, r, type_of(p, op), &from) &&
                to < *pp_slots_slot(slots, from, op) + 1)
                to = *pp_slots_slot(slots, from, op) + 1;
            pp_slots_move(slots, r, t, to);
            next[r] = to + 1;
        }
    }
}

/* Moves ops ahead at both ends of the step. The part from the first backward of a on rank 0 to the
 * last forward of a does not change; without the W's, the part before it does not, either. */
static void reorder(pulling *p, bool with_w)
{
    enum { BEFORE, BETWEEN, BEHIND } phase = BEFORE;
    pp_slots *slots = p->slots;
    if (with_w)
        add_merged(slots);
    p->with_w = with_w;
    measure(p);
    memset(p->inputs, 0, slots->ranks * sizeof *p->inputs);
    for (uint32_t t = 0; t < slots->length; t++) {
        for (uint32_t r = 0; r < slots->ranks; r++) {
            uint32_t op = *pp_slots_cell(slots, r, t);
            if (!op)
                continue;
            if (phase == BEFORE && r == 0 && type_of(p, op) == PP_SLOT_IA)
                phase = BETWEEN;
            if (phase == BEHIND || (phase == BEFORE && with_w))
                pull(p, r, t);
            p->inputs[r] += is_input(p, op);
            if (phase == BETWEEN && op == pp_slots_op(slots, PP_SLOT_FA, slots->microbatches - 1))
                phase = BEHIND;
        }
    }
    if (!with_w)
        add_merged(slots);
    squeeze(p);
}

pp_status pp_controlled_build(const pp_schedule_params *params,
                              uint32_t (*offset)(uint32_t type, uint32_t rank, uint32_t ranks),
                              pp_order **order_out, pp_err *err)
{
    pulling p PP_CLEANUP(free_pulling) = { 0 };
    uint32_t m = params->microbatches;
    /* the pattern, its last W's, and room for the largest offset */
    uint64_t length = 6 * (uint64_t)params->ranks + 8 * (uint64_t)m + 8;
    pp_status status = pp_slots_new(params, length, &p.slots, err);
    if (status)
        return status;
    p.level = pp_alloc_array(params->ranks * ((size_t)length + 1), sizeof *p.level);
    p.inputs = pp_alloc_array(params->ranks, sizeof *p.inputs);
    if (!p.level || !p.inputs)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < params->ranks; r++) {
        for (uint32_t type = PP_SLOT_FA; type <= PP_SLOT_IA; type++) {
            for (uint32_t j = 0; j < m; j++)
                pp_slots_put(p.slots, r, offset(type, r, params->ranks) + 6 * j,
                             pp_slots_op(p.slots, type, j));
        }
    }
    reorder(&p, true);
    drop_w(p.slots);
    reorder(&p, false);
    drop_w(p.slots);
    add_split(p.slots);
    return pp_slots_order(p.slots, false, order_out, err);
}
