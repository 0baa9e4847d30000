/* The table of schedules, and the checks that hold for all of them. */
#include "sim/schedule/registry.h"

#include "sim/base/registry.h"
#include "sim/job/workload.h"
#include "sim/schedule/schedule.h"

#include <inttypes.h>

static const pp_schedule *const schedules[] = {
#define PP_SCHEDULE(id) &pp_schedule_##id,
#include "sim/schedules.def"
#undef PP_SCHEDULE
};

PP_REGISTRY(schedule, schedules, .noun = "schedule", .field = PP_FIELD_SCHEDULE,
            .all = PP_FIELD_ASK_SCHEDULES);
PP_REGISTRY_FIND(schedule, schedules);
PP_REGISTRY_GET(schedule, schedules);

uint32_t pp_schedule_chunks(const pp_schedule *schedule, uint32_t ranks)
{
    return schedule->overlaps_experts && ranks == 1 ? 1 : schedule->chunks;
}

pp_status pp_schedule_check(const pp_schedule *schedule, const pp_schedule_params *params,
                            pp_err *err)
{
    if (params->ranks < 1 || params->microbatches < 1 || params->chunks < 1)
        return pp_err_set(err, PP_USAGE, NULL, "ranks, chunks and microbatches must be positive");
    const uint32_t only = pp_schedule_chunks(schedule, params->ranks);
    if (only && params->chunks != only)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_CHUNKS),
                          "%s has %" PRIu32 " stage%s per rank, not %" PRIu32
                          "; leave %s out or choose 'interleaved'",
                          schedule->name, only, only == 1 ? "" : "s", params->chunks,
                          pp_err_name(err, PP_FIELD_CHUNKS));
    if (!only && params->chunks < 2)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_CHUNKS),
                          "%s needs at least 2 stages per rank; give %s 2, or choose '1f1b'",
                          schedule->name, pp_err_name(err, PP_FIELD_CHUNKS));
    if (params->group_size && !schedule->grouped)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_GROUP_SIZE),
            "%s has no microbatch groups; leave this option out or choose 'interleaved'",
            schedule->name);
    if (params->ranks > PP_RANKS_MAX || (uint64_t)params->ranks * params->chunks > PP_STAGES_MAX ||
        params->microbatches > PP_MICROBATCHES_MAX ||
        3 * (uint64_t)params->ranks * params->chunks * params->microbatches > PP_OPS_MAX)
        return pp_err_set(err, PP_USAGE, NULL,
                          "%" PRIu32 " ranks x %" PRIu32 " chunks x %" PRIu32
                          " microbatches exceeds the limits of %u stages, %" PRId64
                          " microbatches and %u ops; give fewer microbatches, since the time "
                          "of a step grows evenly with them",
                          params->ranks, params->chunks, params->microbatches, PP_STAGES_MAX,
                          PP_MICROBATCHES_MAX, PP_OPS_MAX);
    return PP_OK;
}

pp_status pp_schedule_build(const pp_schedule *schedule, const pp_schedule_params *params,
                            pp_order **order_out, pp_err *err)
{
    pp_schedule_params one = *params;
    pp_costs run;
    pp_status status = pp_schedule_check(schedule, params, err);
    if (!status && params->costs && params->costs->microbatches > params->microbatches) {
        run = *params->costs;
        run.microbatches = params->microbatches;
        one.costs = &run;
    }
    return status ? status : schedule->build(&one, order_out, err);
}

pp_status pp_schedule_makes(const char *name, const pp_order *order, uint32_t group_size,
                            bool *same_out, pp_err *err)
{
    const pp_schedule_params params = { .ranks = order->ranks,
                                        .chunks = order->stages / order->ranks,
                                        .microbatches = order->microbatches,
                                        .group_size = group_size };
    pp_order *own PP_CLEANUP(pp_order_free) = NULL;
    pp_order *kept PP_CLEANUP(pp_order_free) = NULL;
    pp_err refused = { 0 };
    pp_status status = pp_schedule_build(pp_schedule_find(name), &params, &own, &refused);
    bool evaluation = pp_order_forward_only(order);
    if (!status && evaluation)
        status = pp_order_drop_backward(own, &kept, &refused);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    *same_out = !status && pp_order_equal(evaluation ? kept : own, order);
    return PP_OK;
}
