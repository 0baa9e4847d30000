/* A schedule that really runs, for tests: lowered by framework ppsim, on threads. */
#ifndef PPSIM_TESTS_SUPPORT_RUN_H
#define PPSIM_TESTS_SUPPORT_RUN_H

#include "runtime/compute/registry.h"
#include "runtime/core/run.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "tests/support/semantics.h"
#include "tests/support/step.h"

typedef struct running {
    pp_order *order;
    pp_program *program;
    pp_costs *costs;
    pp_compute_work work;
    pp_run_job job;
    pp_run_options options;
    pp_world_options world;
    pp_run_result result;
    pp_err err;
    bool left; /* memory that must not be freed */
} running;

/* order, costs of the order: owned by `r` afterwards. */
static inline void running_new(running *r, pp_order *order, pp_costs *costs, const char *comm)
{
    *r = (running){ .order = order, .costs = costs };
    const pp_framework *framework;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get("ppsim", &framework, &err), err);
    STEP_OK(pp_framework_lower(framework, order, costs, NULL, &r->program, &err), err);
    STEP_OK(parse_semantics(comm, "", &r->program->comm->semantics, &err), err);
    r->work = (pp_compute_work){ .ranks = order->ranks,
                                 .stages = order->stages,
                                 .microbatches = order->microbatches,
                                 .stage_rank = order->stage_rank,
                                 .costs = costs,
                                 .settings = "",
                                 .forward_only = r->program->forward_only };
    r->job = (pp_run_job){ .work = &r->work, .program = r->program, .costs = costs };
    r->options = (pp_run_options){ .iterations = 1,
                                   .limit_bytes = 64,
                                   .check_memory = costs->has_memory,
                                   .deadline_ns = (pp_ns)10 * 1000000000 * step_patience() };
    r->world = (pp_world_options){ .ranks = order->ranks, .link = { .kind = PP_LINK_PLAN } };
    STEP_OK(pp_transport_get("threads", &r->job.transport, &err), err);
    STEP_OK(pp_compute_get("spin", &r->job.compute, &err), err);
}

static inline void running_close(running *r)
{
    for (uint32_t k = 0; r->job.worker && k < r->order->ranks; k++)
        r->job.compute->close(r->job.worker[k]);
    free(r->job.worker);
    r->job.worker = NULL;
    r->job.transport->close(r->job.world);
    r->job.world = NULL;
}

static inline void running_free(running *r)
{
    if (r->left || !r->order)
        return;
    running_close(r);
    pp_run_result_free(&r->result);
    pp_program_free(&r->program);
    pp_costs_free(&r->costs);
    pp_order_free(&r->order);
}

static inline pp_status running_go(running *r)
{
    bool *holds = pp_alloc_array(r->order->stages, sizeof *holds);
    STEP_OK(r->job.transport->open(&r->world, &r->job.world, &r->err), r->err);
    r->job.worker = pp_alloc_array(r->order->ranks, sizeof *r->job.worker);
    for (uint32_t rank = 0; rank < r->order->ranks; rank++) {
        for (uint32_t s = 0; s < r->order->stages; s++)
            holds[s] = r->order->stage_rank[s] == rank;
        STEP_OK(r->job.compute->open(&r->work, holds, &r->job.worker[rank], &r->err), r->err);
    }
    free(holds);
    pp_status status = pp_run(&r->job, &r->options, &r->result, &r->err);
    r->left = r->result.given_up;
    return status;
}

#endif
