/* Allocates timelines, each part in one block of memory. */
#include "sim/program/timeline.h"

#include "sim/base/alloc.h"
#include "sim/program/comm.h"

#include <stdlib.h>

const char *pp_idle_key(pp_idle_cause cause)
{
    static const char *const keys[] = {
#define PP_IDLE_KEY(name, key) #key,
        PP_IDLE_MAP(PP_IDLE_KEY)
#undef PP_IDLE_KEY
    };
    return keys[cause];
}

/* Allocates one block. steps: 0 if their clocks are not kept. Returns NULL if there is no
 * memory. */
static pp_comm_timeline *new_comm(size_t transfers, uint32_t ranks, size_t steps)
{
    size_t idle = (size_t)ranks * PP_IDLE_COUNT;
    pp_comm_timeline *comm =
        pp_alloc_array(1, sizeof *comm + (3 * transfers + 2 * steps + idle) * sizeof(pp_ns));
    if (comm) {
        comm->start_ns = (pp_ns *)(void *)(comm + 1);
        comm->end_ns = comm->start_ns + transfers;
        comm->post_ns = comm->end_ns + transfers;
        comm->idle_ns = comm->post_ns + transfers;
        comm->host_ns = steps ? comm->idle_ns + idle : NULL;
        comm->device_ns = steps ? comm->host_ns + steps : NULL;
    }
    return comm;
}

pp_status pp_timeline_new_comm(const pp_program *program, pp_timeline **timeline_out, pp_err *err)
{
    pp_status status = pp_timeline_new(program->count, timeline_out, err);
    if (status || !program->comm)
        return status;
    (*timeline_out)->comm = new_comm(program->comm->transfer_count, program->ranks,
                                     program->comm->observed ? program->comm->step_count : 0);
    if ((*timeline_out)->comm)
        return PP_OK;
    pp_timeline_free(timeline_out);
    return pp_err_nomem(err);
}

pp_status pp_timeline_new(size_t count, pp_timeline **timeline_out, pp_err *err)
{
    pp_timeline *timeline = NULL;
    if (count < SIZE_MAX / 4 / sizeof(pp_ns))
        timeline =
            pp_alloc_large(1, sizeof *timeline + (2 * count + 1) * sizeof(pp_ns) + 2 * PP_APART);
    if (!timeline)
        return pp_err_nomem(err);
    timeline->comm = NULL;
    timeline->count = count;
    timeline->start_ns = pp_apart(timeline + 1, 2);
    timeline->end_ns = pp_apart(timeline->start_ns + count + 1, 3);
    timeline->end_ns[-1] = 0;
    *timeline_out = timeline;
    return PP_OK;
}

void pp_timeline_free(pp_timeline **timeline)
{
    if (*timeline && (*timeline)->comm) {
        free((*timeline)->comm->wait);
        free((*timeline)->comm->sharding);
        free((*timeline)->comm->circle.member);
    }
    if (*timeline)
        free((*timeline)->comm);
    free(*timeline);
    *timeline = NULL;
}

pp_ns pp_timeline_makespan(const pp_timeline *timeline)
{
    pp_ns makespan = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->end_ns[i] > makespan)
            makespan = timeline->end_ns[i];
    }
    return makespan;
}
