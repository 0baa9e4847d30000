/* The functions of pp_runtime.h that run steps: a compute whose ops are the caller's functions,
 * executed by pp_run one step at a time. Memory for tensors is kept from step to step. */
#include "runtime/library/runtime.h"

#include "runtime/core/clock.h"
#include "runtime/library/runtime_plan.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES ((size_t)8 << 20)

#define SAME_STATUS(name, exit_status, text) \
    _Static_assert((int)PP_RUNTIME_##name == (int)PP_##name, "statuses are cast");
PP_STATUS_SHARED_MAP(SAME_STATUS)
#undef SAME_STATUS
_Static_assert(PP_RUNTIME_CALLBACK == 7, "programs that were built before know this number");

/* One rank's callbacks in one step; the worker of pp_compute_of_caller. */
typedef struct caller {
    const pp_runtime_callbacks *callbacks;
    const pp_execution *x;
    void *user;
    uint32_t rank, step;
    atomic_int code; /* what a callback returned; not 0: it failed, and `text` names it */
    char text[160];
} caller;

struct pp_runtime {
    const pp_transport *transport;
    pp_world_options world_options;
    pp_world *world;
    pp_run_options how;
    pp_run_job job;
    pp_run_result result;        /* of the current step */
    const pp_runtime_plan *plan; /* of the current step */
    pp_runtime_callbacks callbacks;
    caller *caller;              /* [ranks] */
    void **worker;               /* [ranks]: &caller[rank] */
    pp_arena_block *block;       /* [ranks]: memory for tensors, from step to step */
    pp_runtime_rank_stats *rank; /* [ranks] */
    uint32_t step;
    bool over, given_up;
    char *flight;
};

/* ---- Errors. ---- */

pp_runtime_status pp_library_fail(const pp_err *err, pp_runtime_error *error)
{
    if (!error)
        return (pp_runtime_status)err->status;
    *error = (pp_runtime_error){ .status = (pp_runtime_status)err->status };
    snprintf(error->where, sizeof error->where, "%s", err->where);
    snprintf(error->text, sizeof error->text, "%s", err->text);
    return error->status;
}

const char *pp_runtime_status_text(pp_runtime_status status)
{
    return status == PP_RUNTIME_CALLBACK ? "a callback failed" : pp_status_text((pp_status)status);
}

const char *pp_runtime_version(void)
{
    return PPSIM_VERSION;
}

/* ---- The compute. ---- */

static pp_status callback_failed(caller *c, const char *name, const char *which, int code,
                                 pp_err *err)
{
    snprintf(c->text, sizeof c->text,
             "callback %s of rank %" PRIu32 "%s%s returned %d in step %" PRIu32
             ", so the step is void",
             name, c->rank, *which ? " for " : "", which, code, c->step);
    atomic_store(&c->code, code); /* its thread may outlive the step */
    return pp_err_set(err, PP_INFEASIBLE, NULL, "%s", c->text);
}

static pp_status caller_begin(void *worker, uint32_t step, pp_err *err)
{
    caller *c = worker;
    int code = c->callbacks->begin ? c->callbacks->begin(c->user, c->rank, step) : 0;
    return code ? callback_failed(c, "begin", "", code, err) : PP_OK;
}

static pp_status caller_end(void *worker, pp_err *err)
{
    caller *c = worker;
    int code = c->callbacks->end ? c->callbacks->end(c->user, c->rank, c->step) : 0;
    return code ? callback_failed(c, "end", "", code, err) : PP_OK;
}

static pp_runtime_op view(const caller *c, pp_op op, const pp_op_tensors *t)
{
    const pp_op forward = { .kind = PP_OP_F, .stage = op.stage, .microbatch = op.microbatch };
    const pp_op backward = { .kind = PP_OP_B, .stage = op.stage, .microbatch = op.microbatch };
    pp_tensor_bytes f = pp_tensor_bytes_of(c->x->program, c->x->costs, forward);
    pp_tensor_bytes b = pp_tensor_bytes_of(c->x->program, c->x->costs, backward);
    return (pp_runtime_op){ .kind = (pp_runtime_op_kind)op.kind,
                            .rank = c->rank,
                            .stage = op.stage,
                            .microbatch = op.microbatch,
                            .step = c->step,
                            .activation_in = t->activation_in,
                            .activation_out = t->activation_out,
                            .gradient_in = t->gradient_in,
                            .gradient_out = t->gradient_out,
                            .saved = t->saved,
                            .stash = t->stash,
                            .scratch = t->scratch,
                            .logits = t->logits,
                            .below_bytes = (size_t)f.in,
                            .above_bytes = (size_t)f.out,
                            .saved_bytes = (size_t)f.saved,
                            .stash_bytes = (size_t)f.stash,
                            .scratch_bytes = (size_t)b.scratch,
                            .logits_bytes = (size_t)f.logits };
}

static pp_status caller_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    caller *c = worker;
    const pp_runtime_callbacks *call = c->callbacks;
    const pp_runtime_run run[] = { call->forward, call->backward_input, call->backward_weight,
                                   call->backward };
    static const char *const name[] = { "forward", "backward_input", "backward_weight",
                                        "backward" };
    pp_op_kind kind = (pp_op_kind)op.kind;
    pp_runtime_op it = view(c, op, tensors);
    char token[40];
    int code = 0;
    if (kind == PP_OP_B && !call->backward) { /* in its two parts */
        kind = PP_OP_I;
        code = call->backward_input(c->user, &it);
        if (!code)
            kind = PP_OP_W;
    }
    if (!code)
        code = run[kind](c->user, &it);
    return code ? callback_failed(c, name[kind], pp_op_print(op, token, sizeof token), code, err)
                : PP_OK;
}

const pp_compute pp_compute_of_caller = {
    .name = "callbacks",
    .summary = "functions of the program that uses the library",
    .begin = caller_begin,
    .run = caller_run,
    .end = caller_end,
};

/* ---- The runtime. ---- */

static void free_runtime(pp_runtime **runtime)
{
    pp_runtime *rt = *runtime;
    if (!rt)
        return;
    rt->transport->close(rt->world);
    pp_run_result_free(&rt->result);
    for (uint32_t r = 0; rt->block && r < rt->world_options.ranks; r++)
        free(rt->block[r].base);
    free(rt->block);
    free(rt->caller);
    free(rt->worker);
    free(rt->rank);
    free(rt->flight);
    free(rt);
    *runtime = NULL;
}

void pp_runtime_close(pp_runtime *runtime)
{
    if (runtime && !runtime->given_up) /* otherwise a thread that did not end may still use it */
        free_runtime(&runtime);
}

static pp_run_options how_to_run(const pp_runtime_options *options, const pp_faults *faults)
{
    return (pp_run_options){ .iterations = 1,
                             .limit_bytes = -1,
                             .check_memory = options->poison != 0,
                             .poison = options->poison != 0,
                             .deadline_ns = options->deadline_ns < 0   ? INT64_MAX / 4
                                            : options->deadline_ns > 0 ? options->deadline_ns
                                                                       : PP_DEADLINE_NS,
                             .stack_bytes =
                                 options->stack_bytes ? options->stack_bytes : STACK_BYTES,
                             .faults = faults,
                             .stop = options->stop };
}

static pp_status open_runtime(const pp_runtime_options *options, const pp_faults *faults,
                              pp_runtime **runtime_out, pp_err *err)
{
    const pp_transport *transport;
    pp_status status =
        pp_transport_get(options->transport ? options->transport : "threads", &transport, err);
    if (!status && transport->has_queues) /* plans are lowered for transports without queues */
        status = pp_err_set(err, PP_USAGE, "transport",
                            "%s cannot be used through this library; use threads or mpi",
                            transport->name);
    if (status || (status = transport->available(err)))
        return status;
    if (options->ranks < 1 || options->ranks > PP_RANKS_MAX)
        return pp_err_set(err, PP_USAGE, "ranks", "%" PRIu32 ": must be from 1 to %u",
                          options->ranks, PP_RANKS_MAX);
    pp_runtime *rt PP_CLEANUP(free_runtime) = pp_alloc_array(1, sizeof *rt);
    if (!rt)
        return pp_err_nomem(err);
    *rt = (pp_runtime){ .transport = transport,
                        .world_options = { .ranks = options->ranks,
                                           .link = { .kind = PP_LINK_FREE },
                                           .faults = faults,
                                           .stop = options->stop },
                        .how = how_to_run(options, faults) };
    rt->caller = pp_alloc_array(options->ranks, sizeof *rt->caller);
    rt->worker = pp_alloc_array(options->ranks, sizeof *rt->worker);
    rt->rank = pp_alloc_array(options->ranks, sizeof *rt->rank);
    rt->how.block = rt->block = pp_alloc_array(options->ranks, sizeof *rt->block);
    if (!rt->caller || !rt->worker || !rt->block || !rt->rank)
        return pp_err_nomem(err);
    if ((status = transport->open(&rt->world_options, &rt->world, err)))
        return status;
    *runtime_out = rt;
    rt = NULL; /* the caller owns it now */
    return PP_OK;
}

pp_runtime_status pp_library_open(const pp_runtime_options *options, const pp_faults *faults,
                                  pp_runtime **runtime_out, pp_runtime_error *error)
{
    pp_err err = { 0 };
    return open_runtime(options, faults, runtime_out, &err) ? pp_library_fail(&err, error)
                                                            : PP_RUNTIME_OK;
}

pp_runtime_status pp_runtime_open(const pp_runtime_options *options, pp_runtime **runtime_out,
                                  pp_runtime_error *error)
{
    return pp_library_open(options, NULL, runtime_out, error);
}

void pp_runtime_hosts(const pp_runtime *runtime, uint32_t *first_out, uint32_t *count_out)
{
    runtime->transport->hosts(runtime->world, first_out, count_out);
}

void pp_runtime_rank(const pp_runtime *runtime, uint32_t rank, pp_runtime_rank_stats *stats_out)
{
    *stats_out = runtime->rank[rank];
}

const char *pp_runtime_flight(const pp_runtime *runtime)
{
    return runtime->flight;
}

/* ---- A step. ---- */

static pp_status check_step(const pp_runtime *rt, const pp_runtime_plan *plan,
                            const pp_runtime_callbacks *call, pp_err *err)
{
    uint32_t ranks = plan->x.program->ranks;
    const char *missing = NULL;
    if (rt->over)
        return pp_err_set(err, PP_USAGE, NULL,
                          "an earlier step of this runtime failed; close it and open another");
    if (ranks != rt->world_options.ranks)
        return pp_err_set(err, PP_USAGE, "plan",
                          "it has %" PRIu32 " ranks, but the runtime has %" PRIu32
                          "; open a runtime with as many ranks",
                          ranks, rt->world_options.ranks);
    bool parts = plan->has[PP_OP_B] && !call->backward;
    if (plan->has[PP_OP_F] && !call->forward)
        missing = "forward";
    else if ((plan->has[PP_OP_I] || parts) && !call->backward_input)
        missing = "backward_input";
    else if ((plan->has[PP_OP_W] || parts) && !call->backward_weight)
        missing = "backward_weight";
    return missing ? pp_err_set(err, PP_USAGE, missing, "the plan has such ops; give this callback")
                   : PP_OK;
}

/* Keeps the measurements of the step, as the process of rank 0 has them. */
static void keep_stats(pp_runtime *rt, pp_runtime_stats *stats)
{
    const pp_run_result *result = &rt->result;
    const pp_program *program = rt->plan->x.program;
    const pp_timeline *t = result->count ? result->iteration[0].timeline : NULL;
    for (uint32_t r = 0; r < program->ranks; r++) {
        pp_runtime_rank_stats *own = &rt->rank[r];
        *own = (pp_runtime_rank_stats){ .peak_bytes = result->rank_bytes[r] };
        for (size_t i = program->rank_begin[r]; t && i < program->rank_begin[r + 1]; i++)
            own->busy_ns += t->end_ns[i] - t->start_ns[i];
        const pp_ns *idle = t ? &t->comm->idle_ns[(size_t)r * PP_IDLE_COUNT] : NULL;
        if (!idle)
            continue;
        own->idle_data_ns = idle[PP_IDLE_DATA];
        own->idle_buffer_ns = idle[PP_IDLE_BUFFER];
        own->idle_link_ns = idle[PP_IDLE_LINK];
        own->idle_host_ns = idle[PP_IDLE_HOST];
    }
    stats->agreement_ns = result->agreement_ns;
    stats->step_ns = t ? result->iteration[0].step_ns : 0;
    stats->makespan_ns = t ? pp_timeline_makespan(t) : 0;
}

/* Returns the caller whose callback ended the step, or NULL. */
static const caller *find_failed(const pp_runtime *rt, const pp_err *err)
{
    for (uint32_t r = 0; r < rt->world_options.ranks; r++) {
        if (atomic_load(&rt->caller[r].code) && strcmp(rt->caller[r].text, err->text) == 0)
            return &rt->caller[r];
    }
    return NULL;
}

static void set_callers(pp_runtime *rt, void *const *user)
{
    for (uint32_t r = 0; r < rt->world_options.ranks; r++) {
        caller *c = &rt->caller[r];
        c->callbacks = &rt->callbacks;
        c->x = &rt->plan->x;
        c->user = user ? user[r] : NULL;
        c->rank = r;
        c->step = rt->step;
        atomic_init(&c->code, 0);
        rt->worker[r] = &rt->caller[r];
    }
}

static pp_status run_step(pp_runtime *rt, pp_runtime_stats *stats, pp_err *err)
{
    rt->how.first_step = rt->step;
    rt->job = (pp_run_job){ .transport = rt->transport,
                            .world = rt->world,
                            .compute = &pp_compute_of_caller,
                            .work = &rt->plan->x.work,
                            .worker = rt->worker,
                            .program = rt->plan->x.program,
                            .costs = rt->plan->x.costs };
    pp_status status = pp_run(&rt->job, &rt->how, &rt->result, err);
    if (!status)
        keep_stats(rt, stats);
    rt->flight = rt->result.flight;
    rt->result.flight = NULL;
    rt->given_up = rt->result.given_up;
    if (rt->given_up)
        atomic_store(rt->plan->pinned, true);
    else if (!status) /* after a failure, messages may arrive until the world is closed */
        pp_run_result_free(&rt->result);
    return status;
}

pp_runtime_status pp_runtime_step(pp_runtime *rt, const pp_runtime_plan *plan,
                                  const pp_runtime_callbacks *callbacks, void *const *user,
                                  pp_runtime_stats *stats_out, pp_runtime_error *error)
{
    pp_err err = { 0 };
    pp_runtime_stats stats = { 0 };
    pp_ns begin_ns = pp_clock_now_ns();
    if (check_step(rt, plan, callbacks, &err))
        return pp_library_fail(&err, error);
    rt->plan = plan;
    rt->callbacks = *callbacks;
    set_callers(rt, user);
    if (run_step(rt, &stats, &err)) {
        rt->over = true;
        pp_library_fail(&err, error);
        const caller *failed = find_failed(rt, &err);
        if (!failed)
            return (pp_runtime_status)err.status;
        if (error) {
            error->status = PP_RUNTIME_CALLBACK;
            error->callback = atomic_load(&failed->code);
            error->rank = failed->rank;
        }
        return PP_RUNTIME_CALLBACK;
    }
    rt->step++;
    stats.total_ns = pp_clock_now_ns() - begin_ns;
    if (stats_out)
        *stats_out = stats;
    return PP_RUNTIME_OK;
}
