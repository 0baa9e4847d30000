/* The table of targets, made from traces/targets.def. */
#include "traces/target/registry.h"

#include "sim/base/registry.h"

#define PP_TARGET(id) extern const pp_target pp_target_##id;
#include "traces/targets.def"
#undef PP_TARGET

static const pp_target *const targets[] = {
#define PP_TARGET(id) &pp_target_##id,
#include "traces/targets.def"
#undef PP_TARGET
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

size_t pp_target_count(void)
{
    return TARGET_COUNT;
}

const pp_target *pp_target_at(size_t index)
{
    return targets[index];
}

static const char *name_at(size_t index)
{
    return targets[index]->limits.name;
}

static const pp_registry registry = { .noun = "target",
                                      .field = PP_FIELD_TARGET,
                                      .all = PP_FIELD_ASK_TARGETS,
                                      .count = TARGET_COUNT,
                                      .name = name_at };

pp_status pp_target_get(const char *name, const pp_target **target_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *target_out = targets[index];
    return status;
}
