/* A list schedule with fused backwards that obeys memory limits, like DynaPipe's (Jiang 2024). */
#ifndef PPSIM_TESTS_BENCH_RULE_LIST_H
#define PPSIM_TESTS_BENCH_RULE_LIST_H

#include "sim/base/text.h"
#include "tests/support/instance_replay.h"

enum { CHECKED_MOST = 2048 }; /* forwards of a schedule that is replayed */

/* One rank of the list schedule below. */
typedef struct rule_rank {
    uint32_t next, runs, back, backs; /* index into the order; microbatches held; index into its
                                         queue */
    int64_t now, held;
    int64_t extra;   /* the largest transient */
    uint32_t *queue; /* [m]: microbatches whose B may run, in the order of arrival */
    int64_t *ready;  /* [m]: of queue */
    pp_text text;
} rule_rank;

/* When the next F of a rank may start; -1: not yet. */
static int64_t rule_forward(const replay *x, const rule_rank *rank, uint32_t r,
                            const uint32_t *order, uint32_t most)
{
    if (rank[r].next == x->m || rank[r].runs >= most)
        return -1;
    const uint32_t i = order[rank[r].next];
    const int64_t input = r ? x->end[0][(r - 1) * x->m + i] : 0;
    if (input < 0 || rank[r].held + x->taken[r * x->m + i] + rank[r].extra > x->cap[r])
        return -1;
    const int64_t ready = input + (r ? x->lag[i] : 0);
    return ready > rank[r].now ? ready : rank[r].now;
}

static void rule_may_back(rule_rank *rank, uint32_t i, int64_t ready)
{
    rank->queue[rank->backs] = i;
    rank->ready[rank->backs++] = ready;
}

static void rule_run(replay *x, rule_rank *rank, uint32_t r, uint32_t i, bool back, int64_t start)
{
    const uint32_t cell = r * x->m + i;
    rule_rank *own = &rank[r];
    own->now = start + (back ? x->ticks[1][cell] + x->ticks[2][cell] : x->ticks[0][cell]);
    own->held += back ? -x->taken[cell] : x->taken[cell];
    x->end[back][cell] = own->now;
    if (back) {
        own->back++;
        own->runs--;
        pp_text_add(&own->text, "B%u.%u W%u.%u ", r, i, r, i);
        if (r > 0)
            rule_may_back(&rank[r - 1], i, own->now + x->lag[i]);
    } else {
        own->next++;
        own->runs++;
        pp_text_add(&own->text, "F%u.%u ", r, i);
        if (r + 1 == x->p)
            rule_may_back(own, i, own->now);
    }
}

/* The earliest start of all ranks, a B before an F; -1: none can run. */
static int64_t rule_next(const replay *x, const rule_rank *rank, const uint32_t *order,
                         uint32_t ahead, uint32_t *at_out, bool *back_out)
{
    int64_t best = -1;
    for (uint32_t r = 0; r < x->p; r++) {
        const int64_t f = rule_forward(x, rank, r, order, ahead ? ahead * (x->p - r) : x->m);
        const bool has = rank[r].back < rank[r].backs;
        const int64_t ready = has ? rank[r].ready[rank[r].back] : -1;
        const int64_t b = !has ? -1 : ready > rank[r].now ? ready : rank[r].now;
        const bool first = b >= 0 && (f < 0 || b <= f);
        const int64_t start = first ? b : f;
        if (start >= 0 && (best < 0 || start < best)) {
            best = start;
            *at_out = r;
            *back_out = first;
        }
    }
    return best;
}

/* List schedule within the caps, with fused backwards that run before forwards, like DynaPipe's
 * (Jiang 2024). There are at most ahead x (p - r) microbatches on rank r; 0: any number. Returns -1
 * if it gets stuck. One stage per rank. */
static int64_t rule_list(replay *x, const uint32_t *order, uint32_t ahead)
{
    rule_rank *rank = pp_alloc_array(x->p, sizeof *rank);
    int64_t makespan = 0;
    size_t left = (size_t)2 * x->p * x->m;
    for (size_t cell = 0; cell < (size_t)x->p * x->m; cell++)
        x->end[0][cell] = x->end[1][cell] = -1;
    for (uint32_t r = 0; r < x->p; r++) {
        rank[r].queue = pp_alloc_array(x->m, sizeof *rank[r].queue);
        rank[r].ready = pp_alloc_array(x->m, sizeof *rank[r].ready);
        for (uint32_t i = 0; i < 3 * x->m; i++) {
            const int64_t extra = x->extra[i % 3][r * x->m + i / 3];
            rank[r].extra = extra > rank[r].extra ? extra : rank[r].extra;
        }
    }
    while (left > 0) {
        uint32_t at = 0;
        bool back = false;
        const int64_t best = rule_next(x, rank, order, ahead, &at, &back);
        if (best < 0)
            break;
        rule_run(x, rank, at, back ? rank[at].queue[rank[at].back] : order[rank[at].next], back,
                 best);
        makespan = rank[at].now > makespan ? rank[at].now : makespan;
        left--;
    }
    pp_text all PP_CLEANUP(pp_text_free) = { 0 };
    for (uint32_t r = 0; r < x->p; r++) {
        pp_text_add(&all, "%s\n", rank[r].text.data ? rank[r].text.data : "");
        pp_text_free(&rank[r].text);
        free(rank[r].queue);
        free(rank[r].ready);
    }
    free(rank);
    if (left > 0)
        return -1;
    if (x->p * x->m <= CHECKED_MOST && replay_run(x, all.data, true) != makespan)
        abort();
    return makespan;
}

#endif
