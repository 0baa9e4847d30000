/* Named generators of orders: one file in sim/schedule/ and one line in sim/schedules.def each. */
#ifndef PPSIM_SIM_SCHEDULE_SCHEDULE_H
#define PPSIM_SIM_SCHEDULE_SCHEDULE_H

#include "sim/cost/costs.h"
#include "sim/order/order.h"

/* What an order is built for. */
typedef struct pp_schedule_params {
    uint32_t ranks;                /* p */
    uint32_t chunks;               /* v: stages per rank */
    uint32_t microbatches;         /* m */
    uint32_t group_size;           /* Megatron's microbatch group N; 0: the schedule's own rule */
    const pp_costs *costs;         /* may be NULL; for generators that look at durations */
    const pp_memory_costs *memory; /* may be NULL: F=1, I=-0.5, W=-0.5 */
} pp_schedule_params;

typedef struct pp_schedule {
    const char *name;
    const char *summary; /* one line, with the source */
    pp_placement placement;
    uint32_t chunks; /* the only legal v; 0: any from 2 on, and it must be given */
    bool splits_backward;
    bool grouped;       /* obeys pp_schedule_params.group_size */
    bool simulate_only; /* no runtime takes it: neither planned nor written */
    /* Fails: USAGE when the shape is not legal (the text gives the rule and the nearest legal
     * values), NOMEM. */
    pp_status (*build)(const pp_schedule_params *shape, pp_order **order_out, pp_err *err);
} pp_schedule;

/* For schedules whose ranks can be written one by one: appends all ops of `rank`. */
typedef void (*pp_fill_rank)(pp_order *order, uint32_t rank, const pp_schedule_params *shape);

/* An order on p x v stages with up to `ops` ops per stage and microbatch, filled rank by rank.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_fill(const pp_schedule_params *shape, pp_placement placement,
                                         size_t ops, pp_fill_rank fill, pp_order **order_out,
                                         pp_err *err);

/* What 1F1B is made of, for pp_fill_rank: min(warmup, m) forwards of stage r, then one forward and
 * one backward in turn, then the rest of the backwards. A warm-up of m is GPipe. */
void pp_schedule_fill_1f1b(pp_order *order, uint32_t r, const pp_schedule_params *shape,
                           uint32_t warmup);

size_t pp_schedule_count(void);
const pp_schedule *pp_schedule_at(size_t index);
/* NULL when unknown. */
const pp_schedule *pp_schedule_find(const char *name);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_schedule_get(const char *name, const pp_schedule **schedule_out,
                                        pp_err *err);

/* Checks sizes, v and group size against the entry. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_schedule_check(const pp_schedule *schedule,
                                          const pp_schedule_params *shape, pp_err *err);

/* The same, then builds; costs, where given, are of this shape. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_build(const pp_schedule *schedule,
                                          const pp_schedule_params *shape, pp_order **order_out,
                                          pp_err *err);

/* Does the named schedule make this order, or its forwards where the order has nothing else? v is
 * stages / ranks; group_size as in pp_schedule_params.
 * same_out is false where the schedule refuses the shape. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_makes(const char *name, const pp_order *order,
                                          uint32_t group_size, bool *same_out, pp_err *err);

#endif
