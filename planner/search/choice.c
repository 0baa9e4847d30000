/* Chooses among plans whose predicted steps differ by less than predictions of such differences are
 * wrong (docs/explanation/planning.md): the one that an engineer would run. O(candidates). */
#include "planner/search/choice.h"

#include "sim/schedule/registry.h"

#include <math.h>

static size_t table_index(const pp_schedule *schedule)
{
    size_t k = 0;
    while (k < pp_schedule_count() && pp_schedule_at(k) != schedule)
        k++;
    return k;
}

static double score(const pp_candidate *c)
{
    return pp_candidate_score(c, c->step_ns);
}

/* HUGE_VAL: not studied. */
static double late_score(const pp_candidate *c)
{
    return c->p95_ns ? pp_candidate_score(c, c->p95_ns) : HUGE_VAL;
}

int pp_compare_simplicity(const pp_candidate *a, const pp_candidate *b)
{
    const int64_t x[] = {
        !pp_candidate_is_named(a),       a->parallel.vpp, a->parallel.cp,
        a->parallel.pp * a->parallel.tp, a->recompute,    (int64_t)table_index(a->schedule)
    };
    const int64_t y[] = {
        !pp_candidate_is_named(b),       b->parallel.vpp, b->parallel.cp,
        b->parallel.pp * b->parallel.tp, b->recompute,    (int64_t)table_index(b->schedule)
    };
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

bool pp_is_within_tie(const pp_candidate *c, double least, double tie)
{
    return score(c) <= least * (1 + tie);
}

/* The order among candidates that tie and are equally steady. */
static bool is_preferred(const pp_candidate *a, const pp_candidate *b)
{
    const int simpler = pp_compare_simplicity(a, b);
    return simpler ? simpler < 0 : score(a) < score(b);
}

size_t pp_choose(const pp_candidate *const *candidate, size_t count, double least, double tie)
{
    bool roomy = false;
    double late = HUGE_VAL;
    size_t best = 0;
    bool found = false;
    for (size_t i = 0; i < count; i++)
        roomy = roomy || (candidate[i]->roomy && pp_is_within_tie(candidate[i], least, tie));
    for (size_t i = 0; i < count; i++) {
        if (pp_is_within_tie(candidate[i], least, tie) && (candidate[i]->roomy || !roomy))
            late = fmin(late, late_score(candidate[i]));
    }
    for (size_t i = 0; i < count; i++) {
        const pp_candidate *c = candidate[i];
        if (!pp_is_within_tie(c, least, tie) || (roomy && !c->roomy) ||
            late_score(c) > late * (1 + PP_STEADY_PART))
            continue;
        if (!found || is_preferred(c, candidate[best]))
            best = i;
        found = true;
    }
    return best;
}

pp_choice_reason pp_choice_why(const pp_candidate *taken, const pp_candidate *fastest)
{
    if (score(taken) <= score(fastest))
        return PP_CHOICE_FASTEST;
    if (taken->roomy && !fastest->roomy)
        return PP_CHOICE_HEADROOM;
    if (taken->p95_ns && fastest->p95_ns &&
        late_score(fastest) > late_score(taken) * (1 + PP_STEADY_PART))
        return PP_CHOICE_STEADIER;
    return PP_CHOICE_SIMPLER;
}
