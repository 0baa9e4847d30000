/* Writes differences for programs: as JUnit XML and as JSON. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_EXPORT_H
#define PPSIM_TOOLS_PPSIM_COMPARE_EXPORT_H

#include "sim/base/json.h"
#include "tools/ppsim/compare/print.h"

void pp_compare_junit(const pp_compare_print *print, pp_text *text);
pp_json *pp_compare_json(const pp_compare_print *print, pp_json_build *build);

#endif
