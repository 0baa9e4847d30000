/* A Pareto front as JSON ("format":"ppsim.pareto"); keys: docs/reference/formats.md. */
#ifndef PPSIM_PLANNER_STUDY_PARETO_JSON_H
#define PPSIM_PLANNER_STUDY_PARETO_JSON_H

#include "planner/study/pareto.h"
#include "sim/base/json.h"

/* "format":"ppsim.pareto". */
pp_json *pp_pareto_write(const pp_pareto *pareto, const pp_plan_request *request,
                         pp_json_build *build);

#endif
