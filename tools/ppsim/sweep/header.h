/* A sweep, and the header line of its file. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_HEADER_H
#define PPSIM_TOOLS_PPSIM_SWEEP_HEADER_H

#include "tools/ppsim/input/inputs.h"
#include "tools/ppsim/sweep/grid.h"

#define PP_SWEEP_FORMAT "ppsim.sweep"
#define PP_SWEEP_VERSION 1

typedef struct pp_sweep {
    pp_grid grid;
    pp_inputs inputs;
    char *contents;         /* hashes of the input files, as JSON on one line */
    char version[32];       /* of ppsim */
    uint32_t shard, shards; /* this sweep has the points i with i mod shards == shard */
} pp_sweep;

/* Makes the first line of a file, with its newline. text_out belongs to the caller. Fails: NOMEM.
 * */
PP_MUST_CHECK pp_status pp_sweep_header(const pp_sweep *sweep, char **text_out, size_t *bytes_out,
                                        pp_err *err);
/* Reads the files that values of the grid name, and hashes them. Fails: USAGE, IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_load(pp_sweep *sweep, pp_err *err);
/* Makes the sweep whose file begins with `header`, without its inputs, for merging. Fails: INPUT,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_from_header(const pp_json_at *header, pp_sweep *sweep,
                                             pp_err *err);
/* Checks that `header` is that of this sweep; with `any_shard`, of any shard of it. Fails: INPUT,
 * naming the first difference; NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_same(const pp_sweep *sweep, const pp_json_at *header,
                                      bool any_shard, pp_err *err);
/* Returns whether the point belongs to this sweep's shard. */
static inline bool pp_sweep_has(const pp_sweep *sweep, uint32_t point)
{
    return point % sweep->shards == sweep->shard;
}
void pp_sweep_free(pp_sweep *sweep); /* for PP_CLEANUP */

#endif
