/* What pictures show, as plain values. A reader of plans, traces or reports fills in what it knows,
 * and a kind of picture (traces/plot/plot.h) draws what it needs. */
#ifndef PPSIM_TRACES_PLOT_DRAW_PICTURE_H
#define PPSIM_TRACES_PLOT_DRAW_PICTURE_H

#include "sim/analysis/robustness.h"
#include "traces/read/track.h"

#define PP_PICTURE_TRACKS 2

/* One of the setups that are compared. */
typedef struct pp_bar {
    char name[160];
    pp_ns step_ns;
    double bubble_fraction;
    int64_t peak_bytes; /* negative: not known */
} pp_bar;

/* The step under jitter. */
typedef struct pp_spread {
    char name[160];
    pp_ns step_ns;           /* without jitter */
    pp_jitter_result jitter; /* spec: scenarios only */
} pp_spread;

#define PP_CURVE_TIME "fitted time"

/* A cost function and what it was fitted to. */
typedef struct pp_curve {
    char name[160];    /* "stage_f: affine, 1.2 %" */
    char axis[48];     /* what pp_fitted.at is; PP_CURVE_TIME: seconds */
    double most_error; /* percent: how far the axis of errors goes */
} pp_curve;

typedef struct pp_fitted {
    size_t curve; /* index */
    double at, measured_s, fitted_s;
} pp_fitted;

/* A step of a Pareto front: the fastest setup for memory limits from peak_bytes up to limit_bytes.
 */
typedef struct pp_trade {
    size_t front; /* index */
    int64_t peak_bytes, limit_bytes;
    double cost_s, least_s; /* GPU seconds of a step; the bound */
    char schedule[48];
    char settings[64]; /* "tp 8 vpp 2 mbs 1 none" */
} pp_trade;

typedef struct pp_front {
    char name[160];
    int64_t gpus; /* 0: they differ between points */
} pp_front;

/* The result of a cell of a heat map. */
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

typedef struct pp_cell {
    uint32_t x, y; /* of the ticks */
    pp_cell_state state;
    double value;  /* of the best point; where ok */
    char note[32]; /* what else that point has; "" where nothing else varies */
} pp_cell;

/* A value of an axis, in its order. */
typedef struct pp_tick {
    bool y;
    char label[64];
} pp_tick;

typedef struct pp_heat {
    char x[48], y[48]; /* names of the axes; y "": one row */
    char metric[64];   /* "peak memory (GiB)" */
    char about[400];   /* what all points have in common */
    bool larger;       /* is better */
} pp_heat;

/* Owner frees with pp_picture_free. */
typedef struct pp_picture {
    size_t inputs;                     /* that filled it in */
    pp_track track[PP_PICTURE_TRACKS]; /* predicted before executed */
    size_t tracks;                     /* more than there is room for: they were not kept */
    pp_bar *bar;
    size_t bar_count, bar_capacity;
    pp_spread *spread;
    size_t spread_count, spread_capacity;
    pp_curve *curve;
    size_t curve_count, curve_capacity;
    pp_fitted *fitted;
    size_t fitted_count, fitted_capacity;
    pp_front *front;
    size_t front_count, front_capacity;
    pp_trade *trade; /* by front, the fastest first */
    size_t trade_count, trade_capacity;
    pp_heat heat; /* where there are cells */
    pp_tick *tick;
    size_t tick_count, tick_capacity;
    pp_cell *cell;
    size_t cell_count, cell_capacity;
    int64_t memory_limit_bytes; /* 0: none */
    /* What part of it is shown, and how large. */
    pp_ns from_ns, to_ns;           /* to_ns 0: to the end */
    uint32_t first_rank, last_rank; /* last_rank UINT32_MAX: all */
    int width, height;              /* pixels; 0: as fits */
    bool png;                       /* else SVG */
    const char *data_name;          /* of the data file, without folders; borrowed */
} pp_picture;

void pp_picture_free(pp_picture *picture); /* for PP_CLEANUP */

/* The next element of a list, zeroed; NULL: no memory. */
pp_bar *pp_picture_add_bar(pp_picture *picture, pp_err *err);
pp_spread *pp_picture_add_spread(pp_picture *picture, pp_err *err);
pp_curve *pp_picture_add_curve(pp_picture *picture, pp_err *err);
pp_fitted *pp_picture_add_fitted(pp_picture *picture, pp_err *err);
pp_front *pp_picture_add_front(pp_picture *picture, pp_err *err);
pp_trade *pp_picture_add_trade(pp_picture *picture, pp_err *err);
pp_tick *pp_picture_add_tick(pp_picture *picture, pp_err *err);
pp_cell *pp_picture_add_cell(pp_picture *picture, pp_err *err);
/* Takes over *track. Beyond PP_PICTURE_TRACKS timelines it is counted and freed. */
void pp_picture_add_track(pp_picture *picture, pp_track *track);

#endif
