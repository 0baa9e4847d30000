/* Interleaved 1F1B whose forwards overlap with backwards, so that one hides the exchange of experts
 * of the other (Megatron-LM combined_1f1b.py, with overlap_moe_expert_parallel_comm).
 * builders/chunk_rounds.c has the method. */
#include "sim/schedule/builders/chunk_rounds.h"
#include "sim/schedule/schedule.h"

static pp_status combined_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_chunk_rounds_build(params, true, "combined-1f1b", order_out, err);
}

const pp_schedule pp_schedule_combined_1f1b = {
    .name = "combined-1f1b",
    .summary = "interleaved, with each forward beside a backward, which hides the exchange of "
               "experts (Megatron's overlap_moe_expert_parallel_comm)",
    .placement = PP_PLACE_LOOP,
    .grouped = true,
    .overlaps_experts = true,
    .build = combined_build,
};
