/* Allocates what a program needs on each GPU before its first step: staging memory for tensors that
 * lie on the host, headers, and an event for each queue that a group uses. */
#include "runtime/cuda/nccl/nccl_load.h"

#include "runtime/cuda/nccl/nccl_queues.h"
#include "runtime/cuda/nccl/nccl_warm_up.h"
#include "sim/base/field.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };

static pp_status nomem(const pp_world *world, pp_err *err)
{
    return world->services->err_set(err, PP_NOMEM, NULL, "out of memory");
}

static void unload_rank(pp_nccl_rank *r)
{
    (void)cudaSetDevice(r->device);
    for (size_t e = 0; e < r->completions; e++)
        if (r->completion[e].event)
            (void)cudaEventDestroy(r->completion[e].event);
    if (r->start)
        (void)cudaEventDestroy(r->start);
    (void)cudaFree(r->staging);
    (void)cudaFree(r->header);
    (void)cudaFreeHost(r->pinned);
    (void)cudaFreeHost(r->header_host);
    free(r->transfer);
    free(r->completion);
    r->transfer = NULL;
    r->completion = NULL;
    r->staging = r->pinned = NULL;
    r->header = r->header_host = NULL;
    r->start = NULL;
    r->transfers = r->completions = 0;
    r->steps = 0;
}

void pp_nccl_unload(pp_world *world)
{
    for (uint32_t h = 0; world->rank && h < world->hosted; h++)
        unload_rank(&world->rank[h]);
    free(world->slot);
    free(world->first_completion);
    world->slot = NULL;
    world->first_completion = NULL;
    world->program = NULL;
}

pp_status pp_nccl_reserve(pp_world *world, const pp_program *program, const size_t *payload_bytes,
                          pp_err *err)
{
    size_t bytes = program->comm->transfer_count * sizeof *payload_bytes;
    size_t *own = malloc(bytes + 1);
    if (!own)
        return nomem(world, err);
    memcpy(own, payload_bytes, bytes);
    free(world->payload_bytes);
    world->payload_bytes = own;
    return PP_OK;
}

/* Returns whether a transfer needs staging memory; tensors on the GPU are sent from where they
 * are. */
static bool is_staged(const pp_world *world, const pp_transfer *t)
{
    return !world->options.memory || t->kind >= PP_TENSOR_KINDS;
}

static bool sends(const pp_transfer *t)
{
    static const bool does[PP_TRANSFER_KIND_COUNT] = {
#define PP_TRANSFER_SENDS(name, token, sends, forward) sends,
        PP_TRANSFER_MAP(PP_TRANSFER_SENDS)
#undef PP_TRANSFER_SENDS
    };
    return does[t->kind];
}

/* Lays out the transfers of one rank. staging_out: bytes. */
static pp_status plan_transfers(pp_world *world, pp_nccl_rank *r, size_t *staging_out, pp_err *err)
{
    const pp_comm *comm = world->program->comm;
    for (size_t t = 0; t < comm->transfer_count; t++)
        r->transfers += comm->transfer[t].rank == r->rank;
    r->transfer = calloc(r->transfers + 1, sizeof *r->transfer);
    r->completion = calloc(r->transfers + 1, sizeof *r->completion);
    if (!r->transfer || !r->completion)
        return nomem(world, err);
    size_t slot = 0;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        if (own->rank != r->rank)
            continue;
        pp_nccl_transfer_state *state = &r->transfer[slot];
        world->slot[t] = (uint32_t)slot++;
        state->queue = pp_nccl_queue_to(r, own->peer);
        state->sends = sends(own);
        state->staged = is_staged(world, own);
        state->staged_at = *staging_out;
        if (state->staged)
            *staging_out += (world->payload_bytes[t] + ALIGN - 1) / ALIGN * ALIGN;
    }
    return PP_OK;
}

/* Lays out the completions: a group has one in each queue that it uses. */
static void plan_completions(pp_world *world, pp_nccl_rank *r)
{
    const pp_comm *comm = world->program->comm;
    for (size_t g = 0; g < comm->group_count; g++) {
        const pp_group *group = &comm->group[g];
        if (group->rank != r->rank)
            continue;
        world->first_completion[g] = (uint32_t)r->completions;
        for (uint32_t t = group->first; t < group->first + group->count; t++) {
            pp_nccl_transfer_state *state = &r->transfer[world->slot[t]];
            size_t e = world->first_completion[g];
            while (e < r->completions && r->completion[e].queue != state->queue)
                e++;
            if (e == r->completions)
                r->completion[r->completions++].queue = state->queue;
            state->completion = (uint32_t)e;
        }
    }
}

static pp_status load_rank(pp_world *world, pp_nccl_rank *r, pp_err *err)
{
    size_t staging = 0;
    pp_status status = plan_transfers(world, r, &staging, err);
    if (status)
        return status;
    plan_completions(world, r);
    size_t headers = (r->transfers + 1) * sizeof *r->header;
    cudaError_t code = cudaSetDevice(r->device);
    if (!code)
        code = cudaMalloc((void **)&r->staging, staging + ALIGN);
    if (!code)
        code = cudaMallocHost((void **)&r->pinned, staging + ALIGN);
    if (!code)
        code = cudaMalloc((void **)&r->header, headers);
    if (!code)
        code = cudaMallocHost((void **)&r->header_host, headers);
    if (code)
        return pp_gpu_check(world->services, r->rank, code, "memory for messages", err);
    code = cudaEventCreate(&r->start);
    for (size_t e = 0; e < r->completions && !code; e++)
        code = cudaEventCreate(&r->completion[e].event);
    return pp_gpu_check(world->services, r->rank, code, "making an event", err);
}

pp_status pp_nccl_load(pp_world *world, const pp_program *program, const size_t *buffered_bytes,
                       pp_err *err)
{
    const pp_comm *comm = program->comm;
    (void)buffered_bytes;
    pp_nccl_unload(world);
    if (comm->semantics.mode == PP_COMM_EAGER)
        return world->services->err_set(
            err, PP_USAGE, world->services->err_name(err, PP_FIELD_COMM),
            "transport nccl does not guarantee buffering: a send may wait for "
            "its receive; use %s rendezvous",
            world->services->err_name(err, PP_FIELD_COMM));
    pp_status status = pp_nccl_queues_for(world, program, err);
    if (status)
        return status;
    world->program = program;
    world->slot = malloc((comm->transfer_count + 1) * sizeof *world->slot);
    world->first_completion = malloc((comm->group_count + 1) * sizeof *world->first_completion);
    if (!world->slot || !world->first_completion)
        return nomem(world, err);
    for (uint32_t h = 0; h < world->hosted && !status; h++)
        status = load_rank(world, &world->rank[h], err);
    return status ? status : pp_nccl_warm_up(world, program, err);
}
