/* The table of frameworks. */
#include "sim/framework/registry.h"

#include "sim/base/registry.h"

#include <strings.h>

static const pp_framework *const frameworks[] = {
#define PP_EXECUTOR(id) &pp_framework_##id,
#include "sim/executors.def"
#undef PP_EXECUTOR
};

PP_REGISTRY(framework, frameworks, .noun = "executor", .field = PP_FIELD_FRAMEWORK,
            .all = PP_FIELD_ASK_FRAMEWORKS);

/* Second names. */
static const char *main_name(const char *name)
{
    return strcasecmp(name, "torch-2.13") == 0 ? "torch" : name;
}

const pp_framework *pp_framework_find(const char *name)
{
    const size_t index = pp_registry_find(&framework_registry, main_name(name));
    return index < framework_count ? frameworks[index] : NULL;
}

pp_status pp_framework_get(const char *name, const pp_framework **framework_out, pp_err *err)
{
    size_t index = 0;
    const pp_status status = pp_registry_get(&framework_registry, main_name(name), &index, err);
    if (!status)
        *framework_out = frameworks[index];
    return status;
}
