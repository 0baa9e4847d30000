/* The quality of the timings of a series: intervals of medians, and differences between passes. */
#ifndef PPSIM_CALIB_MEASURE_SERIES_NOTE_H
#define PPSIM_CALIB_MEASURE_SERIES_NOTE_H

#include "calib/samples/samples.h"

/* The clock with which a series was timed. */
typedef enum pp_stopwatch {
    PP_STOPWATCH_THREAD, /* processor time of the calling thread, without that of other processes */
    PP_STOPWATCH_WALL,   /* wall-clock time, if several threads or processes take part */
    PP_STOPWATCH_DEVICE, /* the clock of a GPU; see pp_timing_add */
} pp_stopwatch;

const char *pp_stopwatch_name(pp_stopwatch stopwatch);

/* The quality of one series of a subject. */
typedef struct pp_series_note {
    char class_name[64];
    pp_stopwatch stopwatch;
    uint32_t points; /* points measured in this run, of all passes; the counts below are of these */
    uint32_t precise; /* points that reached the precision asked for */
    uint32_t crowded; /* points that had to include voided timings, since the machine was busy */
    uint64_t timings; /* all timings */
    uint64_t voided;  /* timings during which the thread was preempted */
    double interval;  /* median over all samples of half the 95 % interval, relative */
    double drift;     /* slowest pass over fastest, minus 1 */
    bool drifts;      /* passes differ by more than the interval */
    bool throttled;   /* each pass is slower than the one before: a processor that grew hot, or
                         other processes that started */
} pp_series_note;

/* Sets interval, drift, drifts and throttled from the samples of one series over all passes.
 * `precision` is the least relative difference that counts. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_series_judge(const pp_series *series, double precision,
                                        pp_series_note *note, pp_err *err);

#endif
