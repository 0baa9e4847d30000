/* Transports that need a library which the ppsim command must not depend on: each is a module, a
 * shared object that is loaded when somebody asks for it and exports one table. */
#ifndef PPSIM_RUNTIME_MODULE_H
#define PPSIM_RUNTIME_MODULE_H

#include "runtime/transport.h"

/* Grows with every change of this header or of runtime/transport.h. */
#define PP_MODULE_ABI 3
#define PP_MODULE_SYMBOL "ppsim_transport_module_v1"

/* What a module calls of ppsim: it links none of it. Outlives the world. */
typedef struct pp_module_services {
    pp_status (*err_set)(pp_err *err, pp_status status, const char *where, const char *format, ...)
        PP_PRINTF(4, 5);
    pp_status (*message_check)(const pp_message *expected, const pp_message *came, pp_err *err);
    pp_status (*world_stopped)(pp_err *err);
    int64_t (*clock_now_ns)(void);
    bool (*launched)(void); /* pp_module_launched */
} pp_module_services;

typedef struct pp_module {
    uint32_t abi;        /* PP_MODULE_ABI; the first member in every version */
    const char *version; /* of ppsim */
    /* As pp_transport.open. */
    pp_status (*open)(const pp_module_services *services, const pp_world_options *options,
                      pp_world **world_out, pp_err *err);
    const pp_transport *transport;    /* all but available and open */
    const struct pp_farm_table *farm; /* runtime/farm.h; NULL: it has none */
} pp_module;

/* What a world of a module begins with. */
typedef struct pp_module_world {
    const pp_transport *transport;
} pp_module_world;

/* Loads `file` from $PPSIM_MODULE_DIR, the folder of the executable, or ${libdir}/ppsim: the first
 * of them that has it. It stays loaded. cure: how to get it, for the error.
 * Fails: UNAVAILABLE. */
PP_MUST_CHECK pp_status pp_module_load(const char *file, const char *cure,
                                       const pp_module **module_out, pp_err *err);

/* The module of MPI. Fails: UNAVAILABLE. */
PP_MUST_CHECK pp_status pp_module_load_mpi(const pp_module **module_out, pp_err *err);
/* Was this process started by an MPI launcher? Known without MPI_Init, which takes long and may end
 * the process when nobody started it. */
bool pp_module_launched(void);
extern const pp_module_services pp_module_services_table;

/* Opens a world of a loaded module. */
PP_MUST_CHECK pp_status pp_module_open(const pp_module *module, const pp_world_options *options,
                                       pp_world **world_out, pp_err *err);

#endif
