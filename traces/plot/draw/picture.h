/* The contents of pictures, as plain values. A reader of plans, traces or reports fills in the
 * values that it has, and a kind of picture (traces/plot/plot.h) draws those that it needs. */
#ifndef PPSIM_TRACES_PLOT_DRAW_PICTURE_H
#define PPSIM_TRACES_PLOT_DRAW_PICTURE_H

#include "sim/analysis/robustness.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/read/track.h"

#define PP_PICTURE_TRACKS 2

/* One of the setups that are compared. */
typedef struct pp_bar {
    char name[160];
    char about[200]; /* "llama3-8b on 8 GPUs (pp 4, tp 2), batch 32"; "": not known */
    pp_ns step_ns;
    double bubble_fraction;
    int64_t peak_bytes; /* negative: not known */
} pp_bar;

/* How long a step takes under jitter. */
typedef struct pp_spread {
    char name[160];
    char about[200];         /* like that of a bar */
    pp_ns step_ns;           /* without jitter */
    pp_jitter_result jitter; /* in its spec only the number of scenarios is set */
} pp_spread;

#define PP_CURVE_TIME "fitted time"

/* A cost function that was fitted to measurements. */
typedef struct pp_curve {
    char name[160];    /* "stage_f: affine, mean error 1.2 %" */
    char axis[48];     /* what pp_fitted.at measures; PP_CURVE_TIME: seconds */
    double most_error; /* the end of the axis of errors, in percent */
} pp_curve;

/* One measurement of a curve. */
typedef struct pp_fitted {
    size_t curve; /* index of the pp_curve; the measurements of a curve are sorted by `at` */
    double at, measured_s, fitted_s;
    double low_s, high_s; /* 95 % interval of a single measurement there */
} pp_fitted;

/* A step of a Pareto front: the fastest setup for memory limits from peak_bytes up to limit_bytes.
 */
typedef struct pp_trade {
    size_t front; /* index of the pp_front */
    int64_t peak_bytes, limit_bytes;
    double cost_s, least_s; /* the step and its lower bound, in GPU seconds */
    char schedule[48];
    int64_t tp, vpp, micro_batch;
    char recompute[24];
} pp_trade;

/* A Pareto front of step time and memory. */
typedef struct pp_front {
    char name[160]; /* "llama3-8b on h100-80g, pp 4" */
    char model[64];
    int64_t gpus; /* 0: the setups have different numbers of GPUs */
} pp_front;

/* The result of a cell of a heat map: identifier, text in the key. */
#define PP_CELL_MAP(X)                    \
    X(OK, "ok")                           \
    X(MEMORY, "does not fit the memory")  \
    X(HANG, "hangs")                      \
    X(INFEASIBLE, "infeasible otherwise") \
    X(ILLEGAL, "illegal")                 \
    X(MISSING, "not answered yet")

typedef enum pp_cell_state {
#define PP_CELL_ENUM(name, words) PP_CELL_##name,
    PP_CELL_MAP(PP_CELL_ENUM)
#undef PP_CELL_ENUM
        PP_CELL_COUNT
} pp_cell_state;

/* A cell of a heat map: the points of a sweep that have its values of both axes. */
typedef struct pp_cell {
    uint32_t x, y; /* indices of the ticks of each axis */
    pp_cell_state state;
    double value; /* of the best point, when the state is OK */
    /* The other settings of that point, "" when nothing else varies; if the state is MEMORY, what
     * lacks: "1.41 GiB short". */
    char note[32];
} pp_cell;

/* A value of one axis of a heat map. The ticks of an axis are in its order. */
typedef struct pp_tick {
    bool y; /* of the vertical axis */
    char label[64];
} pp_tick;

/* The contents of a heat map. */
typedef struct pp_heat {
    char x[48], y[48]; /* names of the axes; y "": the map has one row */
    char model[64];    /* of all points; "": there are several */
    char metric[64];   /* "peak memory (GiB)" */
    char about[400];   /* the settings that all points share */
    bool larger;       /* a larger value is better */
} pp_heat;

/* All that was read for a picture, and the part and size that were requested. The owner frees it
 * with pp_picture_free. */
typedef struct pp_picture {
    size_t inputs;                     /* number of files or simulations that filled it in */
    pp_track track[PP_PICTURE_TRACKS]; /* a predicted timeline comes before an executed one */
    size_t tracks;                     /* number of timelines that were added, even if not kept */
    pp_bar *bar;
    size_t bar_count, bar_capacity;
    char bars_share[160]; /* the settings that all bars share: "tp 2, dp 1"; "": none */
    pp_spread *spread;
    size_t spread_count, spread_capacity;
    pp_curve *curve;
    size_t curve_count, curve_capacity;
    pp_fitted *fitted;
    size_t fitted_count, fitted_capacity;
    pp_front *front;
    size_t front_count, front_capacity;
    pp_trade *trade; /* by front, fastest step first */
    size_t trade_count, trade_capacity;
    pp_heat heat; /* valid when there are cells */
    pp_tick *tick;
    size_t tick_count, tick_capacity;
    pp_cell *cell;
    size_t cell_count, cell_capacity;
    int64_t memory_limit_bytes; /* 0: none */
    /* The part that is shown, and its size. */
    pp_ns from_ns, to_ns;           /* to_ns 0: to the end */
    uint32_t first_rank, last_rank; /* last_rank UINT32_MAX: to the last one */
    bool no_path;                   /* the critical path is left out */
    int width, height;              /* pixels; 0: chosen by the kind of picture */
    pp_plot_output out;             /* its format */
    const char *data_name;          /* name of the data file, without folders; borrowed */
} pp_picture;

void pp_picture_free(pp_picture *picture); /* for PP_CLEANUP */

/* Add a zeroed element to a list. Return NULL when there is no memory. */
pp_bar *pp_picture_add_bar(pp_picture *picture, pp_err *err);
pp_spread *pp_picture_add_spread(pp_picture *picture, pp_err *err);
pp_curve *pp_picture_add_curve(pp_picture *picture, pp_err *err);
pp_fitted *pp_picture_add_fitted(pp_picture *picture, pp_err *err);
pp_front *pp_picture_add_front(pp_picture *picture, pp_err *err);
pp_trade *pp_picture_add_trade(pp_picture *picture, pp_err *err);
pp_tick *pp_picture_add_tick(pp_picture *picture, pp_err *err);
pp_cell *pp_picture_add_cell(pp_picture *picture, pp_err *err);
/* Takes over *track, which is empty afterwards. More than PP_PICTURE_TRACKS timelines are counted,
 * but not kept. */
void pp_picture_add_track(pp_picture *picture, pp_track *track);

#endif
