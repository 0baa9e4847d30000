/* What the timings of a series are worth: intervals of medians, and passes that differ. */
#ifndef PPSIM_CALIB_MEASURE_SERIES_NOTE_H
#define PPSIM_CALIB_MEASURE_SERIES_NOTE_H

#include "calib/samples/samples.h"

/* Which clock a series was taken with. */
typedef enum pp_stopwatch {
    PP_STOPWATCH_THREAD, /* processor time of the calling thread: other processes do not count */
    PP_STOPWATCH_WALL,   /* where several threads or processes take part */
    PP_STOPWATCH_DEVICE, /* of a GPU: pp_timing_add */
} pp_stopwatch;

const char *pp_stopwatch_name(pp_stopwatch stopwatch);

/* What a series is worth; one per series of the subject. */
typedef struct pp_series_note {
    char class_name[64];
    pp_stopwatch stopwatch;
    uint32_t points;  /* taken now, of all passes; what follows counts these */
    uint32_t precise; /* that met `precision` */
    uint32_t crowded; /* whose timings had to include voided ones: the machine was busy */
    uint64_t timings; /* all */
    uint64_t voided;  /* in which the processor was lost */
    double interval;  /* median over points of half the interval, relative; of all samples */
    double drift;     /* the slowest pass over the fastest, less 1; likewise */
    bool drifts;      /* by more than the interval */
    bool throttled;   /* later passes are slower by more than the interval, none is faster again:
                         a processor that grew hot, or a machine that filled up */
} pp_series_note;

/* interval, drift, drifts and throttled of a note, from samples of one series over their passes.
 * The interval follows from p10, p90 and repeats, as if times were normally distributed.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_series_judge(const pp_series *series, double precision,
                                        pp_series_note *note, pp_err *err);

#endif
