/* The points of a sweep: every combination of the values of its axes. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_GRID_H
#define PPSIM_TOOLS_PPSIM_SWEEP_GRID_H

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/ppsim/sweep/axis.h"

#define PP_SWEEP_POINTS_MAX (1 << 20)

/* A grid. Its axes are sorted by name and the first changes slowest, so that point i does not
 * depend on how the grid was written. The owner frees it with pp_grid_free. */
typedef struct pp_grid {
    const pp_command *study; /* plan or simulate */
    pp_axis *axis;
    size_t axes, capacity;
    uint32_t points;
} pp_grid;

/* Reads --study, --grid and all options of the study. `own` are the options of sweep itself, which
 * are not axes. Fails: USAGE, INPUT, IO, NOMEM. */
PP_MUST_CHECK pp_status pp_grid_read(const pp_args *args, const pp_option *own, pp_grid *grid_out,
                                     pp_err *err);
/* Reads the keys "study" and "grid" of a grid file or a header. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_grid_read_json(const pp_json_at *root, pp_grid *grid_out, pp_err *err);
void pp_grid_free(pp_grid *grid); /* for PP_CLEANUP */
void pp_grid_write(const pp_grid *grid, pp_json_build *build, pp_json *root);

/* Returns the value of an axis at a point, as results have it (pp_axis_value). */
const char *pp_grid_value(const pp_grid *grid, uint32_t point, size_t axis);
/* Returns the same as the command line of the point has it, where a file is a path. */
const char *pp_grid_argument(const pp_grid *grid, uint32_t point, size_t axis);
/* Appends the key of a point: "hw=h100-80g model=gpt175b pp=8". */
void pp_grid_key(const pp_grid *grid, uint32_t point, pp_text *key);
void pp_grid_write_point(const pp_grid *grid, uint32_t point, pp_json_build *build,
                         pp_json *object);
/* Finds the point that the object of a line belongs to. Fails: INPUT when it is not a point of this
 * grid. */
PP_MUST_CHECK pp_status pp_grid_find(const pp_grid *grid, const pp_json_at *at, uint32_t *point_out,
                                     pp_err *err);

#endif
