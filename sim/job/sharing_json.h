/* Reads and writes shared resources as part of a plan. */
#ifndef PPSIM_SIM_JOB_SHARING_JSON_H
#define PPSIM_SIM_JOB_SHARING_JSON_H

#include "sim/base/json.h"
#include "sim/job/sharing.h"

/* Reads the plan's "sharing". Fails: INPUT with the place. */
PP_MUST_CHECK pp_status pp_sharing_read(const pp_json_at *at, pp_sharing *sharing_out, pp_err *err);
pp_json *pp_sharing_write(const pp_sharing *sharing, pp_json_build *build);

#endif
