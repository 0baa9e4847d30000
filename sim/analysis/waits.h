/* Which op stood still, how long, and because of what: the idle time of a step, wait by wait. */
#ifndef PPSIM_SIM_ANALYSIS_WAITS_H
#define PPSIM_SIM_ANALYSIS_WAITS_H

#include "sim/base/status.h"
#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* A wait has one cause; where an op waits first for its input and then for the link, it has two. */
typedef struct pp_blocked {
    uint32_t rank;
    char
        op[40]; /* the op that would have run; after the last one of a rank, the transfer awaited */
    pp_ns at_ns, waits_ns;
    pp_idle_cause cause;
    char by[40]; /* the op or transfer that it waited for; "" where it is outside the program */
    uint32_t by_rank;
} pp_blocked;

/* The longest waits first, the earlier of equal ones, the lower rank of those. Owner frees with
 * pp_blocked_free. */
typedef struct pp_blocked_list {
    pp_blocked *item;
    size_t count;
} pp_blocked_list;

/* most: of the waits; SIZE_MAX: all of them. Those of a rank up to its last op sum to its idle time
 * until then. timeline: of pp_simulate, with its waits. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_blocked_find(const pp_program *program, const pp_timeline *timeline,
                                        size_t most, pp_blocked_list *list_out, pp_err *err);
void pp_blocked_free(pp_blocked_list *list);

#endif
