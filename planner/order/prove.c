/* Proofs about orders by contradiction.
 *
 * "All ops end by T" is either refuted, which makes T + 1 a bound, or an order is found. It is a
 * question about pairs of ops of one rank: which of them runs first. Pairs are guessed, conclusions
 * drawn (proof_rules.c), and every contradiction is turned into a clause that excludes its cause
 * everywhere (proof_learn.c), as solvers of satisfiability do. The guesses begin with the best
 * order that is known.
 *
 * pp_prove_shortest asks for the best makespan less 1, again and again; pp_prove_bound asks for
 * smaller T, which are easier to refute, by halving. Restarts follow Luby, Sinclair and Zuckerman
 * (1993). The time is exponential in the worst case, so the caller gives a budget. */
#include "planner/order/prove.h"

#include "planner/order/proof_learn.h"
#include "planner/order/proof_rules.h"
#include "sim/base/alloc.h"

#include <assert.h>

typedef enum answer { ANSWER_NONE, ANSWER_FOUND, ANSWER_UNKNOWN } answer;

enum { RESTART_CONFLICTS = 100, CLAUSES_FIRST = 4000, CLAUSES_MORE = 1000 };
enum { PAIR_WORK = 16 }; /* to begin a proof, for each pair */

#define SHARE_OF_A_LIMIT 0.3 /* of the budget that is left goes to each limit in pp_prove_bound */

typedef struct proving {
    const pp_order_problem *x;
    const pp_prove_budget *budget;
    pp_proved *known;
    int64_t work; /* of the proofs that have ended */
    const pp_proof *proof;
    double until; /* the part of the budget at which the proof ends */
} proving;

/* The part of the budget that is used up. */
static double used(const proving *v)
{
    const pp_prove_budget *b = v->budget;
    const int64_t work = v->work + (v->proof ? v->proof->work : 0);
    const double spent = b->spent ? b->spent(b->context) : 0;
    if (!b->work || spent >= 1)
        return spent;
    return (double)work / (double)b->work;
}

static bool has_ended(void *context)
{
    const proving *v = context;
    return used(v) >= v->until;
}

/* 1 1 2 1 1 2 4 1 1 2 ... */
static int64_t luby(int64_t k)
{
    int64_t size = 1;
    while (size < k + 1)
        size = 2 * size + 1;
    while (size - 1 != k) {
        size = size / 2;
        k %= size;
    }
    return (size + 1) / 2;
}

static answer run(const proving *v, pp_proof *p)
{
    int64_t restarts = 0, next = p->conflicts + RESTART_CONFLICTS;
    size_t most = CLAUSES_FIRST;
    while (used(v) < v->until) {
        while (!pp_proof_rules_run(p)) {
            if (p->starved || p->stopped)
                return ANSWER_UNKNOWN;
            if (!pp_proof_learn(p))
                return ANSWER_NONE;
        }
        if (p->level > 0 && p->conflicts >= next) {
            pp_proof_restart(p);
            next = p->conflicts + RESTART_CONFLICTS * luby(++restarts);
        }
        if (p->level == 0) {
            pp_proof_settle(p);
            if (p->learned_count > most) {
                pp_proof_forget(p);
                most += CLAUSES_MORE;
            }
        }
        if (!pp_proof_choose(p))
            return p->starved ? ANSWER_UNKNOWN : ANSWER_FOUND;
    }
    return ANSWER_UNKNOWN;
}

/* Goes on from what holds at the beginning; without memory nothing follows from a contradiction. */
static answer go_on(const proving *v, pp_proof *p, bool holds)
{
    if (holds)
        return run(v, p);
    return p->starved ? ANSWER_UNKNOWN : ANSWER_NONE;
}

/* Guesses that every pair runs as in the best order. */
static pp_status guess(const proving *v, pp_proof *p, pp_err *err)
{
    uint32_t *place PP_CLEANUP(pp_free_array) = pp_alloc_array(v->x->ops, sizeof *place);
    if (!place)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < v->x->ops; k++)
        place[v->known->ops[k]] = k;
    for (uint32_t k = 0; k < p->pairs; k++)
        p->guess[k] = place[p->first_of[k]] < place[p->second_of[k]] ? 1 : -1;
    return PP_OK;
}

/* Takes the order in which all pairs are known: an op's place is the number of those before it. */
static void take(const pp_proof *p, pp_proved *known)
{
    const pp_order_problem *x = p->x;
    known->makespan = 0;
    for (uint32_t r = 0; r < x->ranks; r++) {
        for (uint32_t k = p->begin[r]; k < p->begin[r + 1]; k++) {
            const uint32_t op = p->rank_ops[k];
            const int64_t end = pp_proof_from(p, op) + x->task[op].ticks;
            known->ops[p->begin[r] + pp_proof_count_before(p, op)] = op;
            known->makespan = end > known->makespan ? end : known->makespan;
        }
    }
}

/* Asks whether all ops can end by `limit`, then by the makespan found less 1, and so on. */
static pp_status ask(proving *v, int64_t limit, answer *answer_out, pp_err *err)
{
    pp_proof *p PP_CLEANUP(pp_proof_free) = NULL;
    pp_status status = pp_proof_new(v->x, limit, &p, err);
    if (status || (status = guess(v, p, err)))
        return status;
    v->proof = p;
    p->work = PAIR_WORK * (int64_t)p->pairs;
    p->ended = has_ended;
    p->context = v;
    answer now = go_on(v, p, pp_proof_rules_begin(p));
    while (now == ANSWER_FOUND) {
        take(p, v->known);
        limit = v->known->makespan - 1;
        pp_proof_restart(p);
        now = limit < v->known->bound ? ANSWER_NONE : go_on(v, p, pp_proof_tighten(p, limit));
    }
    if (now == ANSWER_NONE && !v->x->rooms_are_low && limit >= v->known->bound)
        v->known->bound = limit + 1;
    v->work += p->work;
    v->proof = NULL;
    *answer_out = now;
    return PP_OK;
}

bool pp_prove_is_possible(const pp_order_problem *problem)
{
    return pp_proof_count_pairs(problem) <= PP_PROVE_PAIRS_MOST;
}

/* Whether there is something to prove, and more work allowed than beginning takes. */
static bool is_open(const pp_order_problem *problem, const pp_prove_budget *budget,
                    const pp_proved *known)
{
    const int64_t begin = PAIR_WORK * (int64_t)pp_proof_count_pairs(problem);
    return known->bound < known->makespan && pp_prove_is_possible(problem) &&
           (!budget->work || budget->work > 2 * begin);
}

pp_status pp_prove_shortest(const pp_order_problem *problem, const pp_prove_budget *budget,
                            pp_proved *known, pp_err *err)
{
    proving v = { .x = problem, .budget = budget, .known = known, .until = 1 };
    answer ignored = ANSWER_UNKNOWN;
    return is_open(problem, budget, known) ? ask(&v, known->makespan - 1, &ignored, err) : PP_OK;
}

pp_status pp_prove_bound(const pp_order_problem *problem, const pp_prove_budget *budget,
                         pp_proved *known, pp_err *err)
{
    proving v = { .x = problem, .budget = budget, .known = known };
    int64_t most = known->makespan - 1; /* the largest limit that may be refuted in time */
    if (problem->rooms_are_low || !is_open(problem, budget, known))
        return PP_OK;
    while (known->bound <= most && used(&v) < 1) {
        const int64_t limit = known->bound + (most - known->bound) / 2;
        answer now = ANSWER_UNKNOWN;
        v.until = used(&v) + SHARE_OF_A_LIMIT * (1 - used(&v));
        pp_status status = ask(&v, limit, &now, err);
        if (status)
            return status;
        most = now == ANSWER_NONE ? most : limit - 1;
        most = most < known->makespan ? most : known->makespan - 1;
    }
    return PP_OK;
}
