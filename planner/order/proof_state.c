/* Facts and clauses of a proof (planner/order/prove.h), as solvers of satisfiability keep them:
 * facts by levels, a level for each guess; two watched literals per clause, and pairs tried by how
 * often recent contradictions had them (Moskewicz et al. 2001). Less useful clauses, those whose
 * literals are of many levels (Audemard and Simon 2009), are forgotten. */
#include "planner/order/proof_state.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ACTIVITY_MOST 1e100

enum { GLUE_KEPT = 2 };

void pp_proof_free(pp_proof **proof)
{
    pp_proof *p = *proof;
    if (!p)
        return;
    for (size_t l = 0; p->watch && l < 2 * (size_t)p->pairs; l++)
        free(p->watch[l].clause);
    void *const all[] = {
        p->begin,       p->rank_ops,      p->local,       p->first_pair,  p->first_of,
        p->second_of,   p->row,           p->later,       p->earlier,     p->value,
        p->fact_of,     p->time[0],       p->time[1],     p->last[0],     p->last[1],
        p->root[0],     p->root[1],       p->fact,        p->level_begin, p->level_listed,
        p->listed,      p->clause,        p->learned,     p->watch,       p->activity,
        p->heap,        p->heap_place,    p->guess,       p->lits,        p->rank_waits,
        p->op_waits,    p->ranks_waiting, p->ops_waiting, p->sorted,      p->sorted_back,
        p->sorted_time, p->bit,           p->tail,        p->triple,      p->first_triple,
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    free(p);
    *proof = NULL;
}

static void list_ops(pp_proof *p)
{
    const pp_order_problem *x = p->x;
    for (uint32_t op = 0; op < x->ops; op++)
        p->begin[x->task[op].rank + 1]++;
    for (uint32_t r = 0; r < x->ranks; r++)
        p->begin[r + 1] += p->begin[r];
    for (uint32_t op = x->ops; op-- > 0;) { /* p->first_pair counts those that are left */
        const uint32_t r = x->task[op].rank;
        const uint32_t n = p->begin[r + 1] - p->begin[r];
        p->local[op] = n - ++p->first_pair[r];
        p->rank_ops[p->begin[r] + p->local[op]] = op;
    }
}

static void list_triples(pp_proof *p)
{
    const pp_order_problem *x = p->x;
    uint32_t count = 0;
    for (uint32_t r = 0; r < x->ranks; r++) {
        p->first_triple[r] = count;
        for (uint32_t s = 0; s < x->stages; s++) {
            for (uint32_t i = 0; x->stage_rank[s] == r && i < x->microbatches; i++) {
                pp_proof_triple *t = &p->triple[count++];
                t->f = pp_order_problem_op(x, PP_TASK_F, s, i);
                t->b = pp_order_problem_op(x, PP_TASK_B, s, i);
                t->w = pp_order_problem_op(x, PP_TASK_W, s, i);
                t->all = x->memory[t->f].delta;
                t->part = t->all + x->memory[t->b].delta;
            }
        }
    }
    p->first_triple[x->ranks] = count;
}

/* Counts pairs and words of bits. */
static size_t lay_out(pp_proof *p)
{
    size_t words = 0;
    for (uint32_t r = 0; r < p->x->ranks; r++) {
        const uint32_t n = p->begin[r + 1] - p->begin[r];
        p->most = n > p->most ? n : p->most;
        p->first_pair[r] = p->pairs;
        p->pairs += n * (n - (n > 0)) / 2;
        for (uint32_t k = 0; k < n; k++) {
            p->row[p->rank_ops[p->begin[r] + k]] = words;
            words += (n + 63) / 64;
        }
    }
    return words;
}

static void name_pairs(pp_proof *p)
{
    for (uint32_t r = 0; r < p->x->ranks; r++) {
        uint32_t pair = p->first_pair[r];
        for (uint32_t j = p->begin[r]; j < p->begin[r + 1]; j++) {
            for (uint32_t i = p->begin[r]; i < j; i++) {
                p->first_of[pair] = p->rank_ops[i];
                p->second_of[pair++] = p->rank_ops[j];
            }
        }
    }
}

/* The longest chains before and after every op. */
static void find_times(pp_proof *p, int64_t limit)
{
    const pp_order_problem *x = p->x;
    int64_t *from = p->time[PP_FACT_FROM], *minus_until = p->time[PP_FACT_UNTIL];
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *t = &x->task[op];
        from[op] = t->before < x->ops ? from[t->before] + x->task[t->before].ticks + t->lag : 0;
    }
    for (uint32_t op = x->ops; op-- > 0;) {
        const uint32_t next[] = { x->task[op].after, x->task[op].weight };
        p->tail[op] = x->task[op].ticks;
        for (int k = 0; k < 2; k++) {
            if (next[k] < x->ops)
                p->tail[op] = pp_max(p->tail[op],
                                     x->task[op].ticks + x->task[next[k]].lag + p->tail[next[k]]);
        }
        minus_until[op] = p->tail[op] - limit;
    }
    for (int kind = 0; kind < 2; kind++)
        memcpy(p->root[kind], p->time[kind], x->ops * sizeof *p->time[kind]);
}

uint64_t pp_proof_count_pairs(const pp_order_problem *problem)
{
    uint64_t pairs = 0;
    for (uint32_t r = 0; r < problem->ranks; r++) {
        uint64_t n = 0;
        for (uint32_t s = 0; s < problem->stages; s++)
            n += problem->stage_rank[s] == r ? 3 * (uint64_t)problem->microbatches : 0;
        pairs += n * (n - (n > 0)) / 2;
    }
    return pairs;
}

pp_status pp_proof_new(const pp_order_problem *problem, int64_t limit, pp_proof **proof_out,
                       pp_err *err)
{
    const pp_order_problem *x = problem;
    pp_proof *p PP_CLEANUP(pp_proof_free) = pp_alloc_array(1, sizeof *p);
    if (!p)
        return pp_err_nomem(err);
    p->x = x;
    p->step = 1;
    if (!(p->begin = pp_alloc_array(x->ranks + 1, sizeof *p->begin)) ||
        !(p->rank_ops = pp_alloc_array(x->ops, sizeof *p->rank_ops)) ||
        !(p->local = pp_alloc_array(x->ops, sizeof *p->local)) ||
        !(p->first_pair = pp_alloc_array(x->ranks, sizeof *p->first_pair)) ||
        !(p->row = pp_alloc_array(x->ops, sizeof *p->row)) ||
        !(p->triple = pp_alloc_array(x->ops, sizeof *p->triple)) ||
        !(p->first_triple = pp_alloc_array(x->ranks + 1, sizeof *p->first_triple)))
        return pp_err_nomem(err);
    list_ops(p);
    list_triples(p);
    const size_t words = lay_out(p) + 1, pairs = p->pairs + 1;
    if (!(p->first_of = pp_alloc_array(pairs, sizeof *p->first_of)) ||
        !(p->second_of = pp_alloc_array(pairs, sizeof *p->second_of)) ||
        !(p->later = pp_alloc_array(words, sizeof *p->later)) ||
        !(p->earlier = pp_alloc_array(words, sizeof *p->earlier)) ||
        !(p->value = pp_alloc_array(pairs, sizeof *p->value)) ||
        !(p->fact_of = pp_alloc_array(pairs, sizeof *p->fact_of)) ||
        !(p->watch = pp_alloc_array(2 * pairs, sizeof *p->watch)) ||
        !(p->activity = pp_alloc_array(pairs, sizeof *p->activity)) ||
        !(p->heap = pp_alloc_array(pairs, sizeof *p->heap)) ||
        !(p->heap_place = pp_alloc_array(pairs, sizeof *p->heap_place)) ||
        !(p->guess = pp_alloc_array(pairs, sizeof *p->guess)) ||
        !(p->rank_waits = pp_alloc_array(x->ranks, sizeof *p->rank_waits)) ||
        !(p->op_waits = pp_alloc_array(x->ops, sizeof *p->op_waits)) ||
        !(p->ranks_waiting = pp_alloc_array(x->ranks, sizeof *p->ranks_waiting)) ||
        !(p->ops_waiting = pp_alloc_array(x->ops, sizeof *p->ops_waiting)) ||
        !(p->sorted = pp_alloc_array(x->ops, sizeof *p->sorted)) ||
        !(p->sorted_back = pp_alloc_array(x->ops, sizeof *p->sorted_back)) ||
        !(p->sorted_time = pp_alloc_array(2 * (size_t)p->most, sizeof *p->sorted_time)) ||
        !(p->bit = pp_alloc_array(p->most, sizeof *p->bit)) ||
        !(p->lits = pp_alloc_array(pairs, sizeof *p->lits)) ||
        !(p->tail = pp_alloc_array(x->ops, sizeof *p->tail)))
        return pp_err_nomem(err);
    for (int kind = 0; kind < 2; kind++) {
        if (!(p->time[kind] = pp_alloc_array(x->ops, sizeof *p->time[kind])) ||
            !(p->last[kind] = pp_alloc_array(x->ops, sizeof *p->last[kind])) ||
            !(p->root[kind] = pp_alloc_array(x->ops, sizeof *p->root[kind])))
            return pp_err_nomem(err);
        memset(p->last[kind], 0xff, x->ops * sizeof *p->last[kind]);
    }
    name_pairs(p);
    find_times(p, limit);
    memset(p->fact_of, 0xff, pairs * sizeof *p->fact_of);
    for (uint32_t k = 0; k < p->pairs; k++)
        p->heap[k] = p->heap_place[k] = k;
    p->heap_count = p->pairs;
    *proof_out = p;
    p = NULL;
    return PP_OK;
}

/* --- facts --- */

static bool grow_more(pp_proof *p, void **list, size_t *capacity, size_t count, size_t size)
{
    pp_err ignored = { 0 };
    if (pp_reserve(list, capacity, count, size, &ignored) == PP_OK)
        return true;
    p->starved = true;
    return false;
}

static inline bool grow(pp_proof *p, void **list, size_t *capacity, size_t count, size_t size)
{
    return count <= *capacity || grow_more(p, list, capacity, count, size);
}

static pp_fact *add_fact(pp_proof *p)
{
    void *list = p->fact;
    if (!grow(p, &list, &p->fact_capacity, p->facts + 1, sizeof *p->fact))
        return NULL;
    p->fact = list;
    return &p->fact[p->facts++];
}

static void set_bit(const pp_proof *p, uint64_t *rows, uint32_t op, uint32_t other, bool to)
{
    uint64_t *word = &rows[p->row[op] + p->local[other] / 64];
    const uint64_t bit = (uint64_t)1 << (p->local[other] % 64);
    *word = to ? *word | bit : *word & ~bit;
}

static void set_value(pp_proof *p, pp_literal l, bool known)
{
    const uint32_t pair = l >> 1;
    const uint32_t a = l & 1 ? p->second_of[pair] : p->first_of[pair];
    const uint32_t b = l & 1 ? p->first_of[pair] : p->second_of[pair];
    p->value[pair] = (int8_t)(!known ? 0 : l & 1 ? -1 : 1);
    set_bit(p, p->later, a, b, known);
    set_bit(p, p->earlier, b, a, known);
}

uint32_t pp_proof_count_before(const pp_proof *p, uint32_t op)
{
    const uint32_t r = p->x->task[op].rank, words = (p->begin[r + 1] - p->begin[r] + 63) / 64;
    uint32_t count = 0;
    for (uint32_t w = 0; w < words; w++)
        count += (uint32_t)__builtin_popcountll(p->earlier[p->row[op] + w]);
    return count;
}

bool pp_proof_set_order(pp_proof *p, pp_literal l, pp_reason reason)
{
    const int value = pp_proof_value(p, l);
    if (value > 0)
        return true;
    if (value < 0) {
        p->conflict = (pp_fact){ .what = l, .kind = PP_FACT_ORDER, .reason = reason };
        p->conflict_has_fact = true;
        return false;
    }
    pp_fact *fact = add_fact(p);
    if (!fact)
        return false;
    *fact = (pp_fact){ .what = l,
                       .previous = PP_PROOF_NONE,
                       .level = p->level,
                       .kind = PP_FACT_ORDER,
                       .reason = reason };
    p->fact_of[l >> 1] = (uint32_t)(p->facts - 1);
    set_value(p, l, true);
    return true;
}

bool pp_proof_set_time(pp_proof *p, pp_fact_kind kind, uint32_t op, int64_t time, pp_reason reason)
{
    if (time <= p->time[kind][op])
        return true;
    if (time > -p->time[!kind][op]) {
        p->conflict =
            (pp_fact){ .what = op, .kind = (uint8_t)kind, .time = time, .reason = reason };
        p->conflict_has_fact = true;
        return false;
    }
    pp_fact *fact = add_fact(p);
    if (!fact)
        return false;
    *fact = (pp_fact){ .what = op,
                       .time = time,
                       .previous = p->last[kind][op],
                       .level = p->level,
                       .kind = (uint8_t)kind,
                       .reason = reason };
    p->last[kind][op] = (uint32_t)(p->facts - 1);
    p->time[kind][op] = time;
    return true;
}

bool pp_proof_contradict(pp_proof *p, pp_reason reason)
{
    p->conflict = (pp_fact){ .what = PP_PROOF_NONE, .reason = reason };
    p->conflict_has_fact = false;
    return false;
}

uint32_t pp_proof_list_begin(pp_proof *p)
{
    return (uint32_t)p->listed_count;
}

void pp_proof_list_add(pp_proof *p, pp_fact_kind kind, uint32_t what, int64_t time)
{
    void *list = p->listed;
    if (!grow(p, &list, &p->listed_capacity, p->listed_count + 1, sizeof *p->listed))
        return;
    p->listed = list;
    p->listed[p->listed_count++] = (pp_listed){ time, what, kind };
}

void pp_proof_list_end(pp_proof *p)
{
    pp_proof_list_add(p, PP_FACT_ORDER, PP_PROOF_NONE, 0);
}

/* --- the order in which pairs are tried --- */

static bool is_above(const pp_proof *p, uint32_t a, uint32_t b)
{
    const double x = p->activity[a], y = p->activity[b];
    return x > y || (x == y && a < b);
}

static void put(pp_proof *p, uint32_t at, uint32_t pair)
{
    p->heap[at] = pair;
    p->heap_place[pair] = at;
}

static void rise(pp_proof *p, uint32_t at)
{
    const uint32_t pair = p->heap[at];
    for (; at > 0 && is_above(p, pair, p->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put(p, at, p->heap[(at - 1) / 2]);
    put(p, at, pair);
}

static void sink(pp_proof *p, uint32_t at)
{
    const uint32_t pair = p->heap[at];
    for (uint32_t child; (child = 2 * at + 1) < p->heap_count; at = child) {
        if (child + 1 < p->heap_count && is_above(p, p->heap[child + 1], p->heap[child]))
            child++;
        if (!is_above(p, p->heap[child], pair))
            break;
        put(p, at, p->heap[child]);
    }
    put(p, at, pair);
}

static void push(pp_proof *p, uint32_t pair)
{
    if (p->heap_place[pair] != PP_PROOF_NONE)
        return;
    put(p, p->heap_count, pair);
    rise(p, p->heap_count++);
}

void pp_proof_bump(pp_proof *p, uint32_t pair)
{
    p->activity[pair] += p->step;
    if (p->activity[pair] > ACTIVITY_MOST) {
        for (uint32_t k = 0; k < p->pairs; k++)
            p->activity[k] /= ACTIVITY_MOST;
        p->step /= ACTIVITY_MOST;
    }
    if (p->heap_place[pair] != PP_PROOF_NONE)
        rise(p, p->heap_place[pair]);
}

bool pp_proof_choose(pp_proof *p)
{
    while (p->heap_count > 0) {
        const uint32_t pair = p->heap[0];
        p->heap_place[pair] = PP_PROOF_NONE;
        if (--p->heap_count > 0) {
            put(p, 0, p->heap[p->heap_count]);
            sink(p, 0);
        }
        if (p->value[pair])
            continue;
        void *begins = p->level_begin, *lists = p->level_listed;
        size_t capacity = p->level_capacity;
        if (!grow(p, &begins, &capacity, p->level + 2, sizeof *p->level_begin))
            return false;
        p->level_begin = begins;
        if (!grow(p, &lists, &p->level_capacity, p->level + 2, sizeof *p->level_listed))
            return false;
        p->level_listed = lists;
        p->level_capacity = capacity < p->level_capacity ? capacity : p->level_capacity;
        p->level_begin[p->level] = p->facts;
        p->level_listed[p->level] = p->listed_count;
        p->level++;
        return pp_proof_set_order(p, 2 * pair + (p->guess[pair] < 0),
                                  (pp_reason){ .because = PP_BECAUSE_CHOSEN });
    }
    return false;
}

/* What the rules had still to look at. */
static void forget_waiting(pp_proof *p)
{
    while (p->ranks_waiting_count > 0)
        p->rank_waits[p->ranks_waiting[--p->ranks_waiting_count]] = false;
    while (p->ops_waiting_count > 0)
        p->op_waits[p->ops_waiting[--p->ops_waiting_count]] = false;
}

void pp_proof_go_back(pp_proof *p, uint32_t level)
{
    if (p->level <= level)
        return;
    while (p->facts > p->level_begin[level]) {
        const pp_fact *fact = &p->fact[--p->facts];
        if (fact->kind == PP_FACT_ORDER) {
            const uint32_t pair = fact->what >> 1;
            p->guess[pair] = p->value[pair];
            p->fact_of[pair] = PP_PROOF_NONE;
            set_value(p, fact->what, false);
            push(p, pair);
        } else {
            const uint32_t op = fact->what, before = fact->previous;
            p->last[fact->kind][op] = before;
            p->time[fact->kind][op] =
                before == PP_PROOF_NONE ? p->root[fact->kind][op] : p->fact[before].time;
        }
    }
    p->listed_count = p->level_listed[level];
    p->level = level;
    p->looked_at = p->facts;
    forget_waiting(p);
}

void pp_proof_restart(pp_proof *p)
{
    pp_proof_go_back(p, 0);
}

bool pp_proof_tighten(pp_proof *p, int64_t limit)
{
    const pp_reason always = { .because = PP_BECAUSE_CHOSEN };
    assert(p->level == 0);
    for (uint32_t op = 0; op < p->x->ops; op++) {
        if (!pp_proof_set_time(p, PP_FACT_UNTIL, op, p->tail[op] - limit, always))
            return false;
    }
    return true;
}

void pp_proof_settle(pp_proof *p)
{
    assert(p->level == 0);
    for (size_t k = 0; k < p->facts; k++) {
        if (p->fact[k].kind == PP_FACT_ORDER)
            p->fact_of[p->fact[k].what >> 1] = PP_PROOF_NONE;
    }
    for (int kind = 0; kind < 2; kind++) {
        memcpy(p->root[kind], p->time[kind], p->x->ops * sizeof *p->time[kind]);
        memset(p->last[kind], 0xff, p->x->ops * sizeof *p->last[kind]);
    }
    p->facts = p->looked_at = 0;
    p->listed_count = 0;
}

/* --- clauses --- */

static void watch(pp_proof *p, pp_literal l, uint32_t clause)
{
    pp_clause_list *list = &p->watch[l];
    void *entries = list->clause;
    if (!grow(p, &entries, &list->capacity, list->count + 1, sizeof *list->clause))
        return;
    list->clause = entries;
    list->clause[list->count++] = clause;
}

bool pp_proof_add_clause(pp_proof *p, uint32_t glue)
{
    void *list = p->clause, *offsets = p->learned;
    const size_t at = p->clause_count, wanted = at + PP_PROOF_CLAUSE_HEAD + p->lit_count;
    if (!grow(p, &list, &p->clause_capacity, wanted, sizeof *p->clause))
        return false;
    p->clause = list;
    if (!grow(p, &offsets, &p->learned_capacity, p->learned_count + 1, sizeof *p->learned))
        return false;
    p->learned = offsets;
    p->learned[p->learned_count++] = (uint32_t)at;
    p->clause[at] = (uint32_t)p->lit_count;
    p->clause[at + 1] = glue;
    memcpy(p->clause + at + PP_PROOF_CLAUSE_HEAD, p->lits, p->lit_count * sizeof *p->lits);
    p->clause_count = wanted;
    watch(p, p->lits[0], (uint32_t)at);
    watch(p, p->lits[1], (uint32_t)at);
    return pp_proof_set_order(p, p->lits[0],
                              (pp_reason){ .because = PP_BECAUSE_CLAUSE, .a = (uint32_t)at });
}

bool pp_proof_look_at_clauses(pp_proof *p, pp_literal l)
{
    const pp_literal fell = l ^ 1;
    pp_clause_list *list = &p->watch[fell];
    size_t kept = 0;
    p->work += (int64_t)list->count;
    for (size_t k = 0; k < list->count; k++) {
        const uint32_t clause = list->clause[k];
        const uint32_t size = p->clause[clause];
        pp_literal *lit = p->clause + clause + PP_PROOF_CLAUSE_HEAD;
        if (lit[0] == fell) {
            lit[0] = lit[1];
            lit[1] = fell;
        }
        list->clause[kept++] = clause;
        if (pp_proof_value(p, lit[0]) > 0)
            continue;
        uint32_t other = 2;
        while (other < size && pp_proof_value(p, lit[other]) < 0)
            other++;
        if (other < size) {
            lit[1] = lit[other];
            lit[other] = fell;
            watch(p, lit[1], clause);
            kept--;
            continue;
        }
        const pp_reason reason = { .because = PP_BECAUSE_CLAUSE, .a = clause };
        if (!pp_proof_set_order(p, lit[0], reason)) {
            while (++k < list->count)
                list->clause[kept++] = list->clause[k];
            list->count = kept;
            return false;
        }
    }
    list->count = kept;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void pp_proof_forget(pp_proof *p)
{
    assert(p->level == 0 && p->facts == 0);
    uint64_t *rank = pp_alloc_array(p->learned_count + 1, sizeof *rank);
    if (!rank)
        return;                                   /* they are kept */
    for (size_t k = 0; k < p->learned_count; k++) /* glue, then the older ones last */
        rank[k] = (uint64_t)p->clause[p->learned[k] + 1] << 32 | (uint32_t)(p->learned_count - k);
    qsort(rank, p->learned_count, sizeof *rank, by_use);
    const uint64_t worst = rank[p->learned_count / 2];
    free(rank);
    for (size_t l = 0; l < 2 * (size_t)p->pairs; l++)
        p->watch[l].count = 0;
    size_t kept = 0, end = 0;
    for (size_t k = 0; k < p->learned_count; k++) {
        const uint32_t from = p->learned[k], size = p->clause[from];
        const uint64_t rate =
            (uint64_t)p->clause[from + 1] << 32 | (uint32_t)(p->learned_count - k);
        bool holds = false; /* in all orders, so that it says nothing */
        for (uint32_t i = 0; i < size; i++)
            holds |= pp_proof_value(p, p->clause[from + PP_PROOF_CLAUSE_HEAD + i]) > 0;
        if (holds || (rate > worst && p->clause[from + 1] > GLUE_KEPT))
            continue;
        memmove(p->clause + end, p->clause + from,
                (size + PP_PROOF_CLAUSE_HEAD) * sizeof *p->clause);
        /* false ones last; two that are not false are watched */
        pp_literal *lit = p->clause + end + PP_PROOF_CLAUSE_HEAD;
        uint32_t open = 0;
        for (uint32_t i = 0; i < size; i++) {
            if (pp_proof_value(p, lit[i]) == 0) {
                const pp_literal l = lit[i];
                lit[i] = lit[open];
                lit[open++] = l;
            }
        }
        assert(open >= 2); /* else it would have had its say at level 0 */
        p->clause[end] = open;
        watch(p, lit[0], (uint32_t)end);
        watch(p, lit[1], (uint32_t)end);
        p->learned[kept++] = (uint32_t)end;
        end += open + PP_PROOF_CLAUSE_HEAD;
    }
    p->learned_count = kept;
    p->clause_count = end;
}
