/* The tables of microbatches that kernels read. */
#ifndef PPSIM_RUNTIME_CUDA_COMPUTE_MACHINE_TABLES_H
#define PPSIM_RUNTIME_CUDA_COMPUTE_MACHINE_TABLES_H

#include "runtime/cuda/compute/machine.h"

/* Copies the tables of every microbatch to the GPU of the machine: m->batch and m->tables. Fails:
 * NOMEM, IO. */
pp_status pp_gpu_tables_open(pp_gpu_machine *m, pp_err *err);
void pp_gpu_tables_close(pp_gpu_machine *m);

#endif
