/* How fast a step repeats when no barrier ends it: every rank begins the next step as soon as its
 * own part of the current one is complete. */
#ifndef PPSIM_SIM_ANALYSIS_PERIOD_H
#define PPSIM_SIM_ANALYSIS_PERIOD_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* An exact mean: `steps` steps take sum_ns together. */
typedef struct pp_period {
    pp_ns sum_ns;
    uint32_t steps;
} pp_period;

/* In the long run, one step takes sum_ns / steps, whatever the ranks' first starts are.
 *
 * A step maps the times at which the ranks begin it to those at which they begin the next one. The
 * map is linear in (max, +): end[r] = max over q of (begin[q] + matrix[r][q]). Its growth is the
 * maximum mean of a cycle in the matrix (Baccelli et al. 1992, Synchronization and Linearity,
 * theorem 3.28). One simulation per rank makes the matrix.
 *
 * A rank's part of a step is complete when its ops, transfers, gradient sync and optimizer are,
 * when the other holders of a tied embedding are (they wait for each other) and, if `chained`, when
 * the ranks before it have passed on their part of the gradient norm (sim/analysis/step_tail.h). No
 * transfer reaches into the next step.
 * timeline: of this program and these costs, with all ranks beginning at 0.
 * Fails: INPUT when a sum would leave 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_period_of(const pp_program *program, const pp_costs *costs,
                                     const pp_timeline *timeline, bool chained,
                                     pp_period *period_out, pp_err *err);

/* The most ranks for which pp_period_of is practical: it runs one simulation per rank and keeps
 * ranks^2 numbers. */
#define PP_PERIOD_RANKS_MAX 4096u

/* The maximum mean of a cycle, at least 0 / 1. matrix[to * n + from]: the length of an edge, or
 * PP_NEVER (sim/analysis/step_tail.h) where there is none. Fails: INPUT when a sum would leave 64
 * bits, NOMEM. */
PP_MUST_CHECK pp_status pp_period_of_matrix(const pp_ns *matrix, uint32_t n, pp_period *period_out,
                                            pp_err *err);

/* The mean in whole ns, rounded up. */
pp_ns pp_period_ns(pp_period period);

#endif
