/* The ideal framework has dependencies and latencies only: an op waits for the op of the
 * neighbouring stage that computes its input, and for nothing else. */
#include "sim/framework/framework.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"

const pp_framework pp_framework_ideal = {
    .name = "ideal",
    .summary = "no framework: an op waits only for its data and the link's latency; transfers "
               "never block compute",
    .lower = pp_program_from_order,
    .overlaps_pairs = true,
};
