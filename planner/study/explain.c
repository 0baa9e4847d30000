/* Finds the sets of up to three changes that make a request fit. Sets are tried by size, each by a
 * search, and a set is skipped when a subset of it fits already, so that only minimal sets remain.
 * With the 12 changes of repair.h
 * there are at most 240 sets, and a few larger growths. */
#include "planner/study/explain.h"

#include "planner/candidate/budget.h"
#include "planner/search/search.h"
#include "planner/study/budget_slice.h"
#include "planner/study/repair.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { ALL = PP_CHANGE_COUNT, SET_MOST = 3, SETS_MAX = 64 };

/* A set of changes: a bit each. */
typedef uint32_t set;

typedef struct explaining {
    const pp_plan_request *request;
    pp_tries tries;
    set applicable;
    set fits[SETS_MAX]; /* minimal ones */
    size_t fit_count;
    pp_explanation *out;
} explaining;

void pp_explanation_free(pp_explanation **explanation)
{
    if (!*explanation)
        return;
    free((*explanation)->remedy);
    free((*explanation)->effect);
    free(*explanation);
    *explanation = NULL;
}

/* Returns false if one of the changes has no effect or is not possible. */
static bool apply(pp_plan_request *request, set changes, int64_t factor)
{
    bool all = true;
    for (int i = 0; i < ALL; i++) {
        if (changes & 1u << i)
            all &= pp_change_apply((pp_change)i, factor, request);
    }
    return all;
}

static bool same_word(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_values(const pp_field_values *a, const pp_field_values *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = a->value[i].field == b->value[i].field && a->value[i].number == b->value[i].number &&
               same_word(a->value[i].word, b->value[i].word);
    return same;
}

/* Prefers fewer GPUs, then the faster one. */
static bool is_better(const pp_candidate *a, const pp_candidate *b)
{
    const int64_t x = pp_parallel_gpus(&a->parallel);
    const int64_t y = pp_parallel_gpus(&b->parallel);
    return x != y ? x < y : a->step_ns < b->step_ns;
}

static pp_status add_remedy(explaining *e, const pp_fitting *found, pp_err *err)
{
    pp_explanation *out = e->out;
    const pp_remedy now = { .values = pp_repair_values(e->request, found),
                            .candidate = found->candidate };
    for (size_t i = 0; i < out->remedies; i++) {
        if (same_values(&out->remedy[i].values, &now.values))
            return PP_OK;
    }
    void *grown = realloc(out->remedy, (out->remedies + 1) * sizeof *out->remedy);
    if (!grown)
        return pp_err_nomem(err);
    out->remedy = grown;
    size_t at = out->remedies++;
    for (; at > 0 && is_better(&now.candidate, &out->remedy[at - 1].candidate); at--)
        out->remedy[at] = out->remedy[at - 1];
    out->remedy[at] = now;
    return PP_OK;
}

/* Tries a set, unless a subset of it fits already. */
static pp_status try_set(explaining *e, set changes, int64_t factor, bool *fits_out, pp_err *err)
{
    pp_plan_request changed = *e->request;
    pp_fitting found = { .found = false };
    *fits_out = false;
    for (size_t i = 0; i < e->fit_count; i++) {
        if ((e->fits[i] & changes) == e->fits[i])
            return PP_OK;
    }
    if (!apply(&changed, changes, factor) || e->fit_count == SETS_MAX)
        return PP_OK;
    pp_status status = pp_repair_attempt(&changed, &e->tries, &found, err);
    if (status || !found.found)
        return status;
    *fits_out = true;
    e->fits[e->fit_count++] = changes;
    return add_remedy(e, &found, err);
}

/* Tries the sets of `count` changes with at most one growth, in order. */
static pp_status try_sets(explaining *e, int count, pp_err *err)
{
    pp_status status = PP_OK;
    bool fits;
    for (set changes = 1; changes < 1u << ALL && !status; changes++) {
        set grown = changes >> PP_CHANGES;
        if (__builtin_popcount(changes) == count && (changes & e->applicable) == changes &&
            !(grown & (grown - 1)))
            status = try_set(e, changes, 2, &fits, err);
    }
    return status;
}

/* Finds how much a growth alone must be, if twice is too little. */
static pp_status grow_further(explaining *e, pp_err *err)
{
    pp_status status = PP_OK;
    for (int i = PP_CHANGES; i < ALL && !status; i++) {
        bool fits = false;
        for (int64_t factor = 4; factor <= PP_GROWTH_MAX && !fits && !status; factor *= 2)
            status = try_set(e, 1u << i, factor, &fits, err);
    }
    return status;
}

/* Solves a part of the work. Some jobs take long to bound and have nothing to simulate, so that
 * bounding counts, too. */
static pp_status solve(explaining *e, const pp_plan_request *request, pp_search *search,
                       size_t *found_out, pp_err *err)
{
    pp_plan_request one = *request;
    *found_out = SIZE_MAX;
    if (one.max_simulations)
        one.max_simulations = e->tries.left;
    pp_status status = pp_search_solve(search, &one, found_out, err);
    pp_tries_count(&e->tries, search->progress.simulated + search->pool.setup_count / 100 + 1);
    if (search->problem && !status)
        status = pp_search_continue(search, request, err);
    return status;
}

/* Finds how much is missing when only this is changed. */
static pp_status measure(explaining *e, int change, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_plan_request changed = *e->request;
    pp_err why = pp_err_like(err);
    size_t found = SIZE_MAX;
    pp_budget_slice slice;
    const pp_candidate *miss = NULL;
    pp_effect *effect = &e->out->effect[e->out->effects];
    if (!apply(&changed, 1u << change, 2))
        return PP_OK;
    e->applicable |= 1u << change;
    e->out->effects++;
    effect->change = (pp_change)change;
    effect->undecided = !pp_tries_go_on(&e->tries, e->request);
    if (effect->undecided)
        return PP_OK;
    (void)pp_budget_slice_take(&slice, e->request, (size_t)(ALL - change + 1), &changed);
    pp_status status = solve(e, &changed, &search, &found, &why);
    effect->undecided = search.progress.stopped || search.progress.unseen;
    effect->fits = !status && found != SIZE_MAX;
    if (!status && !effect->fits)
        status = pp_repair_nearest(&search, &miss, &why);
    if (miss)
        effect->short_bytes = miss->short_bytes;
    if (status == PP_NOMEM)
        *err = why;
    return status == PP_NOMEM ? status : PP_OK;
}

/* misses_out: false if there is nothing to explain. */
static pp_status describe(explaining *e, bool *misses_out, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_err why = pp_err_like(err);
    size_t found = SIZE_MAX;
    const pp_candidate *miss = NULL;
    pp_status status = solve(e, e->request, &search, &found, &why);
    if (!status && found == SIZE_MAX)
        status = pp_repair_nearest(&search, &miss, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    *misses_out = miss != NULL;
    if (miss) {
        e->out->short_bytes = miss->short_bytes;
        e->out->asked = *miss;
        e->out->memory_limit_bytes = search.problem->memory_limit_bytes;
        e->out->certain = pp_repair_is_certain(search.problem->request);
    }
    return PP_OK;
}

pp_status pp_explain(const pp_plan_request *request, pp_explanation **explanation_out, pp_err *err)
{
    pp_explanation *out PP_CLEANUP(pp_explanation_free) = pp_alloc_array(1, sizeof *out);
    explaining e = { .request = request, .out = out, .tries = pp_tries_of(request) };
    bool misses = false;
    if (out)
        out->effect = pp_alloc_array(ALL, sizeof *out->effect);
    if (!out || !out->effect)
        return pp_err_nomem(err);
    pp_status status = describe(&e, &misses, err);
    if (status || !misses)
        return status;
    for (int i = 0; i < ALL && !status; i++)
        status = measure(&e, i, err);
    for (int count = 1; count <= SET_MOST && !status; count++)
        status = try_sets(&e, count, err);
    if (status || (status = grow_further(&e, err)))
        return status;
    out->stopped = e.tries.ended;
    *explanation_out = out;
    out = NULL; /* the caller's now */
    return PP_OK;
}
