/* The table of the compute backends of this build, made from runtime/computes.def. */
#include "runtime/compute/registry.h"

#include "sim/base/registry.h"

#define PP_COMPUTE(id) extern const pp_compute pp_compute_##id;
#include "runtime/computes.def"
#undef PP_COMPUTE

static const pp_compute *const computes[] = {
#define PP_COMPUTE(id) &pp_compute_##id,
#include "runtime/computes.def"
#undef PP_COMPUTE
};

PP_REGISTRY(compute, computes, .noun = "compute", .field = PP_FIELD_COMPUTE,
            .all = PP_FIELD_ASK_COMPUTES);
PP_REGISTRY_GET(compute, computes);
