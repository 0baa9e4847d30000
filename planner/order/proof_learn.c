/* Learning from contradictions in a proof (planner/order/prove.h).
 *
 * A contradiction is explained fact by fact, the latest first, until one pair of the present level
 * is left (the first unique implication point: Marques-Silva and Sakallah 1999) and of the levels
 * below pairs alone. Reasons of times are found only now, and weakened to what suffices (Ohrimenko,
 * Stuckey and Codish 2009). */
#include "planner/order/proof_learn.h"

#include "planner/order/proof_memory.h"

#include <assert.h>

#define ACTIVITY_FADES 0.95

typedef struct explaining {
    pp_proof *p;
    size_t before; /* facts before this one may be used */
    uint32_t level;
    uint32_t here, below; /* facts to explain: of `level`; times of lower ones */
} explaining;

static void mark(explaining *e, uint32_t index)
{
    pp_proof *p = e->p;
    pp_fact *fact = &p->fact[index];
    if (fact->seen)
        return;
    if (fact->level == 0)
        return;
    fact->seen = true;
    if (fact->kind == PP_FACT_ORDER && e->level != PP_PROOF_NONE)
        pp_proof_bump(p, fact->what >> 1);
    if (fact->level == e->level)
        e->here++;
    else if (fact->kind != PP_FACT_ORDER)
        e->below++;
    else {
        p->lits[p->lit_count++] = fact->what ^ 1;
    }
}

static void need_literal(explaining *e, pp_literal l)
{
    const uint32_t index = e->p->fact_of[l >> 1];
    if (index != PP_PROOF_NONE)
        mark(e, index);
}

/* Marks the first fact that says so. */
static void need_time(explaining *e, pp_fact_kind kind, uint32_t op, int64_t time)
{
    pp_proof *p = e->p;
    uint32_t k = p->last[kind][op], found = PP_PROOF_NONE;
    if (p->root[kind][op] >= time)
        return;
    for (; k != PP_PROOF_NONE; k = p->fact[k].previous) {
        if (k >= e->before)
            continue;
        if (p->fact[k].time < time)
            break;
        found = k;
    }
    assert(found != PP_PROOF_NONE);
    pp_fact *fact = &p->fact[found];
    fact->wanted = !fact->seen || time > fact->wanted ? time : fact->wanted;
    mark(e, found);
}

/* The time of an op that was known before the fact that is explained. */
static int64_t time_then(const explaining *e, pp_fact_kind kind, uint32_t op)
{
    uint32_t k = e->p->last[kind][op];
    while (k != PP_PROOF_NONE && k >= e->before)
        k = e->p->fact[k].previous;
    return k == PP_PROOF_NONE ? e->p->root[kind][op] : e->p->fact[k].time;
}

/* a could not end before b had to start. */
static void explain_time(explaining *e, uint32_t a, uint32_t b)
{
    const int64_t minus_until = time_then(e, PP_FACT_UNTIL, b);
    need_time(e, PP_FACT_FROM, a, 1 - minus_until - e->p->x->task[a].ticks);
    need_time(e, PP_FACT_UNTIL, b, minus_until);
}

static void need_known(void *context, pp_literal l)
{
    need_literal(context, l);
}

static void explain(explaining *e, const pp_fact *fact, int64_t wanted)
{
    pp_proof *p = e->p;
    const pp_reason reason = fact->reason;
    switch (reason.because) {
    case PP_BECAUSE_CHOSEN:
        break;
    case PP_BECAUSE_CLAUSE:
        for (uint32_t k = 0; k < p->clause[reason.a]; k++) {
            const pp_literal l = p->clause[reason.a + PP_PROOF_CLAUSE_HEAD + k];
            if (l != fact->what)
                need_literal(e, l);
        }
        break;
    case PP_BECAUSE_AFTER:
    case PP_BECAUSE_BEFORE: {
        const bool after = reason.because == PP_BECAUSE_AFTER;
        const uint32_t first = after ? reason.a : fact->what,
                       second = after ? fact->what : reason.a;
        const int64_t lag = reason.b == PP_PROOF_NONE ? p->x->task[second].lag : 0;
        need_time(e, fact->kind, reason.a, wanted - p->x->task[first].ticks - lag);
        if (reason.b != PP_PROOF_NONE)
            need_literal(e, reason.b);
        break;
    }
    case PP_BECAUSE_TIME:
        explain_time(e, reason.a, reason.b);
        break;
    case PP_BECAUSE_BOTH:
        need_literal(e, reason.a);
        need_literal(e, reason.b);
        break;
    case PP_BECAUSE_MEMORY:
        pp_proof_explain_memory(p, reason.a, fact->what, e->before, need_known, e);
        break;
    case PP_BECAUSE_LISTED:
        for (const pp_listed *part = p->listed + reason.a; part->what != PP_PROOF_NONE; part++) {
            if (part->kind == PP_FACT_ORDER)
                need_literal(e, part->what);
            else
                need_time(e, part->kind, part->what, part->time);
        }
        break;
    }
}

static void explain_conflict(explaining *e)
{
    pp_proof *p = e->p;
    const pp_fact *fact = &p->conflict;
    explain(e, fact, fact->time);
    if (!p->conflict_has_fact)
        return;
    if (fact->kind == PP_FACT_ORDER)
        need_literal(e, fact->what);
    else
        need_time(e, !fact->kind, fact->what, 1 - fact->time);
}

/* The highest level among the facts that contradict each other. Rules do not find everything at
 * once, so it may be below the present one. */
static uint32_t level_of_conflict(pp_proof *p)
{
    explaining e = { .p = p, .before = p->facts, .level = PP_PROOF_NONE };
    uint32_t level = 0;
    explain_conflict(&e);
    for (size_t k = 0; k < p->facts; k++) {
        if (p->fact[k].seen) {
            level = p->fact[k].level > level ? p->fact[k].level : level;
            p->fact[k].seen = false;
        }
    }
    p->lit_count = 0;
    return level;
}

static uint32_t level_of(const pp_proof *p, pp_literal l)
{
    return p->fact[p->fact_of[l >> 1]].level;
}

/* Levels of the literals, each counted once. */
static uint32_t count_levels(const pp_proof *p)
{
    uint32_t count = 0;
    for (size_t k = 0; k < p->lit_count && count < 64; k++) {
        bool is_new = true;
        for (size_t i = 0; i < k && is_new; i++)
            is_new = level_of(p, p->lits[i]) != level_of(p, p->lits[k]);
        count += is_new;
    }
    return count;
}

/* Goes down the facts and explains those that are needed, until one pair of this level is left, and
 * below it pairs alone. Returns that pair's literal. */
static pp_literal find_implication_point(explaining *e)
{
    pp_proof *p = e->p;
    pp_literal point = PP_PROOF_NONE;
    for (size_t k = p->facts; k-- > 0 && (e->here > 0 || e->below > 0);) {
        pp_fact *fact = &p->fact[k];
        if (!fact->seen)
            continue;
        e->before = k;
        if (fact->level == e->level) {
            if (e->here == 1 && fact->kind == PP_FACT_ORDER)
                point = fact->what;
            else
                explain(e, fact, fact->wanted);
            e->here--;
        } else if (fact->kind != PP_FACT_ORDER) {
            explain(e, fact, fact->wanted);
            e->below--;
        }
    }
    return point;
}

/* Leaves out literals that follow from others by their clause or pair. */
static void shorten(pp_proof *p)
{
    size_t kept = 1;
    for (size_t k = 1; k < p->lit_count; k++) {
        const pp_fact *fact = &p->fact[p->fact_of[p->lits[k] >> 1]];
        bool follows = false;
        if (fact->reason.because == PP_BECAUSE_BOTH) {
            const uint32_t a = p->fact_of[fact->reason.a >> 1], b = p->fact_of[fact->reason.b >> 1];
            follows =
                (a == PP_PROOF_NONE || p->fact[a].seen) && (b == PP_PROOF_NONE || p->fact[b].seen);
        } else if (fact->reason.because == PP_BECAUSE_CLAUSE) {
            const uint32_t clause = fact->reason.a;
            follows = true;
            for (uint32_t i = 0; i < p->clause[clause] && follows; i++) {
                const pp_literal l = p->clause[clause + PP_PROOF_CLAUSE_HEAD + i];
                const uint32_t index = p->fact_of[l >> 1];
                follows = l == fact->what || index == PP_PROOF_NONE || p->fact[index].seen;
            }
        }
        if (!follows)
            p->lits[kept++] = p->lits[k];
    }
    p->lit_count = kept;
}

bool pp_proof_learn(pp_proof *p)
{
    p->conflicts++;
    p->work += (int64_t)p->facts;
    if (p->starved)
        return true;
    const uint32_t level = level_of_conflict(p);
    if (level == 0)
        return false;
    explaining e = { .p = p, .before = p->facts, .level = level };
    p->lit_count = 1; /* the first one is the implication point */
    explain_conflict(&e);
    const pp_literal point = find_implication_point(&e);
    assert(point != PP_PROOF_NONE);
    p->lits[0] = point ^ 1;
    /* only pairs below count as seen for `shorten`; times would have been explained */
    shorten(p);
    for (size_t k = 0; k < p->facts; k++)
        p->fact[k].seen = false;
    const uint32_t glue = count_levels(p);
    uint32_t to = 0;
    for (size_t k = 1; k < p->lit_count; k++) {
        if (level_of(p, p->lits[k]) > to) {
            to = level_of(p, p->lits[k]);
            const pp_literal l = p->lits[1];
            p->lits[1] = p->lits[k];
            p->lits[k] = l;
        }
    }
    p->step /= ACTIVITY_FADES;
    pp_proof_go_back(p, to);
    if (p->starved)
        return true;
    if (p->lit_count == 1)
        return pp_proof_set_order(p, p->lits[0], (pp_reason){ .because = PP_BECAUSE_CHOSEN });
    return pp_proof_add_clause(p, glue) || p->starved;
}
