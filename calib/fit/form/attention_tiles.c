/* Attention of short sequences: the form `attention` with a time per tile of 128 x 128 scores,
 * since a kernel computes whole tiles even if a sequence fills them only in part. */
#include "calib/fit/form/attention.h"

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed, (void)fixed_count, (void)theta;
    pp_attention_row(point, row_out);
    row_out[3] = point->at[PP_VARIABLE_TILES];
}

const pp_form pp_form_attention_tiles = {
    .name = "attention_tiles",
    .summary = "attention of short sequences, which computes whole tiles of 128 x 128: a Q + b T + "
               "c + d tiles",
    .needs = PP_ATTENTION_NEEDS | PP_FORM_NEEDS(TILES),
    .terms = 4,
    .parameter = { PP_ATTENTION_PARAMETERS, { "d_s", "s per tile", 1 } },
    .row = row,
};
