/* Draws ops as boxes, one row per rank. */
#ifndef PPSIM_TRACES_PLOT_DRAW_BOXES_H
#define PPSIM_TRACES_PLOT_DRAW_BOXES_H

#include "traces/plot/draw/view.h"

/* Returns whether most boxes are wide enough for a border. */
bool pp_plot_is_wide(const pp_track *track, const pp_plot_view *view);

/* Returns whether rows are high enough for the stage below the microbatch, if ranks have several
 * stages. */
bool pp_plot_has_stages_below(const pp_track *track, const pp_plot_view *view, pp_plot_row row);

/* Adds the visible kinds of ops to the key. */
void pp_plot_boxes_key(const pp_track *track, const pp_plot_view *view, pp_plot_head *head);
/* Appends all visible ops with their labels: `data` receives their data sets, and `script` the
 * elements of the plot command that draw these. Dense ops become shares
 * (traces/plot/draw/shares.h). row: the place of the boxes within a rank's row. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plot_boxes(const pp_track *track, const pp_plot_view *view,
                                      pp_plot_row row, pp_text *script, pp_text *data, pp_err *err);

#endif
