/* All frameworks of sim/executors.def, by number and by name. */
#ifndef PPSIM_SIM_FRAMEWORK_REGISTRY_H
#define PPSIM_SIM_FRAMEWORK_REGISTRY_H

#include "sim/framework/framework.h"

/* &pp_framework_torch and the others of sim/executors.def. */
#define PP_EXECUTOR(id) extern const pp_framework pp_framework_##id;
#include "sim/executors.def"
#undef PP_EXECUTOR

size_t pp_framework_count(void);
const pp_framework *pp_framework_at(size_t index);
/* The framework of this name (torch-2.13 is torch), or NULL. */
const pp_framework *pp_framework_find(const char *name);
/* Like pp_framework_find. Fails: USAGE when there is none of this name, with the nearest name. */
PP_MUST_CHECK pp_status pp_framework_get(const char *name, const pp_framework **framework_out,
                                         pp_err *err);

#endif
