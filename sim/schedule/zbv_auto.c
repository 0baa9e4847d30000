/* ZB-V, placed greedily by the durations of ops (Qi et al. 2024, arXiv 2405.15362; sail-sg
 * zero-bubble, zbv_greedy). Chunk a of rank r is stage r, chunk b is stage 2p - 1 - r. The memory
 * limit is 2p forward activations of one stage.
 *
 * An attempt places forwards until every rank has run the first one of b, levels the ranks, and
 * then places one backward and one forward per rank in each round. W's fill waits and make room for
 * memory. Whether a W may take longer than the wait before a forward, or before a backward of b, is
 * tried both ways. An attempt is repeated, with the idle times of the previous one as an allowance,
 * as long as the largest idle time of a rank decreases; the order with the smallest one is the
 * result. An attempt takes O(ops). */
#include "sim/base/alloc.h"
#include "sim/schedule/builders/greedy.h"
#include "sim/schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { A, B };

typedef struct zbv {
    pp_greedy *g;
    uint32_t p, m;
    pp_ns *target_ns; /* [p]: idle times of the previous attempt; -1 in the first one */
    pp_ns worst_target_ns;
    uint8_t *back; /* [p]: chunk of this round's backward */
    bool fill_f, fill_b;
} zbv;

static void free_zbv(zbv *z)
{
    pp_greedy_free(&z->g);
    free(z->target_ns);
    free(z->back);
}

static uint32_t stage_of(const zbv *z, uint32_t r, int chunk)
{
    return chunk == A ? r : 2 * z->p - 1 - r;
}

static uint32_t placed(const zbv *z, pp_op_kind kind, uint32_t r, int chunk)
{
    return pp_greedy_placed(z->g, kind, stage_of(z, r, chunk));
}

static void place(zbv *z, pp_op_kind kind, uint32_t r, int chunk)
{
    pp_greedy_place(z->g, kind, stage_of(z, r, chunk));
}

/* The time that rank r may wait without having the largest idle time. */
static pp_ns allowed_wait_ns(const zbv *z, uint32_t r)
{
    pp_ns worst_ns = z->worst_target_ns - z->target_ns[r];
    if (worst_ns < z->g->worst_idle_ns)
        worst_ns = z->g->worst_idle_ns;
    return worst_ns - z->g->idle_ns[r];
}

/* Places W's while rank r waits for the input of its next `kind`; if `over`, also one that takes
 * longer than the wait. */
static void fill(zbv *z, pp_op_kind kind, uint32_t r, int chunk, bool over)
{
    pp_ns ready_ns;
    if (!pp_greedy_arrival(z->g, kind, stage_of(z, r, chunk), &ready_ns))
        return;
    pp_greedy_fill(z->g, r, ready_ns);
    if (over && pp_greedy_open(z->g, r) > 0 && ready_ns > z->g->clock_ns[r] &&
        ready_ns - z->g->clock_ns[r] > allowed_wait_ns(z, r))
        pp_greedy_place_w(z->g, r);
}

/* Places forwards until every rank has run the first one of b. */
static void warm_up(zbv *z)
{
    pp_greedy *g = z->g;
    int64_t f = g->memory_change[PP_OP_F];
    for (uint32_t r = 0; r < z->p; r++)
        place(z, PP_OP_F, r, A);
    for (uint32_t r = z->p; r-- > 0 && !g->failed;) {
        pp_ns ready_ns;
        bool waits = pp_greedy_arrival(g, PP_OP_F, stage_of(z, r, B), &ready_ns);
        while (waits && !g->failed && g->memory[r] + (2 + 2 * (int64_t)r) * f <= g->memory_limit &&
               placed(z, PP_OP_F, r, A) < z->m &&
               pp_greedy_plus(g->clock_ns[r],
                              pp_greedy_cost(g, PP_OP_F, r, placed(z, PP_OP_F, r, A))) <=
                   ready_ns) {
            for (uint32_t q = 0; q <= r; q++)
                place(z, PP_OP_F, q, A);
        }
        place(z, PP_OP_F, r, B);
    }
}

/* Returns true if rank r is behind the previous rank. */
static bool is_behind(const zbv *z, uint32_t r)
{
    uint32_t b = placed(z, PP_OP_F, r, B);
    uint32_t b_before = placed(z, PP_OP_F, r - 1, B);
    return placed(z, PP_OP_F, r, A) + b < placed(z, PP_OP_F, r - 1, A) + b_before ||
           (b <= b_before && b_before < z->m);
}

/* Places forwards of a and b alternately until every rank is ahead of the previous one. */
static void level(zbv *z)
{
    int chunk = A;
    for (uint32_t r = 1; r < z->p; r++) {
        while (is_behind(z, r) && !z->g->failed) {
            for (uint32_t q = z->p; q-- > r;) {
                if (placed(z, PP_OP_F, q, chunk) < z->m)
                    place(z, PP_OP_F, q, chunk);
            }
            chunk = chunk == A ? B : A;
        }
    }
}

static int choose_backward(const zbv *z, uint32_t r)
{
    uint32_t a = placed(z, PP_OP_I, r, A);
    uint32_t b = placed(z, PP_OP_I, r, B);
    if (a >= b)
        return B;
    if (r + 1 == z->p || placed(z, PP_OP_I, r + 1, A) > a || b == z->m)
        return A;
    return B;
}

static void place_backwards(zbv *z)
{
    uint32_t p = z->p;
    for (uint32_t r = 0; r < p; r++) {
        pp_greedy_make_room(z->g, r, PP_OP_I);
        z->back[r] = (uint8_t)choose_backward(z, r);
    }
    for (uint32_t r = p; r-- > 0;) {
        if (z->back[r] != A)
            continue;
        fill(z, PP_OP_I, r, A, true);
        place(z, PP_OP_I, r, A);
    }
    for (uint32_t r = 0; r < p; r++) {
        if (z->back[r] != B)
            continue;
        fill(z, PP_OP_I, r, B, z->fill_b);
        place(z, PP_OP_I, r, B);
    }
}

/* Returns false when rank r places no forward in this round. */
static bool choose_forward(const zbv *z, uint32_t r, int *chunk_out)
{
    uint32_t a = placed(z, PP_OP_F, r, A);
    uint32_t b = placed(z, PP_OP_F, r, B);
    if (b == z->m)
        return false;
    *chunk_out = A;
    if (b >= a)
        return true;
    if (r + 1 == z->p || placed(z, PP_OP_F, r + 1, B) > b) {
        *chunk_out = B;
        return true;
    }
    return a < z->m && (r == 0 || placed(z, PP_OP_F, r - 1, A) > a);
}

static void place_forwards(zbv *z)
{
    for (uint32_t r = 0; r < z->p; r++) {
        int chunk;
        if (!choose_forward(z, r, &chunk))
            continue;
        pp_greedy_make_room(z->g, r, PP_OP_F);
        fill(z, PP_OP_F, r, chunk, z->fill_f);
        place(z, PP_OP_F, r, chunk);
    }
}

/* Returns false when it finds no complete order. */
static bool attempt(zbv *z)
{
    pp_greedy_begin(z->g);
    warm_up(z);
    level(z);
    for (uint32_t round = 0; round < 2 * z->m && !z->g->failed; round++) {
        place_backwards(z);
        place_forwards(z);
    }
    for (uint32_t r = 0; r < z->p; r++) {
        while (pp_greedy_open(z->g, r) > 0 && !z->g->failed)
            pp_greedy_place_w(z->g, r);
    }
    return pp_greedy_complete(z->g);
}

/* Repeats attempts, with the idle times of the previous one as targets, as long as the largest idle
 * time decreases. */
static void refine(zbv *z, pp_ns *best_ns)
{
    pp_ns worst_ns = INT64_MAX;
    z->worst_target_ns = -1;
    for (uint32_t r = 0; r < z->p; r++)
        z->target_ns[r] = -1;
    while (attempt(z) && z->g->worst_idle_ns < worst_ns) {
        worst_ns = z->g->worst_idle_ns;
        z->worst_target_ns = worst_ns;
        memcpy(z->target_ns, z->g->idle_ns, z->p * sizeof *z->target_ns);
        if (worst_ns < *best_ns) {
            *best_ns = worst_ns;
            pp_greedy_keep(z->g);
        }
    }
}

static pp_status zbv_auto_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    zbv z PP_CLEANUP(free_zbv) = { .p = params->ranks, .m = params->microbatches };
    pp_ns best_ns = INT64_MAX;
    pp_status status = pp_greedy_new(params, PP_PLACE_V, 2 * z.p, &z.g, err);
    if (status)
        return status;
    z.target_ns = pp_alloc_array(z.p, sizeof *z.target_ns);
    z.back = pp_alloc_array(z.p, sizeof *z.back);
    if (!z.target_ns || !z.back)
        return pp_err_nomem(err);
    pp_greedy_use_means(z.g);           /* its warm-up assumes that all ranks are alike */
    for (int set = 0; set < 4; set++) { /* each rule on, then off */
        z.fill_b = !(set & 2);
        z.fill_f = !(set & 1);
        refine(&z, &best_ns);
    }
    pp_greedy_finish(z.g, order_out);
    return PP_OK;
}

const pp_schedule pp_schedule_zbv_auto = {
    .name = "zbv-auto",
    .summary = "like zbv, but places ops by their durations (Qi 2024; sail-sg zbv_greedy)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .splits_backward = true,
    .uses_costs = true,
    .build = zbv_auto_build,
};
