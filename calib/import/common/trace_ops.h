/* Durations of pipeline ops, as recordings and logs hold them, gathered into series per stage. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_TRACE_OPS_H
#define PPSIM_CALIB_IMPORT_COMMON_TRACE_OPS_H

#include "calib/samples/samples.h"
#include "sim/order/order.h"

/* One execution of an op. */
typedef struct pp_trace_op {
    pp_op_kind kind;
    int64_t stage; /* -1: not known */
    double at[PP_VARIABLE_COUNT];
    double seconds;
} pp_trace_op;

/* Prints the class of a series: "stage_f 3", or "stage_f" if the stage is not known. */
void pp_trace_class(pp_op_kind kind, int64_t stage, char *name, size_t size);
/* Appends a series per stage and kind, with a sample per set of variables that is the median of its
 * ops. Sorts `ops`. host: the ops were timed on the host, not on the device. `file` becomes the
 * source of the series. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_trace_ops_gather(pp_trace_op *ops, size_t count, bool host,
                                            const char *file, pp_samples *samples, pp_err *err);

#endif
