/* The idle time of a step, wait by wait: which op waited, how long, and for what. */
#ifndef PPSIM_SIM_ANALYSIS_WAITS_H
#define PPSIM_SIM_ANALYSIS_WAITS_H

#include "sim/base/status.h"
#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* A wait has one cause. An op that waits first for its input and then for the link has two waits.
 */
typedef struct pp_blocked {
    uint32_t rank;
    char op[40]; /* the op that waited; after the rank's last op, the transfer that it awaits */
    pp_ns at_ns, waits_ns;
    pp_idle_cause cause;
    char by[40]; /* the op or transfer that it waited for; "" if that is outside the program */
    uint32_t by_rank;
} pp_blocked;

/* Sorted by length, the longest first, then by time, then by rank. Owner frees with
 * pp_blocked_free. */
typedef struct pp_blocked_list {
    pp_blocked *item;
    size_t count;
} pp_blocked_list;

/* Lists the `most` longest waits; SIZE_MAX lists all. All waits of a rank up to its last op sum to
 * its idle time until then. timeline: made by pp_simulate, with its waits.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_blocked_find(const pp_program *program, const pp_timeline *timeline,
                                        size_t most, pp_blocked_list *list_out, pp_err *err);
void pp_blocked_free(pp_blocked_list *list);

#endif
