/* Work that is timed on a GPU: its operands, and launches of it. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_GPU_TASK_H
#define PPSIM_RUNTIME_CUDA_TIMING_GPU_TASK_H

#include "runtime/cuda/timing/gpu_state.h"

/* `prepare` and `release` of pp_gpu_table. */
pp_status pp_gpu_prepare(pp_gpu *gpu, const pp_gpu_work *work, pp_gpu_task **task_out,
                         char *how_out, size_t how_size, pp_err *err);
void pp_gpu_release(pp_gpu_task *task);
/* Launches the work once, with the next set of operands. */
pp_status pp_gpu_task_launch(pp_gpu_task *task, bool on_other, pp_err *err);
/* Returns the stream on which the work runs concurrently with other work. */
cudaStream_t pp_gpu_task_stream(const pp_gpu_task *task);
/* Aborts the communicator of a message that failed: such a message never ends. */
void pp_gpu_task_give_up(const pp_gpu_task *task);
/* Doubles the bytes of a copy or message, unless there is too little memory. */
pp_status pp_gpu_task_grow(pp_gpu_task *task, bool *grown_out, pp_err *err);
/* Refills the overwritten operands of the sets that the next runs use. */
pp_status pp_gpu_task_mend(const pp_gpu_task *task, uint32_t runs, pp_err *err);

#endif
