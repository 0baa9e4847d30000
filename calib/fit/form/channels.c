#include "calib/fit/form/breakpoint.h"

#include <math.h>

static double channels_of(const pp_fit_point *point)
{
    return point->at[PP_VARIABLE_CHANNELS];
}

static const char *unsuited(const pp_fit_points *points)
{
    if (!points->link || !points->p2p)
        return "is for send_recv links";
    if (!(points->known & PP_FORM_NEEDS(CHANNELS)))
        return "needs the channels of each message, or those of the communicator and per peer";
    return NULL;
}

/* From how many channels on the link is the limit. */
static size_t structure(const pp_fit_points *points, size_t index, double *fixed, bool *more_out)
{
    fixed[0] = pp_form_breakpoint(points, channels_of, 1, 16, index, more_out);
    return 1;
}

/* The limits join smoothly: time per byte is the 8-norm of both, so that where they are equal it is
 * 9 % above either. A norm is the sum of its derivatives times their variables, which are the row.
 */
static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed_count;
    const double n = channels_of(point), bytes = point->at[PP_VARIABLE_BYTES];
    double thin = n < fixed[0], thick = 1 - thin;
    if (theta) {
        const double thin_s = theta[1] / n, thick_s = theta[2];
        const double most = fmax(thin_s, thick_s);
        const double norm = most > 0 ? pow(thin_s / most, 8) + pow(thick_s / most, 8) : 1;
        const double scale = pow(norm, -7.0 / 8);
        thin = most > 0 ? pow(thin_s / most, 7) * scale : 0;
        thick = most > 0 ? pow(thick_s / most, 7) * scale : 0;
    }
    row_out[0] = 1;
    row_out[1] = thin * bytes / n;
    row_out[2] = thick * bytes;
}

/* NCCL gives a message n of its channels: calib/fit/fit_points.c. */
const pp_form pp_form_channels = {
    .name = "channels",
    .summary = "alpha + bytes / min(n channel, link)",
    .needs = PP_FORM_NEEDS(BYTES) | PP_FORM_NEEDS(CHANNELS),
    .terms = 3,
    .parameter = { { "alpha_s", "s", 1 },
                   { "channel_bytes_per_s", "B/s", -1 },
                   { "link_bytes_per_s", "B/s", -1 } },
    .unsuited = unsuited,
    .structure = structure,
    .row = row,
};
