/* The table of frameworks. */
#include "sim/framework/registry.h"

#include "sim/base/registry.h"

static const pp_framework *const frameworks[] = {
#define PP_EXECUTOR(id) &pp_framework_##id,
#include "sim/executors.def"
#undef PP_EXECUTOR
};

PP_REGISTRY(framework, frameworks, .noun = "executor", .field = PP_FIELD_FRAMEWORK,
            .all = PP_FIELD_ASK_FRAMEWORKS);
PP_REGISTRY_FIND(framework, frameworks);
PP_REGISTRY_GET(framework, frameworks);
