/* The colours of ops and of idle time, which are the same in all pictures. */
#ifndef PPSIM_TRACES_PLOT_DRAW_LOOK_H
#define PPSIM_TRACES_PLOT_DRAW_LOOK_H

#include "sim/order/order.h"
#include "traces/read/recorded.h"

#include <stdint.h>

#define PP_PLOT_SHADES 8      /* of a kind of op, for the stages of a rank */
#define PP_PLOT_FILL_BYTES 32 /* "fc rgb '#2f62bd' fs solid 1.0" and NUL */
#define PP_PLOT_COLOUR_BYTES 8
#define PP_PLOT_IDLE_FILL "fc rgb '#e9e9e9' fs solid 1.0 noborder"
#define PP_PLOT_PATH_LINE "lw 1.4 lc rgb '#c8102e'"

/* Returns the words for a kind of op in the key. */
const char *pp_plot_op_words(pp_op_kind kind);
/* Returns the shade, from 0 (full colour) to PP_PLOT_SHADES - 1 (lightest), of the stage that is
 * number `chunk` of the `chunks` stages of a rank. */
int pp_plot_shade(uint32_t chunk, uint32_t chunks);
/* Returns the colour of a kind of op, or of idle time, as 0xrrggbb. */
uint32_t pp_plot_op_rgb(pp_op_kind kind);
uint32_t pp_plot_idle_rgb(void);
/* Prints the colour of a kind of op in a shade. Returns whether text on it is white. */
bool pp_plot_op_colour(pp_op_kind kind, int shade, char colour[PP_PLOT_COLOUR_BYTES]);
/* Prints gnuplot's fill style of a kind of op in a shade. Returns whether text on it is white. */
bool pp_plot_op_fill(pp_op_kind kind, int shade, char fill[PP_PLOT_FILL_BYTES]);
/* Returns the colour of the stripe that a kind of op has along its upper or its lower edge; NULL:
 * none. I has one above, W one below, B both and F none, so that kinds differ without colour. */
const char *pp_plot_op_stripe(pp_op_kind kind, bool upper);

/* Return the fill style of idle time of a cause, and its words in the key. NULL for time in which
 * the input is not there yet, which has PP_PLOT_IDLE_FILL, like time after the last op. */
const char *pp_plot_idle_fill(pp_idle_cause cause);
const char *pp_plot_idle_words(pp_idle_cause cause);

#endif
