/* Attention of short sequences: the form `attention` with a time per tile of 128 x 128 scores,
 * since a kernel computes whole tiles even where a sequence fills them in part. */
#include "calib/fit/form/form.h"

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    row_out[0] = point->at[PP_VARIABLE_SQUARES];
    row_out[1] = point->at[PP_VARIABLE_TOKENS];
    row_out[2] = 1;
    row_out[3] = point->at[PP_VARIABLE_TILES];
}

const pp_form pp_form_attention_tiles = {
    .name = "attention_tiles",
    .summary = "a Q + b T + c + d tiles",
    .needs = PP_FORM_NEEDS(SQUARES) | PP_FORM_NEEDS(TOKENS) | PP_FORM_NEEDS(TILES),
    .terms = 4,
    .parameter = { { "a_s", "s per token^2", 1 },
                   { "b_s", "s per token", 1 },
                   { "c_s", "s", 1 },
                   { "d_s", "s per tile", 1 } },
    .row = row,
};
