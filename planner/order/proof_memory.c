/* Memory in a proof (planner/order/prove.h): at the start of an op, everything that is certainly
 * held then, and what the op needs itself, fit. Whether a forward's memory is held at an op depends
 * on the order of that op and the forward, its backward and its weight gradient alone. */
#include "planner/order/proof_memory.h"

#include <assert.h>

/* 1: `op` runs before k; -1: after it; 0: not known by the facts before `before`. */
static int side(const pp_proof *p, uint32_t op, uint32_t k, size_t before)
{
    const pp_literal l = pp_proof_literal(p, op, k);
    const uint32_t index = p->fact_of[l >> 1];
    return index != PP_PROOF_NONE && index >= before ? 0 : pp_proof_value(p, l);
}

/* The memory of a triple between its F and its W at least: more may be held after B than before. */
static int64_t least_of(const pp_proof_triple *t)
{
    return t->part < t->all ? t->part : t->all;
}

/* What a triple certainly holds at k. */
static int64_t held_at(const pp_proof *p, const pp_proof_triple *t, uint32_t k, size_t before)
{
    if (t->f == k || side(p, t->f, k, before) <= 0)
        return 0;
    if (t->w == k)
        return t->part;
    const int b = t->b == k ? -1 : side(p, t->b, k, before);
    if (b < 0)
        return t->all;
    if (side(p, t->w, k, before) >= 0)
        return 0;
    return b > 0 ? t->part : least_of(t);
}

static bool conclude(pp_proof *p, uint32_t k, uint32_t op, bool runs_before)
{
    const pp_literal l = pp_proof_literal(p, op, k) ^ !runs_before;
    return pp_proof_set_order(p, l, (pp_reason){ .because = PP_BECAUSE_MEMORY, .a = k });
}

/* What must be so that a triple holds at most `left` more at k than it certainly does. */
static bool limit_triple(pp_proof *p, const pp_proof_triple *t, uint32_t k, int64_t left)
{
    const size_t now = p->facts;
    const int f = side(p, t->f, k, now), b = side(p, t->b, k, now), w = side(p, t->w, k, now);
    if (f < 0 || w > 0 || (f > 0 && b < 0))
        return true;
    if (f == 0) {
        const int64_t least = b < 0 ? t->all : w < 0 ? least_of(t) : 0;
        return least <= left || conclude(p, k, t->f, false);
    }
    if (w == 0 && (b > 0 ? t->part : least_of(t)) > left)
        return conclude(p, k, t->w, true);
    if (b > 0)
        return true;
    const int64_t counted = w < 0 ? least_of(t) : 0;
    if (t->all - counted > left)
        return conclude(p, k, t->b, true);
    return w == 0 || t->part - counted <= left || conclude(p, k, t->b, false);
}

bool pp_proof_look_at_memory(pp_proof *p, uint32_t k)
{
    const uint32_t rank = p->x->task[k].rank;
    const pp_proof_triple *first = p->triple + p->first_triple[rank];
    const pp_proof_triple *end = p->triple + p->first_triple[rank + 1];
    int64_t left = p->x->room[rank] - p->x->memory[k].need;
    p->work += end - first;
    for (const pp_proof_triple *t = first; t < end; t++)
        left -= pp_proof_is_before(p, t->f, k) ? held_at(p, t, k, p->facts) : 0;
    if (left < 0)
        return pp_proof_contradict(p, (pp_reason){ .because = PP_BECAUSE_MEMORY, .a = k });
    for (const pp_proof_triple *t = first; t < end; t++) {
        if ((t->all > left || t->part > left) && t->f != k && t->b != k && t->w != k &&
            !limit_triple(p, t, k, left))
            return false;
    }
    return true;
}

/* Returns what a triple would certainly hold at k if the contrary of `concluded`, about one of its
 * ops and k, were true, and gives to `need` why. */
static int64_t explain_contrary(const pp_proof *p, const pp_proof_triple *t, uint32_t k,
                                pp_literal concluded, size_t before,
                                void (*need)(void *context, pp_literal l), void *context)
{
    const pp_literal f = pp_proof_literal(p, t->f, k), b = pp_proof_literal(p, t->b, k);
    const pp_literal w = pp_proof_literal(p, t->w, k);
    if (concluded == b) { /* would be after k */
        need(context, f);
        return t->all;
    }
    if (concluded == (b ^ 1)) {
        need(context, w ^ 1);
        return t->part;
    }
    if (concluded == w) { /* would be after k */
        const bool part = t->part > t->all && side(p, t->b, k, before) > 0;
        need(context, part ? b : f);
        return part ? t->part : least_of(t);
    }
    const bool all = side(p, t->b, k, before) < 0;
    need(context, (all ? b : w) ^ 1);
    return all ? t->all : least_of(t);
}

void pp_proof_explain_memory(const pp_proof *p, uint32_t k, pp_literal concluded, size_t before,
                             void (*need)(void *context, pp_literal l), void *context)
{
    const uint32_t rank = p->x->task[k].rank, pair = concluded >> 1;
    const pp_proof_triple *first = p->triple + p->first_triple[rank];
    const pp_proof_triple *end = p->triple + p->first_triple[rank + 1];
    const pp_proof_triple *its = NULL; /* that of the op about which something was concluded */
    int64_t over = p->x->memory[k].need - p->x->room[rank]; /* beyond the room, if all is counted */
    if (concluded != PP_PROOF_NONE) {
        const uint32_t op = p->first_of[pair] == k ? p->second_of[pair] : p->first_of[pair];
        for (its = first; its->f != op && its->b != op && its->w != op; its++)
            ;
        over += explain_contrary(p, its, k, concluded, before, need, context);
    }
    for (const pp_proof_triple *t = first; t < end; t++)
        over += t != its ? held_at(p, t, k, before) : 0;
    assert(over > 0);
    for (const pp_proof_triple *t = first; t < end; t++) {
        const int64_t held = t != its ? held_at(p, t, k, before) : 0;
        if (held < over) { /* too much even without it */
            over -= held;
            continue;
        }
        if (t->w == k) /* then F and B are before it */
            continue;
        const int b = t->b == k ? -1 : side(p, t->b, k, before);
        if (b > 0 && t->part > t->all)
            need(context, pp_proof_literal(p, t->b, k));
        else if (t->b != k)
            need(context, pp_proof_literal(p, t->f, k));
        if (t->b != k)
            need(context, pp_proof_literal(p, b < 0 ? t->b : t->w, k) ^ 1);
    }
}
