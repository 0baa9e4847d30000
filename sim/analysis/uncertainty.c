/* Copies and prints the uncertainty of a prediction. */
#include "sim/analysis/uncertainty.h"

#include "sim/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTED_MAX 4u

void pp_uncertainty_free(pp_uncertainty *uncertainty)
{
    free(uncertainty->part);
    *uncertainty = (pp_uncertainty){ 0 };
}

pp_status pp_uncertainty_copy(const pp_uncertainty *from, pp_uncertainty *to, pp_err *err)
{
    pp_uncertainty copy = *from;
    copy.part = pp_alloc_array(from->count + 1, sizeof *copy.part);
    if (!copy.part)
        return pp_err_nomem(err);
    if (from->count)
        memcpy(copy.part, from->part, from->count * sizeof *copy.part);
    pp_uncertainty_free(to);
    *to = copy;
    return PP_OK;
}

void pp_uncertainty_print(const pp_uncertainty *uncertainty, pp_text *text)
{
    const double step = (double)uncertainty->step_ns / 100;
    pp_text_add(text, "%s+%.1f/-%.1f %%",
                uncertainty->links_only ? "links only, since compute is not measured: " : "",
                (double)(uncertainty->step_high_ns - uncertainty->step_ns) / step,
                (double)(uncertainty->step_ns - uncertainty->step_low_ns) / step);
    for (size_t i = 0; i < uncertainty->count && i < PRINTED_MAX; i++) {
        const pp_uncertain_part *part = &uncertainty->part[i];
        const pp_ns most = part->more_ns > part->less_ns ? part->more_ns : part->less_ns;
        pp_text_add(text, "%s %s %.1f", i ? "," : ":", part->name, (double)most / step);
    }
    if (uncertainty->count > PRINTED_MAX)
        pp_text_add(text, ", ...");
}
