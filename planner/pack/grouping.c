/* A grouping states which microbatch holds which sequence: one array of sequence indices, cut into
 * microbatches, replica by replica. */
#include "planner/pack/grouping.h"

#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void pp_grouping_free(pp_grouping *grouping)
{
    free(grouping->sequence);
    free(grouping->end);
    *grouping = (pp_grouping){ 0 };
}

pp_status pp_grouping_new(uint32_t replicas, uint32_t microbatches, size_t count,
                          pp_grouping *grouping_out, pp_err *err)
{
    pp_grouping made = { .replicas = replicas, .microbatches = microbatches, .count = count };
    made.sequence = pp_alloc_array(count, sizeof *made.sequence);
    made.end = pp_alloc_array((size_t)replicas * microbatches, sizeof *made.end);
    if (!made.sequence || !made.end) {
        pp_grouping_free(&made);
        return pp_err_nomem(err);
    }
    *grouping_out = made;
    return PP_OK;
}

pp_status pp_grouping_copy(const pp_grouping *from, pp_grouping *to, pp_err *err)
{
    pp_status status = pp_grouping_new(from->replicas, from->microbatches, from->count, to, err);
    if (status)
        return status;
    memcpy(to->sequence, from->sequence, from->count * sizeof *to->sequence);
    memcpy(to->end, from->end, (size_t)from->replicas * from->microbatches * sizeof *to->end);
    return PP_OK;
}

pp_status pp_grouping_from_bins(const uint32_t *bin_of, size_t count, uint32_t replicas,
                                uint32_t microbatches, pp_grouping *grouping_out, pp_err *err)
{
    const size_t bins = (size_t)replicas * microbatches;
    pp_status status = pp_grouping_new(replicas, microbatches, count, grouping_out, err);
    if (status)
        return status;
    size_t *end = grouping_out->end;
    for (size_t i = 0; i < count; i++)
        end[bin_of[i]]++;
    size_t sum = 0;
    for (size_t b = 0; b < bins; b++) {
        size_t in_bin = end[b];
        end[b] = sum; /* where the bin begins, for now */
        sum += in_bin;
    }
    for (size_t i = 0; i < count; i++)
        grouping_out->sequence[end[bin_of[i]]++] = (uint32_t)i;
    return PP_OK;
}

pp_microbatch pp_grouping_bin(const pp_grouping *grouping, const int64_t *lengths, size_t bin)
{
    const size_t begin = bin ? grouping->end[bin - 1] : 0;
    pp_microbatch sums = { .first = begin, .count = grouping->end[bin] - begin };
    for (size_t i = begin; i < grouping->end[bin]; i++) {
        int64_t n = lengths[grouping->sequence[i]];
        sums.tokens += n;
        sums.square_sum += n * n;
    }
    return sums;
}
