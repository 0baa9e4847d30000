/* The measurement protocol that all probes share: warm-up, batches, order of points, when to stop,
 * and how good the numbers are. docs/reference/calibration-probes.md gives the reasons. */
#ifndef PPSIM_CALIB_MEASURE_PROTOCOL_H
#define PPSIM_CALIB_MEASURE_PROTOCOL_H

#include "calib/measure/series_note.h"
#include "calib/samples/order_statistics.h"
#include "sim/base/units.h"

#include <signal.h>

#define PP_TIMINGS_LEAST 6 /* fewer timings have no 95 % interval of the median */
#define PP_LAPS_MAX 4      /* quantities that one timing measures */

/* The clocks of the calling thread at one moment. */
typedef struct pp_instant {
    pp_ns wall_ns, thread_ns;
    int64_t preemptions; /* involuntary context switches of the thread */
} pp_instant;

/* The time and the number of runs that a subject's `run` recorded for one quantity. */
typedef struct pp_lap {
    pp_ns wall_ns, thread_ns;
    int64_t preemptions;
    uint32_t runs;
} pp_lap;

typedef struct pp_protocol pp_protocol;

/* One timing in progress; pp_measure creates it. */
typedef struct pp_timing {
    const pp_protocol *protocol;
    pp_instant began;
    pp_lap lap[PP_LAPS_MAX];
} pp_timing;

/* Starts the clocks. */
void pp_timing_begin(pp_timing *timing);
/* Adds the time since the last pp_timing_begin to `lap` and counts it as `runs` runs. */
void pp_timing_end(pp_timing *timing, uint32_t lap, uint32_t runs);
/* Adds `runs` runs that took `took_ns` by a clock of the subject, such as that of a GPU, to `lap`.
 */
void pp_timing_add(pp_timing *timing, uint32_t lap, uint32_t runs, pp_ns took_ns);

/* What is measured: the series and the variables. */
typedef struct pp_point {
    uint32_t series, laps; /* lap k belongs to series `series` + k; laps: 1 to PP_LAPS_MAX */
    double at[PP_VARIABLE_COUNT];
    bool cold;
    char kernel[PP_SAMPLE_KERNEL]; /* as in pp_sample; set by prepare */
} pp_point;

/* Returns a point of `laps` laps from `series` on, warm, with all variables NaN. */
pp_point pp_point_of(uint32_t series, uint32_t laps);

typedef struct pp_subject_series {
    const char *class_name;
    bool link;
    int32_t ranks, nodes;
    const char *library; /* as in pp_series; NULL: "" */
} pp_subject_series;

/* A set of points that are measured in the same way. Everything in it is owned by the caller. */
typedef struct pp_subject {
    const char *source; /* as in pp_series */
    const char *device; /* as in pp_samples, for a GPU; NULL: the processor */
    int sm_count;       /* of the GPU; 0: not one */
    pp_stopwatch stopwatch;
    const pp_subject_series *series;
    size_t series_count;
    const pp_point *point;
    size_t point_count;
    void *context;
    /* Called before and after the warm-up and timings of a point, once per pass; either may be
     * NULL. release is called only after prepare has succeeded. If prepare or run fails with
     * UNAVAILABLE, the point is left out from then on; any other failure ends the measurement. */
    pp_status (*prepare)(void *context, size_t point, pp_err *err);
    void (*release)(void *context, size_t point);
    /* Runs the point `runs` times and records every lap in `timing`. Time outside the laps does not
     * count. */
    pp_status (*run)(void *context, size_t point, uint32_t runs, pp_timing *timing, pp_err *err);
} pp_subject;

/* Progress: `done` of `total` points of all passes are measured; the next is of `class_name`. */
typedef struct pp_measure_progress {
    const char *source, *class_name;
    size_t done, total;
} pp_measure_progress;

/* How to measure. Start from pp_protocol_default. */
struct pp_protocol {
    uint64_t seed;         /* for the random order of the points */
    uint32_t passes;       /* over all points; each has its own order */
    uint32_t warmup_runs;  /* runs before the timings of a point, in every pass, ... */
    pp_ns warmup_ns;       /* ... and how long they last at least */
    pp_ns first_warmup_ns; /* warm-up of the first point, until clocks have reached full speed */
    pp_ns batch_ns;        /* approximate least duration of one timing of a warm point */
    uint32_t timings_min;  /* per point and pass, at least PP_TIMINGS_LEAST */
    uint32_t timings_max;  /* per point and pass, at most PP_TIMINGS_MAX */
    pp_ns point_ns; /* per point and pass; after that, timings begin only to reach timings_min */
    /* For all points and passes together; each point gets an equal share of the remaining time.
     * Points that begin later are timed PP_TIMINGS_LEAST times after one warm-up run. */
    pp_ns total_ns;
    /* A point is done when half the 95 % interval of its median is at most this part of it. */
    double precision;
    size_t flush_bytes; /* read and written before every run of a cold point, except on GPUs */
    const volatile sig_atomic_t *stop; /* not 0: end soon and keep the samples; NULL: never */
    void (*progress)(void *context, const pp_measure_progress *progress); /* NULL: no callback */
    void *progress_context;
    /* Reads the clocks; NULL: the real ones. Tests set it. */
    void (*look)(void *context, pp_instant *instant_out);
    void *look_context;
};

/* `quick` means fewer passes and timings, and less precision. */
pp_protocol pp_protocol_default(bool quick);

/* Measures all points in all passes and adds one sample for each to the series of its class in
 * `samples`; missing series are added. Points that already have a sample with the same variables,
 * pass and cache state are skipped, so calling it again resumes an interrupted run. Points that
 * cannot be measured are listed in samples->skipped. note_out: [subject->series_count].
 * *interrupted_out: the stop flag was set.
 * Fails: as prepare and run of the subject, UNAVAILABLE excepted; NOMEM; INPUT when a lap took no
 * time, the limits of the protocol are invalid, or `samples` has one of the classes from another
 * source (other settings, an import). Samples of finished points stay in `samples` even then. */
PP_MUST_CHECK pp_status pp_measure(const pp_protocol *protocol, const pp_subject *subject,
                                   pp_samples *samples, pp_series_note *note_out,
                                   bool *interrupted_out, pp_err *err);

#endif
