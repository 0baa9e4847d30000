/* A timeline as plain values, for pictures: ops, idle time, transfers and memory, of a simulation
 * or of a file. */
#ifndef PPSIM_TRACES_READ_TRACK_H
#define PPSIM_TRACES_READ_TRACK_H

#include "sim/order/order.h"
#include "traces/read/recorded.h"

/* One compute op. */
typedef struct pp_box {
    pp_ns start_ns, end_ns;
    uint32_t rank;
    uint16_t chunk; /* which of the stages of its rank, from 0 for the first one */
    pp_op op;
} pp_box;

/* An interval in which a rank was idle. */
typedef struct pp_gap {
    pp_ns start_ns, end_ns;
    uint32_t rank;
    pp_idle_cause cause;
} pp_gap;

/* One timeline, predicted or measured. */
typedef struct pp_track {
    char name[160];  /* "1f1b, framework ideal" */
    char about[200]; /* what is trained: "llama3-8b, 8 GPUs: pp 4, tp 2"; "" if not known */
    uint32_t ranks;
    uint32_t chunks; /* the largest number of stages on a rank */
    pp_box *box;     /* by rank, then start */
    size_t box_count, box_capacity;
    pp_gap *gap; /* by rank, then start */
    size_t gap_count, gap_capacity;
    pp_sharding_span *sharding; /* in the order of the source */
    size_t sharding_count, sharding_capacity;
    pp_recorded_transfer *transfer; /* by rank of the sender, then start */
    size_t transfer_count, transfer_capacity;
    pp_memory_sample_row *sample; /* by rank, each in the order of the source */
    size_t sample_count, sample_capacity;
    size_t *path; /* the critical path: indices of boxes, the last one first */
    size_t path_count;
} pp_track;

void pp_track_free(pp_track *track); /* for PP_CLEANUP */

/* Add a zeroed element to a list. Return NULL when there is no memory. */
pp_box *pp_track_add_box(pp_track *track, pp_err *err);
pp_gap *pp_track_add_gap(pp_track *track, pp_err *err);
pp_sharding_span *pp_track_add_sharding(pp_track *track, pp_err *err);
pp_recorded_transfer *pp_track_add_transfer(pp_track *track, pp_err *err);
pp_memory_sample_row *pp_track_add_sample(pp_track *track, pp_err *err);

/* Sorts the lists, counts ranks and chunks and finds the critical path. Call it once, after the
 * last addition. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_track_finish(pp_track *track, pp_err *err);

/* Returns whether box i of a finished timeline is the second half of an overlapped pair that ran as
 * one op: the first half then has the time of both, and the second one is empty, at its end. */
bool pp_track_ends_pair(const pp_track *track, size_t i);

#endif
