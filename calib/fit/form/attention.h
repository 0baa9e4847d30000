/* What the forms of attention have in common: a Q + b T + c. */
#ifndef PPSIM_CALIB_FIT_FORM_ATTENTION_H
#define PPSIM_CALIB_FIT_FORM_ATTENTION_H

#include "calib/fit/form/form.h"

#define PP_ATTENTION_NEEDS (PP_FORM_NEEDS(SQUARES) | PP_FORM_NEEDS(TOKENS))
#define PP_ATTENTION_PARAMETERS                                 \
    { "a_s", "s per token^2", 1 }, { "b_s", "s per token", 1 }, \
    {                                                           \
        "c_s", "s", 1                                           \
    }

/* Writes the three terms. */
void pp_attention_row(const pp_fit_point *point, double *row_out);

#endif
