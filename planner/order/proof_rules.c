/* Rules of a proof (planner/order/prove.h).
 *
 *  - Chains: an op starts after the op that it needs, and after all that are known to run before
 * it.
 *  - Time: of two ops of a rank, the second cannot run first if it could not end in time.
 *  - Transitivity: a before b before c.
 *  - Predecessors: an op starts after all that run before it, one at a time. (Edge finding, which
 *    also looks at sets without a known order, costs more than it saves here.)
 *  - Memory: proof_memory.c. */
#include "planner/order/proof_rules.h"

#include "planner/order/proof_memory.h"

#include <assert.h>
#include <string.h>

enum { WORK_LOOKS = 1 << 18 }; /* between two looks at the clock */

/* --- times and orders of pairs --- */

static void wait_for_rank(pp_proof *p, uint32_t op)
{
    const uint32_t r = p->x->task[op].rank;
    if (p->rank_waits[r])
        return;
    p->rank_waits[r] = true;
    p->ranks_waiting[p->ranks_waiting_count++] = r;
}

static void wait_for_memory(pp_proof *p, uint32_t op)
{
    if (p->op_waits[op])
        return;
    p->op_waits[op] = true;
    p->ops_waiting[p->ops_waiting_count++] = op;
}

static pp_reason because(pp_because kind, uint32_t a, uint32_t b)
{
    return (pp_reason){ kind, a, b };
}

/* Orders the pair if one of its ops could not run first. */
static bool order_by_time(pp_proof *p, uint32_t a, uint32_t b)
{
    if (pp_proof_from(p, a) + p->x->task[a].ticks > pp_proof_until(p, b))
        return pp_proof_set_order(p, pp_proof_literal(p, b, a), because(PP_BECAUSE_TIME, a, b));
    return true;
}

static bool op_starts_later(pp_proof *p, uint32_t op)
{
    const pp_order_problem *x = p->x;
    const pp_task *t = &x->task[op];
    const int64_t end = pp_proof_from(p, op) + t->ticks;
    const uint32_t next[] = { t->after, t->weight };
    for (int k = 0; k < 2; k++) {
        if (next[k] < x->ops &&
            !pp_proof_set_time(p, PP_FACT_FROM, next[k], end + x->task[next[k]].lag,
                               because(PP_BECAUSE_AFTER, op, PP_PROOF_NONE)))
            return false;
    }
    for (uint32_t k = p->begin[t->rank]; k < p->begin[t->rank + 1]; k++) {
        const uint32_t other = p->rank_ops[k];
        if (other == op || end <= pp_proof_from(p, other))
            continue;
        const pp_literal l = pp_proof_literal(p, op, other);
        const int value = pp_proof_value(p, l);
        if (value > 0) {
            if (!pp_proof_set_time(p, PP_FACT_FROM, other, end, because(PP_BECAUSE_AFTER, op, l)))
                return false;
        } else if (value == 0 && !order_by_time(p, op, other)) {
            return false;
        }
    }
    wait_for_rank(p, op);
    return true;
}

static bool op_starts_earlier(pp_proof *p, uint32_t op)
{
    const pp_order_problem *x = p->x;
    const pp_task *t = &x->task[op];
    const uint32_t before = t->before;
    if (before < x->ops &&
        !pp_proof_set_time(p, PP_FACT_UNTIL, before,
                           -pp_proof_until(p, op) + t->lag + x->task[before].ticks,
                           because(PP_BECAUSE_BEFORE, op, PP_PROOF_NONE)))
        return false;
    for (uint32_t k = p->begin[t->rank]; k < p->begin[t->rank + 1]; k++) {
        const uint32_t other = p->rank_ops[k];
        const int64_t until = pp_proof_until(p, op) - x->task[other].ticks;
        if (other == op || until >= pp_proof_until(p, other))
            continue;
        const pp_literal l = pp_proof_literal(p, other, op);
        const int value = pp_proof_value(p, l);
        if (value > 0) {
            if (!pp_proof_set_time(p, PP_FACT_UNTIL, other, -until,
                                   because(PP_BECAUSE_BEFORE, op, l)))
                return false;
        } else if (value == 0 && !order_by_time(p, other, op)) {
            return false;
        }
    }
    wait_for_rank(p, op);
    return true;
}

static bool op_is_before(pp_proof *p, pp_literal l)
{
    const uint32_t pair = l >> 1;
    const uint32_t a = l & 1 ? p->second_of[pair] : p->first_of[pair];
    const uint32_t b = l & 1 ? p->first_of[pair] : p->second_of[pair];
    const pp_order_problem *x = p->x;
    const uint32_t *ops = p->rank_ops + p->begin[x->task[a].rank];
    const uint32_t words = (p->begin[x->task[a].rank + 1] - p->begin[x->task[a].rank] + 63) / 64;
    if (!pp_proof_set_time(p, PP_FACT_FROM, b, pp_proof_from(p, a) + x->task[a].ticks,
                           because(PP_BECAUSE_AFTER, a, l)) ||
        !pp_proof_set_time(p, PP_FACT_UNTIL, a, -pp_proof_until(p, b) + x->task[a].ticks,
                           because(PP_BECAUSE_BEFORE, b, l)))
        return false;
    for (uint32_t w = 0; w < words; w++) {
        uint64_t rest = p->later[p->row[b] + w] & ~p->later[p->row[a] + w];
        for (; rest; rest &= rest - 1) {
            const uint32_t c = ops[64 * w + (uint32_t)__builtin_ctzll(rest)];
            const pp_reason both = because(PP_BECAUSE_BOTH, l, pp_proof_literal(p, b, c));
            if (!pp_proof_set_order(p, pp_proof_literal(p, a, c), both))
                return false;
        }
        rest = p->earlier[p->row[a] + w] & ~p->earlier[p->row[b] + w];
        for (; rest; rest &= rest - 1) {
            const uint32_t c = ops[64 * w + (uint32_t)__builtin_ctzll(rest)];
            const pp_reason both = because(PP_BECAUSE_BOTH, l, pp_proof_literal(p, c, a));
            if (!pp_proof_set_order(p, pp_proof_literal(p, c, b), both))
                return false;
        }
    }
    wait_for_memory(p, a);
    wait_for_memory(p, b);
    wait_for_rank(p, a);
    return true;
}

/* --- predecessors --- */

/* A rank's ops as seen forwards in time or backwards. */
typedef struct view {
    pp_proof *p;
    bool back;
    uint32_t n;
    uint32_t *op;   /* [n], sorted by earliest start */
    int64_t *begin; /* [n]: those starts, as they were when the ops were sorted */
    int64_t *ticks; /* [n]: durations */
    uint32_t *bit;  /* [n]: numbers within the rank */
} view;

static int64_t earliest(const view *v, uint32_t op)
{
    return v->back ? v->p->time[PP_FACT_UNTIL][op] - v->p->x->task[op].ticks
                   : v->p->time[PP_FACT_FROM][op];
}

static void sort_by_earliest(const view *v)
{
    for (uint32_t k = 0; k < v->n; k++) { /* nearly sorted since the last time */
        const uint32_t op = v->op[k];
        const int64_t at = earliest(v, op);
        uint32_t to = k;
        for (; to > 0 && v->begin[to - 1] > at; to--) {
            v->op[to] = v->op[to - 1];
            v->begin[to] = v->begin[to - 1];
        }
        v->op[to] = op;
        v->begin[to] = at;
    }
    for (uint32_t k = 0; k < v->n; k++) {
        v->ticks[k] = v->p->x->task[v->op[k]].ticks;
        v->bit[k] = v->p->local[v->op[k]];
    }
}

/* The op at place i starts at `time`, after those from `first` on that run before it. */
static bool start_behind(const view *v, uint32_t i, uint32_t first, int64_t time)
{
    pp_proof *p = v->p;
    const uint32_t op = v->op[i];
    const uint64_t *before = (v->back ? p->later : p->earlier) + p->row[op];
    const int64_t begin = v->begin[first];
    const pp_reason reason = because(PP_BECAUSE_LISTED, pp_proof_list_begin(p), 0);
    for (uint32_t k = first; k < v->n; k++) {
        const uint32_t other = v->op[k];
        if (!(before[v->bit[k] / 64] >> (v->bit[k] % 64) & 1))
            continue;
        pp_proof_list_add(p, PP_FACT_ORDER,
                          v->back ? pp_proof_literal(p, op, other) : pp_proof_literal(p, other, op),
                          0);
        if (v->back)
            pp_proof_list_add(p, PP_FACT_UNTIL, other, begin + p->x->task[other].ticks);
        else
            pp_proof_list_add(p, PP_FACT_FROM, other, begin);
    }
    pp_proof_list_end(p);
    const int64_t more = v->back ? p->x->task[op].ticks : 0;
    return pp_proof_set_time(p, v->back ? PP_FACT_UNTIL : PP_FACT_FROM, op, time + more, reason);
}

static bool look_at_view(const view *v)
{
    pp_proof *p = v->p;
    sort_by_earliest(v);
    for (uint32_t i = 0; i < v->n; i++) {
        const uint64_t *before = (v->back ? p->later : p->earlier) + p->row[v->op[i]];
        int64_t sum = 0, most = v->begin[i];
        uint32_t first = v->n;
        for (uint32_t k = v->n; k-- > 0;) {
            if (!(before[v->bit[k] / 64] >> (v->bit[k] % 64) & 1))
                continue;
            sum += v->ticks[k];
            if (v->begin[k] + sum > most) {
                most = v->begin[k] + sum;
                first = k;
            }
        }
        if (first < v->n && !start_behind(v, i, first, most))
            return false;
    }
    return true;
}

static bool look_at_rank(pp_proof *p, uint32_t rank)
{
    const uint32_t n = p->begin[rank + 1] - p->begin[rank];
    const view ahead = {
        p, false, n, p->sorted + p->begin[rank], p->sorted_time, p->sorted_time + p->most, p->bit
    };
    view back = ahead;
    back.back = true;
    back.op = p->sorted_back + p->begin[rank];
    p->work += 2 * (int64_t)n * n;
    return look_at_view(&ahead) && look_at_view(&back);
}

/* --- all rules --- */

static bool look_at_fact(pp_proof *p, size_t index)
{
    const pp_fact fact = p->fact[index];
    p->work += p->most;
    if (fact.kind == PP_FACT_ORDER)
        return pp_proof_look_at_clauses(p, fact.what) && op_is_before(p, fact.what);
    return fact.kind == PP_FACT_FROM ? op_starts_later(p, fact.what)
                                     : op_starts_earlier(p, fact.what);
}

bool pp_proof_rules_run(pp_proof *p)
{
    while (!p->starved) {
        if (p->work - p->work_asked >= WORK_LOOKS) {
            p->work_asked = p->work;
            if (p->ended && p->ended(p->context)) {
                p->stopped = true;
                return false;
            }
        }
        if (p->looked_at < p->facts) {
            if (!look_at_fact(p, p->looked_at++))
                return false;
        } else if (p->ops_waiting_count > 0) {
            const uint32_t op = p->ops_waiting[--p->ops_waiting_count];
            p->op_waits[op] = false;
            if (!pp_proof_look_at_memory(p, op))
                return false;
        } else if (p->ranks_waiting_count > 0) {
            const uint32_t rank = p->ranks_waiting[--p->ranks_waiting_count];
            p->rank_waits[rank] = false;
            if (!look_at_rank(p, rank))
                return false;
        } else {
            return true;
        }
    }
    return false;
}

static bool are_alike(const pp_order_problem *x, uint32_t i, uint32_t j)
{
    const uint32_t n = 3 * x->stages;
    for (uint32_t k = 0; k < n; k++) {
        const pp_task *a = &x->task[i * n + k], *b = &x->task[j * n + k];
        const pp_task_memory *c = &x->memory[i * n + k], *d = &x->memory[j * n + k];
        if (a->ticks != b->ticks || a->lag != b->lag || c->need != d->need || c->delta != d->delta)
            return false;
    }
    return true;
}

/* In any order, the k-th F on a stage may be called that of the k-th of the microbatches that are
 * alike, likewise B and W: no op then starts before its input is there, and no memory changes. */
static bool order_alike(pp_proof *p, uint32_t i, uint32_t j)
{
    const uint32_t n = 3 * p->x->stages;
    const pp_reason always = { .because = PP_BECAUSE_CHOSEN };
    for (uint32_t k = 0; k < n; k++) {
        if (!pp_proof_set_order(p, pp_proof_literal(p, i * n + k, j * n + k), always))
            return false;
    }
    return true;
}

bool pp_proof_rules_begin(pp_proof *p)
{
    const pp_order_problem *x = p->x;
    const pp_reason always = { .because = PP_BECAUSE_CHOSEN };
    bool holds = true;
    memcpy(p->sorted, p->rank_ops, p->begin[x->ranks] * sizeof *p->sorted);
    memcpy(p->sorted_back, p->rank_ops, p->begin[x->ranks] * sizeof *p->sorted);
    for (uint32_t op = 0; op < x->ops && holds; op++) {
        const uint32_t rank = x->task[op].rank;
        wait_for_memory(p, op);
        for (uint32_t k = x->task[op].before; k < x->ops && holds; k = x->task[k].before) {
            if (x->task[k].rank == rank)
                holds = pp_proof_set_order(p, pp_proof_literal(p, k, op), always);
        }
    }
    for (uint32_t j = 1; j < x->microbatches && holds; j++) {
        for (uint32_t i = j; i-- > 0 && holds;) {
            if (are_alike(x, i, j)) {
                holds = order_alike(p, i, j);
                break; /* the others follow */
            }
        }
    }
    for (uint32_t op = 0; op < x->ops && holds; op++)
        holds = op_starts_later(p, op) && op_starts_earlier(p, op);
    return holds;
}
