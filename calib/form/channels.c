#include "calib/form.h"

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
    fixed[0] = pp_form_split(points, channels_of, 1, 16, index, more_out);
    return 1;
}

static void row(const pp_fit_point *point, const double *fixed, size_t fixed_count,
                const double *theta, double *row_out)
{
    (void)fixed_count;
    const double n = channels_of(point);
    const bool thin = theta ? theta[1] / n > theta[2] : n < fixed[0];
    row_out[0] = 1;
    row_out[1] = thin ? point->at[PP_VARIABLE_BYTES] / n : 0;
    row_out[2] = thin ? 0 : point->at[PP_VARIABLE_BYTES];
}

/* NCCL gives a message n of its channels: calib/fit_points.c. */
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
