/* Dependencies and latency only: every op needs the op of the neighbour stage that feeds it, and
 * nothing else ever waits. The floor under all other frameworks. */
#include "sim/framework/framework.h"
#include "sim/framework/registry.h"
#include "sim/program/program.h"

const pp_framework pp_framework_ideal = {
    .name = "ideal",
    .summary = "dependencies and latency only; transfers cost no compute and never wait",
    .lower = pp_program_from_order,
};
