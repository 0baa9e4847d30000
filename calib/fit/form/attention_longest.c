/* Attention of few sequences: the form `attention` with a time per token of the longest sequence,
 * whose blocks run alone at the end when the others are done. */
#include "calib/fit/form/attention.h"

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    pp_attention_row(point, row_out);
    row_out[3] = point->at[PP_VARIABLE_LONGEST];
}

const pp_form pp_form_attention_longest = {
    .name = "attention_longest",
    .summary =
        "attention of few sequences, which waits for the longest one: a Q + b T + c + e longest",
    .needs = PP_ATTENTION_NEEDS | PP_FORM_NEEDS(LONGEST),
    .terms = 4,
    .parameter = { PP_ATTENTION_PARAMETERS, { "e_s", "s per token of the longest", 1 } },
    .row = row,
};
