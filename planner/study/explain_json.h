/* An explanation as JSON ("format":"ppsim.explanation"); keys: docs/formats.md. */
#ifndef PPSIM_PLANNER_STUDY_EXPLAIN_JSON_H
#define PPSIM_PLANNER_STUDY_EXPLAIN_JSON_H

#include "planner/study/explain.h"
#include "sim/base/json.h"

/* "format":"ppsim.explanation". */
pp_json *pp_explanation_write(const pp_explanation *explanation, pp_json_build *build);

#endif
