/* Probe of the overhead of the runtime per instruction: the time of a step whose ops do nothing. */
#include "calib/probe/probe.h"
#include "runtime/core/run.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"

#include <stdlib.h>

enum { MICROBATCHES = 256, DEADLINE_S = 60 };

typedef struct instructing {
    pp_subject subject;
    pp_subject_series series;
    pp_point point;
    pp_costs *costs;
    pp_order *order;
    pp_program *program;
    pp_compute_work work;
    pp_world_options options;
    pp_run_job job;
    void *worker;
} instructing;

static pp_status nothing_open(const pp_compute_work *work, const bool *holds, void **worker_out,
                              pp_err *err)
{
    (void)work;
    (void)holds;
    (void)err;
    *worker_out = NULL;
    return PP_OK;
}

static void nothing_close(void *worker)
{
    (void)worker;
}

static pp_status nothing_begin(void *worker, uint32_t step, pp_err *err)
{
    (void)worker;
    (void)step;
    (void)err;
    return PP_OK;
}

static pp_status nothing_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    (void)worker;
    (void)op;
    (void)tensors;
    (void)err;
    return PP_OK;
}

static pp_status nothing_end(void *worker, pp_err *err)
{
    (void)worker;
    (void)err;
    return PP_OK;
}

static const pp_compute nothing = {
    .name = "nothing",
    .summary = "ops that do nothing",
    .open = nothing_open,
    .close = nothing_close,
    .begin = nothing_begin,
    .run = nothing_run,
    .end = nothing_end,
};

static void instruction_close(void *state)
{
    instructing *s = state;
    if (!s)
        return;
    if (s->job.transport)
        s->job.transport->close(s->job.world);
    pp_program_free(&s->program);
    pp_order_free(&s->order);
    pp_costs_free(&s->costs);
    free(s);
}

/* Runs as many steps as it takes to execute `runs` instructions. */
static pp_status instruction_run(void *context, size_t point, uint32_t runs, pp_timing *timing,
                                 pp_err *err)
{
    const instructing *s = context;
    (void)point;
    const uint32_t count = (uint32_t)s->program->count;
    pp_lap *lap = &timing->lap[0];
    const pp_run_options options = {
        .warmup = 1,
        .iterations = (runs + count - 1) / count,
        .deadline_ns = (pp_ns)DEADLINE_S * 1000000000,
    };
    pp_run_result result = { 0 };
    pp_status status = pp_run(&s->job, &options, &result, err);
    for (uint32_t i = 0; i < result.count && !status; i++) {
        lap->wall_ns += result.iteration[i].step_ns;
        lap->thread_ns += result.iteration[i].step_ns; /* the thread's own time is not known here */
        lap->preemptions += result.iteration[i].preemptions;
        lap->runs += count;
    }
    if (!result.given_up)
        pp_run_result_free(&result);
    return status;
}

static pp_status make_program(instructing *s, pp_err *err)
{
    const pp_schedule *schedule;
    const pp_schedule_params shape = { .ranks = 1, .chunks = 1, .microbatches = MICROBATCHES };
    pp_status status;
    if ((status = pp_costs_new(1, 1, MICROBATCHES, 1, &s->costs, err)) ||
        (status = pp_schedule_get("1f1b", &schedule, err)) ||
        (status = pp_schedule_build(schedule, &shape, &s->order, err)))
        return status;
    return pp_framework_lower(&pp_framework_ppsim, s->order, s->costs, NULL, &s->program, err);
}

static pp_status make_job(instructing *s, pp_err *err)
{
    s->work = (pp_compute_work){ .ranks = 1,
                                 .stages = 1,
                                 .microbatches = MICROBATCHES,
                                 .stage_rank = s->order->stage_rank,
                                 .costs = s->costs,
                                 .settings = "" };
    s->options = (pp_world_options){ .ranks = 1 };
    s->job = (pp_run_job){ .compute = &nothing,
                           .work = &s->work,
                           .worker = &s->worker,
                           .program = s->program,
                           .costs = s->costs };
    pp_status status = pp_transport_get("threads", &s->job.transport, err);
    return status ? status : s->job.transport->open(&s->options, &s->job.world, err);
}

static pp_status instruction_open(const pp_probe_options *options, void **state_out,
                                  const pp_subject **subject_out, pp_err *err)
{
    (void)options;
    instructing *s = pp_alloc_array(1, sizeof *s);
    if (!s)
        return pp_err_nomem(err);
    s->series = (pp_subject_series){ .class_name = "instruction" };
    s->point = pp_point_of(0, 1);
    s->subject = (pp_subject){ .source = "probe instruction, wall time",
                               .stopwatch = PP_STOPWATCH_WALL,
                               .series = &s->series,
                               .series_count = 1,
                               .point = &s->point,
                               .point_count = 1,
                               .context = s,
                               .run = instruction_run };
    pp_status status = make_program(s, err);
    if (!status)
        status = make_job(s, err);
    if (status) {
        instruction_close(s);
        return status;
    }
    *state_out = s;
    *subject_out = &s->subject;
    return PP_OK;
}

const pp_probe pp_probe_instruction = {
    .name = "instruction",
    .summary = "overhead of the runtime for an op that does nothing",
    .share = 3,
    .open = instruction_open,
    .close = instruction_close,
};
