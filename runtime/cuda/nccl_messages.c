/* Messages of a step. A group of the program is one NCCL group, issued when its last transfer is
 * posted: copies to the GPU, sends and receives, copies from the GPU, an event, all in the stream
 * of their communicator. What is sent was computed before it is posted, and a receive is waited for
 * by the host, so that no other stream has to wait. */
#include "runtime/cuda/nccl_int.h"

#include <assert.h>
#include <string.h>

#define NONE PP_NO_SOURCE

static pp_nccl_transfer_state *flight_of(const pp_world *world, const pp_nccl_rank *r,
                                         uint32_t transfer)
{
    return &r->flight[world->slot[transfer]];
}

static size_t index_of(const pp_nccl_rank *r, const pp_nccl_transfer_state *flight)
{
    return (size_t)(flight - r->flight);
}

/* The GPU's clock is known by an event that the host saw happen. */
static pp_status join_clocks(pp_world *world, pp_nccl_rank *r, pp_err *err)
{
    if (!r->queues)
        return PP_OK;
    const pp_nccl_queue *queue = &r->queue[0];
    cudaError_t code = cudaEventRecord(r->start, queue->stream);
    pp_status status = pp_gpu_check(world->services, r->rank, code, "recording an event", err);
    if (!status)
        status = pp_nccl_await(world, r, r->start, queue->comm, 0, "beginning a step", err);
    r->start_ns = world->services->clock_now_ns();
    return status;
}

pp_status pp_nccl_begin(pp_world *world, uint32_t rank, pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    if (pp_nccl_stopped(world))
        return pp_nccl_leave(world, r, err);
    cudaError_t code = cudaSetDevice(r->device); /* of this thread */
    if (code)
        return pp_gpu_check(world->services, rank, code, "choosing its GPU", err);
    for (size_t e = 0; e < r->ends && r->steps; e++) {
        pp_status status = pp_nccl_await(world, r, r->end[e].event, r->queue[r->end[e].queue].comm,
                                         0, "ending a step", err);
        if (status)
            return status;
    }
    for (size_t f = 0; f < r->flights; f++)
        r->flight[f].posted = r->flight[f].done = false;
    r->steps++;
    return join_clocks(world, r, err);
}

/* The header in front of it comes in order: same peer, same group (NCCL, p2p.rst). */
static ncclResult_t exchange(const pp_nccl_rank *r, const pp_nccl_transfer_state *flight,
                             uint32_t peer)
{
    const pp_nccl_queue *queue = &r->queue[flight->queue];
    int number = pp_nccl_peer_in(r, flight->queue, peer);
    char *header = (char *)(r->header + index_of(r, flight));
    char *payload = flight->staged ? r->staging + flight->staged_at : flight->payload;
    ncclResult_t code = ncclSuccess;
    if (flight->header && flight->sends)
        code =
            ncclSend(header, sizeof flight->message, ncclChar, number, queue->comm, queue->stream);
    else if (flight->header)
        code =
            ncclRecv(header, sizeof flight->message, ncclChar, number, queue->comm, queue->stream);
    if ((code != ncclSuccess && code != ncclInProgress) || !flight->bytes)
        return code;
    return flight->sends
               ? ncclSend(payload, flight->bytes, ncclChar, number, queue->comm, queue->stream)
               : ncclRecv(payload, flight->bytes, ncclChar, number, queue->comm, queue->stream);
}

static cudaError_t copy_out(const pp_nccl_rank *r, const pp_nccl_transfer_state *flight)
{
    cudaStream_t stream = r->queue[flight->queue].stream;
    size_t i = index_of(r, flight);
    cudaError_t code = cudaSuccess;
    if (flight->header) {
        r->header_host[i] = flight->message;
        code = cudaMemcpyAsync(r->header + i, r->header_host + i, sizeof *r->header,
                               cudaMemcpyHostToDevice, stream);
    }
    if (code || !flight->staged || !flight->bytes)
        return code;
    memcpy(r->pinned + flight->staged_at, flight->payload, flight->bytes);
    return cudaMemcpyAsync(r->staging + flight->staged_at, r->pinned + flight->staged_at,
                           flight->bytes, cudaMemcpyHostToDevice, stream);
}

static cudaError_t copy_in(const pp_nccl_rank *r, const pp_nccl_transfer_state *flight)
{
    cudaStream_t stream = r->queue[flight->queue].stream;
    size_t i = index_of(r, flight);
    cudaError_t code = cudaSuccess;
    if (flight->header)
        code = cudaMemcpyAsync(r->header_host + i, r->header + i, sizeof *r->header,
                               cudaMemcpyDeviceToHost, stream);
    if (code || !flight->staged || !flight->bytes)
        return code;
    return cudaMemcpyAsync(r->pinned + flight->staged_at, r->staging + flight->staged_at,
                           flight->bytes, cudaMemcpyDeviceToHost, stream);
}

/* The ends of group g: where the next group's begin. */
static size_t last_end(const pp_nccl_rank *r, const pp_world *world, uint32_t g)
{
    const pp_group *group = &world->program->comm->group[g];
    size_t last = world->first_end[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        uint32_t end = flight_of(world, r, t)->end;
        last = end > last ? end : last;
    }
    return last;
}

/* All transfers of group g are posted: NCCL takes them. */
static pp_status issue(pp_world *world, pp_nccl_rank *r, uint32_t g, pp_err *err)
{
    const pp_group *group = &world->program->comm->group[g];
    cudaError_t code = cudaSuccess;
    r->open_group = NONE;
    pp_status status =
        pp_nccl_check(world, r->rank, NULL, ncclGroupEnd(), "sending and receiving", err);
    size_t last = last_end(r, world, g);
    for (size_t e = world->first_end[g]; e <= last && !status; e++)
        status =
            pp_nccl_settle(world, r, r->queue[r->end[e].queue].comm, "sending and receiving", err);
    for (uint32_t t = group->first; t < group->first + group->count && !status && !code; t++) {
        const pp_nccl_transfer_state *flight = flight_of(world, r, t);
        if (!flight->sends)
            code = copy_in(r, flight);
    }
    for (size_t e = world->first_end[g]; e <= last && !status && !code; e++)
        code = cudaEventRecord(r->end[e].event, r->queue[r->end[e].queue].stream);
    return status ? status
                  : pp_gpu_check(world->services, r->rank, code, "copying from the GPU", err);
}

pp_status pp_nccl_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    pp_nccl_transfer_state *flight = flight_of(world, r, post->transfer);
    uint32_t g = world->program->comm->transfer[post->transfer].group;
    const pp_group *group = &world->program->comm->group[g];
    uint32_t peer = world->program->comm->transfer[post->transfer].peer;
    pp_status status = PP_OK;
    if (pp_nccl_stopped(world))
        return pp_nccl_leave(world, r, err);
    flight->message = post->message;
    flight->payload = post->payload;
    flight->bytes = post->payload ? post->payload_bytes : 0;
    flight->header = world->options.check_messages || r->steps == 1 || !flight->bytes;
    flight->posted_ns = world->services->clock_now_ns();
    flight->posted = true;
    assert(flight->bytes <= world->payload_bytes[post->transfer]);
    if (post->transfer == group->first) {
        status = pp_nccl_check(world, rank, NULL, ncclGroupStart(), "opening a group", err);
        if (status)
            return status;
        r->open_group = g;
    }
    if (flight->sends)
        status =
            pp_gpu_check(world->services, rank, copy_out(r, flight), "copying to the GPU", err);
    if (!status)
        status = pp_nccl_check(world, rank, r->queue[flight->queue].comm, exchange(r, flight, peer),
                               "sending and receiving", err);
    if (!status && post->transfer + 1 == group->first + group->count)
        status = issue(world, r, g, err);
    if (status && r->open_group != NONE) { /* groups belong to threads: this one must end it */
        (void)ncclGroupEnd();
        r->open_group = NONE;
    }
    return status;
}

/* It is over on the GPU: what came is the host's now. */
static pp_status finish(pp_world *world, pp_nccl_rank *r, pp_nccl_transfer_state *flight,
                        pp_err *err)
{
    float since_ms = 0;
    const pp_ns now_ns = world->services->clock_now_ns();
    cudaError_t code = cudaEventElapsedTime(&since_ms, r->start, r->end[flight->end].event);
    pp_status status = pp_gpu_check(world->services, r->rank, code, "reading an event", err);
    if (status)
        return status;
    pp_ns done_ns = r->start_ns + (pp_ns)((double)since_ms * 1e6);
    done_ns = done_ns > flight->posted_ns ? done_ns : flight->posted_ns;
    flight->done_ns = done_ns < now_ns ? done_ns : now_ns;
    if (!flight->sends && flight->header)
        status = world->services->message_check(&flight->message,
                                                r->header_host + index_of(r, flight), err);
    if (status)
        return status;
    if (!flight->sends && flight->staged && flight->bytes)
        memcpy(flight->payload, r->pinned + flight->staged_at, flight->bytes);
    flight->done = true;
    return PP_OK;
}

pp_status pp_nccl_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                       pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    pp_nccl_transfer_state *flight = flight_of(world, r, transfer);
    pp_status status = PP_OK;
    assert(flight->posted);
    if (!flight->done)
        status = pp_nccl_await(world, r, r->end[flight->end].event, r->queue[flight->queue].comm, 0,
                               "sending and receiving", err);
    if (!status && !flight->done)
        status = finish(world, r, flight, err);
    if (!status)
        *done_ns = flight->done_ns;
    return status;
}

pp_status pp_nccl_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                       bool *done_out, pp_ns *done_ns, pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    pp_nccl_transfer_state *flight = flight_of(world, r, transfer);
    pp_status status = PP_OK;
    if (pp_nccl_stopped(world))
        return pp_nccl_leave(world, r, err);
    if (!flight->done) {
        cudaError_t code = cudaEventQuery(r->end[flight->end].event);
        if (code == cudaSuccess)
            status = finish(world, r, flight, err);
        else if (code != cudaErrorNotReady)
            status = pp_gpu_check(world->services, rank, code, "sending and receiving", err);
    }
    if (status)
        return status;
    *done_out = flight->done && flight->done_ns <= now_ns;
    if (*done_out)
        *done_ns = flight->done_ns;
    return PP_OK;
}
