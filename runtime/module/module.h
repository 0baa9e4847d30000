/* Transports and computes that need a library which the ppsim command must not depend on are in
 * modules: shared objects that are loaded when they are asked for and export one table each. */
#ifndef PPSIM_RUNTIME_MODULE_MODULE_H
#define PPSIM_RUNTIME_MODULE_MODULE_H

#include "runtime/core/transport.h"
#include "sim/base/field.h"

/* Increased with every change of this header, of runtime/core/transport.h or
 * runtime/core/compute.h. */
#define PP_MODULE_ABI 12

/* The functions of ppsim that a module may call; it links none of them. The struct outlives the
 * world. */
typedef struct pp_module_services {
    pp_status (*err_set)(pp_err *err, pp_status status, const char *where, const char *format, ...)
        PP_PRINTF(4, 5);
    const char *(*err_name)(const pp_err *err, pp_field field);
    pp_status (*message_check)(const pp_message *expected, const pp_message *came, pp_err *err);
    pp_status (*world_stopped)(pp_err *err);
    int64_t (*clock_now_ns)(void);
    bool (*launched)(void); /* pp_module_launched */
} pp_module_services;

typedef struct pp_module {
    uint32_t abi;        /* PP_MODULE_ABI; the first member in every version */
    const char *version; /* of ppsim */
    /* Checks for other things that this machine must have. NULL: there are none. Fails:
     * UNAVAILABLE. */
    pp_status (*available)(const pp_module_services *services, pp_err *err);
    /* As pp_transport.open. */
    pp_status (*open)(const pp_module_services *services, const pp_world_options *options,
                      pp_world **world_out, pp_err *err);
    const pp_transport *transport;            /* all but available and open */
    const struct pp_math *math;               /* operations of compute cuda (runtime/cpu/math.h) */
    const struct pp_device_memory *memory;    /* without services */
    const struct pp_gpu_table *gpu;           /* runtime/gpu/gpu.h; NULL: it has none */
    const struct pp_gpu_link_table *gpu_link; /* runtime/gpu/gpu_link.h; NULL: it has none */
} pp_module;

/* The first member of every world of a module. */
typedef struct pp_module_world {
    const pp_transport *transport;
} pp_module_world;

/* A module as a file. symbol: the name of its pp_module, which is different for each module, since
 * that of a module loaded with `global` would hide another of the same name. cure: how to get the
 * file; mend: what to do when it does not load. */
typedef struct pp_module_file {
    const char *name, *symbol, *cure, *mend;
    bool global; /* its library has plug-ins, which use its symbols */
} pp_module_file;

extern const pp_module_file pp_module_mpi, pp_module_cuda;

/* Loads a module from the first of $PPSIM_MODULE_DIR, the folder of the executable and
 * ${libdir}/ppsim that has it, and checks that it can be used. It stays loaded. Fails: UNAVAILABLE.
 * */
PP_MUST_CHECK pp_status pp_module_load(const pp_module_file *file, const pp_module **module_out,
                                       pp_err *err);

/* Returns whether an MPI launcher started this process. That is known without MPI_Init, which takes
 * long and may end the process when no launcher started it. */
bool pp_module_launched(void);
extern const pp_module_services pp_module_services_table;

/* Opens a world of a module. Fails: UNAVAILABLE, and as pp_transport.open. */
PP_MUST_CHECK pp_status pp_module_open(const pp_module_file *file, const pp_world_options *options,
                                       pp_world **world_out, pp_err *err);

#endif
