/* Compares an execution with its prediction. */
#ifndef PPSIM_RUNTIME_MEASURE_COMPARE_H
#define PPSIM_RUNTIME_MEASURE_COMPARE_H

#include "runtime/measure/run_plan.h"

/* The error of the prediction, relative to the predicted makespan, divided by its source. The
 * duration error is the engine's makespan with measured durations less the predicted makespan; the
 * structure error is the executed makespan less that of the engine. */
typedef struct pp_comparison {
    double step_error;                 /* executed makespan / predicted - 1 */
    double duration_error;             /* the part that comes from durations of ops and transfers */
    double structure_error;            /* the rest */
    double replay_error;               /* executed / replayed - 1 */
    double op_error[PP_OP_KIND_COUNT]; /* median of measured / expected - 1; NaN: no such op */
} pp_comparison;

/* Compares an execution that pp_run_plan made, in the process of rank 0. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_execution_compare(const pp_execution *execution,
                                             pp_comparison *comparison_out, pp_err *err);

#endif
