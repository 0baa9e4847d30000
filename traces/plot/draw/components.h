/* The components of memory: their words, their colours, and which of them are told apart. */
#ifndef PPSIM_TRACES_PLOT_DRAW_COMPONENTS_H
#define PPSIM_TRACES_PLOT_DRAW_COMPONENTS_H

#include "traces/plot/draw/view.h"

#define PP_PLOT_LIMIT_LINE "dt 2 lw 1.5 lc rgb 'black'"
#define PP_PLOT_OVER_FILL "fc rgb '#d62728' fs solid 1.0 noborder"

/* One layer of a stack: a component, or several small ones together. */
typedef struct pp_plot_layer {
    bool has[PP_MEMORY_COUNT];
    const char *fill; /* gnuplot's fill style */
    char name[24];    /* of its data set */
    char words[200];  /* in the key */
} pp_plot_layer;

/* The layers of the stacks of a picture, from below. */
typedef struct pp_plot_layers {
    pp_plot_layer layer[PP_MEMORY_COUNT];
    int count;
} pp_plot_layers;

/* Finds the layers for the samples of the ranks that are shown. Components that never reach
 * least_bytes become one layer, on top, unless there is only one. */
void pp_plot_find_layers(const pp_track *track, const pp_plot_view *view, int64_t least_bytes,
                         pp_plot_layers *layers_out);
/* Returns the bytes of a sample up to the upper end of layer `last`. */
int64_t pp_plot_stacked(const pp_plot_layers *layers, int last, const pp_memory_sample_row *sample);
/* Returns the bytes of all components of a sample. */
int64_t pp_plot_total(const pp_memory_sample_row *sample);
/* Adds the layers, the limit (0: none) and, if `over`, what exceeds it to the key. */
void pp_plot_layers_key(const pp_plot_layers *layers, int64_t limit_bytes, bool over,
                        pp_plot_head *head);
/* Prints the op that runs when a sample was taken; if there is none, the next one, or the last one;
 * "" if the ops are not known. */
void pp_plot_op_at(const pp_track *track, const pp_memory_sample_row *sample, char *name,
                   size_t size);

#endif
