/* A task farm: each process that an MPI launcher started asks process 0 for its next task and
 * delivers the result of the one before. Process 0 never waits for a particular process, so that it
 * only loses the answers of a process that dies. Implemented in runtime/mpi/farm.c. */
#ifndef PPSIM_RUNTIME_MODULE_FARM_H
#define PPSIM_RUNTIME_MODULE_FARM_H

#include "runtime/module/module.h"

#define PP_FARM_BYTES_MAX 65536 /* largest message */

typedef struct pp_farm pp_farm;

typedef struct pp_farm_table {
    /* Opens the farm. One thread of the process makes all calls. Fails: UNAVAILABLE, IO, NOMEM. */
    pp_status (*open)(const pp_module_services *services, pp_farm **farm_out, uint32_t *process_out,
                      uint32_t *processes_out, pp_err *err);
    /* Process 0: gets the message of the next process that asks; it is valid until the next call.
     * came_out: false when no process asks now. Fails: IO. */
    pp_status (*poll)(pp_farm *farm, uint32_t *from_out, const char **message_out,
                      size_t *bytes_out, bool *came_out, pp_err *err);
    /* Process 0: answers a process that has asked. Fails: IO. */
    pp_status (*answer)(pp_farm *farm, uint32_t to, uint64_t answer, pp_err *err);
    /* Any other process: sends a message and waits for the answer. Fails: IO, also after
     * patience_ns without an answer. */
    pp_status (*ask)(pp_farm *farm, const char *message, size_t bytes, pp_ns patience_ns,
                     uint64_t *answer_out, pp_err *err);
    /* Closes the farm. all_here: every process closes it, with this flag. Otherwise some processes
     * died, and MPI is not finalized, since that would wait for them. */
    void (*close)(pp_farm *farm, bool all_here);
} pp_farm_table;

/* Returns whether an MPI launcher started this process, which is known without MPI. */
bool pp_farm_launched(void);

/* Loads the module and returns its table. Fails: UNAVAILABLE, IO, NOMEM. */
PP_MUST_CHECK pp_status pp_farm_open(const pp_farm_table **table_out, pp_farm **farm_out,
                                     uint32_t *process_out, uint32_t *processes_out, pp_err *err);

#endif
