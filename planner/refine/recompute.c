/* Recomputation stage by stage. If a schedule does not fit, a binary search on all ranks at once
 * finds the fewest layers that each must recompute, against the memory of its own order. Then the
 * partition is balanced for the slower ranks, and microbatches are refined one by one
 * (recompute_microbatch.c). O(log layers) orders per candidate. Method:
 * docs/explanation/planning-recomputation.md. */
#include "planner/refine/recompute.h"

#include "planner/bound/partition.h"
#include "planner/bound/unit_weights.h"
#include "planner/candidate/evaluate.h"
#include "planner/candidate/rules.h"
#include "planner/order/problem_costs.h"
#include "planner/refine/recompute_microbatch.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most ops of one step, summed over the candidates; each candidate is evaluated up to about 25
 * times. */
#define OPS_MOST 400000
/* The most candidates that are made to fit, partitions of each candidate, and repetitions of a fit.
 * Candidates with a score of up to PROMISING times the best are worth it, since a new partition may
 * bring them below the best. */
enum { CANDIDATES_MOST = 40, PARTITIONS = 2, MENDINGS = 3 };
#define PROMISING 1.15

/* Looks for the least that each rank must recompute, as a number of layers, or of half layers if it
 * pays off to begin with the attention core alone. */
typedef struct recompute_fit {
    pp_search *search;
    pp_candidate like; /* does not fit without recomputation */
    pp_setup setup;    /* owns its stages */
    uint32_t ranks, count;
    bool halves, alike;
    bool *fits;       /* [ranks] */
    int64_t *level;   /* [ranks]: the level of recomputation now */
    int64_t *low;     /* [ranks]: a level that is too low */
    int64_t *high;    /* [ranks]: a level that suffices */
    int64_t *most;    /* [ranks]: the highest level */
    int64_t *reserve; /* bytes that instances do not model: buffers, outputs */
    int64_t *spare;   /* bytes left at the peak, as instances model it */
    int64_t *kept;    /* reserve and spare if microbatches differ */
    int64_t *left;
    uint32_t *rank;            /* [count]: rank of the stage */
    uint32_t *in_turn;         /* [count]: stages, those with most microbatches in flight first */
    int64_t *flying;           /* [2 * count]: microbatches in flight, at most and now */
    pp_order_problem *problem; /* with the costs of the last levels; NULL: none were tried */
    uint32_t *ops;             /* [problem->ops + 1] */
} recompute_fit;

static void recompute_fit_free(recompute_fit *t)
{
    free(t->fits);
    free(t->level);
    free(t->rank);
    free(t->flying);
    free(t->setup.stages);
    pp_order_problem_free(&t->problem);
    free(t->ops);
}

static pp_status recompute_fit_new(recompute_fit *t, pp_search *search, const pp_candidate *like,
                                   pp_err *err)
{
    const pp_setup *setup = &search->pool.setup[like->setup];
    t->search = search;
    t->like = *like;
    t->setup = *setup;
    t->setup.context.switches.recompute = PP_RECOMPUTE_STAGES;
    t->setup.reason.kind = PP_REASON_NONE;
    t->setup.short_bytes = 0;
    t->setup.least_step_ns = 0;
    t->setup.bound = (pp_bound){ 0 };
    t->ranks = (uint32_t)setup->context.parallel.pp;
    t->count = t->ranks * (uint32_t)setup->context.parallel.vpp;
    t->alike = search->problem->request->recompute_alike;
    t->setup.stages = pp_alloc_array(t->count, sizeof *t->setup.stages);
    t->fits = pp_alloc_array(t->ranks, sizeof *t->fits);
    t->level = pp_alloc_array(8 * (size_t)t->ranks, sizeof *t->level);
    t->rank = pp_alloc_array(2 * (size_t)t->count, sizeof *t->rank);
    t->flying = pp_alloc_array(2 * (size_t)t->count, sizeof *t->flying);
    if (!t->setup.stages || !t->fits || !t->level || !t->rank || !t->flying)
        return pp_err_nomem(err);
    memcpy(t->setup.stages, setup->stages, t->count * sizeof *t->setup.stages);
    t->low = t->level + t->ranks;
    t->high = t->low + t->ranks;
    t->most = t->high + t->ranks;
    t->reserve = t->most + t->ranks;
    t->spare = t->reserve + t->ranks;
    t->kept = t->spare + t->ranks;
    t->left = t->kept + t->ranks;
    t->in_turn = t->rank + t->count;
    for (uint32_t s = 0; s < t->count; s++)
        t->rank[s] = pp_placement_rank(setup->context.placement, s, t->ranks);
    return PP_OK;
}

static int64_t capacity(const recompute_fit *t, uint32_t stage)
{
    return pp_recompute_levels(t->halves, &t->setup.stages[stage]);
}

/* Sets levels. The stages that keep most microbatches recompute first, since it saves most
 * there. */
static void set_levels(recompute_fit *t)
{
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t s = t->in_turn[k];
        pp_stage *stage = &t->setup.stages[s];
        int64_t *left = &t->level[t->rank[s]];
        const int64_t taken = *left < capacity(t, s) ? *left : capacity(t, s);
        const pp_recomputed of = pp_recompute_at(t->halves, stage, taken);
        stage->full = of.full;
        stage->selective = of.selective;
        *left -= t->alike ? 0 : taken;
    }
}

/* Sorts the stages by the microbatches that the order keeps in flight. */
static void find_turns(recompute_fit *t, const pp_order *order)
{
    int64_t *now = t->flying + t->count;
    memset(t->flying, 0, 2 * (size_t)t->count * sizeof *t->flying);
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        const pp_op op = order->ops[i];
        now[op.stage] += op.kind == PP_OP_F ? 1 : op.kind == PP_OP_W ? 0 : -1;
        if (now[op.stage] > t->flying[op.stage])
            t->flying[op.stage] = now[op.stage];
    }
    for (uint32_t s = 0; s < t->count; s++) {
        uint32_t at = s;
        for (; at > 0 && t->flying[t->in_turn[at - 1]] < t->flying[s]; at--)
            t->in_turn[at] = t->in_turn[at - 1];
        t->in_turn[at] = s;
    }
}

/* The ops at which memory is allocated and freed depend only on the rank's order
 * (planner/order/problem.h). */
static void check_ranks(recompute_fit *t, const pp_order *order)
{
    const pp_order_problem *x = t->problem;
    const uint32_t *ops = t->ops;
    size_t k = 0;
    pp_order_problem_from_order(x, order, t->ops);
    for (uint32_t r = 0; r < x->ranks; r++) {
        int64_t held = 0;
        for (; k < x->ops && x->task[ops[k]].rank == r; k++) {
            const int64_t spare = x->room[r] - held - x->memory[ops[k]].need;
            t->spare[r] = spare < t->spare[r] ? spare : t->spare[r];
            held += x->memory[ops[k]].delta;
        }
        t->fits[r] = t->spare[r] >= t->reserve[r];
    }
}

/* Gives the problem these costs; it is made once. */
static pp_status set_costs(recompute_fit *t, const pp_costs *costs, pp_err *err)
{
    const int64_t limit_bytes = t->search->problem->memory_limit_bytes;
    if (t->problem)
        return pp_order_problem_set_costs(costs, t->setup.split, limit_bytes, t->problem, err);
    pp_status status =
        pp_order_problem_from_costs(costs, t->rank, t->setup.split, limit_bytes, &t->problem, err);
    if (status)
        return status;
    t->ops = pp_alloc_array((size_t)t->problem->ops + 1, sizeof *t->ops);
    return t->ops ? PP_OK : pp_err_nomem(err);
}

/* Sets `fits` for the current levels, with the order that the schedule makes for their costs. */
static pp_status try_levels(recompute_fit *t, pp_err *err)
{
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *order;
    bool all = true;
    for (uint32_t r = 0; r < t->ranks; r++)
        t->spare[r] = INT64_MAX;
    set_levels(t);
    pp_status status = pp_pool_costs(&t->search->pool, &t->setup, &set, err);
    if (!status)
        status =
            pp_search_order(t->search, t->search->problem, &t->like, set.costs[0], &order, err);
    for (uint32_t i = 0; i < set.count && !status; i++) {
        status = set_costs(t, set.costs[i], err);
        if (!status)
            check_ranks(t, order);
    }
    if (status)
        return status;
    find_turns(t, order);
    for (uint32_t r = 0; r < t->ranks; r++)
        all = all && t->fits[r];
    for (uint32_t r = 0; r < t->ranks && t->alike; r++)
        t->fits[r] = all; /* all ranks need as much as the one that needs most */
    return PP_OK;
}

static bool all_fit(const recompute_fit *t)
{
    bool all = true;
    for (uint32_t r = 0; r < t->ranks; r++)
        all = all && t->fits[r];
    return all;
}

/* Halves the open interval of levels on every rank at once. */
static pp_status narrow(recompute_fit *t, pp_err *err)
{
    for (bool open = true; open;) {
        open = false;
        for (uint32_t r = 0; r < t->ranks; r++) {
            open = open || t->high[r] - t->low[r] > 1;
            t->level[r] = t->high[r] - (t->high[r] - t->low[r]) / 2;
        }
        pp_status status = open ? try_levels(t, err) : PP_OK;
        if (status)
            return status;
        for (uint32_t r = 0; r < t->ranks && open; r++) {
            const int64_t middle = t->high[r] - (t->high[r] - t->low[r]) / 2;
            if (middle < t->high[r])
                *(t->fits[r] ? &t->high[r] : &t->low[r]) = middle;
        }
    }
    return PP_OK;
}

/* A schedule that depends on costs has made other orders during the search, so ranks that do not
 * fit get more. */
static pp_status settle(recompute_fit *t, bool *fits_out, pp_err *err)
{
    *fits_out = false;
    for (int k = 0; k <= MENDINGS && !*fits_out; k++) {
        memcpy(t->level, t->high, t->ranks * sizeof *t->level);
        pp_status status = try_levels(t, err);
        if (status)
            return status;
        *fits_out = all_fit(t);
        for (uint32_t r = 0; r < t->ranks; r++)
            t->high[r] += t->fits[r] ? 0 : (t->most[r] - t->high[r] + 1) / 2;
    }
    return PP_OK;
}

/* fits_out: some recomputation makes it fit, and the stages have the least that does. */
static pp_status fit(recompute_fit *t, bool *fits_out, pp_err *err)
{
    for (uint32_t r = 0; r < t->ranks; r++) {
        t->most[r] = t->alike ? t->search->problem->request->model->layers : 0;
        t->low[r] = -1;
    }
    for (uint32_t s = 0; s < t->count; s++) {
        t->most[t->rank[s]] += t->alike ? 0 : capacity(t, s);
        t->in_turn[s] = s;
    }
    memcpy(t->high, t->most, t->ranks * sizeof *t->high);
    memcpy(t->level, t->most, t->ranks * sizeof *t->level);
    pp_status status = try_levels(t, err);
    *fits_out = !status && all_fit(t);
    if (!status && *fits_out && !(status = narrow(t, err)))
        status = settle(t, fits_out, err);
    return status;
}

static pp_status add_setup(recompute_fit *t, pp_err *err)
{
    pp_setup setup = t->setup;
    setup.stages = pp_alloc_array(t->count, sizeof *setup.stages);
    if (!setup.stages)
        return pp_err_nomem(err);
    memcpy(setup.stages, t->setup.stages, t->count * sizeof *setup.stages);
    return pp_search_add_setup(t->search, setup, err);
}

/* Adds the recomputation that was found, per stage or as a table, and simulates it if its bound
 * lets it win. */
static pp_status add(recompute_fit *t, pp_recompute_table **table, double *best_score,
                     size_t *found, pp_err *err)
{
    pp_search *search = t->search;
    pp_status status =
        table ? pp_recompute_add_setup(search, &t->setup, table, err) : add_setup(t, err);
    if (!status)
        status = pp_pool_add_candidate(&search->pool, search->problem, t->like.schedule,
                                       search->pool.setup_count - 1, err);
    if (status)
        return status;
    pp_candidate *c = &search->pool.candidate[search->pool.count - 1];
    double limit = *best_score;
    if (table && *found != SIZE_MAX &&
        search->pool.candidate[*found].recompute == PP_RECOMPUTE_STAGES)
        limit *= 1 - 1.0 / PP_MEASURABLE_PART;
    c->group_size = t->like.group_size;
    if (c->status != PP_CANDIDATE_NOT_SIMULATED || pp_candidate_score(c, c->least_step_ns) >= limit)
        return PP_OK;
    status = pp_candidate_simulate(search, c, err);
    const double score = pp_candidate_score(c, c->step_ns);
    if (!status && c->status == PP_CANDIDATE_OK && score < limit) {
        *best_score = score;
        *found = search->pool.count - 1;
        if (search->problem->request->found)
            search->problem->request->found(search->problem->request->context, c);
    }
    return status;
}

/* [ranks]: the speed that the rank has left when it recomputes. */
static pp_status slowed(const recompute_fit *t, double *speed, pp_err *err)
{
    pp_cost_set now PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_cost_set bare PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_setup without = t->setup;
    without.context.switches.recompute = PP_RECOMPUTE_NONE;
    pp_status status = pp_pool_costs(&t->search->pool, &t->setup, &now, err);
    if (status || (status = pp_pool_costs(&t->search->pool, &without, &bare, err)))
        return status;
    for (uint32_t r = 0; r < t->ranks; r++) {
        double with_ns = 1;
        double without_ns = 1;
        for (uint32_t s = 0; s < t->count; s++) {
            if (t->rank[s] != r)
                continue;
            with_ns += (double)(now.costs[0]->f_ns[s] + now.costs[0]->b_ns[s]);
            without_ns += (double)(bare.costs[0]->f_ns[s] + bare.costs[0]->b_ns[s]);
        }
        speed[r] = (t->search->problem->rank_speed ? t->search->problem->rank_speed[r] : 1) *
                   without_ns / with_ns;
    }
    return PP_OK;
}

/* Balances the partition again: ranks that recompute are slower and get less work. */
static pp_status balance(recompute_fit *t, pp_err *err)
{
    pp_unit_weights w PP_CLEANUP(pp_unit_weights_free) = { 0 };
    pp_stage *stages = NULL;
    double *speed PP_CLEANUP(pp_free_array) = pp_alloc_array(t->ranks, sizeof *speed);
    pp_cost_context without = t->setup.context;
    without.switches.recompute = PP_RECOMPUTE_NONE;
    pp_status status = speed ? slowed(t, speed, err) : pp_err_nomem(err);
    if (status || (status = pp_unit_weights_of(
                       &without, &t->search->pool.data[t->setup.data].workload, &w, err)))
        return status;
    const bool bare_ends = t->setup.partition == PP_PARTITION_BARE;
    const pp_partition_params split = { .ranks = t->ranks,
                                        .chunks = t->count / t->ranks,
                                        .placement = without.placement,
                                        .allow_empty_end_stages = bare_ends,
                                        .rank_speed = speed };
    status = pp_partition_balance(&w, &split, &stages, err);
    if (status)
        return status;
    free(t->setup.stages);
    t->setup.stages = stages;
    t->setup.partition = bare_ends ? PP_PARTITION_BARE : PP_PARTITION_BALANCED;
    return PP_OK;
}

/* True if the budget ended: the best one found so far is taken. */
static bool is_over(recompute_fit *t)
{
    const bool over = pp_search_is_over(t->search);
    t->search->progress.stopped |= over;
    return over;
}

/* Repeats the fit as long as the simulation lacks memory because the framework holds more than the
 * ordering problem models. Each repetition has a reserve for that, first on the fullest rank, which
 * may be the only one (it keeps the outputs), then on all. added_out: the least that fits was
 * found, and is not the one added before. */
static pp_status fit_and_add(recompute_fit *t, bool again, double *best_score, size_t *found,
                             bool *added_out, pp_err *err)
{
    const pp_search *search = t->search;
    *added_out = false;
    for (int k = 0; k <= MENDINGS && !(k && is_over(t)); k++) {
        bool fits = false;
        pp_status status = fit(t, &fits, err);
        const pp_stage *before = search->pool.setup[search->pool.setup_count - 1].stages;
        if (status || !fits || (again && pp_same_stages(before, t->setup.stages, t->count)))
            return status;
        if ((status = add(t, NULL, best_score, found, err)))
            return status;
        const pp_candidate *c = &search->pool.candidate[search->pool.count - 1];
        *added_out = again = true;
        if (c->status != PP_CANDIDATE_INFEASIBLE || !c->legal || c->short_bytes <= 0)
            return PP_OK;
        for (uint32_t r = 0; r < t->ranks && k; r++)
            t->reserve[r] += r == c->peak_rank ? 0 : c->short_bytes;
        t->reserve[c->peak_rank] = t->spare[c->peak_rank] + c->short_bytes;
    }
    return PP_OK;
}

/* Recomputes everything if the least amount was not found and the request does not try one value
 * for all stages: the framework may hold so much that nothing less fits. This is not done if the
 * request wants a free order, which would be searched in this setup instead of better ones. */
static pp_status add_all(recompute_fit *t, double *best_score, size_t *found, bool *added_out,
                         pp_err *err)
{
    const pp_plan_request *request = t->search->problem->request;
    if (*found != SIZE_MAX || !request->switches.given.recompute ||
        request->orders == PP_ORDERS_PLANNED)
        return PP_OK;
    memcpy(t->level, t->most, t->ranks * sizeof *t->level);
    set_levels(t);
    *added_out = true;
    return add(t, NULL, best_score, found, err);
}

/* Lowers what the stages recompute to what each microbatch needs. Repeats with a larger reserve on
 * the rank that lacks memory as long as the framework turns out to hold more. */
static pp_status refine(recompute_fit *t, double *best_score, size_t *found, pp_err *err)
{
    const pp_search *search = t->search;
    memcpy(t->kept, t->reserve, t->ranks * sizeof *t->kept);
    for (uint32_t k = 0; k <= MENDINGS + t->ranks && !is_over(t); k++) {
        pp_recompute_table *table PP_CLEANUP(pp_free_recomputed) = NULL;
        const pp_refining how = { .problem = search->problem,
                                  .workload = &search->pool.data[t->setup.data].workload,
                                  .setup = &t->setup,
                                  .like = t->like,
                                  .halves = t->halves,
                                  .reserve_bytes = t->kept };
        pp_status status = pp_recompute_refine(&how, &table, t->left, err);
        if (status || !table || (status = add(t, &table, best_score, found, err)))
            return status;
        const pp_candidate *c = &search->pool.candidate[search->pool.count - 1];
        if (c->status != PP_CANDIDATE_INFEASIBLE || !c->legal || c->short_bytes <= 0)
            return PP_OK;
        t->kept[c->peak_rank] += t->left[c->peak_rank] + c->short_bytes;
    }
    return PP_OK;
}

static bool is_far(const pp_candidate *c, double best_score)
{
    return pp_candidate_score(c, c->step_ns ? c->step_ns : c->least_step_ns) >
           PROMISING * best_score;
}

/* Fits with the current partition. added_out: something new was added. */
static pp_status recompute_fit_partition(recompute_fit *t, bool again, double *best_score,
                                         size_t *found, bool *added_out, pp_err *err)
{
    pp_status status = fit_and_add(t, again, best_score, found, added_out, err);
    if (!status)
        status = add_all(t, best_score, found, added_out, err);
    const pp_candidate *c = &t->search->pool.candidate[t->search->pool.count - 1];
    if (status || !*added_out || is_far(c, *best_score) || !c->legal ||
        !pp_recompute_may_differ(t->search->problem->request, &t->setup))
        return status;
    return refine(t, best_score, found, err);
}

static pp_status recompute_fit_one(pp_search *search, const pp_candidate *like, double *best_score,
                                   size_t *found, pp_err *err)
{
    recompute_fit t PP_CLEANUP(recompute_fit_free) = { 0 };
    const pp_partition_kind kind = search->problem->request->partition;
    const bool movable =
        kind == PP_PARTITION_AUTO || kind == PP_PARTITION_BALANCED || kind == PP_PARTITION_BARE;
    pp_err why = pp_err_like(err);
    pp_status status = recompute_fit_new(&t, search, like, &why);
    if (!status && !t.alike)
        status = pp_recompute_halves(&t.setup.context, &search->pool.data[t.setup.data].workload,
                                     &t.halves, &why);
    for (int k = 0; k < (movable ? PARTITIONS : 1) && !status && !(k && is_over(&t)); k++) {
        bool added = false;
        if (k)
            status = balance(&t, &why);
        if (!status)
            status = recompute_fit_partition(&t, k > 0, best_score, found, &added, &why);
        if (status || !added)
            break;
        const pp_candidate *c = &search->pool.candidate[search->pool.count - 1];
        if (!c->legal || is_far(c, *best_score))
            break;
    }
    if (status != PP_NOMEM)
        return PP_OK; /* skips what is not legal in this form, or too large for an instance */
    *err = why;
    return status;
}

/* True if it is known not to fit even with everything recomputed; the space may lack that setup. */
static bool is_hopeless(const pp_pool *pool, const pp_setup *setup)
{
    const pp_cost_context *x = &setup->context;
    for (size_t i = 0; i < pool->setup_count; i++) {
        const pp_setup *other = &pool->setup[i];
        const pp_cost_context *y = &other->context;
        if (y->switches.recompute == PP_RECOMPUTE_FULL && !other->unseen &&
            other->data == setup->data && other->partition == setup->partition &&
            other->split == setup->split && x->placement == y->placement &&
            x->parallel.tp == y->parallel.tp && x->parallel.vpp == y->parallel.vpp)
            return !other->legal || !other->bound.fits;
    }
    return false;
}

/* True if the framework or the schedule has refused such an order in a setup like this one. */
static bool was_refused(const pp_pool *pool, const pp_candidate *like)
{
    for (size_t i = 0; i < pool->count; i++) {
        const pp_candidate *c = &pool->candidate[i];
        if (c->schedule == like->schedule && c->microbatches == like->microbatches &&
            c->group_size == like->group_size && !c->legal && pool->setup[c->setup].legal)
            return true;
    }
    return false;
}

typedef struct needy {
    double score; /* score that its bound allows */
    size_t index;
} needy;

static int compare_needy(const void *left, const void *right)
{
    const needy *a = left;
    const needy *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* True if recomputation may help: the candidate does not fit, or only its memory makes it too
 * slow. */
static bool lacks_memory(const pp_candidate *c, const pp_bound *bound)
{
    if (c->status == PP_CANDIDATE_INFEASIBLE)
        return c->short_bytes > 0;
    return c->status == PP_CANDIDATE_NOT_SIMULATED &&
           (bound->part == PP_BOUND_START || bound->part == PP_BOUND_AREA);
}

/* Lists the candidates that only lack memory, the best bound first. The bound has only the parts
 * that hold with any recomputation. */
static size_t list_needy(const pp_pool *pool, double best_score, needy *list)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->count; i++) {
        const pp_candidate *c = &pool->candidate[i];
        const pp_setup *setup = &pool->setup[c->setup];
        const pp_bound *b = &setup->bound;
        const pp_ns alone = b->part_ns[PP_BOUND_LOAD] > b->part_ns[PP_BOUND_PATH]
                                ? b->part_ns[PP_BOUND_LOAD]
                                : b->part_ns[PP_BOUND_PATH];
        const double least = pp_candidate_score(c, setup->least_step_ns - b->ns + alone);
        if (c->legal && !(c->schedule && c->schedule->overlaps_experts) && lacks_memory(c, b) &&
            c->recompute == PP_RECOMPUTE_NONE && setup->legal && !setup->unseen &&
            !(setup->split && setup->context.splits_late) &&
            least * (1 + 1.0 / PP_MEASURABLE_PART) < best_score && !is_hopeless(pool, setup))
            list[count++] = (needy){ least, i };
    }
    qsort(list, count, sizeof *list, compare_needy);
    return count;
}

pp_status pp_search_recompute(pp_search *search, size_t *best, pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    const pp_candidate *named = *best == SIZE_MAX ? NULL : &search->pool.candidate[*best];
    double limit = request->score_limit > 0 ? request->score_limit : HUGE_VAL;
    double ops = 0;
    int fitted = 0;
    size_t found = SIZE_MAX;
    const pp_switches *asked = &request->switches.value;
    if (request->recompute_uniform || !pp_rules_allow_full_recompute(request) ||
        (request->switches.given.recompute &&
         (asked->recompute < PP_RECOMPUTE_AUTO || asked->recompute_layers)))
        return PP_OK;
    if (named)
        limit = pp_candidate_score(named, named->step_ns) * (1 - 1.0 / PP_MEASURABLE_PART);
    needy *list = pp_alloc_array(search->pool.count + 1, sizeof *list);
    if (!list)
        return pp_err_nomem(err);
    const size_t count = list_needy(&search->pool, limit, list);
    pp_status status = PP_OK;
    for (size_t i = 0; i < count && fitted < CANDIDATES_MOST && !status; i++) {
        const pp_candidate like = search->pool.candidate[list[i].index];
        const double more = 3 * (double)(like.parallel.pp * like.parallel.vpp) * like.microbatches;
        if (list[i].score >= limit || ops + more > OPS_MOST)
            break;
        if (was_refused(&search->pool, &like))
            continue;
        if (pp_search_is_over(search)) {
            search->progress.stopped = true;
            break;
        }
        const size_t before = search->pool.count;
        status = recompute_fit_one(search, &like, &limit, &found, err);
        if (was_refused(&search->pool, &like))
            continue;
        ops += more;
        fitted += search->pool.count > before &&
                  search->pool.candidate[search->pool.count - 1].status != PP_CANDIDATE_INFEASIBLE;
    }
    free(list);
    *best = found == SIZE_MAX ? *best : found;
    return status;
}
