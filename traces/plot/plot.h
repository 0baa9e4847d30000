/* The plug-in interface of kinds of pictures: one file in traces/plot/ and one line in
 * traces/plots.def each. A picture is a script, with which gnuplot prints it on stdout, and the
 * data that the script reads. */
#ifndef PPSIM_TRACES_PLOT_PLOT_H
#define PPSIM_TRACES_PLOT_PLOT_H

#include "sim/base/field.h"
#include "sim/base/text.h"
#include "traces/plot/draw/picture.h"

typedef struct pp_plot {
    const char *name;
    const char *summary;
    const char *needs; /* "one timeline": what `fits` asks for; NULL: input says it */
    pp_field input;    /* what it is called that `fits` asks for */
    bool (*fits)(const pp_picture *picture);
    /* picture: fits, and has ranks and times to show. Fails: USAGE (too much for one picture, with
     * the way out), NOMEM. */
    pp_status (*draw)(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err);
} pp_plot;

#endif
