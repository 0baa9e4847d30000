/* Reads files of sequence lengths. */
#ifndef PPSIM_SIM_JOB_LENGTHS_H
#define PPSIM_SIM_JOB_LENGTHS_H

#include "sim/base/status.h"
#include "sim/job/workload.h"

#include <stddef.h>
#include <stdint.h>

/* The lengths of a file. Owner frees with pp_lengths_free. */
typedef struct pp_lengths {
    int64_t *length; /* [count] */
    size_t count;
    size_t *group_end; /* [group_count]: the end of each microbatch; NULL: the file has no groups */
    size_t group_count;
} pp_lengths;

/* Parses lengths: one whole number per line (# starts a comment), or a JSON array of numbers, or a
 * JSON array of microbatches, each an array of numbers. name: what messages call the file.
 * Fails: INPUT with line:column or JSON Pointer (no length, an empty microbatch, a length below 1
 * or beyond PP_LENGTH_MAX, more than PP_LENGTHS_MAX), NOMEM. */
PP_MUST_CHECK pp_status pp_lengths_parse(const char *text, size_t bytes, const char *name,
                                         pp_lengths *lengths_out, pp_err *err);

/* What is done with sequences that are too long. */
typedef enum pp_lengths_cut {
    PP_LENGTHS_TRUNCATE, /* they end at the limit */
    PP_LENGTHS_SPLIT,    /* they become several sequences, all but the last as long as the limit */
} pp_lengths_cut;

/* What cutting did. */
typedef struct pp_lengths_cut_sum {
    size_t cut;           /* sequences that were too long */
    size_t pieces;        /* that they became */
    int64_t tokens, lost; /* of all sequences before; of these, left out */
} pp_lengths_cut_sum;

/* Makes sequences that fit: a copy of `from` in which none is longer than `most`. The pieces of a
 * sequence stay in its place and in its microbatch. Fails: INPUT when there would be more than
 * PP_LENGTHS_MAX sequences, NOMEM. */
PP_MUST_CHECK pp_status pp_lengths_fit(const pp_lengths *from, int64_t most, pp_lengths_cut how,
                                       pp_lengths *lengths_out, pp_lengths_cut_sum *sum_out,
                                       pp_err *err);

void pp_lengths_free(pp_lengths *lengths); /* for PP_CLEANUP; all zero is fine */

#endif
