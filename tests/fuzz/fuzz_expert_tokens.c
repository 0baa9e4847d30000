/* Any bytes: pp_expert_tokens_parse refuses them, or gives imbalances from 1 to the number of
 * ranks. */
#include "sim/job/expert_tokens.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_expert_tokens read PP_CLEANUP(pp_expert_tokens_free) = { 0 };
    pp_err err = { 0 };
    const pp_status status =
        pp_expert_tokens_parse((const char *)data, bytes, "tokens", 0, &read, &err);
    if (status) {
        require(status == PP_INPUT && *err.text && !read.imbalance);
        return 0;
    }
    require(read.microbatches >= 1 && read.experts >= 1);
    for (size_t k = 0; k < read.degrees; k++) {
        require(read.experts % read.ep[k] == 0);
        for (uint32_t j = 0; j < read.microbatches; j++) {
            const double f = pp_expert_tokens_imbalance(&read, j, read.ep[k]);
            require(f >= 1 && f <= (double)read.ep[k] * 1.000001);
        }
    }
    return 0;
}
