/* The "environment" of a profile as JSON. */
#ifndef PPSIM_CALIB_SAMPLES_ENVIRONMENT_JSON_H
#define PPSIM_CALIB_SAMPLES_ENVIRONMENT_JSON_H

#include "calib/samples/environment.h"
#include "sim/base/json.h"

/* Fails: INPUT with the place. */
PP_MUST_CHECK pp_status pp_environment_read(const pp_json_at *at, pp_environment *environment_out,
                                            pp_err *err);
/* Returns the object that pp_environment_read reads, or NULL when the build failed. */
pp_json *pp_environment_write(const pp_environment *environment, pp_json_build *build);

#endif
