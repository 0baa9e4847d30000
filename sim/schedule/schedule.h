/* A schedule is a named generator of orders. It is one file in sim/schedule/ and one line in
 * sim/schedules.def; sim/schedule/registry.h finds it by name. */
#ifndef PPSIM_SIM_SCHEDULE_SCHEDULE_H
#define PPSIM_SIM_SCHEDULE_SCHEDULE_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

typedef struct pp_schedule {
    const char *name;
    const char *summary; /* one line, with the source */
    pp_placement placement;
    uint32_t chunks;      /* the only legal v; 0: any v >= 2, which must be given */
    bool splits_backward; /* it has I and W instead of B */
    bool
        overlaps_experts; /* it is of use only where overlapped pairs hide an exchange of experts */
    bool uses_costs;      /* its order depends on params.costs; others depend on sizes alone */
    bool grouped;         /* it uses pp_schedule_params.group_size */
    bool simulate_only;   /* no runtime supports it, so that it is neither planned nor exported */
    /* Fails: USAGE when the sizes are not legal (the text gives the rule and the nearest legal
     * values), NOMEM. */
    pp_status (*build)(const pp_schedule_params *params, pp_order **order_out, pp_err *err);
} pp_schedule;

#endif
