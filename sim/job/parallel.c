/* Degrees of parallelism and placements of stages. The V placement is that of ZB-V (Qi et al.
 * 2024), the bidirectional one that of DualPipe (DeepSeek-AI 2024). Experts are divided as in
 * Megatron-Core's folding (Liu et al. 2025, arXiv 2504.14960): of the GPUs of a stage, etp adjacent
 * ones divide an expert, ep such groups hold the different experts, and the others have copies. */
#include "sim/job/parallel.h"

int64_t pp_parallel_gpus(const pp_parallel *parallel)
{
    return parallel->pp * parallel->tp * parallel->cp * parallel->dp;
}

int64_t pp_parallel_etp(const pp_parallel *parallel)
{
    return parallel->etp ? parallel->etp : parallel->tp;
}

int64_t pp_parallel_etp_of(const pp_parallel *parallel, pp_experts experts)
{
    if (experts == PP_EXPERTS_AS_ASKED)
        return parallel->etp;
    return experts == PP_EXPERTS_WHOLE || parallel->ep > 1 ? 1 : 0;
}

int64_t pp_parallel_expert_gpus(const pp_parallel *parallel)
{
    return parallel->tp * parallel->cp * parallel->dp / pp_parallel_etp(parallel);
}

uint32_t pp_placement_rank(pp_placement placement, uint32_t stage, uint32_t ranks)
{
    uint32_t at = stage % ranks;
    bool backwards = placement == PP_PLACE_V && stage / ranks % 2 == 1;
    return backwards ? ranks - 1 - at : at;
}

bool pp_placement_holds(pp_placement placement, uint32_t stage, uint32_t ranks, uint32_t rank)
{
    uint32_t first = pp_placement_rank(placement, stage, ranks);
    return rank == first || (placement == PP_PLACE_BIDIRECTIONAL && rank == ranks - 1 - first);
}

const char *pp_placement_name(pp_placement placement)
{
    static const char *const names[] = {
        [PP_PLACE_LOOP] = "loop", [PP_PLACE_V] = "v", [PP_PLACE_BIDIRECTIONAL] = "bidirectional"
    };
    return names[placement];
}
