/* The values of one option of a sweep: lists and ranges. */
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

/* Returns the name of the axis's option without dashes: "pp" for "--pp". */
const char *pp_axis_name(const pp_axis *axis);
/* Returns the index-th value as results have it: for a file in memory the name that the caller gave
 * to it, since its path is another one every time. */
const char *pp_axis_value(const pp_axis *axis, size_t index);
/* Adds the values in `text`, which is a list (a,b,c) of values and ranges (4..64*2, 1..7, 0..8+2).
 * The values are copied. For an option whose values contain commas themselves, `text` is one value.
 * Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_axis_add(pp_axis *axis, const char *text, pp_err *err);
/* Sorts the values. Fails: USAGE when one occurs twice. */
PP_MUST_CHECK pp_status pp_axis_sort(pp_axis *axis, pp_err *err);

#endif
