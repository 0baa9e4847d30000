/* How far a predicted step may be off because of measurement errors. Part of the report of a plan
 * that was made from a profile (calib/profile/uncertainty.h). */
#ifndef PPSIM_SIM_ANALYSIS_UNCERTAINTY_H
#define PPSIM_SIM_ANALYSIS_UNCERTAINTY_H

#include "sim/base/text.h"
#include "sim/base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one class of measurements contributes: by how much the step is shorter or longer when the
 * class is at either end of its 95 % interval. */
typedef struct pp_uncertain_part {
    char name[96];
    pp_ns less_ns, more_ns;
} pp_uncertain_part;

/* Owner frees with pp_uncertainty_free. */
typedef struct pp_uncertainty {
    pp_ns step_ns; /* the predicted step; 0: its uncertainty is not known */
    pp_ns step_low_ns, step_high_ns;
    bool links_only; /* compute was not measured, so that errors of its model are not included */
    bool has_memory;
    int64_t peak_low_bytes, peak_high_bytes;
    pp_uncertain_part *part; /* [count], the parts that change the step, the largest first */
    size_t count;
} pp_uncertainty;

PP_MUST_CHECK pp_status pp_uncertainty_copy(const pp_uncertainty *from, pp_uncertainty *to,
                                            pp_err *err);
void pp_uncertainty_free(pp_uncertainty *uncertainty); /* for PP_CLEANUP; all zero is fine */

/* Appends "+3.1/-2.9 %: stage_f 2.0, stage_b 1.5", with the largest parts in percent of the step,
 * and a remark if only links were measured. */
void pp_uncertainty_print(const pp_uncertainty *uncertainty, pp_text *text);
#endif
