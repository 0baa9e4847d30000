/* How fast a step repeats where no barrier ends it: every rank goes on to the next step when its
 * own part of the last one is over. */
#ifndef PPSIM_SIM_ANALYSIS_PERIOD_H
#define PPSIM_SIM_ANALYSIS_PERIOD_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* A mean of `steps` steps that take sum_ns together; exact. */
typedef struct pp_period {
    pp_ns sum_ns;
    uint32_t steps;
} pp_period;

/* In the long run one step per sum_ns / steps, whatever the start.
 *
 * One step maps the times at which the ranks begin it to those at which they begin the next, and
 * is linear in (max, +): end[r] = max over q of (begin[q] + matrix[r][q]). Its growth is the
 * greatest mean of a circle in the matrix (Baccelli et al. 1992, Synchronization and Linearity,
 * theorem 3.28). One simulation per rank makes the matrix.
 *
 * A rank's part is over when its ops, its transfers, its gradient sync and its optimizer are, with
 * the tied embedding (its holders wait for each other) and, when `chained`, with the ranks before
 * it (sim/analysis/step_tail.h). No transfer reaches into the next step.
 * timeline: of this program and these costs, all ranks beginning at 0.
 * Fails: INPUT when a sum would leave 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_period_of(const pp_program *program, const pp_costs *costs,
                                     const pp_timeline *timeline, bool chained,
                                     pp_period *period_out, pp_err *err);

/* Beyond, nobody should ask: one simulation and one row of ranks numbers per rank. */
#define PP_PERIOD_RANKS_MAX 4096u

/* The greatest mean of a circle. matrix[to * n + from], PP_NEVER (sim/analysis/step_tail.h): no
 * way. 0 / 1 when there is no circle of more. Fails: INPUT, NOMEM as above. */
PP_MUST_CHECK pp_status pp_period_of_matrix(const pp_ns *matrix, uint32_t n, pp_period *period_out,
                                            pp_err *err);

/* In whole ns, rounded up. */
pp_ns pp_period_ns(pp_period period);

#endif
