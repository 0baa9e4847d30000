/* Send and receive of NCCL: a message gets n channels (calib/fit/fit_points.c has the rule), so
 * that either these or the link limit it: alpha + bytes / min(n * C, L). The structure is the
 * number of channels from which on the link is the limit. */
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

static size_t structure(const pp_fit_points *points, size_t index, double *fixed, bool *more_out)
{
    fixed[0] = pp_form_breakpoint(points, channels_of, 1, 16, index, more_out);
    return 1;
}

/* The limits join smoothly: the time per byte is the 8-norm of the two limits' times per byte, so
 * that it is 9 % above either if these are equal. By Euler's theorem a norm is the sum of its
 * derivatives times its variables; the derivatives are the row. */
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

const pp_form pp_form_channels = {
    .name = "channels",
    .summary = "NCCL send and receive through n channels: alpha + bytes / min(n channel, link)",
    .needs = PP_FORM_NEEDS(BYTES) | PP_FORM_NEEDS(CHANNELS),
    .terms = 3,
    .parameter = { { "alpha_s", "s", 1 },
                   { "channel_bytes_per_s", "B/s", -1 },
                   { "link_bytes_per_s", "B/s", -1 } },
    .unsuited = unsuited,
    .structure = structure,
    .row = row,
};
