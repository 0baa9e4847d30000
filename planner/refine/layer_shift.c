/* Improves partitions by the simulated step: single layers move from one stage to another as long
 * as the step gets shorter (hill climbing, the first move that helps). It finds what a partition by
 * weight cannot see: how long a stage waits for a slow link. The number of simulated ops is
 * limited. Method: docs/explanation/planning-partition.md. */
#include "planner/refine/layer_shift.h"

#include "planner/candidate/evaluate.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BEGINNINGS: the number of candidates to begin with, each of another schedule. PROMISING: their
 * steps take at most this many times the best step. OPS_MOST: the limit of ops over all simulated
 * steps. */
enum { BEGINNINGS = 4 };
#define PROMISING 1.3
#define OPS_MOST 3000000.0

typedef struct shift {
    pp_search *search;
    double ops;  /* left */
    size_t best; /* candidate */
    double score;
} shift;

static uint32_t stages_of(const pp_candidate *c)
{
    return (uint32_t)(c->parallel.pp * c->parallel.vpp);
}

/* Moves a layer from stage `from` to stage `to`; the stages between keep their numbers of layers.
 * Returns false if that is not legal. */
static bool move_layer(pp_stage *stage, uint32_t count, uint32_t from, uint32_t to)
{
    if (from == to || stage[from].layers < 2)
        return false;
    for (uint32_t s = 0; s < to; s++) /* layers come before MTP modules */
        if (stage[s].mtp || stage[s].loss)
            return false;
    stage[from].layers--;
    stage[to].layers++;
    for (uint32_t s = 1; s < count; s++)
        stage[s].first_layer = stage[s - 1].first_layer + stage[s - 1].layers;
    return true;
}

/* Removes setups and candidates as if they had never been tried. */
static void take_back(pp_pool *pool, size_t setups, size_t candidates)
{
    while (pool->setup_count > setups)
        pp_setup_free(&pool->setup[--pool->setup_count]);
    pool->count = candidates;
}

/* Tries a move; keeps the candidate if it is faster. */
static pp_status try_move(shift *t, uint32_t from, uint32_t to, bool *better_out, pp_err *err)
{
    pp_search *search = t->search;
    const pp_candidate like = search->pool.candidate[t->best];
    const size_t setups = search->pool.setup_count;
    const size_t candidates = search->pool.count;
    const uint32_t count = stages_of(&like);
    pp_setup setup = search->pool.setup[like.setup];
    const pp_err refusal = search->progress.refusal;
    *better_out = false;
    setup.stages = pp_alloc_array(count, sizeof *setup.stages);
    if (!setup.stages)
        return pp_err_nomem(err);
    memcpy(setup.stages, search->pool.setup[like.setup].stages, count * sizeof *setup.stages);
    if (!move_layer(setup.stages, count, from, to)) {
        free(setup.stages);
        return PP_OK;
    }
    pp_recompute_block(&setup.context.switches, setup.stages, count);
    setup.partition = PP_PARTITION_SHIFTED;
    setup.least_step_ns = 0;
    setup.bound = (pp_bound){ 0 };
    pp_status status = pp_search_add_setup(search, setup, err);
    if (!status)
        status = pp_pool_add_candidate(&search->pool, search->problem, like.schedule, setups, err);
    if (status)
        return status;
    pp_candidate *c = &search->pool.candidate[candidates];
    c->group_size = like.group_size;
    if (c->status == PP_CANDIDATE_NOT_SIMULATED &&
        pp_candidate_score(c, c->least_step_ns) < t->score) {
        status = pp_candidate_simulate(search, c, err);
        t->ops -= 3.0 * count * c->microbatches;
        const double score = pp_candidate_score(c, c->step_ns);
        *better_out = !status && c->status == PP_CANDIDATE_OK && score < t->score;
        if (*better_out) {
            t->best = candidates;
            t->score = score;
            return PP_OK;
        }
    }
    search->progress.refusal = refusal;
    take_back(&search->pool, setups, candidates);
    return status;
}

/* Makes the first move that helps, until none does. */
static pp_status climb(shift *t, pp_err *err)
{
    const uint32_t count = stages_of(&t->search->pool.candidate[t->best]);
    const uint32_t pairs = count * (count - 1);
    uint32_t at = 0;
    for (uint32_t failed = 0; failed < pairs && t->ops > 0; at = (at + 1) % pairs) {
        const uint32_t distance = 1 + at / (2 * count); /* neighbours first */
        const uint32_t low = at / 2 % count;
        bool better = false;
        failed++;
        if (low + distance >= count)
            continue;
        if (pp_search_is_over(t->search)) {
            t->search->progress.stopped = true;
            return PP_OK;
        }
        pp_status status = at % 2 ? try_move(t, low, low + distance, &better, err)
                                  : try_move(t, low + distance, low, &better, err);
        if (status)
            return status;
        failed = better ? 0 : failed;
    }
    return PP_OK;
}

/* The best candidate whose schedule none before it had; SIZE_MAX if there is none. */
static size_t next_beginning(const pp_pool *pool, double limit, const size_t *before, size_t count)
{
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < pool->count; i++) {
        const pp_candidate *c = &pool->candidate[i];
        bool had = c->status != PP_CANDIDATE_OK || c->recompute > PP_RECOMPUTE_AUTO ||
                   c->partition == PP_PARTITION_SHIFTED || stages_of(c) < 2 ||
                   pp_candidate_score(c, c->step_ns) > limit;
        for (size_t k = 0; k < count; k++)
            had = had || pool->candidate[before[k]].schedule == c->schedule;
        if (!had && (next == SIZE_MAX ||
                     pp_candidate_score(c, c->step_ns) <
                         pp_candidate_score(&pool->candidate[next], pool->candidate[next].step_ns)))
            next = i;
    }
    return next;
}

static bool has_links(const pp_rank_overrides *overrides)
{
    for (size_t i = 0; overrides && i < overrides->count; i++) {
        if (overrides->item[i].kind == PP_RANK_OVERRIDE_LINK)
            return true;
    }
    return false;
}

pp_status pp_search_shift(pp_search *search, size_t *best, pp_err *err)
{
    const pp_partition_kind kind = search->problem->request->partition;
    if (*best == SIZE_MAX || !has_links(search->problem->request->overrides) ||
        (kind != PP_PARTITION_AUTO && kind != PP_PARTITION_BALANCED && kind != PP_PARTITION_BARE))
        return PP_OK;
    const pp_candidate *named = &search->pool.candidate[*best];
    const double score = pp_candidate_score(named, named->step_ns);
    double least = score * (1 - 1.0 / PP_MEASURABLE_PART);
    size_t begun[BEGINNINGS];
    for (size_t k = 0; k < BEGINNINGS; k++) {
        begun[k] = next_beginning(&search->pool, PROMISING * score, begun, k);
        if (begun[k] == SIZE_MAX)
            break;
        const pp_candidate *c = &search->pool.candidate[begun[k]];
        shift t = { .search = search,
                    .ops = OPS_MOST / BEGINNINGS,
                    .best = begun[k],
                    .score = pp_candidate_score(c, c->step_ns) };
        pp_status status = climb(&t, err);
        if (status)
            return status;
        if (t.score >= least)
            continue;
        least = t.score;
        *best = t.best;
        if (search->problem->request->found)
            search->problem->request->found(search->problem->request->context,
                                            &search->pool.candidate[t.best]);
    }
    return PP_OK;
}
