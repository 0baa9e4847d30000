/* Chooses the setups in which a search for free orders may pay off. The bound of such a setup is
 * below the best step. Setups with the best named orders come first; if no named order of a setup
 * fits, its bound counts instead. O(candidates * setups). */
#include "planner/refine/free_order_setups.h"

#include <math.h>

/* If no named order fits, the search has none to begin with, and making one takes long with more
 * forwards than this. */
#define DISPATCHED_FORWARDS_MAX 3000

/* True if the setups differ only in whether backwards are split. */
static bool are_twins(const pp_setup *a, const pp_setup *b)
{
    const pp_cost_context *x = &a->context;
    const pp_cost_context *y = &b->context;
    return a->data == b->data && a->partition == b->partition && x->placement == y->placement &&
           x->parallel.tp == y->parallel.tp && x->parallel.vpp == y->parallel.vpp &&
           x->switches.recompute == y->switches.recompute &&
           ((x->switches.recompute != PP_RECOMPUTE_STAGES &&
             a->partition != PP_PARTITION_SHIFTED) ||
            pp_same_stages(a->stages, b->stages, (size_t)(x->parallel.pp * x->parallel.vpp)));
}

static bool is_usable(const pp_setup *setup)
{
    return setup->legal && setup->bound.fits && !setup->unseen &&
           !(setup->split && pp_setup_stops(setup));
}

/* Split backwards can do all that fused ones can, so the split twin is used, unless they take
 * longer and hold more, as under frameworks that split late. */
static size_t split_twin(const pp_pool *pool, size_t index)
{
    const pp_setup *setup = &pool->setup[index];
    for (size_t i = 0; i < pool->setup_count && !setup->split && !setup->context.splits_late; i++) {
        const pp_setup *other = &pool->setup[i];
        if (other->split && is_usable(other) && are_twins(setup, other))
            return i;
    }
    return index;
}

static void add_setup_candidate(pp_setup_candidates *list, pp_setup_candidate now)
{
    size_t at = list->count;
    for (size_t i = 0; i < list->count; i++) {
        if (list->row[i].setup != now.setup)
            continue;
        if (list->row[i].named <= now.named)
            return;
        at = i;
    }
    if (at == PP_SETUP_CANDIDATES_MOST && list->row[--at].score <= now.score)
        return;
    list->count = at == list->count ? at + 1 : list->count;
    for (; at > 0 && list->row[at - 1].score > now.score; at--)
        list->row[at] = list->row[at - 1];
    list->row[at] = now;
}

static bool is_listed(const pp_setup_candidates *list, size_t setup)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->row[i].setup == setup)
            return true;
    }
    return false;
}

static double setup_forwards(const pp_pool *pool, const pp_setup *setup)
{
    const pp_parallel *parallel = &setup->context.parallel;
    return (double)(parallel->pp * parallel->vpp) *
           (double)pool->data[setup->data].workload.microbatches;
}

/* Which setups to list. */
typedef struct wanted {
    bool shifted;  /* those with shifted layers, otherwise the others */
    bool seeded;   /* those in which a named order fits, otherwise those in which none does */
    bool by_bound; /* those of the least bounds, whatever their named orders take */
    size_t most;
} wanted;

/* Adds setups to those already listed. */
static void list_setup_candidates(const pp_search *search, double best_score, wanted which,
                                  pp_setup_candidates *listed)
{
    pp_setup_candidates list = { .count = 0 };
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        bool fits = c->status == PP_CANDIDATE_OK;
        size_t k = split_twin(&search->pool, c->setup);
        const pp_setup *setup = &search->pool.setup[k];
        double least = pp_candidate_score(c, setup->least_step_ns);
        if (c->recompute == PP_RECOMPUTE_MICROBATCHES || /* leaves no memory for other orders */
            c->schedule == &pp_planned_schedule ||       /* found before, with more memory */
            (c->partition == PP_PARTITION_SHIFTED) != which.shifted)
            continue;
        if (fits != which.seeded || is_listed(listed, k))
            continue;
        if (!is_usable(setup) || search->pool.data[setup->data].workload.microbatches == 0 ||
            (!fits && c->status == PP_CANDIDATE_NOT_SIMULATED))
            continue;
        if (search->problem->request->orders != PP_ORDERS_PLANNED &&
            least * (1 + 1.0 / PP_MEASURABLE_PART) >= best_score)
            continue;
        if (!fits && best_score < HUGE_VAL &&
            setup_forwards(&search->pool, setup) > DISPATCHED_FORWARDS_MAX)
            continue;
        if (search->problem->request->one_order &&
            search->pool.data[setup->data].workload.replicas > 1)
            continue;
        const double score = fits ? pp_candidate_score(c, c->step_ns) : least * 1.05;
        add_setup_candidate(&list,
                            (pp_setup_candidate){ .setup = k,
                                                  .like = i,
                                                  .seeded = fits,
                                                  .named = fits ? score : HUGE_VAL,
                                                  .score = which.by_bound ? least * 1.05 : score });
    }
    for (size_t i = 0; i < list.count && i < which.most; i++)
        listed->row[listed->count++] = list.row[i];
}

pp_setup_candidates pp_search_setup_candidates(const pp_search *search, double best_score)
{
    pp_setup_candidates list = { .count = 0 };
    const size_t most = PP_SETUP_CANDIDATES_MOST;
    list_setup_candidates(search, best_score, (wanted){ .seeded = true, .most = most }, &list);
    list_setup_candidates(search, best_score,
                          (wanted){ .seeded = true, .by_bound = true, .most = most }, &list);
    list_setup_candidates(search, best_score,
                          (wanted){ .most = search->progress.communicates ? 1 : most }, &list);
    list_setup_candidates(search, best_score,
                          (wanted){ .shifted = true, .seeded = true, .most = 1 }, &list);
    return list;
}
