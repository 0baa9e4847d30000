/* A sweep over the processes of an MPI job. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_FARM_H
#define PPSIM_TOOLS_PPSIM_SWEEP_FARM_H

#include "runtime/module/farm.h"
#include "tools/ppsim/sweep/work.h"

/* The processes that an MPI launcher started, of which this is one. farm: NULL: there is only one.
 * */
typedef struct pp_sweep_farm {
    const pp_farm_table *table;
    pp_farm *farm;
    uint32_t process, processes;
    bool missing; /* some processes died */
} pp_sweep_farm;

/* Opens the farm. Fails: UNAVAILABLE (started by MPI, but built without), IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_open(pp_sweep_farm *farm_out, pp_err *err);
/* Process 0: hands out points, and computes some itself, until all are done; then it ends the
 * others. work: NULL: there is none, because of a failure. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_serve(pp_sweep_farm *farm, pp_sweep_work *work, pp_err *err);
/* Any other process: computes points until process 0 has none left. Fails: IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_work(pp_sweep_farm *farm, const pp_sweep *sweep, pp_err *err);
void pp_sweep_farm_close(pp_sweep_farm *farm); /* for PP_CLEANUP */

#endif
