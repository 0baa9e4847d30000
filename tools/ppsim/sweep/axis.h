/* Lists and ranges of values of one option. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_AXIS_H
#define PPSIM_TOOLS_PPSIM_SWEEP_AXIS_H

#include "tools/ppsim/base/command.h"

#include <stddef.h>

/* One option of the study and its values. */
typedef struct pp_axis {
    const pp_option *option;
    char **value; /* [count], sorted: numbers first and by size */
    size_t count, capacity;
} pp_axis;

/* "pp" of "--pp". */
const char *pp_axis_name(const pp_axis *axis);
/* Values of `option` out of `text`: a,b,c and ranges 4..64*2, 1..7, 0..8+2. Options whose values
 * hold commas themselves are no lists. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_axis_add(pp_axis *axis, const char *text, pp_err *err);
/* Fails: USAGE when a value is there twice. */
PP_MUST_CHECK pp_status pp_axis_sort(pp_axis *axis, pp_err *err);

#endif
