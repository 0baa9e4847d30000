/* All kinds of pictures: those of traces/plots.def. */
#ifndef PPSIM_TRACES_PLOT_REGISTRY_H
#define PPSIM_TRACES_PLOT_REGISTRY_H

#include "traces/plot/plot.h"

size_t pp_plot_count(void);
const pp_plot *pp_plot_at(size_t index);

/* name NULL: the first kind of the table that fits. Fails: USAGE when there is no such kind (with
 * the nearest name), or the picture lacks what it needs. */
PP_MUST_CHECK pp_status pp_plot_choose(const char *name, const pp_picture *picture,
                                       const pp_plot **plot_out, pp_err *err);
/* Fails: USAGE (the part asked for is empty or too large), NOMEM. */
PP_MUST_CHECK pp_status pp_plot_draw(const pp_plot *plot, const pp_picture *picture,
                                     pp_text *script, pp_text *data, pp_err *err);

#endif
