/* The parts of `ppsim sweep`. A sweep is a grid of points, a file of lines (ppsim.sweep in
 * docs/formats.md), and workers that turn one into the other. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_SWEEP_H
#define PPSIM_TOOLS_PPSIM_SWEEP_SWEEP_H

#include "tools/ppsim/inputs.h"
#include "tools/ppsim/tool.h"

#include <sys/types.h>

#define PP_SWEEP_POINTS_MAX (1 << 20)
#define PP_SWEEP_FORMAT "ppsim.sweep"
#define PP_SWEEP_VERSION 1

/* ---- grid: axis.c, grid.c, header.c ---- */

/* One option of the study and its values. */
typedef struct pp_axis {
    const pp_option *option;
    char **value; /* [count], sorted: numbers first and by size */
    size_t count, capacity;
} pp_axis;

/* Axes are sorted by name, the first changes slowest: point i of a grid is always the same, however
 * the grid was written down. Owner frees with pp_grid_free. */
typedef struct pp_grid {
    const pp_command *study; /* plan or simulate */
    pp_axis *axis;
    size_t axes, capacity;
    uint32_t points;
} pp_grid;

/* --study, --grid and all options of the study. Fails: USAGE, INPUT, IO, NOMEM. */
PP_MUST_CHECK pp_status pp_grid_read(const pp_args *args, pp_grid *grid_out, pp_err *err);
/* From keys "study" and "grid" of a grid file or a header. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_grid_read_json(const pp_json_at *root, pp_grid *grid_out, pp_err *err);
/* The value of --study, or of "study"; NULL when there is no such study. */
const pp_command *pp_sweep_study(const char *name);
void pp_grid_free(pp_grid *grid); /* for PP_CLEANUP */
void pp_grid_write(const pp_grid *grid, pp_json_build *build, pp_json *root);

/* "pp" of "--pp". */
const char *pp_axis_name(const pp_axis *axis);
const char *pp_grid_value(const pp_grid *grid, uint32_t point, size_t axis);
/* "hw=h100-80g model=gpt175b pp=8". */
void pp_grid_key(const pp_grid *grid, uint32_t point, pp_text *key);
void pp_grid_write_point(const pp_grid *grid, uint32_t point, pp_json_build *build,
                         pp_json *object);
/* The inverse. at: the object of a line. Fails: INPUT when it is no point of this grid. */
PP_MUST_CHECK pp_status pp_grid_find(const pp_grid *grid, const pp_json_at *at, uint32_t *point_out,
                                     pp_err *err);

/* Values of `option` out of `text`: a,b,c and ranges 4..64*2, 1..7, 0..8+2. Options whose values
 * hold commas themselves are no lists. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_axis_add(pp_axis *axis, const char *text, pp_err *err);
/* Fails: USAGE when a value is there twice. */
PP_MUST_CHECK pp_status pp_axis_sort(pp_axis *axis, pp_err *err);

/* ---- what is asked ---- */

typedef struct pp_sweep {
    pp_grid grid;
    pp_inputs inputs;
    char *contents;         /* of the inputs, as JSON on a line */
    char version[32];       /* of ppsim */
    uint32_t shard, shards; /* this sweep has the points i with i mod shards == shard */
} pp_sweep;

/* The first line of a file, with its newline. text_out: the caller's. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_header(const pp_sweep *sweep, char **text_out, size_t *bytes_out,
                                        pp_err *err);
/* Reads the files that values name. Fails: USAGE, IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_load(pp_sweep *sweep, pp_err *err);
/* The whole sweep of which `header` begins a file, without its inputs: for merging. Fails: INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_from_header(const pp_json_at *header, pp_sweep *sweep,
                                             pp_err *err);
/* Is `header`, of the file `path`, that of this sweep? Fails: INPUT, naming the first difference.
 */
PP_MUST_CHECK pp_status pp_sweep_same(const pp_sweep *sweep, const pp_json_at *header,
                                      bool any_shard, pp_err *err);
static inline bool pp_sweep_has(const pp_sweep *sweep, uint32_t point)
{
    return point % sweep->shards == sweep->shard;
}
void pp_sweep_free(pp_sweep *sweep); /* for PP_CLEANUP */

/* ---- points: point.c ---- */

/* The line of a point, with its newline; the caller's to free(). Thread-safe.
 * Fails: NOMEM, IO, UNAVAILABLE; whatever else keeps a point from being answered is in its line. */
PP_MUST_CHECK pp_status pp_point_run(const pp_sweep *sweep, uint32_t point, char **line_out,
                                     size_t *bytes_out, pp_err *err);
/* Fails: USAGE when a value is legal in no point; the reason is that of one of them. */
PP_MUST_CHECK pp_status pp_sweep_check(const pp_sweep *sweep, pp_err *err);

/* ---- lines: file.c ---- */

/* line[point], with newline and NUL; NULL: not there yet. */
typedef struct pp_sweep_lines {
    char **line; /* [points] */
    uint32_t points, done;
} pp_sweep_lines;

PP_MUST_CHECK pp_status pp_sweep_lines_new(uint32_t points, pp_sweep_lines *lines_out, pp_err *err);
void pp_sweep_lines_free(pp_sweep_lines *lines); /* for PP_CLEANUP */
/* Adds what the file `path` holds; what follows the last newline was torn by a kill and is left
 * out. good_bytes_out: up to there. any_shard: as pp_sweep_same. Fails: IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_lines_read(const pp_sweep *sweep, const char *path, bool any_shard,
                                            pp_sweep_lines *lines, off_t *good_bytes_out,
                                            pp_err *err);
/* The same of a text; path: for messages. */
PP_MUST_CHECK pp_status pp_sweep_lines_parse(const pp_sweep *sweep, const char *text, size_t bytes,
                                             const char *path, bool any_shard,
                                             pp_sweep_lines *lines, off_t *good_bytes_out,
                                             pp_err *err);

/* A file that grows by lines. path NULL: nowhere. */
typedef struct pp_sweep_file {
    const char *path; /* borrowed */
    int descriptor;
    off_t good_bytes;    /* whole lines */
    int64_t synced_ns;   /* on the clock of runtime/core/clock.h */
    bool regular, dirty; /* dirty: not synced */
} pp_sweep_file;

/* Opens or makes `path` for this sweep alone, and reads what is there.
 * Fails: IO (also when another sweep writes it), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_file_open(const pp_sweep *sweep, const char *path,
                                           pp_sweep_lines *lines, pp_sweep_file *file_out,
                                           pp_err *err);
/* Whole, or not at all; on disk a second later at most, if lines go on coming. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_file_append(pp_sweep_file *file, const char *line, size_t bytes,
                                             pp_err *err);
/* Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_file_sync(pp_sweep_file *file, pp_err *err);
void pp_sweep_file_close(pp_sweep_file *file); /* for PP_CLEANUP */

/* ---- work: work.c, farm.c ---- */

/* Hands out points and takes their lines; any thread. */
typedef struct pp_sweep_work pp_sweep_work;

/* file, lines: borrowed. */
PP_MUST_CHECK pp_status pp_sweep_work_new(const pp_sweep *sweep, pp_sweep_file *file,
                                          pp_sweep_lines *lines, pp_sweep_work **work_out,
                                          pp_err *err);
void pp_sweep_work_free(pp_sweep_work **work); /* for PP_CLEANUP */
/* False: none to hand out. again: those that others have not answered yet count too. */
bool pp_sweep_take(pp_sweep_work *work, bool again, uint32_t *point_out);
/* Takes over `line`; the second line of a point is dropped. */
void pp_sweep_give(pp_sweep_work *work, uint32_t point, char *line, size_t bytes);
/* Nothing is handed out any more. */
void pp_sweep_fail(pp_sweep_work *work, const pp_err *why);
/* All lines are there, or it failed. */
bool pp_sweep_over(pp_sweep_work *work);
/* The verdict. Fails: as the point or file that failed. */
PP_MUST_CHECK pp_status pp_sweep_result(pp_sweep_work *work, pp_err *err);
/* Points by `threads` threads of this process, of which the caller is one, until there are none.
 * again: as in pp_sweep_take. */
void pp_sweep_compute(pp_sweep_work *work, uint32_t threads, bool again);

typedef struct pp_farm_table pp_farm_table;
typedef struct pp_farm pp_farm;

/* The processes that an MPI launcher started: this is one of `processes`. farm NULL: only one. */
typedef struct pp_sweep_farm {
    const pp_farm_table *table;
    pp_farm *farm;
    uint32_t process, processes;
    bool missing; /* some died */
} pp_sweep_farm;

/* Fails: UNAVAILABLE (started by MPI, but built without), IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_open(pp_sweep_farm *farm_out, pp_err *err);
/* Process 0: until the work is over, its own points computed beside; then all know it. work NULL:
 * there is none, because of a failure. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_serve(pp_sweep_farm *farm, pp_sweep_work *work, pp_err *err);
/* Any other process: points, until process 0 has none. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_work(pp_sweep_farm *farm, const pp_sweep *sweep, pp_err *err);
void pp_sweep_farm_close(pp_sweep_farm *farm); /* for PP_CLEANUP */

/* ---- results: print.c ---- */

/* The best `top` points of every model, in 80 columns; or as JSON. */
PP_MUST_CHECK pp_status pp_sweep_print(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                       size_t top, pp_text *text, pp_err *err);
PP_MUST_CHECK pp_status pp_sweep_print_json(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                            size_t top, pp_text *text, pp_err *err);
/* One row per line, an axis or a number per column. */
PP_MUST_CHECK pp_status pp_sweep_print_csv(const pp_sweep *sweep, const pp_sweep_lines *lines,
                                           pp_text *text, pp_err *err);

/* What a line says about a point that was answered, in the order of columns; NULL ends. */
extern const char *const pp_sweep_numbers[];

#endif
