/* A sweep over the processes of an MPI job. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_FARM_H
#define PPSIM_TOOLS_PPSIM_SWEEP_FARM_H

#include "runtime/module/farm.h"
#include "tools/ppsim/sweep/work.h"

/* The processes that an MPI launcher started, including this one. `farm` is NULL when no launcher
 * did. */
typedef struct pp_sweep_farm {
    const pp_farm_table *table;
    pp_farm *farm;
    uint32_t process, processes;
    bool missing;                  /* some processes died */
    uint32_t silent_count, silent; /* how many, and the first of them; of process 0 */
} pp_sweep_farm;

/* Opens the farm. Fails: UNAVAILABLE (an MPI launcher started a program that was built without
 * MPI), IO. */
PP_MUST_CHECK pp_status pp_sweep_farm_open(pp_sweep_farm *farm_out, pp_err *err);
/* Runs in process 0: hands out points and computes some itself until all are done, then tells the
 * other processes to end. `work` is NULL when process 0 failed before it had any. Fails: IO,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_farm_serve(pp_sweep_farm *farm, pp_sweep_work *work, pp_err *err);
/* Runs in every other process: computes points until process 0 tells it to end. Fails: IO,
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_farm_work(pp_sweep_farm *farm, const pp_sweep *sweep, pp_err *err);
void pp_sweep_farm_close(pp_sweep_farm *farm); /* for PP_CLEANUP */

#endif
