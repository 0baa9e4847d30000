/* Durations of pipeline ops, as recordings and logs hold them, gathered into series per stage. */
#ifndef PPSIM_CALIB_SAMPLES_TRACE_OPS_H
#define PPSIM_CALIB_SAMPLES_TRACE_OPS_H

#include "calib/samples/samples.h"
#include "sim/order/order.h"

typedef struct pp_trace_op {
    pp_op_kind kind;
    int64_t stage; /* -1: not said */
    double at[PP_VARIABLE_COUNT];
    double seconds;
} pp_trace_op;

/* "stage_f 3"; "stage_f" where the stage is not said. */
void pp_trace_class(pp_op_kind kind, int64_t stage, char *name, size_t size);
/* Sorts `ops`. A series per stage and kind, a sample per set of variables: the median of its ops.
 * host: it timed them, not the device. */
PP_MUST_CHECK pp_status pp_trace_ops_gather(pp_trace_op *ops, size_t count, bool host,
                                            const char *file, pp_samples *samples, pp_err *err);

#endif
