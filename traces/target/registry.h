/* All targets: those of traces/targets.def. */
#ifndef PPSIM_TRACES_TARGET_REGISTRY_H
#define PPSIM_TRACES_TARGET_REGISTRY_H

#include "traces/target/target.h"

size_t pp_target_count(void);
const pp_target *pp_target_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_target_get(const char *name, const pp_target **target_out, pp_err *err);

#endif
