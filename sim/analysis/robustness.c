/* Frees the results of studies of robustness. */
#include "sim/analysis/robustness.h"

#include <stdlib.h>

void pp_sensitivity_free(pp_sensitivity **sensitivity)
{
    if (*sensitivity)
        free((*sensitivity)->row);
    free(*sensitivity);
    *sensitivity = NULL;
}

void pp_robustness_free(pp_robustness *robustness)
{
    pp_sensitivity_free(&robustness->sensitivity);
    *robustness = (pp_robustness){ 0 };
}
