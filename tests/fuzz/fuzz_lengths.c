/* Any bytes: pp_lengths_parse refuses them, or gives lengths that pack without loss. The first four
 * bytes choose how they are packed. */
#include "sim/job/lengths.h"
#include "sim/job/workload.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static void pack(const uint8_t *choice, const int64_t *lengths, size_t count)
{
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    pp_err err = { 0 };
    int64_t tokens = 0;
    int64_t seq = (int64_t)1 << choice[0] % 25;
    int64_t size = 1 + choice[1] % 8;
    pp_status status = pp_workload_pack(lengths, count, seq, size, 1u + choice[2] % 8,
                                        1u + choice[3] % 8, &work, &err);
    if (status) {
        require((status == PP_INPUT || status == PP_USAGE) && *err.text);
        return;
    }
    for (size_t i = 0; i < count; i++)
        tokens += lengths[i];
    for (size_t k = 0; k < (size_t)work.replicas * work.microbatches; k++) {
        const pp_microbatch *m = &work.microbatch[k];
        require(m->count >= 1 && m->tokens >= 1 && m->tokens <= seq * size);
        require(m->square_sum >= m->tokens && m->square_sum <= m->tokens * seq);
        tokens -= m->tokens;
    }
    require(tokens == 0 && work.length_count == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_lengths read PP_CLEANUP(pp_lengths_free) = { 0 };
    pp_err err = { 0 };
    if (bytes < 4)
        return 0;
    pp_status status = pp_lengths_parse((const char *)data + 4, bytes - 4, "lengths", &read, &err);
    if (status) {
        require(status == PP_INPUT && *err.text && !read.length);
        return 0;
    }
    require(read.count >= 1 && read.count <= PP_LENGTHS_MAX);
    for (size_t i = 0; i < read.count; i++)
        require(read.length[i] >= 1 && read.length[i] <= PP_LENGTH_MAX);
    for (size_t k = 0; k < read.group_count; k++)
        require(read.group_end[k] > (k ? read.group_end[k - 1] : 0));
    require(!read.group_count || read.group_end[read.group_count - 1] == read.count);
    pack(data, read.length, read.count);
    return 0;
}
