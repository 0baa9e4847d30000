/* Memory for tensors that this process cannot address: a GPU's. */
#ifndef PPSIM_RUNTIME_CORE_DEVICE_MEMORY_H
#define PPSIM_RUNTIME_CORE_DEVICE_MEMORY_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct pp_module_services;

/* Functions of a module. The struct may be copied and used by any thread. `take` also makes the GPU
 * of `rank` the current one of the calling thread. */
typedef struct pp_device_memory pp_device_memory;
struct pp_device_memory {
    const struct pp_module_services *services;
    /* Takes `bytes` on the GPU of `rank`, at a multiple of 256. Fails: NOMEM, IO. */
    pp_status (*take)(const pp_device_memory *memory, uint32_t rank, size_t bytes, void **at_out,
                      pp_err *err);
    void (*give)(const pp_device_memory *memory, void *at); /* NULL is fine */
    /* `fill` sets bytes of the current GPU of the thread; `copy` copies between the memory of any
     * GPU and of this process. Both are complete when they return. Fail: IO. */
    pp_status (*fill)(const pp_device_memory *memory, void *at, int byte, size_t bytes,
                      pp_err *err);
    pp_status (*copy)(const pp_device_memory *memory, void *to, const void *from, size_t bytes,
                      pp_err *err);
};

#endif
