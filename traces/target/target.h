/* Runtimes that plans are made for: one file in traces/target/ and one line in traces/targets.def
 * each. Its format is one of pp_format_at. */
#ifndef PPSIM_TRACES_TARGET_TARGET_H
#define PPSIM_TRACES_TARGET_TARGET_H

#include "sim/job/target_limits.h"
#include "traces/format/format.h"

typedef struct pp_target {
    pp_target_limits limits; /* for the search */
    pp_format format;        /* its files, of its own name; name NULL: it reads plans.
                                emit: refuses what the runtime does not run, with the reason */
} pp_target;

size_t pp_target_count(void);
const pp_target *pp_target_at(size_t index);
/* NULL when unknown. */
const pp_target *pp_target_find(const char *name);
/* Fails: USAGE when unknown, with the names. */
PP_MUST_CHECK pp_status pp_target_get(const char *name, const pp_target **target_out, pp_err *err);

#endif
