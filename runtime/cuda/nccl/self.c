/* Messages of a GPU to itself over a communicator of one rank. Each number of channels has a
 * communicator and a stream, made when it is first asked for. */
#include "runtime/cuda/nccl/self.h"

#include "runtime/cuda/nccl/nccl_queues.h"
#include "runtime/cuda/nccl/nccl_wait.h"
#include "runtime/cuda/nccl/nccl_world.h"

pp_status pp_gpu_self_queue(const pp_module_services *services, uint32_t number,
                            uint32_t channels_most, pp_world **world, size_t *queue_out,
                            pp_err *err)
{
    const pp_gpu_channels channels = { .most = channels_most };
    pp_status status = *world ? PP_OK : pp_nccl_open_alone(services, (int)number, world, err);
    if (status)
        return status;
    const pp_nccl_rank *r = &(*world)->rank[0];
    size_t queue = 0;
    while (queue < r->queues && r->queue[queue].channels.most != channels_most)
        queue++;
    if (queue == r->queues)
        status = pp_nccl_queue_add(*world, PP_NO_SOURCE, PP_NO_SOURCE, &channels, err);
    if (!status)
        *queue_out = queue;
    return status;
}

cudaStream_t pp_gpu_self_stream(const pp_world *world, size_t queue)
{
    return world->rank[0].queue[queue].stream;
}

pp_status pp_gpu_self_send(pp_world *world, size_t queue, const void *from, void *to, size_t bytes,
                           pp_err *err)
{
    pp_nccl_rank *r = &world->rank[0];
    const pp_nccl_queue *q = &r->queue[queue];
    const char *what = "a message of the GPU to itself";
    if (!q->comm)
        return world->services->world_stopped(err);
    pp_status status =
        pp_nccl_check(world, r->rank, NULL, ncclGroupStart(), "opening a group", err);
    if (status)
        return status;
    ncclResult_t code = ncclSend(from, bytes, ncclInt8, 0, q->comm, q->stream);
    if (!code)
        code = ncclRecv(to, bytes, ncclInt8, 0, q->comm, q->stream);
    const ncclResult_t ended = ncclGroupEnd();
    status = pp_nccl_check(world, r->rank, NULL, code ? code : ended, what, err);
    return status ? status : pp_nccl_settle(world, r, q->comm, what, err);
}
