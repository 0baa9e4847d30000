/* Draws ops as boxes, one row per rank. */
#ifndef PPSIM_TRACES_PLOT_DRAW_BOXES_H
#define PPSIM_TRACES_PLOT_DRAW_BOXES_H

#include "traces/plot/draw/view.h"

/* Returns whether most boxes are wide enough for a border. */
bool pp_plot_is_wide(const pp_track *track, const pp_plot_view *view);

/* Appends all visible ops with their labels: their data sets to `data`, and to `script` the
 * elements of the plot command that draw these. Dense ops become shares
 * (traces/plot/draw/shares.h). row: the place of the boxes within a rank's row. titled: each kind
 * of op gets a line in the key. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plot_boxes(const pp_track *track, const pp_plot_view *view,
                                      pp_plot_row row, bool titled, pp_text *script, pp_text *data,
                                      pp_err *err);

#endif
