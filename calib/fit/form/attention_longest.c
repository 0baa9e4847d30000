/* Attention of few sequences: the form `attention` with a time per token of the longest sequence,
 * whose blocks run alone at the end when the others are done. */
#include "calib/fit/form/form.h"

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    row_out[0] = point->at[PP_VARIABLE_SQUARES];
    row_out[1] = point->at[PP_VARIABLE_TOKENS];
    row_out[2] = 1;
    row_out[3] = point->at[PP_VARIABLE_LONGEST];
}

const pp_form pp_form_attention_longest = {
    .name = "attention_longest",
    .summary = "a Q + b T + c + e longest",
    .needs = PP_FORM_NEEDS(SQUARES) | PP_FORM_NEEDS(TOKENS) | PP_FORM_NEEDS(LONGEST),
    .terms = 4,
    .parameter = { { "a_s", "s per token^2", 1 },
                   { "b_s", "s per token", 1 },
                   { "c_s", "s", 1 },
                   { "e_s", "s per token of the longest", 1 } },
    .row = row,
};
