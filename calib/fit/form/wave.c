/* Matrix products in waves: a GPU computes one output tile per SM at a time, so that the time grows
 * in steps with ceil(tiles / SMs). The structure is the size of a tile. */
#include "calib/fit/form/form.h"

#include <math.h>

enum { TILE_M, TILE_N, SMS };

static const char *unsuited(const pp_fit_points *points)
{
    return points->sm_count > 0 ? NULL : "needs the number of SMs";
}

static size_t structure(const pp_fit_points *points, size_t index, double *fixed, bool *more_out)
{
    static const double tiles[] = { 64, 128, 256 };
    fixed[TILE_M] = tiles[index / 3 % 3];
    fixed[TILE_N] = tiles[index % 3];
    fixed[SMS] = points->sm_count;
    *more_out = index < 8;
    return 3;
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed_count, (void)theta;
    const double tiles = ceil(point->at[PP_VARIABLE_ROWS] / fixed[TILE_M]) *
                         ceil(point->at[PP_VARIABLE_COLUMNS] / fixed[TILE_N]);
    row_out[0] = 1;
    row_out[1] = ceil(tiles / fixed[SMS]) * point->at[PP_VARIABLE_DEPTH];
}

const pp_form pp_form_wave = {
    .name = "wave",
    .summary = "a matrix product in waves of tiles: c + w k waves; waves = ceil(tiles / SMs), "
               "tiles of 64 to 256 squared",
    .needs = PP_FORM_NEEDS(ROWS) | PP_FORM_NEEDS(COLUMNS) | PP_FORM_NEEDS(DEPTH),
    .terms = 2,
    .scanned = 2,
    .parameter = { { "c_s", "s", 1 }, { "w_s", "s per wave and k", 1 } },
    .unsuited = unsuited,
    .structure = structure,
    .row = row,
};
