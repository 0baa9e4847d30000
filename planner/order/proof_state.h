/* What is known in a proof: which of two ops of one rank runs first, and between which times each
 * op starts. Facts are kept in the order in which they became known, each with its reason, so that
 * a contradiction can be turned into a clause, a set of pairs that cannot all hold. */
#ifndef PPSIM_PLANNER_ORDER_PROOF_STATE_H
#define PPSIM_PLANNER_ORDER_PROOF_STATE_H

#include "planner/order/problem.h"

#include <stdbool.h>

#define PP_PROOF_NONE UINT32_MAX
enum { PP_PROOF_CLAUSE_HEAD = 2 }; /* size and glue of a clause, before its literals */

/* "The first op of the pair runs before the second" is 2 * pair; the contrary is that + 1. */
typedef uint32_t pp_literal;

typedef enum pp_fact_kind {
    PP_FACT_FROM,  /* what: an op; its start is at least `time` */
    PP_FACT_UNTIL, /* what: an op; the negative of its start is at least `time` */
    PP_FACT_ORDER, /* what: a literal */
} pp_fact_kind;

typedef enum pp_because {
    PP_BECAUSE_CHOSEN, /* nothing: it was tried */
    PP_BECAUSE_CLAUSE, /* a: clause, of which all other literals are false */
    PP_BECAUSE_AFTER,  /* a: an op before it; b: the literal that says so, or none: its result */
    PP_BECAUSE_BEFORE, /* a: an op after it; b: as above */
    PP_BECAUSE_TIME,   /* a cannot end before b must start */
    PP_BECAUSE_BOTH,   /* a, b: literals */
    PP_BECAUSE_MEMORY, /* a: an op that did not fit otherwise */
    PP_BECAUSE_LISTED, /* a: index into `listed` */
} pp_because;

typedef struct pp_reason {
    pp_because because;
    uint32_t a, b;
} pp_reason;

typedef struct pp_fact {
    int64_t time;
    int64_t wanted; /* during an explanation: the time that suffices */
    uint32_t what;
    uint32_t previous; /* of times: the fact about the same op that held before */
    uint32_t level;
    uint8_t kind;
    bool seen;
    pp_reason reason;
} pp_fact;

/* A part of a listed reason. */
typedef struct pp_listed {
    int64_t time;
    uint32_t what; /* none: the end of the list */
    pp_fact_kind kind;
} pp_listed;

typedef struct pp_clause_list {
    uint32_t *clause;
    size_t count, capacity;
} pp_clause_list;

/* The F, B and W of a stage and microbatch. */
typedef struct pp_proof_triple {
    uint32_t f, b, w;
    int64_t all, part; /* memory held after F, after B */
} pp_proof_triple;

/* Owner frees with pp_proof_free. */
typedef struct pp_proof {
    const pp_order_problem *x;
    uint32_t *begin;                /* [ranks + 1], into rank_ops */
    uint32_t *rank_ops;             /* [ops]: by rank */
    uint32_t *local;                /* [ops]: index within the rank's ops */
    uint32_t *first_pair;           /* [ranks]: pairs of a rank follow each other */
    uint32_t *first_of, *second_of; /* [pairs]: ops */
    uint32_t pairs;
    pp_proof_triple *triple; /* by rank */
    uint32_t *first_triple;  /* [ranks + 1] */
    size_t *row;             /* [ops]: index of the op's first word in `later` and `earlier` */
    uint64_t *later;         /* bits by local index: ops that run after it */
    uint64_t *earlier;       /* ops that run before it */
    int8_t *value;           /* [pairs]: 1 true, -1 false, 0 not known */
    uint32_t *fact_of;       /* [pairs]: index of the fact; none: it holds in all orders */
    /* by PP_FACT_FROM and PP_FACT_UNTIL, [ops]: the best time, its fact (none: it holds in all
     * orders), and what holds in all orders */
    int64_t *time[2];
    uint32_t *last[2];
    int64_t *root[2];
    pp_fact *fact;
    size_t facts, fact_capacity, looked_at;
    uint32_t level;
    size_t *level_begin; /* [levels]: facts before each level */
    size_t *level_listed;
    size_t level_capacity;
    pp_listed *listed;
    size_t listed_count, listed_capacity;
    /* clauses: size, glue, then literals; the first two are watched */
    uint32_t *clause;
    size_t clause_count, clause_capacity;
    uint32_t *learned; /* offsets of clauses */
    size_t learned_count, learned_capacity;
    pp_clause_list *watch; /* [2 * pairs]: clauses that watch a literal */
    /* which pair is tried next: those of recent contradictions */
    double *activity;
    double step;
    uint32_t *heap, *heap_place, heap_count;
    int8_t *guess; /* [pairs]: the value that is tried first */
    /* the contradiction that was found */
    pp_fact conflict;
    bool conflict_has_fact; /* it contradicts what is known of conflict.what */
    pp_literal *lits;       /* [pairs]: a clause that is being learned */
    size_t lit_count;
    bool starved; /* no memory: the proof must end */
    /* what the rules have still to look at */
    bool *rank_waits, *op_waits;
    uint32_t *ranks_waiting, *ops_waiting;
    uint32_t ranks_waiting_count, ops_waiting_count;
    uint32_t *sorted, *sorted_back; /* [ops]: a rank's ops by earliest start, by latest end */
    uint32_t most;                  /* ops of a rank */
    int64_t *sorted_time;           /* [2 x most]: scratch memory of the rules */
    uint32_t *bit;                  /* [most]: the same */
    int64_t *tail;                  /* [ops]: the limit less the latest start that chains allow */
    int64_t conflicts;
    bool (*ended)(void *context); /* whether the time is up; asked once in a while by the rules */
    void *context;
    bool stopped;             /* it was up */
    int64_t work, work_asked; /* ops, pairs and clauses visited; that when `ended` was asked */
} pp_proof;

/* Pairs of ops that share a rank. */
uint64_t pp_proof_count_pairs(const pp_order_problem *problem);
/* That all ops of the problem, with fewer than 2^31 pairs, end by `limit`. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_proof_new(const pp_order_problem *problem, int64_t limit,
                                     pp_proof **proof_out, pp_err *err);
void pp_proof_free(pp_proof **proof);

/* All ops end by `limit`, which is lower than before. At level 0. False: contradiction. */
bool pp_proof_tighten(pp_proof *p, int64_t limit);

/* The literal "a runs before b", for two ops of one rank. */
static inline pp_literal pp_proof_literal(const pp_proof *p, uint32_t a, uint32_t b)
{
    const uint32_t i = p->local[a], j = p->local[b], base = p->first_pair[p->x->task[a].rank];
    return i < j ? 2 * (base + j * (j - 1) / 2 + i) : 2 * (base + i * (i - 1) / 2 + j) + 1;
}

/* 1: it holds, -1: the contrary holds, 0: not known. */
static inline int pp_proof_value(const pp_proof *p, pp_literal l)
{
    return l & 1 ? -p->value[l >> 1] : p->value[l >> 1];
}

static inline int64_t pp_proof_from(const pp_proof *p, uint32_t op)
{
    return p->time[PP_FACT_FROM][op];
}

static inline int64_t pp_proof_until(const pp_proof *p, uint32_t op)
{
    return -p->time[PP_FACT_UNTIL][op];
}

/* Whether a is known to run before b. */
static inline bool pp_proof_is_before(const pp_proof *p, uint32_t a, uint32_t b)
{
    return p->later[p->row[a] + p->local[b] / 64] >> (p->local[b] % 64) & 1;
}

/* Ops that are known to run before op. */
uint32_t pp_proof_count_before(const pp_proof *p, uint32_t op);

/* Record a fact. False: it contradicts what is known, or there is no memory (starved). */
bool pp_proof_set_order(pp_proof *p, pp_literal l, pp_reason reason);
bool pp_proof_set_time(pp_proof *p, pp_fact_kind kind, uint32_t op, int64_t time, pp_reason reason);
/* A contradiction for this reason alone; false. */
bool pp_proof_contradict(pp_proof *p, pp_reason reason);
/* Listed reasons: begin, add parts, end. */
uint32_t pp_proof_list_begin(pp_proof *p);
void pp_proof_list_add(pp_proof *p, pp_fact_kind kind, uint32_t what, int64_t time);
void pp_proof_list_end(pp_proof *p);

/* Clauses that became units by the literal, which has just become true. False: contradiction. */
bool pp_proof_look_at_clauses(pp_proof *p, pp_literal l);

/* Tries a value for the pair that looks most decisive. False: all pairs are known. */
bool pp_proof_choose(pp_proof *p);
/* Adds the clause p->lits, of p->lit_count > 1 literals: the first is not known, the others are
 * false, the second one of the highest level. glue: levels that it has. Sets the first one. */
bool pp_proof_add_clause(pp_proof *p, uint32_t glue);
/* Takes back all facts of the levels above. */
void pp_proof_go_back(pp_proof *p, uint32_t level);
/* Pairs that contradictions have are tried sooner. */
void pp_proof_bump(pp_proof *p, uint32_t pair);
/* Forgets all choices. */
void pp_proof_restart(pp_proof *p);
/* At level 0, after all rules: what is known holds in all orders. */
void pp_proof_settle(pp_proof *p);
/* Forgets half of the learned clauses, the less useful ones. At level 0. */
void pp_proof_forget(pp_proof *p);

#endif
