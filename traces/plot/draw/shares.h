/* The shares of ops and of idle time in each column of a dense timeline. */
#ifndef PPSIM_TRACES_PLOT_DRAW_SHARES_H
#define PPSIM_TRACES_PLOT_DRAW_SHARES_H

#include "traces/plot/draw/view.h"

/* Returns whether most ops are too narrow to be seen one by one. */
bool pp_plot_is_dense(const pp_track *track, const pp_plot_view *view);
/* Returns whether rows are so low that dense ops have the mean of their colours. */
bool pp_plot_is_mixed(const pp_plot_view *view, pp_plot_row row);
/* Returns whether dense ops leave enough idle time of this cause to tell it apart. */
bool pp_plot_shares_cause(const pp_track *track, const pp_plot_view *view, pp_idle_cause cause);
/* Replaces pp_plot_boxes (traces/plot/draw/boxes.h) for dense ops: appends the shares of each
 * column that ops and, by cause, idle time have. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plot_shares(const pp_track *track, const pp_plot_view *view,
                                       pp_plot_row row, pp_text *script, pp_text *data,
                                       pp_err *err);

#endif
