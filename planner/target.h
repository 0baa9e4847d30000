/* The runtime that is to execute a plan: what it can run, as limits of a wish. Rules and sources:
 * docs/planning.md, section 2. */
#ifndef PPSIM_PLANNER_TARGET_H
#define PPSIM_PLANNER_TARGET_H

#include "planner/choose.h"

typedef struct pp_target {
    const char *name;
    const char *rules;        /* in words, for the plan's assumptions */
    const char *executor;     /* whose communication it has */
    const char *const *only;  /* schedules, NULL at the end; NULL: all that can be planned */
    const char *const *never; /* schedules it cannot place; NULL: none */
    bool orders;              /* takes an order from a file */
    bool one_order;           /* the same for all replicas */
    bool recompute_alike;     /* every stage recomputes as many layers as the others, */
    bool recompute_uniform;   /* and all or none */
    bool constant_shapes;     /* one size for all microbatches of a step: unequal ones are padded */
    pp_shapes_kind unequal;   /* how sizes travel otherwise, unless said */
} pp_target;

/* Fails: USAGE when unknown, with the names. */
PP_MUST_CHECK pp_status pp_target_get(const char *name, const pp_target **target_out, pp_err *err);

/* Limits the wish. shapes_given: exchange.shapes are asked for. Fails: USAGE when the wish has
 * another executor or shapes, INFEASIBLE when its schedule is not run there. */
PP_MUST_CHECK pp_status pp_target_apply(const pp_target *target, bool shapes_given, pp_wish *wish,
                                        pp_err *err);

/* What the target costs: `free_wish`, the wish as it was before, is searched with the target's
 * executor (its limits alone) and as it is. Puts that into the choice and its plan's assumptions.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_target_compare(const pp_target *target, const pp_wish *free_wish,
                                          pp_choice *choice, pp_err *err);

#endif
