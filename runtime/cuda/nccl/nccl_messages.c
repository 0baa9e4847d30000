/* Messages of a step. A group of the program is one NCCL group, issued when its last transfer is
 * posted: copies to the GPU, sends and receives, copies from the GPU, an event, all in the stream
 * of their communicator. Tensors are computed before their send is posted, and the host waits for
 * receives, so that no other stream has to wait. */
#include "runtime/cuda/nccl/nccl_messages.h"

#include "runtime/cuda/nccl/nccl_queues.h"
#include "runtime/cuda/nccl/nccl_wait.h"

#include <assert.h>
#include <string.h>

#define NONE PP_NO_SOURCE

static pp_nccl_transfer_state *state_of(const pp_world *world, const pp_nccl_rank *r,
                                        uint32_t transfer)
{
    return &r->transfer[world->slot[transfer]];
}

static size_t index_of(const pp_nccl_rank *r, const pp_nccl_transfer_state *state)
{
    return (size_t)(state - r->transfer);
}

/* Records an event and waits for it, so that its time is known on the clocks of GPU and host. */
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
    for (size_t e = 0; e < r->completions && r->steps; e++) {
        pp_status status =
            pp_nccl_await(world, r, r->completion[e].event, r->queue[r->completion[e].queue].comm,
                          0, "ending a step", err);
        if (status)
            return status;
    }
    for (size_t f = 0; f < r->transfers; f++)
        r->transfer[f].posted = r->transfer[f].done = false;
    r->steps++;
    return join_clocks(world, r, err);
}

/* Enqueues header and payload. NCCL keeps their order: same peer, same group (p2p.rst). */
static ncclResult_t exchange(const pp_nccl_rank *r, const pp_nccl_transfer_state *state,
                             uint32_t peer)
{
    const pp_nccl_queue *queue = &r->queue[state->queue];
    int number = pp_nccl_peer_in(r, state->queue, peer);
    char *header = (char *)(r->header + index_of(r, state));
    char *payload = state->staged ? r->staging + state->staged_at : state->payload;
    ncclResult_t code = ncclSuccess;
    if (state->header && state->sends)
        code =
            ncclSend(header, sizeof state->message, ncclChar, number, queue->comm, queue->stream);
    else if (state->header)
        code =
            ncclRecv(header, sizeof state->message, ncclChar, number, queue->comm, queue->stream);
    if ((code != ncclSuccess && code != ncclInProgress) || !state->bytes)
        return code;
    return state->sends
               ? ncclSend(payload, state->bytes, ncclChar, number, queue->comm, queue->stream)
               : ncclRecv(payload, state->bytes, ncclChar, number, queue->comm, queue->stream);
}

static cudaError_t copy_out(const pp_nccl_rank *r, const pp_nccl_transfer_state *state)
{
    cudaStream_t stream = r->queue[state->queue].stream;
    size_t i = index_of(r, state);
    cudaError_t code = cudaSuccess;
    if (state->header) {
        r->header_host[i] = state->message;
        code = cudaMemcpyAsync(r->header + i, r->header_host + i, sizeof *r->header,
                               cudaMemcpyHostToDevice, stream);
    }
    if (code || !state->staged || !state->bytes)
        return code;
    memcpy(r->pinned + state->staged_at, state->payload, state->bytes);
    return cudaMemcpyAsync(r->staging + state->staged_at, r->pinned + state->staged_at,
                           state->bytes, cudaMemcpyHostToDevice, stream);
}

static cudaError_t copy_in(const pp_nccl_rank *r, const pp_nccl_transfer_state *state)
{
    cudaStream_t stream = r->queue[state->queue].stream;
    size_t i = index_of(r, state);
    cudaError_t code = cudaSuccess;
    if (state->header)
        code = cudaMemcpyAsync(r->header_host + i, r->header + i, sizeof *r->header,
                               cudaMemcpyDeviceToHost, stream);
    if (code || !state->staged || !state->bytes)
        return code;
    return cudaMemcpyAsync(r->pinned + state->staged_at, r->staging + state->staged_at,
                           state->bytes, cudaMemcpyDeviceToHost, stream);
}

/* Returns the index at which the completions of group g end and those of the next group begin. */
static size_t last_completion(const pp_nccl_rank *r, const pp_world *world, uint32_t g)
{
    const pp_group *group = &world->program->comm->group[g];
    size_t last = world->first_completion[g];
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        uint32_t end = state_of(world, r, t)->completion;
        last = end > last ? end : last;
    }
    return last;
}

/* Issues group g, whose transfers have all been posted, to NCCL. */
static pp_status issue(pp_world *world, pp_nccl_rank *r, uint32_t g, pp_err *err)
{
    const pp_group *group = &world->program->comm->group[g];
    cudaError_t code = cudaSuccess;
    r->open_group = NONE;
    pp_status status =
        pp_nccl_check(world, r->rank, NULL, ncclGroupEnd(), "sending and receiving", err);
    size_t last = last_completion(r, world, g);
    for (size_t e = world->first_completion[g]; e <= last && !status; e++)
        status = pp_nccl_settle(world, r, r->queue[r->completion[e].queue].comm,
                                "sending and receiving", err);
    for (uint32_t t = group->first; t < group->first + group->count && !status && !code; t++) {
        const pp_nccl_transfer_state *state = state_of(world, r, t);
        if (!state->sends)
            code = copy_in(r, state);
    }
    for (size_t e = world->first_completion[g]; e <= last && !status && !code; e++)
        code = cudaEventRecord(r->completion[e].event, r->queue[r->completion[e].queue].stream);
    return status ? status
                  : pp_gpu_check(world->services, r->rank, code, "copying from the GPU", err);
}

pp_status pp_nccl_post(pp_world *world, uint32_t rank, const pp_post *post, pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    pp_nccl_transfer_state *state = state_of(world, r, post->transfer);
    uint32_t g = world->program->comm->transfer[post->transfer].group;
    const pp_group *group = &world->program->comm->group[g];
    uint32_t peer = world->program->comm->transfer[post->transfer].peer;
    pp_status status = PP_OK;
    if (pp_nccl_stopped(world))
        return pp_nccl_leave(world, r, err);
    state->message = post->message;
    state->payload = post->payload;
    state->bytes = post->payload ? post->payload_bytes : 0;
    state->header = world->options.check_messages || r->steps == 1 || !state->bytes;
    state->posted_ns = world->services->clock_now_ns();
    state->posted = true;
    assert(state->bytes <= world->payload_bytes[post->transfer]);
    if (post->transfer == group->first) {
        status = pp_nccl_check(world, rank, NULL, ncclGroupStart(), "opening a group", err);
        if (status)
            return status;
        r->open_group = g;
    }
    if (state->sends)
        status = pp_gpu_check(world->services, rank, copy_out(r, state), "copying to the GPU", err);
    if (!status)
        status = pp_nccl_check(world, rank, r->queue[state->queue].comm, exchange(r, state, peer),
                               "sending and receiving", err);
    if (!status && post->transfer + 1 == group->first + group->count)
        status = issue(world, r, g, err);
    if (status &&
        r->open_group != NONE) { /* an NCCL group belongs to its thread, which must end it */
        (void)ncclGroupEnd();
        r->open_group = NONE;
    }
    return status;
}

/* Finishes a transfer that is done on the GPU: reads its time, checks the header, and copies a
 * payload that was staged to the tensor. */
static pp_status finish(pp_world *world, pp_nccl_rank *r, pp_nccl_transfer_state *state,
                        pp_err *err)
{
    float since_ms = 0;
    const pp_ns now_ns = world->services->clock_now_ns();
    cudaError_t code =
        cudaEventElapsedTime(&since_ms, r->start, r->completion[state->completion].event);
    pp_status status = pp_gpu_check(world->services, r->rank, code, "reading an event", err);
    if (status)
        return status;
    pp_ns done_ns = r->start_ns + (pp_ns)((double)since_ms * 1e6);
    done_ns = done_ns > state->posted_ns ? done_ns : state->posted_ns;
    state->done_ns = done_ns < now_ns ? done_ns : now_ns;
    if (!state->sends && state->header)
        status = world->services->message_check(&state->message,
                                                r->header_host + index_of(r, state), err);
    if (status)
        return status;
    if (!state->sends && state->staged && state->bytes)
        memcpy(state->payload, r->pinned + state->staged_at, state->bytes);
    state->done = true;
    return PP_OK;
}

pp_status pp_nccl_wait(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns *done_ns,
                       pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    pp_nccl_transfer_state *state = state_of(world, r, transfer);
    pp_status status = PP_OK;
    assert(state->posted);
    if (!state->done)
        status = pp_nccl_await(world, r, r->completion[state->completion].event,
                               r->queue[state->queue].comm, 0, "sending and receiving", err);
    if (!status && !state->done)
        status = finish(world, r, state, err);
    if (!status)
        *done_ns = state->done_ns;
    return status;
}

pp_status pp_nccl_poll(pp_world *world, uint32_t rank, uint32_t transfer, pp_ns now_ns,
                       bool *done_out, pp_ns *done_ns, pp_err *err)
{
    pp_nccl_rank *r = pp_nccl_rank_of(world, rank);
    pp_nccl_transfer_state *state = state_of(world, r, transfer);
    pp_status status = PP_OK;
    if (pp_nccl_stopped(world))
        return pp_nccl_leave(world, r, err);
    if (!state->done) {
        cudaError_t code = cudaEventQuery(r->completion[state->completion].event);
        if (code == cudaSuccess)
            status = finish(world, r, state, err);
        else if (code != cudaErrorNotReady)
            status = pp_gpu_check(world->services, rank, code, "sending and receiving", err);
    }
    if (status)
        return status;
    *done_out = state->done && state->done_ns <= now_ns;
    if (*done_out)
        *done_ns = state->done_ns;
    return PP_OK;
}
