#include "sim/schedule/schedule.h"

#include "sim/base/registry.h"

#include <inttypes.h>

#define PP_SCHEDULE(id) extern const pp_schedule pp_schedule_##id;
#include "sim/schedules.def"
#undef PP_SCHEDULE

static const pp_schedule *const schedules[] = {
#define PP_SCHEDULE(id) &pp_schedule_##id,
#include "sim/schedules.def"
#undef PP_SCHEDULE
};

enum { SCHEDULE_COUNT = sizeof schedules / sizeof schedules[0] };

pp_status pp_schedule_fill(const pp_schedule_params *shape, pp_placement placement, size_t ops,
                           pp_fill_rank fill, pp_order **order_out, pp_err *err)
{
    uint32_t stages = shape->ranks * shape->chunks;
    pp_order *order = NULL;
    pp_status status = pp_order_new(shape->ranks, stages, shape->microbatches, placement,
                                    ops * stages * shape->microbatches, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < shape->ranks; r++)
        fill(order, r, shape);
    pp_order_end(order);
    *order_out = order;
    return PP_OK;
}

void pp_schedule_fill_1f1b(pp_order *order, uint32_t r, const pp_schedule_params *shape,
                           uint32_t warmup)
{
    const uint32_t m = shape->microbatches;
    const uint32_t ahead = warmup < m ? warmup : m;
    for (uint32_t j = 0; j < ahead; j++)
        pp_order_add(order, r, PP_OP_F, r, j);
    for (uint32_t j = 0; j < m; j++) {
        if (j + ahead < m)
            pp_order_add(order, r, PP_OP_F, r, j + ahead);
        pp_order_add(order, r, PP_OP_B, r, j);
    }
}

size_t pp_schedule_count(void)
{
    return SCHEDULE_COUNT;
}

const pp_schedule *pp_schedule_at(size_t index)
{
    return schedules[index];
}

static const char *name_at(size_t index)
{
    return schedules[index]->name;
}

static const pp_registry registry = { .noun = "schedule",
                                      .option = "--schedule",
                                      .list = "schedules",
                                      .count = SCHEDULE_COUNT,
                                      .name = name_at };

const pp_schedule *pp_schedule_find(const char *name)
{
    const size_t index = pp_registry_find(&registry, name);
    return index < SCHEDULE_COUNT ? schedules[index] : NULL;
}

pp_status pp_schedule_get(const char *name, const pp_schedule **schedule_out, pp_err *err)
{
    size_t index = 0;
    pp_status status = pp_registry_get(&registry, name, &index, err);
    if (!status)
        *schedule_out = schedules[index];
    return status;
}

pp_status pp_schedule_check(const pp_schedule *schedule, const pp_schedule_params *shape,
                            pp_err *err)
{
    if (shape->ranks < 1 || shape->microbatches < 1 || shape->chunks < 1)
        return pp_err_set(err, PP_USAGE, NULL, "ranks, chunks and microbatches must be positive");
    if (schedule->chunks && shape->chunks != schedule->chunks)
        return pp_err_set(err, PP_USAGE, "--vpp",
                          "%s has %" PRIu32 " stage%s per rank, not %" PRIu32
                          "; leave --vpp out or choose 'interleaved'",
                          schedule->name, schedule->chunks, schedule->chunks == 1 ? "" : "s",
                          shape->chunks);
    if (!schedule->chunks && shape->chunks < 2)
        return pp_err_set(err, PP_USAGE, "--vpp",
                          "%s needs at least 2 stages per rank; give "
                          "--vpp 2, or choose '1f1b'",
                          schedule->name);
    if (shape->group_size && !schedule->grouped)
        return pp_err_set(err, PP_USAGE, "--microbatch-group-size",
                          "%s has no microbatch groups; "
                          "leave the option out or choose 'interleaved'",
                          schedule->name);
    if (shape->ranks > PP_RANKS_MAX || (uint64_t)shape->ranks * shape->chunks > PP_STAGES_MAX ||
        shape->microbatches > PP_MICROBATCHES_MAX ||
        3 * (uint64_t)shape->ranks * shape->chunks * shape->microbatches > PP_OPS_MAX)
        return pp_err_set(err, PP_USAGE, NULL,
                          "%" PRIu32 " ranks x %" PRIu32 " chunks x %" PRIu32
                          " microbatches is beyond the limits of %u stages, %" PRId64
                          " microbatches and %u ops",
                          shape->ranks, shape->chunks, shape->microbatches, PP_STAGES_MAX,
                          PP_MICROBATCHES_MAX, PP_OPS_MAX);
    return PP_OK;
}

pp_status pp_schedule_build(const pp_schedule *schedule, const pp_schedule_params *shape,
                            pp_order **order_out, pp_err *err)
{
    pp_status status = pp_schedule_check(schedule, shape, err);
    return status ? status : schedule->build(shape, order_out, err);
}

pp_status pp_schedule_makes(const char *name, const pp_order *order, uint32_t group_size,
                            bool *same_out, pp_err *err)
{
    const pp_schedule_params shape = { .ranks = order->ranks,
                                       .chunks = order->stages / order->ranks,
                                       .microbatches = order->microbatches,
                                       .group_size = group_size };
    pp_order *own PP_CLEANUP(pp_order_free) = NULL;
    pp_order *kept PP_CLEANUP(pp_order_free) = NULL;
    pp_err refused = { 0 };
    pp_status status = pp_schedule_build(pp_schedule_find(name), &shape, &own, &refused);
    bool evaluation = pp_order_forward_only(order);
    if (!status && evaluation)
        status = pp_order_drop_backward(own, &kept, &refused);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    *same_out = !status && pp_order_equal(evaluation ? kept : own, order);
    return PP_OK;
}
