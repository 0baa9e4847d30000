/* Reads one step of a recording from Trace Event files: one file of ppsim's own format chrome, or
 * files of PyTorch's profiler, one per rank, whose ranges "PP:3F7" and "ppsim:3F7" are the ops. */
#ifndef PPSIM_TRACES_READ_RECORDING_H
#define PPSIM_TRACES_READ_RECORDING_H

#include "sim/order/order.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"
#include "traces/read/recorded.h"

typedef struct pp_recording {
    pp_order *order;
    pp_program *program;                         /* without communication */
    pp_timeline *timeline;                       /* the first op or wait starts at 0 */
    bool measured;                               /* by a profiler, or by ppsim run */
    char model[64], schedule[64], framework[32]; /* "": the file does not name it */
    pp_recorded recorded;                        /* empty when there are several steps */
    size_t transfers, waits, memory;             /* numbers of such events in the files */
    size_t steps;                                /* number of steps in the files */
    pp_ns early_ns; /* the most by which an op starts before its input ends, as clocks differ */
} pp_recording;

/* Reads `count` files. step: counted from 0; SIZE_MAX: the last one. The caller frees the recording
 * with pp_recording_free.
 * Fails: IO, INPUT (no ops, an op is missing, two files are of one rank), USAGE (there is no such
 * step), INFEASIBLE (the order waits for itself), NOMEM. */
PP_MUST_CHECK pp_status pp_recording_read(const char *const *paths, size_t count, size_t step,
                                          pp_recording *recording_out, pp_err *err);
/* The time in which a rank ran some steps, in the clock of the file. */
typedef struct pp_window {
    uint32_t rank; /* the process of the file */
    pp_ns begin_ns, end_ns;
} pp_window;

/* Finds when each rank ran steps low to high, both included. windows_out: sorted by rank; the
 * caller frees it. everywhere_out: true if a profiler file's single window applies to all
 * processes. Memory use: the ops of these steps, or of all steps up to `high` if ops of one name
 * are out of order. Fails: as pp_recording_read. */
PP_MUST_CHECK pp_status pp_recording_windows(const char *path, size_t low, size_t high,
                                             pp_window **windows_out, size_t *count_out,
                                             bool *everywhere_out, pp_err *err);
void pp_recording_free(pp_recording *recording); /* for PP_CLEANUP; all zero is fine */

#endif
