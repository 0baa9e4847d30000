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
    const char *summary; /* one line, for lists */
    const char *needs;   /* the input that `fits` asks for: "one timeline"; NULL: see `input` */
    pp_field input;      /* that input, if it has its own name */
    /* Returns whether the picture holds what this kind shows. */
    bool (*fits)(const pp_picture *picture);
    /* Appends to `script` and `data`. picture: `fits` returned true. Fails: USAGE (too much for one
     * picture, with the way out), NOMEM. */
    pp_status (*draw)(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err);
} pp_plot;

#endif
