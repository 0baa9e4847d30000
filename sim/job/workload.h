/* The data of one step: microbatches of sequences. */
#ifndef PPSIM_SIM_JOB_WORKLOAD_H
#define PPSIM_SIM_JOB_WORKLOAD_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define PP_LENGTH_MAX ((int64_t)1 << 24)            /* tokens of one sequence, and of a bin */
#define PP_MICROBATCH_TOKENS_MAX ((int64_t)1 << 31) /* so that square sums stay below 2^55 */
#define PP_MICROBATCHES_MAX ((int64_t)1 << 24)      /* per step, all replicas */
#define PP_LENGTHS_MAX ((size_t)1 << 24)            /* sequences per step */

/* One microbatch. Its sequences are the `count` entries of pp_workload.lengths from `first` on. */
typedef struct pp_microbatch {
    int64_t tokens;     /* T: the sum of lengths */
    int64_t square_sum; /* Q: the sum of squared lengths */
    size_t first, count;
} pp_microbatch;

/* The data of one step. Owner frees with pp_workload_free. */
typedef struct pp_workload {
    uint32_t replicas;     /* 1 if all data-parallel replicas have equal data, else all of them */
    uint32_t microbatches; /* m, per replica */
    pp_microbatch *microbatch; /* [replicas * microbatches], replica-major */
    int64_t *lengths;          /* [length_count] */
    size_t length_count;
    size_t first_fit_bins; /* bins that first fit made; 0: not packed, or read from a plan */
    size_t bins;           /* bins after splitting, or groups; 0: read from a plan */
    int64_t wire_tokens;   /* every tensor is padded to as many for its transfer; 0: none is */
} pp_workload;

/* Makes equal microbatches of `micro_batch_size` sequences of `seq_length` tokens. They share the
 * same entries of lengths.
 * Fails: NOMEM, INPUT beyond the limits above. */
PP_MUST_CHECK pp_status pp_workload_fixed(uint32_t microbatches, int64_t micro_batch_size,
                                          int64_t seq_length, pp_workload *workload_out,
                                          pp_err *err);

/* Packs `lengths` in the given order by first fit into bins of `seq_length` tokens. Bins are
 * ordered by their first sequence; each `micro_batch_size` bins make a microbatch, and
 * microbatches are dealt to `replicas` round robin. To give every replica equally many, the
 * fullest bins are split (between two sequences, as evenly as possible). multiple_of: m is made a
 * multiple of it if there are enough sequences (interleaved schedules).
 * Fails: INPUT when a sequence is longer than a bin; USAGE when there are too few sequences to
 * give every replica equally many microbatches without an empty one; INPUT beyond the limits
 * above; NOMEM. */
PP_MUST_CHECK pp_status pp_workload_pack(const int64_t *lengths, size_t count, int64_t seq_length,
                                         int64_t micro_batch_size, uint32_t replicas,
                                         uint32_t multiple_of, pp_workload *workload_out,
                                         pp_err *err);

/* Makes a microbatch of each group; group k goes to replica k mod replicas.
 * group_end: [group_count], the index in `lengths` after the last sequence of each group.
 * Fails: INPUT when a sequence is longer than seq_length; USAGE when replicas do not divide the
 * groups; INPUT beyond the limits above; NOMEM. */
PP_MUST_CHECK pp_status pp_workload_group(const int64_t *lengths, const size_t *group_end,
                                          size_t group_count, int64_t seq_length, uint32_t replicas,
                                          pp_workload *workload_out, pp_err *err);

void pp_workload_free(pp_workload *workload); /* for PP_CLEANUP; all zero is fine */

#endif
