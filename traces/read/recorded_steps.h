/* Divides the ops of a recording into training steps: the n-th slice of an op belongs to step n. */
#ifndef PPSIM_TRACES_READ_RECORDED_STEPS_H
#define PPSIM_TRACES_READ_RECORDED_STEPS_H

#include "sim/base/units.h"
#include "sim/order/order.h"

/* One execution of an op. */
typedef struct pp_op_slice {
    pp_op op;
    uint32_t rank;
    size_t step;           /* from 0; set by pp_op_slices_number */
    size_t earlier, later; /* number of slices of this op before and after it that were dropped */
    pp_ns begin_ns, end_ns;
} pp_op_slice;

/* The slices that were read so far. All zero is an empty list that keeps every step. The owner
 * frees `item`. */
typedef struct pp_op_slices {
    pp_op_slice *item;
    size_t count, capacity;
    size_t steps; /* found so far, not counting those beyond last_step */
    bool some;    /* only first_step to last_step are kept; set by the owner */
    size_t first_step, last_step;
    size_t look_again; /* slices are dropped when their number reaches this */
    bool more;         /* there were steps beyond last_step */
    bool disordered; /* a slice came after a later one of its op, when early ones were dropped: the
                        numbers of the steps are wrong */
} pp_op_slices;

/* Compares by stage, microbatch and kind, for qsort. */
int pp_op_compare(pp_op a, pp_op b);
/* Adds a copy of `slice`; may drop slices that are not wanted. Fails: NOMEM. */

PP_MUST_CHECK pp_status pp_op_slices_add(pp_op_slices *slices, const pp_op_slice *slice,
                                         pp_err *err);
/* Sorts the slices by rank, op and time, and sets `step` of each and `steps`. */
void pp_op_slices_number(pp_op_slices *slices);
/* Numbers the slices; with `some`, keeps of each op the wanted steps and the last slice before. */
void pp_op_slices_forget(pp_op_slices *slices);
/* Keeps the slices of steps low to high, both included, sorted by rank and time. Fails: INPUT (an
 * op is missing in some steps), USAGE (the recording has fewer steps). */
PP_MUST_CHECK pp_status pp_op_slices_keep(pp_op_slices *slices, size_t low, size_t high,
                                          pp_err *err);

#endif
