/* Moves and swaps of sequences and microbatches, each judged by simulating the replicas that it
 * changes. Late acceptance (Burke and Bykov 2017): a step may be worse than the last one as long as
 * it is no worse than the one some steps ago. */
#include "planner/pack/pack_improve.h"

#include "sim/base/alloc.h"
#include "sim/base/random.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY 12 /* steps that acceptance looks back */
#define TRIES 16  /* draws until one finds a legal move */

typedef struct bin {
    int64_t tokens;
    uint32_t count;
} bin;

/* What is compared, most important first. */
typedef struct worth {
    int64_t short_bytes;
    pp_ns step_ns; /* of the slowest replica */
    int64_t sum_ns;
} worth;

typedef struct improving {
    const pp_pack_case *c;
    uint32_t replicas, microbatches, bins;
    size_t count;
    uint32_t *bin_of;         /* [count] */
    uint32_t *undo_bin_of;    /* [count] */
    bin *bin;                 /* [bins] */
    pp_pack_verdict *verdict; /* [replicas] */
    worth now, history[MEMORY];
    pp_rng rng;
} improving;

static void improving_free(improving *x)
{
    free(x->bin_of);
    free(x->undo_bin_of);
    free(x->bin);
    free(x->verdict);
}

static bool better(const worth *a, const worth *b)
{
    if (a->short_bytes != b->short_bytes)
        return a->short_bytes < b->short_bytes;
    return a->step_ns != b->step_ns ? a->step_ns < b->step_ns : a->sum_ns < b->sum_ns;
}

static worth worth_of(const pp_pack_verdict *verdict, uint32_t replicas)
{
    worth sum = { 0 };
    for (uint32_t r = 0; r < replicas; r++) {
        sum.short_bytes =
            verdict[r].short_bytes > sum.short_bytes ? verdict[r].short_bytes : sum.short_bytes;
        sum.step_ns = verdict[r].step_ns > sum.step_ns ? verdict[r].step_ns : sum.step_ns;
        sum.sum_ns += verdict[r].step_ns;
    }
    return sum;
}

static void count_bins(improving *x)
{
    memset(x->bin, 0, x->bins * sizeof *x->bin);
    for (size_t i = 0; i < x->count; i++) {
        x->bin[x->bin_of[i]].tokens += x->c->task->lengths[i];
        x->bin[x->bin_of[i]].count++;
    }
}

/* Draws a bin: half of the draws are from the slowest replica, which alone decides the step. */
static uint32_t draw_bin(improving *x)
{
    const uint32_t m = x->microbatches;
    uint32_t slowest = 0;
    if (x->replicas == 1 || pp_rng_below(&x->rng, 2))
        return pp_rng_below(&x->rng, x->bins);
    for (uint32_t r = 1; r < x->replicas; r++) {
        if (x->verdict[r].step_ns > x->verdict[slowest].step_ns)
            slowest = r;
    }
    return slowest * m + pp_rng_below(&x->rng, m);
}

static bool has_room(const improving *x, uint32_t into, int64_t more)
{
    return x->bin[into].tokens + more <= x->c->packer->capacity;
}

static bool move_sequence(improving *x)
{
    const uint32_t i = pp_rng_below(&x->rng, (uint32_t)x->count);
    const uint32_t into = draw_bin(x);
    if (x->bin_of[i] == into || x->bin[x->bin_of[i]].count < 2 ||
        !has_room(x, into, x->c->task->lengths[i]))
        return false;
    x->bin_of[i] = into;
    return true;
}

static bool swap_sequences(improving *x)
{
    const uint32_t i = pp_rng_below(&x->rng, (uint32_t)x->count);
    const uint32_t j = pp_rng_below(&x->rng, (uint32_t)x->count);
    const int64_t more = x->c->task->lengths[i] - x->c->task->lengths[j];
    const uint32_t a = x->bin_of[i];
    const uint32_t b = x->bin_of[j];
    if (a == b || more == 0 || !has_room(x, b, more) || !has_room(x, a, -more))
        return false;
    x->bin_of[i] = b;
    x->bin_of[j] = a;
    return true;
}

/* Exchanges two microbatches, also between replicas. */
static bool swap_bins(improving *x)
{
    const uint32_t a = draw_bin(x);
    const uint32_t b = pp_rng_below(&x->rng, x->bins);
    if (a == b)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        if (x->bin_of[i] == a)
            x->bin_of[i] = b;
        else if (x->bin_of[i] == b)
            x->bin_of[i] = a;
    }
    return true;
}

/* Moves one microbatch to another place of its replica; those between make room. */
static bool shift_bin(improving *x)
{
    const uint32_t m = x->microbatches;
    const uint32_t from = draw_bin(x);
    const uint32_t to = from / m * m + pp_rng_below(&x->rng, m);
    if (from == to)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        uint32_t *at = &x->bin_of[i];
        if (*at == from)
            *at = to;
        else if (from<to && * at> from && *at <= to)
            --*at;
        else if (to < from && *at >= to && *at < from)
            ++*at;
    }
    return true;
}

static bool change(improving *x)
{
    static bool (*const moves[])(improving *) = { move_sequence, swap_sequences, swap_sequences,
                                                  swap_bins, shift_bin };
    memcpy(x->undo_bin_of, x->bin_of, x->count * sizeof *x->bin_of);
    for (int k = 0; k < TRIES; k++) {
        if (moves[pp_rng_below(&x->rng, sizeof moves / sizeof *moves)](x))
            return true;
    }
    return false;
}

/* Judges the replicas that have changed, or all of them if the longest microbatch of any replica
 * counts for all. */
static pp_status judge_change(improving *x, pp_grouping *grouping, pp_pack_verdict *verdict,
                              pp_err *err)
{
    const uint32_t m = x->microbatches;
    const bool padded = x->c->packer->request.exchange.shapes.kind >= PP_SIZES_PADDED;
    bool *touched = pp_alloc_array(x->replicas, sizeof *touched);
    if (!touched)
        return pp_err_nomem(err);
    for (size_t i = 0; i < x->count; i++) {
        if (x->bin_of[i] != x->undo_bin_of[i] || padded)
            touched[x->bin_of[i] / m] = touched[x->undo_bin_of[i] / m] = true;
    }
    pp_grouping_free(grouping);
    pp_status status = pp_grouping_from_bins(x->bin_of, x->count, x->replicas, m, grouping, err);
    memcpy(verdict, x->verdict, x->replicas * sizeof *verdict);
    for (uint32_t r = 0; r < x->replicas && !status; r++) {
        if (touched[r])
            status = pp_pack_judge_replica(x->c->packer, x->c->task->lengths, grouping, r,
                                           &verdict[r], err);
    }
    free(touched);
    return status;
}

static bool out_of_budget(const pp_pack_case *c, int64_t done)
{
    const pp_pack_task *task = c->task;
    if (pp_pack_is_over(c, 1))
        return true;
    return (task->iterations || !(task->stop || task->ops_most)) && done >= task->iterations;
}

/* Late acceptance: takes changes until the budget is spent, and keeps the best grouping seen. */
static pp_status accept_late(improving *x, pp_pack_verdict *changed, pp_grouping *best,
                             worth *best_worth, bool *stopped_out, pp_err *err)
{
    const pp_pack_task *task = x->c->task;
    const pp_parallel *split = &x->c->packer->candidate.parallel;
    pp_grouping now PP_CLEANUP(pp_grouping_free) = { 0 };
    pp_status status = PP_OK;
    int64_t done = 0;
    for (; !out_of_budget(x->c, done) && !status; done++) {
        if (!change(x)) { /* counts as simulated, so that the loop ends if none is legal */
            x->c->packer->ops += 3 * x->microbatches * split->pp * split->vpp;
            continue;
        }
        if ((status = judge_change(x, &now, changed, err)))
            break;
        const worth next = worth_of(changed, x->replicas);
        worth *old = &x->history[done % MEMORY];
        if (better(&x->now, &next) && better(old, &next)) {
            memcpy(x->bin_of, x->undo_bin_of, x->count * sizeof *x->bin_of);
        } else {
            x->now = next;
            memcpy(x->verdict, changed, x->replicas * sizeof *changed);
            count_bins(x);
            if (better(&next, best_worth)) {
                *best_worth = next;
                pp_grouping_free(best);
                *best = now;
                now = (pp_grouping){ 0 };
            }
        }
        if (better(&x->now, old))
            *old = x->now;
    }
    *stopped_out = done < task->iterations;
    return status;
}

static pp_status begin(improving *x, const pp_grouping *from, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t b = 0, i = 0; b < x->bins; b++) {
        for (; i < from->end[b]; i++)
            x->bin_of[from->sequence[i]] = (uint32_t)b;
    }
    count_bins(x);
    for (uint32_t r = 0; r < x->replicas && !status; r++)
        status =
            pp_pack_judge_replica(x->c->packer, x->c->task->lengths, from, r, &x->verdict[r], err);
    x->now = worth_of(x->verdict, x->replicas);
    for (int k = 0; k < MEMORY; k++)
        x->history[k] = x->now;
    return status;
}

pp_status pp_pack_improve(const pp_pack_case *c, pp_grouping *grouping, pp_pack_verdict *verdict,
                          bool *stopped_out, pp_err *err)
{
    const size_t bins = (size_t)grouping->replicas * grouping->microbatches;
    improving x PP_CLEANUP(improving_free) = {
        .c = c,
        .replicas = grouping->replicas,
        .microbatches = grouping->microbatches,
        .bins = (uint32_t)bins,
        .count = grouping->count,
        .bin_of = pp_alloc_array(grouping->count, sizeof *x.bin_of),
        .undo_bin_of = pp_alloc_array(grouping->count, sizeof *x.undo_bin_of),
        .bin = pp_alloc_array(bins, sizeof *x.bin),
        .verdict = pp_alloc_array(grouping->replicas, sizeof *x.verdict),
        .rng = { .state = c->task->seed },
    };
    pp_pack_verdict *changed = pp_alloc_array(grouping->replicas, sizeof *changed);
    if (!x.bin_of || !x.undo_bin_of || !x.bin || !x.verdict || !changed) {
        free(changed);
        return pp_err_nomem(err);
    }
    pp_status status = begin(&x, grouping, err);
    worth best = x.now;
    if (!status)
        status = accept_late(&x, changed, grouping, &best, stopped_out, err);
    free(changed);
    return status ? status : pp_pack_judge(c->packer, c->task->lengths, grouping, verdict, err);
}
