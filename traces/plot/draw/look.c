/* The colours of ops, which are those of the page (tools/page/page.js): F is blue and B green, as
 * in most drawings of pipelines; the halves of a split B are teal (I) and lime (W). Without colour
 * stripes along the edges tell them apart: they lie along the axis of time, so that they look the
 * same whatever the width of an op. The stages of a rank are shades, mixed with white. */
#include "traces/plot/draw/look.h"

#include <stdio.h>

static const struct {
    int red, green, blue;
    const char *words;
    const char *upper, *lower; /* stripes */
} looks[PP_OP_KIND_COUNT] = {
    [PP_OP_F] = { 0x2f, 0x62, 0xbd, "F forward", NULL, NULL },
    [PP_OP_I] = { 0x35, 0xa7, 0x9c, "I backward, input gradient", "#0d5750", NULL },
    [PP_OP_W] = { 0xa9, 0xcf, 0x46, "W backward, weight gradient", NULL, "#54700f" },
    [PP_OP_B] = { 0x1c, 0x84, 0x48, "B backward", "#b4e6c8", "#b4e6c8" },
};

#define LIGHTEST 0.5 /* share of white in the lightest shade */

const char *pp_plot_op_words(pp_op_kind kind)
{
    return looks[kind].words;
}

int pp_plot_shade(uint32_t chunk, uint32_t chunks)
{
    return chunks < 2 ? 0 : (int)(chunk * (PP_PLOT_SHADES - 1) / (chunks - 1));
}

uint32_t pp_plot_op_rgb(pp_op_kind kind)
{
    return (uint32_t)(looks[kind].red << 16 | looks[kind].green << 8 | looks[kind].blue);
}

uint32_t pp_plot_idle_rgb(void)
{
    return 0xe9e9e9; /* of PP_PLOT_IDLE_FILL */
}

bool pp_plot_op_colour(pp_op_kind kind, int shade, char colour[PP_PLOT_COLOUR_BYTES])
{
    double white = LIGHTEST * shade / (PP_PLOT_SHADES - 1);
    int red = looks[kind].red + (int)(white * (255 - looks[kind].red));
    int green = looks[kind].green + (int)(white * (255 - looks[kind].green));
    int blue = looks[kind].blue + (int)(white * (255 - looks[kind].blue));
    snprintf(colour, PP_PLOT_COLOUR_BYTES, "#%02x%02x%02x", (unsigned)red & 0xff,
             (unsigned)green & 0xff, (unsigned)blue & 0xff);
    return 0.3 * red + 0.59 * green + 0.11 * blue < 125;
}

bool pp_plot_op_fill(pp_op_kind kind, int shade, char fill[PP_PLOT_FILL_BYTES])
{
    char colour[PP_PLOT_COLOUR_BYTES];
    bool white = pp_plot_op_colour(kind, shade, colour);
    snprintf(fill, PP_PLOT_FILL_BYTES, "fc rgb '%s' fs solid 1.0", colour);
    return white;
}

const char *pp_plot_op_stripe(pp_op_kind kind, bool upper)
{
    return upper ? looks[kind].upper : looks[kind].lower;
}

const char *pp_plot_idle_fill(pp_idle_cause cause)
{
    static const char *const fills[PP_IDLE_COUNT] = {
        [PP_IDLE_BUFFER] = "fc rgb '#8a5fb0' fs solid 1.0 noborder",
        [PP_IDLE_LINK] = "fc rgb '#e39a2d' fs solid 1.0 noborder",
        [PP_IDLE_HOST] = "fc rgb '#a58f7a' fs solid 1.0 noborder",
        [PP_IDLE_SYNC] = "fc rgb '#404040' fs solid 1.0 noborder",
    };
    return fills[cause];
}

const char *pp_plot_idle_words(pp_idle_cause cause)
{
    static const char *const words[PP_IDLE_COUNT] = {
        [PP_IDLE_DATA] = "idle: input not computed yet, or done",
        [PP_IDLE_BUFFER] = "idle: no receive buffer",
        [PP_IDLE_LINK] = "idle: transfer queued or running",
        [PP_IDLE_HOST] = "idle: host launches",
        [PP_IDLE_SYNC] = "idle: device synchronises",
    };
    return words[cause];
}
