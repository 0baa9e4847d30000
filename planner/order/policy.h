/* A policy: the rules by which a dispatch (planner/order/dispatch.h) decides what each rank runs
 * next. A policy is small, and gives a legal order or none, so the search first works on policies
 * and only then on single ops. */
#ifndef PPSIM_PLANNER_ORDER_POLICY_H
#define PPSIM_PLANNER_ORDER_POLICY_H

#include "planner/order/problem.h"
#include "sim/base/random.h"

#include <stdbool.h>

/* A microbatch that lets others overtake it: from a stage on, its Fs come so many places later. */
typedef struct pp_yield {
    uint32_t stage;
    uint32_t places; /* 0: it does not yield */
} pp_yield;

typedef struct pp_policy {
    uint32_t *order; /* [microbatches]: Fs start in this order on every stage, but for yields */
    pp_yield *yield; /* [microbatches] */
    uint32_t yields; /* how many do */
    uint32_t urgent; /* a microbatch: while it is on its way to a rank, next in its line there and
                        with room for it, nothing starts that would delay it; `microbatches`: none
                        is */
    int16_t *knob;   /* [ranks * PP_KNOBS] */
    bool *passes;    /* [microbatches]: with PP_POLICY_TIGHT, on ranks of one stage: it may start
                        although older ones must then wait for it; otherwise without effect */
    uint32_t flags;  /* PP_POLICY_ORDER_B and so on */
} pp_policy;

/* Numbers that each rank has. Those in sixteenths are fractions of the duration of the op that is
 * named first. */
enum {
    PP_KNOB_IN_FLIGHT, /* most microbatches between the first F and the last B there */
    PP_KNOB_OVERRUN,   /* a W may delay the next op by this many sixteenths */
    PP_KNOB_HOLD,      /* an F does not start when a B comes within this many sixteenths */
    PP_KNOB_FILL,      /* a W goes before an F when this many sixteenths of the memory are full */
    PP_KNOB_PRESS,     /* a W for whose memory an F waits may delay a B by this many sixteenths */
    PP_KNOB_FEED,      /* an F goes before a B when the next rank is idle (1) or soon will be (2) */
    PP_KNOBS,
};

enum {
    PP_POLICY_ORDER_B = 1,   /* the first B in the order runs; otherwise the longest waiting */
    PP_POLICY_FIT_W = 2,     /* the longest W that fits a gap runs; otherwise the oldest */
    PP_POLICY_TIGHT = 4,     /* only what the next to be finished needs is kept free; see passes */
    PP_POLICY_SHALLOW_F = 8, /* the F of the lowest stage runs; otherwise of the highest */
    PP_POLICY_OLD_F = 16,    /* before that rule: the F of the oldest microbatch */
    PP_POLICY_FLAGS = 32,
};

/* Fails: NOMEM; pp_policy_free in any case. */
PP_MUST_CHECK pp_status pp_policy_new(const pp_order_problem *problem, pp_policy *policy,
                                      pp_err *err);
void pp_policy_free(pp_policy *policy);
void pp_policy_copy(const pp_order_problem *problem, pp_policy *to, const pp_policy *from);

/* The orders of microbatches that policies begin with. */
typedef enum pp_policy_order {
    PP_POLICY_TENT,      /* from short to long and back: the long ones in the middle */
    PP_POLICY_RAMP,      /* the lightest ascending, as many as there are ranks, then a tent */
    PP_POLICY_ASCENDING, /* by their work */
    PP_POLICY_TWO_TENTS,
    PP_POLICY_ALTERNATING, /* a light one, then a heavy one: the lightest with the heaviest */
    PP_POLICY_DESCENDING,
    PP_POLICY_GIVEN, /* as they are numbered */
    PP_POLICY_ORDERS,
} pp_policy_order;

/* ascending: [microbatches], receives the microbatches sorted by their work. Returns whether they
 * differ in it. */
bool pp_policy_sort(const pp_order_problem *problem, uint32_t *ascending);
/* Sets the order of the policy. ascending: of pp_policy_sort. */
void pp_policy_set_order(const pp_order_problem *problem, pp_policy_order order,
                         const uint32_t *ascending, pp_policy *policy);

/* Draws a tent: up to three of the lightest come last, up to min(ranks, microbatches / 2) of the
 * next ones first, and each of the others before or behind all that are heavier. ascending: of
 * pp_policy_sort. */
void pp_policy_draw_tent(const pp_order_problem *problem, pp_rng *rng, const uint32_t *ascending,
                         pp_policy *policy);

#define PP_POLICY_RULES 144 /* policies that are made by rule */

/* Sets all but the order by rule number `n`: limits of microbatches in flight like those of 1F1B,
 * times the two settings that matter most; tight where the order is alternating. Every fourth rule
 * makes the microbatch `heaviest` urgent, unless it is `microbatches`, as where all are equal. */
void pp_policy_set_rule(const pp_order_problem *problem, uint32_t n, pp_policy_order order,
                        uint32_t heaviest, pp_policy *policy);
/* Draws all but the order at random. heaviest: as above. */
void pp_policy_draw(const pp_order_problem *problem, pp_rng *rng, uint32_t heaviest,
                    pp_policy *policy);
/* Makes one random change: of the order, of a knob on some ranks, of a flag, and of yields and of
 * the urgent one where there are any. */
void pp_policy_change(const pp_order_problem *problem, pp_rng *rng, pp_policy *policy);

#endif
