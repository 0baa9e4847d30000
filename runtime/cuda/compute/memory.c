/* Memory of GPUs for arenas and transports, which have no machine: copies and fills on the
 * calling thread's own stream. */
#include "runtime/cuda/compute/memory.h"

#include "runtime/core/device_memory.h"
#include "runtime/cuda/nccl/store_place.h"

/* Uses the stream of the calling thread (cudaStreamPerThread), which waits for no other stream, and
 * which no other waits for. */
cudaError_t pp_gpu_copy(void *to, const void *from, size_t bytes)
{
    if (!bytes)
        return cudaSuccess;
    cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamPerThread);
    return code ? code : cudaStreamSynchronize(cudaStreamPerThread);
}

pp_status pp_gpu_of_rank(const pp_module_services *services, uint32_t rank, int *device_out,
                         pp_err *err)
{
    pp_store_place place;
    int gpus = 0;
    pp_status status = pp_gpu_count(services, &gpus, err);
    if (!status)
        status = pp_store_find_place(services, &place, err);
    if (status)
        return status;
    uint32_t own = place.launched ? place.local : rank;
    *device_out = (int)(own % (uint32_t)gpus);
    return PP_OK;
}

static pp_status take(const pp_device_memory *memory, uint32_t rank, size_t bytes, void **at_out,
                      pp_err *err)
{
    int device = 0;
    void *at = NULL;
    pp_status status = pp_gpu_of_rank(memory->services, rank, &device, err);
    if (status)
        return status;
    cudaError_t code = cudaSetDevice(device);
    if (!code)
        code = cudaMalloc(&at, bytes);
    if (code)
        return pp_gpu_check(memory->services, rank, code, "memory for tensors", err);
    *at_out = at;
    return PP_OK;
}

static void give(const pp_device_memory *memory, void *at)
{
    (void)memory;
    if (at)
        (void)cudaFree(at);
}

static pp_status check(const pp_device_memory *memory, cudaError_t code, const char *what,
                       pp_err *err)
{
    if (!code)
        return PP_OK;
    return memory->services->err_set(err, PP_IO, NULL, "%s failed; CUDA reports: %s", what,
                                     cudaGetErrorString(code));
}

static pp_status fill(const pp_device_memory *memory, void *at, int byte, size_t bytes, pp_err *err)
{
    cudaError_t code = bytes ? cudaMemsetAsync(at, byte, bytes, cudaStreamPerThread) : cudaSuccess;
    if (!code && bytes)
        code = cudaStreamSynchronize(cudaStreamPerThread);
    return check(memory, code, "filling memory of the GPU", err);
}

static pp_status copy(const pp_device_memory *memory, void *to, const void *from, size_t bytes,
                      pp_err *err)
{
    return check(memory, pp_gpu_copy(to, from, bytes), "copying between ranks", err);
}

const pp_device_memory pp_gpu_memory = { .take = take, .give = give, .fill = fill, .copy = copy };
