/* Runs gnuplot and names its files. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_GNUPLOT_H
#define PPSIM_TOOLS_PPSIM_PLOT_GNUPLOT_H

#include "sim/base/status.h"
#include "traces/plot/draw/gnuplot.h"

#include <stdbool.h>
#include <stddef.h>

/* The files of a picture. The owner frees them with pp_plot_files_free. */
typedef struct pp_plot_files {
    const char *picture; /* as given; borrowed */
    char *folder;        /* folder of the picture; "." if its name has none */
    char *script, *data; /* paths of gnuplot's script and data, in the picture's folder */
    pp_plot_format format;
} pp_plot_files;

/* Derives the names of the files from that of the picture. Fails: USAGE (the name does not end in
 * that of a picture's format), NOMEM. */
PP_MUST_CHECK pp_status pp_plot_files_name(const char *picture, pp_plot_files *files_out,
                                           pp_err *err);
void pp_plot_files_free(pp_plot_files *files); /* for PP_CLEANUP */
/* Returns the part of `path` after its last slash: "step.gp" for "dir/step.gp". */
const char *pp_plot_base_name(const char *path);

/* Runs gnuplot on the script, in its folder, and returns the picture that it printed, which the
 * caller frees with free(). Fails: UNAVAILABLE (there is no gnuplot), IO, NOMEM. */
PP_MUST_CHECK pp_status pp_gnuplot_run(const pp_plot_files *files, char **picture_out,
                                       size_t *bytes_out, pp_err *err);

#endif
