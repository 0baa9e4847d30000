/* How anything is measured, whatever it is: warm-up, batches, order, when to stop, and what the
 * numbers are worth. docs/calibration-probes.md says why. */
#ifndef PPSIM_CALIB_MEASURE_PROTOCOL_H
#define PPSIM_CALIB_MEASURE_PROTOCOL_H

#include "calib/measure/series_note.h"
#include "calib/samples/order_statistics.h"
#include "sim/base/units.h"

#include <signal.h>

#define PP_TIMINGS_LEAST 6 /* for a 95 % interval at all */
#define PP_LAPS_MAX 4      /* quantities that one timing yields */

/* One look at the clocks of the calling thread. */
typedef struct pp_instant {
    pp_ns wall_ns, thread_ns;
    int64_t preemptions; /* processor lost although the thread could have gone on */
} pp_instant;

/* What a subject's `run` marks. */
typedef struct pp_lap {
    pp_ns wall_ns, thread_ns;
    int64_t preemptions;
    uint32_t runs;
} pp_lap;

typedef struct pp_protocol pp_protocol;

/* One timing under way; pp_measure makes it. */
typedef struct pp_timing {
    const pp_protocol *protocol;
    pp_instant began;
    pp_lap lap[PP_LAPS_MAX];
} pp_timing;

void pp_timing_begin(pp_timing *timing);
/* What happened since the last begin were `runs` runs of this lap. */
void pp_timing_end(pp_timing *timing, uint32_t lap, uint32_t runs);
/* `runs` runs of this lap took so long, by a clock of the subject's own. */
void pp_timing_add(pp_timing *timing, uint32_t lap, uint32_t runs, pp_ns took_ns);

/* Where something is measured. */
typedef struct pp_point {
    uint32_t series, laps; /* its laps are those of the series from here on; laps: 1 and more */
    double at[PP_VARIABLE_COUNT];
    bool cold;
    char kernel[PP_SAMPLE_KERNEL]; /* of pp_sample; known after prepare */
} pp_point;

/* A point of `laps` laps from `series` on, warm, with all variables NaN. */
pp_point pp_point_of(uint32_t series, uint32_t laps);

typedef struct pp_subject_series {
    const char *class_name;
    bool link;
    int32_t ranks, nodes;
    const char *library; /* as in pp_series; NULL: "" */
} pp_subject_series;

/* What is measured. All of it is the caller's. */
typedef struct pp_subject {
    const char *source; /* of pp_series */
    const char *device; /* of pp_samples: the GPU; NULL: the processor */
    int sm_count;       /* of the GPU */
    pp_stopwatch stopwatch;
    const pp_subject_series *series;
    size_t series_count;
    const pp_point *point;
    size_t point_count;
    void *context;
    /* UNAVAILABLE of prepare or run: this point cannot be measured; it is left out from here on.
     * Around the warm-up and timings of a point, once per pass; NULL: nothing to do. release is
     * called wherever prepare was not refused. */
    pp_status (*prepare)(void *context, size_t point, pp_err *err);
    void (*release)(void *context, size_t point);
    /* Does it `runs` times and fills every lap of the point. Everything between the laps is free
     * of charge. */
    pp_status (*run)(void *context, size_t point, uint32_t runs, pp_timing *timing, pp_err *err);
} pp_subject;

/* For whoever watches: `done` of `total` points of all passes, the next one is of `class_name`. */
typedef struct pp_measure_progress {
    const char *source, *class_name;
    size_t done, total;
} pp_measure_progress;

/* Begin with pp_protocol_default. */
struct pp_protocol {
    uint64_t seed;         /* of the order of the points */
    uint32_t passes;       /* over all points; each in an order of its own */
    uint32_t warmup_runs;  /* before the timings of a point, in every pass: both of them */
    pp_ns warmup_ns;       /*   "   */
    pp_ns first_warmup_ns; /* before the first point: processors take time to come to speed */
    pp_ns batch_ns;        /* a timing of a warm point lasts at least about so long */
    uint32_t timings_min;  /* per point and pass: PP_TIMINGS_LEAST or more */
    uint32_t timings_max;  /*   "   at most PP_TIMINGS_MAX */
    pp_ns point_ns;        /*   "   no timing begins later, once there are timings_min */
    pp_ns total_ns;        /* of all points and passes, shared evenly among what is left; points
 that begin later are timed PP_TIMINGS_LEAST times, after one run */
    double precision;      /* a point is done when the 95 % interval of its median reaches no
                              farther than this part of the median to either side, on average */
    size_t flush_bytes; /* read and written before every run of a cold point; GPUs see to theirs */
    const volatile sig_atomic_t *stop; /* not 0: end soon, keep what there is; NULL: nobody can */
    void (*progress)(void *context, const pp_measure_progress *progress); /* NULL: nobody watches */
    void *progress_context;
    void (*look)(void *context, pp_instant *instant_out); /* NULL: the real clocks; for tests */
    void *look_context;
};

/* quick: fewer passes and timings, less precision. */
pp_protocol pp_protocol_default(bool quick);

/* Measures all points in all passes and adds one sample for each to the series of the same class in
 * `samples`, which are made where they are missing. Points that have a sample of the same place,
 * pass and temperature there are skipped, so that an interrupted run is resumed by calling again.
 * note_out: [subject->series_count]. interrupted_out: the stop flag rose.
 * Points that cannot be measured are told in samples->skipped.
 * Fails: as the subject, but for UNAVAILABLE; NOMEM; INPUT when a lap took no time, limits are
 * none, or `samples` has the class from another source (other settings, an import). Samples of
 * finished points stay in `samples` whatever happens. */
PP_MUST_CHECK pp_status pp_measure(const pp_protocol *protocol, const pp_subject *subject,
                                   pp_samples *samples, pp_series_note *note_out,
                                   bool *interrupted_out, pp_err *err);

#endif
