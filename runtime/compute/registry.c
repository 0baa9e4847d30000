/* The computes that this build knows: runtime/computes.def as a table. */
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

enum { COMPUTE_COUNT = sizeof computes / sizeof computes[0] };

size_t pp_compute_count(void)
{
    return COMPUTE_COUNT;
}

const pp_compute *pp_compute_at(size_t index)
{
    return computes[index];
}

static const char *name_at(size_t index)
{
    return computes[index]->name;
}

static const pp_registry registry = { .noun = "compute",
                                      .field = PP_FIELD_COMPUTE,
                                      .all = PP_FIELD_ASK_COMPUTES,
                                      .count = COMPUTE_COUNT,
                                      .name = name_at };

pp_status pp_compute_get(const char *name, const pp_compute **compute_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *compute_out = computes[index];
    return status;
}
