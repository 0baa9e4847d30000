/* Places F and I of one microbatch after the other on all ranks, and W's where memory or the wait
 * for an input requires them. This is tried with each of three rules on and off, and the order
 * whose longest stage time is smallest is taken. There is one stage per rank, so that stage and
 * rank have the same number. A trial takes O(ops). */
#include "sim/schedule/builders/zero_bubble.h"

#include "sim/base/alloc.h"
#include "sim/schedule/builders/greedy.h"

#include <stdlib.h>

typedef struct zb {
    pp_greedy *g;
    uint32_t *extra; /* [ranks]: forwards between the first one and the first I */
    uint8_t *want;   /* [ranks]: it places a forward in this round */
    bool prompt;     /* no warm-up forward may delay the first I */
    bool backward;   /* a forward gives way when the next I would wait for it */
    bool always;     /* a W fills every wait, even if it takes longer */
} zb;

static void free_zb(zb *z)
{
    pp_greedy_free(&z->g);
    free(z->extra);
    free(z->want);
}

static pp_ns worst_wait(const pp_greedy *g, uint32_t s)
{
    return g->worst_idle_ns - g->idle_ns[s];
}

/* Makes room for the next `kind`, F or I, and fills the wait for its input. */
static void prepare(const zb *z, pp_op_kind kind, uint32_t s)
{
    pp_greedy *g = z->g;
    pp_ns ready_ns;
    pp_greedy_make_room(g, s, kind);
    if (!pp_greedy_arrival(g, kind, s, &ready_ns))
        return;
    pp_greedy_fill(g, s, ready_ns);
    if (pp_greedy_open(g, s) == 0 || g->clock_ns[s] >= ready_ns)
        return;
    if (z->always || ready_ns - g->clock_ns[s] > worst_wait(g, s))
        pp_greedy_place_w(g, s);
}

/* Counts the forwards that fit on rank s before the first I, whose input arrives at ready_ns.
 * Returns the time at which the last of them, and that I, can have begun. */
static pp_ns count_extra(zb *z, uint32_t s, pp_ns ready_ns)
{
    const pp_greedy *g = z->g;
    pp_ns clock_ns = g->clock_ns[s];
    int64_t memory = g->memory[s];
    uint32_t extra = 0;
    while (1 + extra < g->microbatches && memory + g->memory_change[PP_OP_F] <= g->memory_limit) {
        pp_ns after_ns = pp_greedy_plus(clock_ns, pp_greedy_cost(g, PP_OP_F, s, 1 + extra));
        if (z->prompt ? after_ns > ready_ns : clock_ns >= ready_ns)
            break;
        clock_ns = after_ns;
        memory += g->memory_change[PP_OP_F];
        extra++;
    }
    z->extra[s] = extra;
    return clock_ns > ready_ns ? clock_ns : ready_ns;
}

/* Makes warm-ups strictly shorter from rank to rank, unless they contain all forwards. With unequal
 * stages, the count of a rank could exceed that of the previous rank. */
static void trim_extra(zb *z)
{
    for (uint32_t s = 1; s < z->g->ranks; s++) {
        if (z->extra[s] > z->extra[s - 1])
            z->extra[s] = z->extra[s - 1];
        while (z->extra[s] > 0 && z->extra[s] >= z->extra[s - 1] &&
               1 + z->extra[s] < z->g->microbatches)
            z->extra[s]--;
    }
}

static void warm_up(zb *z)
{
    pp_greedy *g = z->g;
    uint32_t p = g->ranks;
    for (uint32_t s = 0; s < p; s++)
        pp_greedy_place(g, PP_OP_F, s);
    pp_ns back_ns = pp_greedy_plus(g->clock_ns[p - 1], pp_greedy_cost(g, PP_OP_I, p - 1, 0));
    z->extra[p - 1] = 0;
    for (uint32_t s = p - 1; s-- > 0;) {
        pp_ns ready_ns = pp_greedy_plus(back_ns, pp_greedy_latency(g, PP_OP_I, s, 0));
        back_ns = pp_greedy_plus(count_extra(z, s, ready_ns), pp_greedy_cost(g, PP_OP_I, s, 0));
    }
    trim_extra(z);
    for (uint32_t s = 0; s < p; s++) {
        for (uint32_t k = 0; k < z->extra[s]; k++)
            pp_greedy_place(g, PP_OP_F, s);
    }
    for (uint32_t s = p; s-- > 0;)
        pp_greedy_place(g, PP_OP_I, s);
}

/* The time of the W's that must run before one more forward fits on rank s. */
static pp_ns room_cost(const pp_greedy *g, uint32_t s)
{
    int64_t memory = g->memory[s] + g->memory_change[PP_OP_F];
    pp_ns sum_ns = 0;
    for (uint32_t k = g->closed[s]; k < g->opened[s] && memory > g->memory_limit; k++) {
        sum_ns = pp_greedy_plus(sum_ns, pp_greedy_cost(g, PP_OP_W, s, k));
        memory += g->memory_change[PP_OP_W];
    }
    return sum_ns;
}

static bool wants_forward(const zb *z, uint32_t s)
{
    const pp_greedy *g = z->g;
    uint32_t j = pp_greedy_placed(g, PP_OP_F, s);
    if (j == g->microbatches)
        return false;
    if (!z->backward || s + 1 == g->ranks || j < pp_greedy_placed(g, PP_OP_F, s + 1) + 2)
        return true;
    uint32_t next_f = pp_greedy_placed(g, PP_OP_F, s + 1);
    uint32_t next_i = pp_greedy_placed(g, PP_OP_I, s + 1);
    /* the next gradient arrives when rank s + 1 has run one more F and I */
    pp_ns limit_ns = pp_greedy_plus(g->clock_ns[s + 1], pp_greedy_cost(g, PP_OP_F, s + 1, next_f));
    limit_ns = pp_greedy_plus(limit_ns, pp_greedy_cost(g, PP_OP_I, s + 1, next_i));
    limit_ns = pp_greedy_plus(limit_ns, pp_greedy_latency(g, PP_OP_I, s, next_i));
    if (g->clock_ns[s] >= limit_ns)
        return false;
    pp_ns end_ns = pp_greedy_plus(g->clock_ns[s], pp_greedy_cost(g, PP_OP_F, s, j));
    if (pp_greedy_plus(end_ns, room_cost(g, s)) <= limit_ns)
        return true;
    return limit_ns - g->clock_ns[s] > worst_wait(g, s);
}

static void place_round(zb *z)
{
    pp_greedy *g = z->g;
    uint32_t p = g->ranks;
    for (uint32_t s = p; s-- > 0;)
        z->want[s] = wants_forward(z, s) && (s + 1 == p || z->want[s + 1]);
    for (uint32_t s = 0; s < p; s++) {
        if (!z->want[s])
            continue;
        prepare(z, PP_OP_F, s);
        pp_greedy_place(g, PP_OP_F, s);
    }
    for (uint32_t s = p; s-- > 0;) {
        prepare(z, PP_OP_I, s);
        while (s == 0 && pp_greedy_placed(g, PP_OP_F, 0) == g->microbatches &&
               pp_greedy_open(g, 0) > 0 && !g->failed)
            pp_greedy_place_w(g, 0);
        pp_greedy_place(g, PP_OP_I, s);
    }
}

/* Returns the longest stage time. */
static pp_ns attempt(zb *z)
{
    pp_greedy *g = z->g;
    pp_ns longest_ns = 0;
    pp_greedy_begin(g);
    warm_up(z);
    for (uint32_t i = 1; i < g->microbatches && !g->failed; i++)
        place_round(z);
    for (uint32_t s = 0; s < g->ranks; s++) {
        while (pp_greedy_open(g, s) > 0 && !g->failed)
            pp_greedy_place_w(g, s);
        if (g->clock_ns[s] - g->first_ns[s] > longest_ns)
            longest_ns = g->clock_ns[s] - g->first_ns[s];
    }
    return longest_ns;
}

pp_status pp_schedule_zb_build(const pp_schedule_params *params, uint32_t limit,
                               pp_order **order_out, pp_err *err)
{
    zb z PP_CLEANUP(free_zb) = { 0 };
    pp_ns best_ns = INT64_MAX;
    pp_status status = pp_greedy_new(params, PP_PLACE_LOOP, limit, &z.g, err);
    if (status)
        return status;
    z.extra = pp_alloc_array(params->ranks, sizeof *z.extra);
    z.want = pp_alloc_array(params->ranks, sizeof *z.want);
    if (!z.extra || !z.want)
        return pp_err_nomem(err);
    for (int set = 0; set < 8; set++) { /* each rule on, then off */
        z.prompt = !(set & 4);
        z.backward = !(set & 2);
        z.always = !(set & 1);
        pp_ns longest_ns = attempt(&z);
        if (pp_greedy_complete(z.g) && (longest_ns < best_ns || !z.g->has_kept)) {
            best_ns = longest_ns;
            pp_greedy_keep(z.g);
        }
    }
    pp_greedy_finish(z.g, order_out);
    return PP_OK;
}
