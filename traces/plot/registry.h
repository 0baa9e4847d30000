/* All kinds of pictures: those of traces/plots.def. */
#ifndef PPSIM_TRACES_PLOT_REGISTRY_H
#define PPSIM_TRACES_PLOT_REGISTRY_H

#include "traces/plot/plot.h"

size_t pp_plot_count(void);
const pp_plot *pp_plot_at(size_t index);

/* Finds the kind called `name`, or for NULL the first kind of the table that fits the picture.
 * Fails: USAGE when there is no such kind (with the nearest name), or the picture lacks what it
 * needs. */
PP_MUST_CHECK pp_status pp_plot_choose(const char *name, const pp_picture *picture,
                                       const pp_plot **plot_out, pp_err *err);
/* Appends gnuplot's script and its data, which the script reads from the file picture->data_name in
 * its working directory. Fails: USAGE (the part requested is empty or too large), NOMEM. */
PP_MUST_CHECK pp_status pp_plot_draw(const pp_plot *plot, const pp_picture *picture,
                                     pp_text *script, pp_text *data, pp_err *err);

#endif
