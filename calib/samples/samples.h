/* Measured points: the output of probes and imports, the input of fits, and part of a profile. */
#ifndef PPSIM_CALIB_SAMPLES_SAMPLES_H
#define PPSIM_CALIB_SAMPLES_SAMPLES_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The variables that a point was measured at: enum, key in files, unit. A variable that does not
 * apply to the class of the point is NaN. */
#define PP_VARIABLE_MAP(X)                                                 \
    X(BYTES, bytes, "B")          /* of a message, a copy, a tensor */     \
    X(TOKENS, tokens, "tokens")   /* T: sum over the microbatch */         \
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

/* Returns true if all variables are equal; NaN equals NaN. */
bool pp_variables_equal(const double a[PP_VARIABLE_COUNT], const double b[PP_VARIABLE_COUNT]);

/* Source prefix of series that were timed on the host, from launch to completion. Series without it
 * were timed on the device. */
#define PP_SOURCE_HOST "host time: "

enum { PP_SAMPLE_KERNEL = 80 };

typedef struct pp_sample {
    double at[PP_VARIABLE_COUNT]; /* NaN: not known or not applicable */
    double seconds;               /* median of the repeats; positive */
    double p10_s, p90_s;          /* NaN: not known */
    uint32_t repeats;             /* 0: not known */
    uint32_t pass; /* number of the pass over all points; passes may differ in speed */
    bool cold;     /* caches were emptied before each run */
    char kernel[PP_SAMPLE_KERNEL]; /* the kernel that the library chose, in one line; "": not known
                                    */
} pp_sample;

/* Points of one class, which is one kernel of one shape or one kind of link. pp_samples_free frees
 * the points. */
typedef struct pp_series {
    char class_name[64];   /* "send_recv", "all_reduce", "stage_f", "gemm_fwd mlp_up", ... */
    bool link;             /* false: a kernel */
    int32_t ranks, nodes;  /* of the communicator; 0: not known */
    int32_t channels_max;  /* p2p channels of the communicator; 0: not known */
    int32_t channels_peer; /* p2p channels per peer; 0: not known */
    char library[32];      /* "nccl 2.29.2", "rccl 2.20.5"; "": not known */
    char source[128];      /* the file or command that the points came from, in one line */
    pp_sample *sample;
    size_t count, capacity;
} pp_series;

/* The owner frees it with pp_samples_free. */
typedef struct pp_samples {
    pp_series *series;
    size_t count, capacity;
    char device[128]; /* "NVIDIA H100 80GB HBM3"; "": not known */
    char *skipped;    /* lines that say what was left out and why; NULL: nothing */
} pp_samples;

/* Appends an empty series, which belongs to `samples` and is valid until the next one is added.
 * Fails: INPUT (the name is too long), NOMEM. */
PP_MUST_CHECK pp_status pp_samples_add_series(pp_samples *samples, const char *class_name,
                                              pp_series **series_out, pp_err *err);
/* Returns the first series of this class, or NULL. */
pp_series *pp_samples_find(const pp_samples *samples, const char *class_name);
/* Returns a sample with this time; everything else is NaN or 0. */
pp_sample pp_sample_of(double seconds);
/* Sorts `values` (in seconds; count is at least 1) and returns a sample with their median and, if
 * there are several, their 10th and 90th percentiles by nearest rank. */
pp_sample pp_sample_of_repeats(double *values, size_t count);
/* Appends a copy of `sample`. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_series_add(pp_series *series, const pp_sample *sample, pp_err *err);
/* Adds the line "WHAT: WHY" to samples->skipped, unless the line is there already. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_samples_skip(pp_samples *samples, const char *what, const char *why,
                                        pp_err *err);
/* Removes all lines that were added for `what`. */
void pp_samples_unskip(pp_samples *samples, const char *what);
void pp_samples_free(pp_samples *samples); /* for PP_CLEANUP; accepts an all-zero object */

#endif
