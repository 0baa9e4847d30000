/* Attention over several sequences of a microbatch: the scores take a time per squared length (Q is
 * the sum of squared lengths), the rest a time per token (T is the sum of lengths). */
#include "calib/fit/form/attention.h"

void pp_attention_row(const pp_fit_point *point, double *row_out)
{
    row_out[0] = point->at[PP_VARIABLE_SQUARES];
    row_out[1] = point->at[PP_VARIABLE_TOKENS];
    row_out[2] = 1;
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    pp_attention_row(point, row_out);
}

const pp_form pp_form_attention = {
    .name = "attention",
    .summary = "attention, with T tokens in all and Q the sum of squared lengths: a Q + b T + c",
    .needs = PP_ATTENTION_NEEDS,
    .terms = 3,
    .parameter = { PP_ATTENTION_PARAMETERS },
    .row = row,
};
