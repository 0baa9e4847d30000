/* The report file ("format":"ppsim.report"); keys: docs/reference/formats.md. */
#ifndef PPSIM_SIM_ANALYSIS_REPORT_JSON_H
#define PPSIM_SIM_ANALYSIS_REPORT_JSON_H

#include "sim/analysis/report.h"
#include "sim/base/json.h"

/* The root object of the file. NULL when the build failed. */
pp_json *pp_report_write(const pp_report *report, pp_json_build *build);

#endif
