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

void pp_lengths_free(pp_lengths *lengths); /* for PP_CLEANUP; all zero is fine */

#endif
