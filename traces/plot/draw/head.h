/* The head of a picture: its title, a note in smaller letters, and the key, above the plot. All
 * places are in pixels, so that no text lies outside the picture or on another one, at any size. */
#ifndef PPSIM_TRACES_PLOT_DRAW_HEAD_H
#define PPSIM_TRACES_PLOT_DRAW_HEAD_H

#include "traces/plot/draw/gnuplot.h"

#define PP_PLOT_ENTRIES 48

/* A line of the key. The styles are gnuplot's; "" means that the entry has no such mark. */
typedef struct pp_plot_entry {
    char fill[64];  /* of a box: "fc rgb '#2f62bd' fs solid 1.0" */
    char right[64]; /* of the right half of the box, if it differs */
    char upper[64]; /* of stripes along the edges of the box: "lw 2 lc rgb '#b4e6c8'" */
    char lower[64];
    char line[64];  /* "dt 2 lw 2" */
    char point[64]; /* "pt 11 ps 1" */
    char words[200];
} pp_plot_entry;

typedef struct pp_plot_head {
    char title[400], note[900];
    pp_plot_entry entry[PP_PLOT_ENTRIES];
    size_t entries;
    /* Set by pp_plot_head_lay_out. */
    int font; /* of note and key */
    int px;   /* height */
} pp_plot_head;

/* Adds a line to the key and returns it, for further marks; more than PP_PLOT_ENTRIES are left out,
 * and NULL is returned. A style may be NULL: none. */
pp_plot_entry *pp_plot_head_add(pp_plot_head *head, const char *fill, const char *line,
                                const char *point, const char *words);
/* Sets title and note. The title says what is trained, if that is known: model, GPUs and batch
 * (`about`). The note then has the rest: what ran (`name`: schedule and framework), what is shown
 * (`shown`: "makespan 3 s"), and sentences (`more`). Without `about` the title has name and shown.
 * Any of them may be "". */
void pp_plot_head_name(pp_plot_head *head, const char *about, const char *name, const char *shown,
                       const char *more);
/* Chooses the largest letters with which the head is at most `most_px` high, and finds its height.
 * If even the smallest ones do not fit, the note and then the end of the key are left out. */
void pp_plot_head_lay_out(pp_plot_head *head, int width, int most_px);
/* Appends the head, in labels, arrows and objects, which `unset label; unset arrow; unset object`
 * removes from the plots that follow. */
void pp_plot_head_draw(const pp_plot_head *head, pp_plot_size size, pp_text *script);

/* Returns the width of the first `bytes` of `words` in pixels, with a font that is wider than those
 * of most systems. */
double pp_plot_text_px(const char *words, size_t bytes, int font);
/* Returns the largest font from `most` down to 7 with which `words` are at most `room_px` wide. */
int pp_plot_fitting_font(const char *words, int most, double room_px);

/* Copies `words`; if they are wider than `room_px`, their end becomes "...". */
void pp_plot_shorten(const char *words, int font, double room_px, char *text, size_t bytes);

typedef enum pp_plot_align { PP_PLOT_LEFT, PP_PLOT_CENTRE, PP_PLOT_RIGHT } pp_plot_align;

/* Appends a label at a place in pixels from the upper left corner: x is its left edge, centre or
 * right edge, y the middle of its height. style: "", or what gnuplot takes: "tc rgb '#a00000'". */
void pp_plot_text_at(pp_plot_size size, double x, double y, pp_plot_align align, int font,
                     const char *style, const char *words, pp_text *script);
/* Appends the words of both axes: below the middle of the plot, and left of it, turned. left to
 * bottom are the edges of the plot in pixels from the upper left corner. */
void pp_plot_axis_names(pp_plot_size size, const double edges[4], const char *x, const char *y,
                        pp_text *script);

#endif
