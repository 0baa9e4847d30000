/* The target ppsim is the runtime of this project, which reads ppsim.plan files. */
#include "sim/framework/registry.h"
#include "traces/target/target.h"

static const pp_framework *const frameworks[] = { &pp_framework_ppsim, NULL };

const pp_target pp_target_ppsim = {
    .limits = { .name = "ppsim",
                .rules = "the runtime of ppsim executes every plan",
                .frameworks = frameworks,
                .orders = true,
                .recompute_modules = true,
                .recompute_chunks = true,
                .fp8_dispatch = true,
                .shared_expert_overlap = true,
                .expert_capacity = true,
                .cuda_graphs = true,
                .dispatchers = 1 << PP_DISPATCHER_ALLTOALL | 1 << PP_DISPATCHER_ALLGATHER |
                               1 << PP_DISPATCHER_DEEPEP | 1 << PP_DISPATCHER_DEEPEP_LL |
                               1 << PP_DISPATCHER_HYBRIDEP,
                .no_precision = "it has no kernels for fewer bits",
                .no_low_state = "its runtime has these types alone",
                .unequal = PP_SIZES_PLAN },
};
