/* What pictures show, as plain values: whoever has a plan, a trace or a report fills in what it
 * knows, and a kind of picture (traces/plot/plot.h) draws what it needs of it. */
#ifndef PPSIM_TRACES_PLOT_DRAW_PICTURE_H
#define PPSIM_TRACES_PLOT_DRAW_PICTURE_H

#include "sim/analysis/memory.h"
#include "sim/analysis/robustness.h"
#include "sim/order/order.h"
#include "traces/format/format.h"

/* One compute op. */
typedef struct pp_box {
    pp_ns start_ns, end_ns;
    uint32_t rank;
    pp_op op;
} pp_box;

/* A rank stood still. */
typedef struct pp_gap {
    pp_ns start_ns, end_ns;
    uint32_t rank;
    pp_idle_cause cause;
} pp_gap;

/* One timeline, predicted or measured. */
typedef struct pp_track {
    char name[160]; /* "1f1b, framework ideal" */
    uint32_t ranks;
    pp_box *box; /* by rank, then start */
    size_t box_count, box_capacity;
    pp_gap *gap; /* likewise */
    size_t gap_count, gap_capacity;
    pp_recorded_transfer *hop; /* likewise, of the sender */
    size_t hop_count, hop_capacity;
    pp_memory_sample_row *level; /* by rank, each in the order of the source */
    size_t level_count, level_capacity;
    size_t *path; /* critical path: boxes, the last one first */
    size_t path_count;
} pp_track;

#define PP_PICTURE_TRACKS 2

/* One of the set-ups that are compared. */
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

/* What memory buys: the fastest for limits from peak_bytes up to limit_bytes. */
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

/* How the points of a heat map's cell were answered. */
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
pp_box *pp_track_add_box(pp_track *track, pp_err *err);
pp_gap *pp_track_add_gap(pp_track *track, pp_err *err);
pp_recorded_transfer *pp_track_add_hop(pp_track *track, pp_err *err);
pp_memory_sample_row *pp_track_add_level(pp_track *track, pp_err *err);
pp_bar *pp_picture_add_bar(pp_picture *picture, pp_err *err);
pp_spread *pp_picture_add_spread(pp_picture *picture, pp_err *err);
pp_curve *pp_picture_add_curve(pp_picture *picture, pp_err *err);
pp_fitted *pp_picture_add_fitted(pp_picture *picture, pp_err *err);
pp_front *pp_picture_add_front(pp_picture *picture, pp_err *err);
pp_trade *pp_picture_add_trade(pp_picture *picture, pp_err *err);
pp_tick *pp_picture_add_tick(pp_picture *picture, pp_err *err);
pp_cell *pp_picture_add_cell(pp_picture *picture, pp_err *err);
/* Room for one more timeline; where there is none it is freed. Takes over *track. */
void pp_picture_add_track(pp_picture *picture, pp_track *track);
void pp_track_free(pp_track *track); /* for PP_CLEANUP */

/* Sorts, counts the ranks and finds the critical path: from the end of the last op back to what its
 * start waited for, the op before it on the rank or the tensor that came later. Once, after the
 * last addition. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_track_finish(pp_track *track, pp_err *err);

/* Is box i the second half of an overlapped pair that ran as one? It took no time of its own and
 * stands at the end of the first half. Of a finished timeline. */
bool pp_track_ends_pair(const pp_track *track, size_t i);

/* Readers. track_out: finished. Fails: INPUT with the place, NOMEM. */

/* Does the text look like a trace in the Trace Event Format? */
bool pp_chrome_recognise(const pp_json_at *root);
/* A trace that --trace chrome=FILE wrote. */
PP_MUST_CHECK pp_status pp_chrome_read(const pp_json_at *root, pp_track *track_out, pp_err *err);
bool pp_memory_csv_recognise(const char *text, size_t bytes);
/* What --trace memory-csv=FILE wrote. */
PP_MUST_CHECK pp_status pp_memory_csv_read(const char *text, const char *file, pp_track *track_out,
                                           pp_err *err);
/* What --trace memory-json=FILE wrote. */
PP_MUST_CHECK pp_status pp_memory_json_read(const pp_json_at *root, pp_track *track_out,
                                            pp_err *err);

#endif
