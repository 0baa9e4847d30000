/* gnuplot as a program. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_GNUPLOT_H
#define PPSIM_TOOLS_PPSIM_PLOT_GNUPLOT_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The files of a picture. Owner frees with pp_plot_files_free. */
typedef struct pp_plot_files {
    const char *picture; /* as given; borrowed */
    char *folder;        /* "." where none was given */
    char *script, *data; /* beside the picture, as it was given */
    bool png;
} pp_plot_files;

/* Fails: USAGE (no such name can be a picture's), NOMEM. */
PP_MUST_CHECK pp_status pp_plot_files_name(const char *picture, pp_plot_files *files_out,
                                           pp_err *err);
void pp_plot_files_free(pp_plot_files *files); /* for PP_CLEANUP */
/* "step.gp" of "dir/step.gp". */
const char *pp_plot_base_name(const char *path);

/* Runs gnuplot on the script, in its folder; picture_out: what it printed, the caller's to free().
 * Fails: UNAVAILABLE (there is no gnuplot), IO, NOMEM. */
PP_MUST_CHECK pp_status pp_gnuplot_run(const pp_plot_files *files, char **picture_out,
                                       size_t *bytes_out, pp_err *err);

#endif
