/* A batch dealt into microbatches: groups of indices into its lengths. */
#ifndef PPSIM_PLANNER_PACK_GROUPING_H
#define PPSIM_PLANNER_PACK_GROUPING_H

#include "sim/job/workload.h"

/* Microbatch j of replica r is bin r * microbatches + j. Owner frees with pp_grouping_free. */
typedef struct pp_grouping {
    uint32_t replicas, microbatches;
    size_t count;
    uint32_t *sequence; /* [count]: indices into the lengths, bin after bin */
    size_t *end;        /* [replicas * microbatches]: end of each bin in `sequence` */
} pp_grouping;

void pp_grouping_free(pp_grouping *grouping); /* for PP_CLEANUP; all zero is fine */

PP_MUST_CHECK pp_status pp_grouping_new(uint32_t replicas, uint32_t microbatches, size_t count,
                                        pp_grouping *grouping_out, pp_err *err);
PP_MUST_CHECK pp_status pp_grouping_copy(const pp_grouping *from, pp_grouping *to, pp_err *err);
/* Makes a grouping from the bin of each sequence. Within a bin, sequences are in the order given.
 * bin_of: [count]. */
PP_MUST_CHECK pp_status pp_grouping_from_bins(const uint32_t *bin_of, size_t count,
                                              uint32_t replicas, uint32_t microbatches,
                                              pp_grouping *grouping_out, pp_err *err);

/* Tokens and sum of squares of a bin. */
pp_microbatch pp_grouping_bin(const pp_grouping *grouping, const int64_t *lengths, size_t bin);

#endif
