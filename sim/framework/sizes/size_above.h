/* The size by which a receiver distinguishes the tensors of two microbatches. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_SIZE_ABOVE_H
#define PPSIM_SIM_FRAMEWORK_SIZES_SIZE_ABOVE_H

#include "sim/cost/costs.h"

/* The bytes of the tensor that `stage` sends to the next stage; if they are not known, the duration
 * of its transfer, which distinguishes sizes as well. */
static inline int64_t pp_size_above(const pp_costs *costs, uint32_t stage, uint32_t microbatch)
{
    size_t row = pp_cost_index(costs, stage, microbatch);
    bool bytes = costs->has_memory && costs->message_bytes[row];
    return bytes ? costs->message_bytes[row] : costs->send_f_ns[row];
}

#endif
