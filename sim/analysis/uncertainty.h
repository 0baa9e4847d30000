/* How far a predicted step can be off because measurements are: part of the report of a plan that
 * was made from a profile (calib/profile/uncertainty.h). */
#ifndef PPSIM_SIM_ANALYSIS_UNCERTAINTY_H
#define PPSIM_SIM_ANALYSIS_UNCERTAINTY_H

#include "sim/base/text.h"
#include "sim/base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one class of measurements contributes: the step is shorter or longer by so much where the
 * class is at the ends of its 95 % interval. */
typedef struct pp_uncertain_part {
    char name[96];
    pp_ns less_ns, more_ns;
} pp_uncertain_part;

/* Owner frees with pp_uncertainty_free. */
typedef struct pp_uncertainty {
    pp_ns step_ns; /* the step that this is about; 0: nothing is known */
    pp_ns step_low_ns, step_high_ns;
    bool links_only; /* no time of compute is from measurements: their errors are not in here */
    bool has_memory;
    int64_t peak_low_bytes, peak_high_bytes;
    pp_uncertain_part *part; /* [count], those that change the step, the largest first */
    size_t count;
} pp_uncertainty;

PP_MUST_CHECK pp_status pp_uncertainty_copy(const pp_uncertainty *from, pp_uncertainty *to,
                                            pp_err *err);
void pp_uncertainty_free(pp_uncertainty *uncertainty); /* for PP_CLEANUP; all zero is fine */

/* "+3.1/-2.9 %: stage_f 2.0, stage_b 1.5"; the longest parts, in percent of the step. Says so where
 * links alone were measured. */
void pp_uncertainty_print(const pp_uncertainty *uncertainty, pp_text *text);
#endif
