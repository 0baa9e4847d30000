/* Which step every op of a recording is of, for traces/read/recording.c: the n-th time that an op
 * is seen is that of step n. */
#ifndef PPSIM_TRACES_READ_RECORDED_STEPS_H
#define PPSIM_TRACES_READ_RECORDED_STEPS_H

#include "sim/base/units.h"
#include "sim/order/order.h"

typedef struct pp_op_slice {
    pp_op op;
    uint32_t rank;
    size_t step;
    size_t earlier, later; /* of this op, forgotten */
    pp_ns begin_ns, end_ns;
} pp_op_slice;

/* All zero: every step is kept. Owner frees item. */
typedef struct pp_op_slices {
    pp_op_slice *item;
    size_t count, capacity;
    size_t steps; /* found until now, of those up to last_step */
    bool some;    /* only first_step to last_step are wanted */
    size_t first_step, last_step;
    size_t look_again; /* at so many slices */
    bool more;         /* there were later steps */
    bool disordered;   /* an op stood behind a later one, after early ones were forgotten */
} pp_op_slices;

int pp_op_compare(pp_op a, pp_op b);

PP_MUST_CHECK pp_status pp_op_slices_add(pp_op_slices *slices, const pp_op_slice *slice,
                                         pp_err *err);
void pp_op_slices_number(pp_op_slices *slices);
/* With `some`: of each op what is wanted is kept, and the last one before it. */
void pp_op_slices_forget(pp_op_slices *slices);
/* Leaves steps low to high, by rank and time. Fails: INPUT (an op lacks in some), USAGE (there are
 * not so many). */
PP_MUST_CHECK pp_status pp_op_slices_keep(pp_op_slices *slices, size_t low, size_t high,
                                          pp_err *err);

#endif
