/* Of ppsim plot: what its inputs show, and gnuplot. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_PLOT_H
#define PPSIM_TOOLS_PPSIM_PLOT_PLOT_H

#include "tools/ppsim/tool.h"
#include "traces/plot/registry.h"

/* Adds what `source` shows: a file, recognised by its content, or a named schedule with the options
 * of a study. Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_load(const pp_args *args, const char *source, pp_picture *picture,
                                     pp_err *err);

/* The parts of a file with the fastest candidates of 'ppsim plan --candidates'. Fails: INPUT with
 * file:line:column, NOMEM. */
bool pp_candidates_recognise(const char *text, size_t bytes);
PP_MUST_CHECK pp_status pp_candidates_read(const char *text, const char *file, pp_picture *picture,
                                           pp_err *err);

/* Two axes of the result file of a sweep, by --x, --y, --metric and --where. Fails: USAGE, INPUT,
 * NOMEM. */
bool pp_heat_recognise(const char *text);
PP_MUST_CHECK pp_status pp_heat_read(const pp_args *args, const char *text, size_t bytes,
                                     const char *file, pp_picture *picture, pp_err *err);

/* The points of 'ppsim plan --pareto --json'. Fails: INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_add_pareto(const pp_json_at *root, const char *file,
                                           pp_picture *picture, pp_err *err);

/* The curves of a profile. class_name: of this class alone; NULL: of all. Fails: USAGE (no such
 * class), INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_add_profile(const char *text, size_t bytes, const char *file,
                                            const char *class_name, pp_picture *picture,
                                            pp_err *err);

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
