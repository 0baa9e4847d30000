/* Kinds of pictures: one file in traces/plot/ and one line in traces/plots.def each. A picture is a
 * script for gnuplot, which prints it on stdout, and the data that the script reads. */
#ifndef PPSIM_TRACES_PLOT_PLOT_H
#define PPSIM_TRACES_PLOT_PLOT_H

#include "sim/base/text.h"
#include "traces/plot/draw/picture.h"

typedef struct pp_plot {
    const char *name;
    const char *summary;
    const char *needs; /* "one timeline": what `fits` asks for */
    bool (*fits)(const pp_picture *picture);
    /* picture: fits, and has ranks and times to show. Fails: USAGE (too much for one picture, with
     * the way out), NOMEM. */
    pp_status (*draw)(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err);
} pp_plot;

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
