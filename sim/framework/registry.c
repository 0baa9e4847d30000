/* The table of frameworks. */
#include "sim/framework/registry.h"

#include "sim/base/registry.h"

static const pp_framework *const frameworks[] = {
#define PP_EXECUTOR(id) &pp_framework_##id,
#include "sim/executors.def"
#undef PP_EXECUTOR
};

enum { FRAMEWORK_COUNT = sizeof frameworks / sizeof frameworks[0] };

size_t pp_framework_count(void)
{
    return FRAMEWORK_COUNT;
}

const pp_framework *pp_framework_at(size_t index)
{
    return frameworks[index];
}

static const char *name_at(size_t index)
{
    return frameworks[index]->name;
}

static const pp_registry registry = { .noun = "executor",
                                      .field = PP_FIELD_FRAMEWORK,
                                      .all = PP_FIELD_ASK_FRAMEWORKS,
                                      .count = FRAMEWORK_COUNT,
                                      .name = name_at };

const pp_framework *pp_framework_find(const char *name)
{
    const size_t index = pp_registry_find(&registry, name);
    return index < FRAMEWORK_COUNT ? frameworks[index] : NULL;
}

pp_status pp_framework_get(const char *name, const pp_framework **framework_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *framework_out = frameworks[index];
    return status;
}
