/* Compares an execution with its prediction. The difference of the two makespans is divided by a
 * third one, which the engine predicts from the measured durations: the part that it already shows
 * comes from durations, the rest from elsewhere (communication semantics, the host). */
#include "runtime/measure/compare.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Returns the median of measured / expected - 1 over all ops of one kind. */
static double median_error(const pp_execution *x, pp_op_kind kind, double *errors)
{
    const pp_timeline *measured = x->result.iteration[x->result.median].timeline;
    const pp_costs *costs = x->costs;
    const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    size_t count = 0;
    for (size_t i = 0; i < x->program->count; i++) {
        pp_op op = x->program->op[i];
        pp_ns expected_ns = table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
        if (op.kind == kind && expected_ns > 0)
            errors[count++] =
                (double)(measured->end_ns[i] - measured->start_ns[i]) / (double)expected_ns - 1;
    }
    if (!count)
        return (double)NAN;
    qsort(errors, count, sizeof *errors, compare_doubles);
    return errors[count / 2];
}

pp_status pp_execution_compare(const pp_execution *x, pp_comparison *comparison_out, pp_err *err)
{
    double *errors = pp_alloc_array(x->program->count, sizeof *errors);
    if (!errors)
        return pp_err_nomem(err);
    const pp_timeline *measured = x->result.iteration[x->result.median].timeline;
    double executed = (double)pp_timeline_makespan(measured);
    double replayed = (double)pp_timeline_makespan(x->replayed);
    double predicted = x->predicted ? (double)pp_timeline_makespan(x->predicted) : (double)NAN;
    pp_comparison c = { .step_error = executed / predicted - 1,
                        .duration_error = (replayed - predicted) / predicted,
                        .structure_error = (executed - replayed) / predicted,
                        .replay_error = replayed > 0 ? executed / replayed - 1 : 0 };
    for (int k = 0; k < PP_OP_KIND_COUNT; k++)
        c.op_error[k] = median_error(x, (pp_op_kind)k, errors);
    free(errors);
    *comparison_out = c;
    return PP_OK;
}
