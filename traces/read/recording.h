/* A timeline that was written to Trace Event files: our own format chrome, or recordings of
 * PyTorch's profiler, a file per rank, whose ranges "PP:3F7" and "ppsim:3F7" are the ops. */
#ifndef PPSIM_TRACES_READ_RECORDING_H
#define PPSIM_TRACES_READ_RECORDING_H

#include "sim/order/order.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"
#include "traces/read/recorded.h"

typedef struct pp_recording {
    pp_order *order;
    pp_program *program;                         /* dependencies alone */
    pp_timeline *timeline;                       /* the first op of all starts at 0 */
    bool measured;                               /* by a profiler, or by ppsim run */
    char model[64], schedule[64], framework[32]; /* "": not said */
    pp_recorded recorded;                        /* empty where there are several steps */
    size_t transfers, waits, memory;             /* events of these */
    size_t steps;                                /* that the files hold */
    pp_ns early_ns; /* most that an op starts before what it needs has ended: clocks that differ */
} pp_recording;

/* step: from 0; SIZE_MAX: the last one.
 * Fails: IO, INPUT (no ops, an op lacks, ops of two files on one rank), INFEASIBLE (an order that
 * waits for itself), NOMEM. */
PP_MUST_CHECK pp_status pp_recording_read(const char *const *paths, size_t count, size_t step,
                                          pp_recording *recording_out, pp_err *err);
/* When a rank went through the steps asked for, in the clock of the file. */
typedef struct pp_window {
    uint32_t rank; /* process of the file; a profiler's is one for all of its processes */
    pp_ns begin_ns, end_ns;
} pp_window;

/* Of steps low to high, by rank. Memory is taken for the ops of these steps alone; for those up to
 * step high (64 B each) where an op stands behind a later one of its name.
 * windows_out: the caller's to free(); everywhere_out: a profiler's, there is one for all.
 * Fails: as above. */
PP_MUST_CHECK pp_status pp_recording_windows(const char *path, size_t low, size_t high,
                                             pp_window **windows_out, size_t *count_out,
                                             bool *everywhere_out, pp_err *err);
void pp_recording_free(pp_recording *recording); /* for PP_CLEANUP; all zero is fine */

#endif
