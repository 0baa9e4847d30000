/* Measured points: what probes and imports hand to the fits, and what a profile keeps. */
#ifndef PPSIM_CALIB_SAMPLES_SAMPLES_H
#define PPSIM_CALIB_SAMPLES_SAMPLES_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* enum, key, unit: what a point was measured at. A variable that does not belong to its class is
 * NaN. */
#define PP_VARIABLE_MAP(X)                                                 \
    X(BYTES, bytes, "B")          /* of a message, a copy, a tensor */     \
    X(TOKENS, tokens, "tokens")   /* T: all of the microbatch */           \
    X(SQUARES, square_sum, "")    /* Q: sum of squared sequence lengths */ \
    X(LONGEST, longest, "tokens") /* the longest sequence */               \
    X(TILES, tiles, "")           /* sum of ceil(length / 128)^2 */        \
    X(ROWS, m, "")                /* of a matrix product */                \
    X(COLUMNS, n, "")                                                      \
    X(DEPTH, k, "")                                                        \
    X(CHANNELS, channels, "")     /* that NCCL gave the message */         \
    X(PARAMETERS, parameters, "") /* of an optimizer step */

typedef enum pp_variable {
#define PP_VARIABLE_ENUM(id, key, unit) PP_VARIABLE_##id,
    PP_VARIABLE_MAP(PP_VARIABLE_ENUM)
#undef PP_VARIABLE_ENUM
        PP_VARIABLE_COUNT,
} pp_variable;

const char *pp_variable_key(pp_variable variable);

/* How the source of a series begins that the host timed, from before an op's launch until the
 * device had done it; others are times of the device. */
#define PP_SOURCE_HOST "host time: "

enum { PP_SAMPLE_KERNEL = 80 };

typedef struct pp_sample {
    double at[PP_VARIABLE_COUNT]; /* NaN: not said */
    double seconds;               /* median of its repeats; positive */
    double p10_s, p90_s;          /* NaN: not known */
    uint32_t repeats;             /* 0: not known */
    uint32_t pass; /* of the series: repeats of one size in other passes drift apart */
    bool cold;     /* caches were emptied before */
    char kernel[PP_SAMPLE_KERNEL]; /* what the library chose, in one line; "": not known */
} pp_sample;

/* Points of one class: one kernel of one shape, or one kind of link. Owner frees with
 * pp_series_free. */
typedef struct pp_series {
    char class_name[64];   /* "send_recv", "all_reduce", "stage_f", "gemm_fwd mlp_up", ... */
    bool link;             /* otherwise a kernel */
    int32_t ranks, nodes;  /* of the communicator; 0: not known */
    int32_t channels_max;  /* p2p channels of the communicator; 0: not known */
    int32_t channels_peer; /* p2p channels per peer; 0: not known */
    char library[32];      /* "nccl 2.29.2", "rccl 2.20.5"; "": not known */
    char source[128];      /* file or command, in one line */
    pp_sample *sample;
    size_t count, capacity;
} pp_series;

/* Owner frees with pp_samples_free. */
typedef struct pp_samples {
    pp_series *series;
    size_t count, capacity;
    char device[128]; /* "NVIDIA H100 80GB HBM3"; "": not known */
    char *skipped;    /* what is left out and why, in lines; NULL: nothing */
} pp_samples;

PP_MUST_CHECK pp_status pp_samples_add_series(pp_samples *samples, const char *class_name,
                                              pp_series **series_out, pp_err *err);
/* The first series of this class, or NULL. */
pp_series *pp_samples_find(const pp_samples *samples, const char *class_name);
/* All NaN and 0 but for seconds. */
pp_sample pp_sample_of(double seconds);
/* Sorts `values` (count >= 1) and says median, 10th and 90th percentile (nearest rank). */
pp_sample pp_sample_of_repeats(double *values, size_t count);
PP_MUST_CHECK pp_status pp_series_add(pp_series *series, const pp_sample *sample, pp_err *err);
/* Adds the line "WHAT: WHY" to samples->skipped, unless it is there from before. */
PP_MUST_CHECK pp_status pp_samples_skip(pp_samples *samples, const char *what, const char *why,
                                        pp_err *err);
/* Takes what was added for WHAT out again. */
void pp_samples_unskip(pp_samples *samples, const char *what);
void pp_samples_free(pp_samples *samples); /* for PP_CLEANUP; all zero is fine */

#endif
