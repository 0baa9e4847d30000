/* Our own runtime, which reads plans. */
#include "traces/target/target.h"

static const char *const executors[] = { "ppsim", NULL };

const pp_target pp_target_ppsim = {
    .limits = { .name = "ppsim",
                .rules = "ppsim run executes every plan",
                .executors = executors,
                .orders = true,
                .unequal = PP_SHAPES_PLAN },
};
