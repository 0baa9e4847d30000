/* Executes a plan from its costs to its report: prepares, opens the world and the workers, measures
 * ops if requested, predicts, runs, reports the median iteration, and verifies. */
#include "runtime/measure/run_plan.h"

#include "runtime/core/agreement.h"
#include "runtime/measure/op_times.h"
#include "runtime/measure/replay.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/hash.h"
#include "sim/engine/engine.h"
#include "sim/engine/replicas.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_status predict(const pp_plan *ours, const pp_run_plan_options *options, bool written,
                         pp_execution *x, pp_err *err)
{
    const pp_framework *framework = written ? NULL : ours->framework;
    pp_err unimportant = { 0 };
    pp_status status =
        pp_plan_simulate_program(ours, x->program, x->costs, framework, &x->predicted,
                                 &x->prediction, options->force ? &unimportant : err);
    return status == PP_INFEASIBLE && options->force ? PP_OK : status;
}

/* Reports a failure of the transport before the ranks run. If the call was ended from outside, the
 * message says by whom. */
static pp_status say(const pp_err *own, pp_status status, const pp_execution *x, pp_err *err)
{
    if (status != PP_INFEASIBLE)
        return status ? pp_err_set(err, status, own->where, "%s", own->text) : PP_OK;
    return pp_err_set(err, status, NULL, "%s",
                      x->world.stop && *x->world.stop ? PP_INTERRUPTED : PP_STOPPED_ELSEWHERE);
}

static pp_status open_world(const pp_run_plan_options *options, pp_meeting *meeting,
                            pp_execution *x, pp_err *err)
{
    pp_err own = pp_err_like(err);
    if (options->compute->memory) {
        pp_status status = options->compute->memory(&x->memory, err);
        if (status)
            return status;
        x->job.memory = &x->memory;
    }
    x->world = (pp_world_options){ .ranks = x->work.ranks,
                                   .link = options->link,
                                   .faults = options->faults,
                                   .communicators = options->communicators,
                                   .check_messages = options->check_messages,
                                   .memory = x->job.memory,
                                   .stop = options->stop,
                                   .replica = options->replica,
                                   .replicas = options->replicas,
                                   .meeting = meeting };
    return say(&own, options->transport->open(&x->world, &x->job.world, &own), x, err);
}

static pp_status open_workers(const pp_run_plan_options *options, uint32_t first, uint32_t count,
                              pp_execution *x, pp_err *err)
{
    bool *holds = pp_alloc_array(x->work.stages, sizeof *holds);
    x->job.worker = pp_alloc_array(x->work.ranks, sizeof *x->job.worker);
    pp_status status = holds && x->job.worker ? PP_OK : pp_err_nomem(err);
    for (uint32_t r = first; r < first + count && !status; r++) {
        for (uint32_t s = 0; s < x->work.stages; s++)
            holds[s] = x->work.stage_rank[s] == r;
        status = options->compute->open(&x->work, holds, &x->job.worker[r], err);
    }
    free(holds);
    return status;
}

static pp_status gather(pp_execution *x, uint32_t first, const void *mine, size_t bytes,
                        void *all_out, pp_err *err)
{
    pp_err own = pp_err_like(err);
    pp_status status =
        x->job.transport->all_gather(x->job.world, first, mine, bytes, all_out, &own);
    return say(&own, status, x, err);
}

/* Checks the agreement of all processes before the transport connects them for this program. */
static pp_status agree_on_program(pp_execution *x, uint32_t first, pp_err *err)
{
    uint64_t hash = pp_program_hash(x->program, x->costs);
    pp_agreement own = pp_agreement_on(x->program, x->costs, hash);
    pp_agreement *all = pp_alloc_array(x->work.ranks, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    pp_status status = gather(x, first, &own, sizeof own, all, err);
    if (!status) {
        status = pp_agreement_check(all, x->work.ranks, err);
        x->disagrees = status != PP_OK;
    }
    free(all);
    return status;
}

/* Shares the longest deadline of all processes: only rank 0's takes into account how long ops take
 * here. The others wait while it measures. */
static pp_status share_deadline(pp_execution *x, pp_ns *deadline_ns, pp_err *err)
{
    const pp_transport *transport = x->job.transport;
    uint32_t ranks = x->work.ranks;
    uint32_t first = 0;
    uint32_t hosted = 0;
    transport->hosts(x->job.world, &first, &hosted);
    if (hosted == ranks)
        return PP_OK;
    pp_status status = agree_on_program(x, first, err);
    if (status)
        return status;
    pp_ns own_ns = *deadline_ns;
    pp_ns *all_ns = pp_alloc_array(ranks, sizeof *all_ns);
    if (!all_ns)
        return pp_err_nomem(err);
    status = gather(x, first, &own_ns, sizeof own_ns, all_ns, err);
    for (uint32_t r = 0; r < ranks && !status; r++)
        *deadline_ns = all_ns[r] > *deadline_ns ? all_ns[r] : *deadline_ns;
    free(all_ns);
    return status;
}

static pp_ns deadline_of(const pp_run_plan_options *options, const pp_execution *x)
{
    pp_ns deadline_ns = options->deadline_ns ? options->deadline_ns : PP_DEADLINE_NS;
    pp_ns step_ns = x->prediction ? x->prediction->makespan_ns : 0;
    pp_ns long_ns = step_ns < INT64_MAX / 80 ? 20 * step_ns : INT64_MAX / 4;
    return !options->deadline_ns && long_ns > deadline_ns ? long_ns : deadline_ns;
}

static pp_status run(const pp_run_plan_options *options, bool written, pp_execution *x, pp_err *err)
{
    pp_ns deadline_ns = deadline_of(options, x);
    pp_status status = share_deadline(x, &deadline_ns, err);
    if (status)
        return status;
    x->how = (pp_run_options){ .warmup = options->warmup,
                               .iterations = options->iterations,
                               .limit_bytes = options->payload_bytes,
                               .check_memory = options->verify && x->costs->has_memory && !written,
                               .poison = options->verify && options->payload_bytes < 0,
                               .keep_values = options->verify,
                               .check_messages = options->check_messages,
                               .serialize = options->serialize,
                               .deadline_ns = deadline_ns,
                               .faults = options->faults,
                               .stop = options->stop,
                               .progress = options->progress,
                               .progress_context = options->progress_context };
    x->job.program = x->program;
    x->job.costs = x->costs;
    x->job.work = &x->work;
    return pp_run(&x->job, &x->how, &x->result, err);
}

/* Makes the report of the median iteration from its measured timeline. */
static pp_status report(const pp_plan *plan, bool written, pp_execution *x, pp_err *err)
{
    const pp_iteration *median = &x->result.iteration[x->result.median];
    pp_costs *plain PP_CLEANUP(pp_costs_free) = NULL;
    pp_status status = pp_costs_spread(x->costs, &plain, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < plain->ranks; r++)
        plain->grad_sync_ns[r] = plain->tied_ns[r] = plain->optimizer_ns[r] = 0;
    plain->fixed_ns = 0;
    status = pp_report_build(plan->schedule, written ? NULL : plan->framework, x->program,
                             median->timeline, plain, true, &x->report, err);
    if (status)
        return status;
    pp_report *r = x->report;
    r->step_boundary_ns =
        median->step_ns - r->makespan_ns; /* last sends, tied weights and update */
    r->boundary.optimizer_ns = r->step_boundary_ns;
    r->step_ns = median->step_ns;
    r->seed = x->work.seed;
    if (r->tokens_per_s > 0)
        r->tokens_per_s = plain->tokens / ((double)r->step_ns * 1e-9);
    r->model_flops_utilization = 0; /* the peak is that of another machine */
    status = pp_report_add_worst(r, x->program, median->timeline, PP_WORST_DEFAULT, err);
    return status ? status : pp_replay(x->program, x->costs, median->timeline, &x->replayed, err);
}

/* Adds up the ops of each GPU, which is a lower bound of the step if they take turns. With one GPU
 * for all ranks it is reached: some rank always has an op that waits for nothing but its turn. */
static void add_turns(const pp_run_plan_options *options, uint32_t first, uint32_t hosted,
                      pp_execution *x)
{
    for (uint32_t k = first; k < first + hosted && x->predicted && options->serialize; k++) {
        const uint32_t gpu = options->compute->gpu(x->job.worker[k]);
        pp_ns sum_ns = 0;
        bool seen = false; /* a lower rank has this GPU */
        for (uint32_t r = first; r < first + hosted; r++) {
            if (options->compute->gpu(x->job.worker[r]) != gpu)
                continue;
            seen = seen || r < k;
            for (size_t i = x->program->rank_begin[r]; i < x->program->rank_begin[r + 1]; i++)
                sum_ns += x->predicted->end_ns[i] - x->predicted->start_ns[i];
        }
        x->gpus += !seen;
        x->serial_ns = sum_ns > x->serial_ns ? sum_ns : x->serial_ns;
    }
}

static pp_status verify(const pp_run_plan_options *options, pp_execution *x, pp_err *err)
{
    return pp_verify(&x->job, options->warmup + options->iterations, options->stop, &x->verdict,
                     err);
}

/* Runs the plan. Work that only the process of rank 0 does, and its failures, are not visible to
 * the other processes. */
static pp_status carry_out(const pp_plan *plan, const pp_plan *ours,
                           const pp_run_plan_options *options, bool written, pp_execution *x,
                           pp_err *err)
{
    uint32_t first = 0;
    uint32_t hosted = 0;
    options->transport->hosts(x->job.world, &first, &hosted);
    pp_status status = open_workers(options, first, hosted, x, err);
    if (!status && first == 0 && options->measure_ops)
        status = pp_measure_ops(options, x, err);
    if (!status)
        status = predict(written ? plan : ours, options, written, x, err);
    if (!status)
        add_turns(options, first, hosted, x);
    if (status || (status = run(options, written, x, err)))
        return status;
    if (first == 0 && (status = report(ours, written, x, err)))
        return status;
    return options->verify ? verify(options, x, err) : PP_OK;
}

/* Checks that a transport with queues can run the plan, whose program framework zero-bubble then
 * makes. */
static pp_status check_pairs(const pp_plan *plan, const pp_run_plan_options *options, pp_err *err)
{
    const pp_order *order = plan->order[plan->order_count > 1 ? options->replica : 0];
    char token[32];
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++)
        if (order->ops[i].paired)
            return pp_err_set(
                err, PP_USAGE, pp_err_name(err, PP_FIELD_TRANSPORT),
                "%s cannot run overlapped pairs, and %s is half of one; use %s threads",
                options->transport->name, pp_op_print(order->ops[i], token, sizeof token),
                pp_err_name(err, PP_FIELD_TRANSPORT));
    return PP_OK;
}

static pp_status check_memory(const pp_run_plan_options *options, pp_err *err)
{
    if (!options->compute->memory || options->transport->takes_device_memory)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_TRANSPORT),
                      "%s cannot transfer tensors of GPUs; with compute %s use threads or nccl",
                      options->transport->name, options->compute->name);
}

/* While nobody watches, before the first step and after the last, a rank whose process was killed
 * ends a wait, and so does the launcher's signal. Says why. */
static void name_lost(const pp_transport *transport, pp_execution *x, pp_err *err)
{
    pp_err lost = pp_err_like(err);
    x->result.lost = pp_transport_lost(transport, x->job.world, &lost) != PP_OK;
    if (x->result.lost && err)
        *err = lost;
}

/* One replica among several, and the thread that runs it. */
typedef struct replica_run {
    pp_run_plan_options options;
    pp_execution *x;
    struct replica_run *all; /* [count]: of which this is one */
    uint32_t count;
    pthread_t thread;
    pp_status status;
    pp_err err;
} replica_run;

static void *run_replica(void *argument)
{
    replica_run *own = argument;
    own->status = run(&own->options, false, own->x, &own->err);
    for (uint32_t k = 0; own->status && k < own->count; k++) /* none trains on alone */
        own->options.transport->abort(own->all[k].x->job.world);
    return NULL;
}

/* Prepares a replica, and opens its world and workers if it runs in this process. */
static pp_status set_up_replica(const pp_plan *ours, replica_run *own, pp_meeting *meeting,
                                bool here, pp_err *err)
{
    pp_execution *x = own->x;
    uint32_t from = 0, hosted = 0;
    pp_status status = pp_execution_prepare(ours, &own->options, x, err);
    if (!status)
        status = pp_faults_check(own->options.faults, x->program, x->costs, err);
    if (!status && here && !x->job.world)
        status = open_world(&own->options, meeting, x, err);
    x->job.program = x->program;
    x->job.costs = x->costs;
    x->job.work = &x->work;
    if (status || !here)
        return status;
    own->options.transport->hosts(x->job.world, &from, &hosted);
    status = open_workers(&own->options, from, hosted, x, err);
    const pp_compute *compute = own->options.compute;
    if (!status && own->options.zero >= 2 && compute->tied_bytes &&
        compute->tied_bytes(x->job.worker[from]))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                          "%d divides gradients before the first and the last stage have added up "
                          "those of the weights that they share; use tied=off, or ZeRO 1",
                          own->options.zero);
    return status;
}

/* Runs all replicas, each from a thread of its own, and returns the first failure that is not the
 * consequence of another. */
static pp_status run_all(replica_run *replica, uint32_t count, pp_err *err)
{
    uint32_t started = 1;
    int failed = 0;
    while (started < count && !failed) {
        failed = pthread_create(&replica[started].thread, NULL, run_replica, &replica[started]);
        started += !failed;
    }
    if (failed)
        pp_meeting_abort(replica[0].x->meeting);
    run_replica(&replica[0]);
    for (uint32_t k = 1; k < started; k++)
        pthread_join(replica[k].thread, NULL);
    if (failed)
        return pp_err_set(err, PP_NOMEM, NULL, "this machine cannot start %" PRIu32 " threads",
                          count);
    const replica_run *worst = NULL;
    for (uint32_t k = 0; k < count; k++) {
        const bool follows = strcmp(replica[k].err.text, PP_STOPPED_ELSEWHERE) == 0;
        if (replica[k].status && (!worst || !follows)) {
            worst = &replica[k];
            if (!follows)
                break;
        }
    }
    if (!worst)
        return PP_OK;
    const uint32_t which = worst->options.replica;
    return which ? pp_err_set(err, worst->status, worst->err.where, "replica %" PRIu32 ": %s",
                              which, worst->err.text)
                 : pp_err_set(err, worst->status, worst->err.where, "%s", worst->err.text);
}

/* Gathers and reductions of all replicas have to meet. */
static pp_status check_meetings(const replica_run *replica, uint32_t count, pp_err *err)
{
    const pp_program **program PP_CLEANUP(pp_free_array) = pp_alloc_array(count, sizeof *program);
    if (!program)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < count; k++)
        program[k] = replica[k].x->program;
    return pp_replicas_meet(program, count, err);
}

/* Prepares all replicas, of which this process runs only number `own`, or all if it is `count`. *x
 * becomes that one, or the first. */
static pp_status set_up_replicas(const pp_plan *ours, const pp_run_plan_options *options,
                                 uint32_t own, replica_run *replica, pp_execution *x, pp_err *err)
{
    const uint32_t count = options->replicas;
    const uint32_t shown = own < count ? own : 0;
    pp_status status = PP_OK;
    for (uint32_t k = 0; k < count && !status; k++) {
        pp_execution *each = k == shown ? x : pp_alloc_array(1, sizeof *each);
        if (!each)
            return pp_err_nomem(err);
        if (each != x)
            x->other[x->others++] = each;
        each->job.transport = options->transport;
        each->job.compute = options->compute;
        each->job.replica = x->replica;
        x->replica[k] = &each->job;
        replica[k] = (replica_run){
            .options = *options, .x = each, .all = replica, .count = count, .err = pp_err_like(err)
        };
        replica[k].options.replica = k;
        if (k) { /* faults are those of the first */
            replica[k].options.faults = NULL;
            replica[k].options.progress = NULL;
        }
        status = set_up_replica(ours, &replica[k], x->meeting, own == count || k == own, err);
    }
    return !status && options->zero >= 2 ? check_meetings(replica, count, err) : status;
}

/* What has to be the same in all replicas. */
typedef struct same_options {
    uint64_t work;
    uint32_t zero, replicas, warmup, iterations;
    uint32_t verify, forward_only;
} same_options;

/* Replicas in processes of their own may have been started with different options. */
static pp_status agree_with_replicas(const replica_run *own, uint32_t rank, pp_err *err)
{
    const pp_run_plan_options *o = &own->options;
    const pp_compute_work *work = &own->x->work;
    pp_err why = pp_err_like(err);
    same_options mine, *all PP_CLEANUP(pp_free_array) = pp_alloc_array(o->replicas, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    memset(&mine, 0, sizeof mine);
    mine.work = pp_hash_number(PP_HASH_START, work->seed);
    mine.work = pp_hash_bytes(mine.work, work->settings, strlen(work->settings) + 1);
    mine.work = pp_hash_bytes(mine.work, o->compute->name, strlen(o->compute->name));
    mine.zero = (uint32_t)o->zero;
    mine.replicas = o->replicas;
    mine.warmup = o->warmup;
    mine.iterations = o->iterations;
    mine.verify = o->verify;
    mine.forward_only = work->forward_only;
    pp_status status =
        o->transport->gather_replicas(own->x->job.world, rank, &mine, sizeof mine, all, &why);
    if (status)
        return say(&why, status, own->x, err);
    for (uint32_t k = 0; k < o->replicas; k++) {
        const char *what =
            all[k].work != all[0].work           ? "compute, settings or seed"
            : all[k].zero != all[0].zero         ? "ZeRO stages"
            : all[k].replicas != all[0].replicas ? "numbers of replicas"
            : all[k].warmup != all[0].warmup || all[k].iterations != all[0].iterations
                ? "numbers of steps"
            : all[k].verify != all[0].verify             ? "orders to verify"
            : all[k].forward_only != all[0].forward_only ? "passes"
                                                         : NULL;
        if (what)
            return pp_err_set(err, PP_INPUT, NULL,
                              "replicas %" PRIu32 " and 0 have different %s; start all processes "
                              "with the same options",
                              k, what);
    }
    return PP_OK;
}

/* Runs and verifies the replica of this process. Only the process of rank 0 of the first one
 * reports. */
static pp_status run_own(const pp_plan *ours, replica_run *own, pp_err *err)
{
    pp_execution *x = own->x;
    const pp_run_plan_options *options = &own->options;
    uint32_t first = 0, hosted = 0;
    options->transport->hosts(x->job.world, &first, &hosted);
    pp_status status = agree_with_replicas(own, first, err);
    if (!status && first == 0 && options->measure_ops)
        status = pp_measure_ops(options, x, err);
    if (!status)
        status = predict(ours, options, false, x, err);
    if (!status)
        status = run(options, false, x, err);
    if (!status && first == 0 && options->replica == 0)
        status = report(ours, false, x, err);
    return !status && options->verify ? verify(options, x, err) : status;
}

/* Runs the replicas together: as threads of this process, or this process's own. */
static pp_status run_replicas(const pp_plan *plan, const pp_plan *ours,
                              const pp_run_plan_options *options, pp_execution *x, pp_err *err)
{
    const uint32_t count = options->replicas;
    const bool one = options->transport->replica != NULL;
    uint32_t own = count;
    pp_status status = PP_OK;
    replica_run *replica PP_CLEANUP(pp_free_array) = pp_alloc_array(count, sizeof *replica);
    x->other = pp_alloc_array(count, sizeof *x->other);
    x->replica = pp_alloc_array(count, sizeof *x->replica);
    if (!replica || !x->other || !x->replica)
        return pp_err_nomem(err);
    x->work.ranks = plan->order[0]->ranks;
    if (!one)
        status = pp_meeting_new(x->work.ranks, count, &x->meeting, err);
    else if (!(status = open_world(options, NULL, x, err)))
        own = options->transport->replica(x->job.world);
    if (!status)
        status = set_up_replicas(ours, options, own, replica, x, err);
    if (!status && one)
        return run_own(ours, &replica[own], err);
    if (!status && options->measure_ops)
        status = pp_measure_ops(options, x, err);
    if (!status)
        status = predict(ours, options, false, x, err);
    for (uint32_t k = 0; k < count && !status; k++)
        replica[k].options.deadline_ns = deadline_of(options, x);
    if (!status)
        status = run_all(replica, count, err);
    if (!status)
        status = report(ours, false, x, err);
    for (uint32_t k = 0; k < count && options->verify && !status; k++) {
        status = verify(options, replica[k].x, &replica[k].err);
        if (status)
            (void)pp_err_set(err, status, replica[k].err.where, "replica %" PRIu32 ": %s", k,
                             replica[k].err.text);
    }
    return status;
}

static pp_status check_replicas(const pp_plan *plan, const pp_run_plan_options *options,
                                bool written, pp_err *err)
{
    const pp_compute *compute = options->compute;
    const char *what = pp_err_name(err, PP_FIELD_DP);
    if (!options->replicas)
        return PP_OK;
    if (!compute->block)
        return pp_err_set(err, PP_USAGE, what,
                          "compute %s %s; use compute cpu or cuda, or run one replica",
                          compute->name,
                          compute->describe ? "cannot share its parameters among replicas"
                                            : "has no parameters that replicas could share");
    if (!options->transport->exchange)
        return pp_err_set(err, PP_USAGE, what,
                          "transport %s runs one replica; use threads or mpi for several",
                          options->transport->name);
    if (options->serialize && options->replicas > 1)
        return pp_err_set(
            err, PP_USAGE, what,
            "ops of different replicas do not take turns on a GPU; run one, or leave %s out",
            pp_err_name(err, PP_FIELD_SERIALIZE_COMPUTE));
    if (written)
        return pp_err_set(err, PP_USAGE, what,
                          "a file with its own communication is run alone; leave it out");
    for (uint32_t k = 0; k < options->replicas && plan->order_count > 1; k++)
        if (plan->order[k < plan->order_count ? k : 0]->ranks != plan->order[0]->ranks)
            return pp_err_set(err, PP_INPUT, what, "replicas have different numbers of ranks");
    return PP_OK;
}

pp_status pp_run_plan(const pp_plan *plan, pp_program *written, const pp_run_plan_options *options,
                      pp_execution *x, pp_err *err)
{
    pp_plan ours = pp_plan_as_executed(plan, options->transport, options->communicators);
    pp_plan as_written = *plan; /* with the communicators of the run */
    if (options->link.kind == PP_LINK_THROTTLE)
        ours.shape_message_ns = options->link.latency_ns;
    if (options->transport->has_queues) {
        as_written.comm.has_lanes = true;
        as_written.comm.lanes = ours.comm.lanes;
    }
    *x = (pp_execution){ .job = { .transport = options->transport, .compute = options->compute },
                         .program = written };
    pp_status status = check_replicas(plan, options, written != NULL, err);
    if (!status)
        status = check_memory(options, err);
    if (!status)
        status = options->transport->available(err);
    if (!status && options->transport->has_queues && !written)
        status = check_pairs(plan, options, err);
    if (!status && !options->replicas)
        status = pp_execution_prepare(&ours, options, x, err);
    if (!status && !options->replicas)
        status = pp_faults_check(options->faults, x->program, x->costs, err);
    if (status)
        return status;
    if (options->replicas)
        status = run_replicas(plan, &ours, options, x, err);
    else if (!(status = open_world(options, NULL, x, err)))
        status = carry_out(written ? &as_written : &ours, &ours, options, written != NULL, x, err);
    if (status == PP_INFEASIBLE && x->job.world && !x->result.lost)
        name_lost(options->transport, x, err);
    /* if the agreement failed, the other processes have noticed it, too */
    if (status && x->job.world && !x->result.group && !x->disagrees)
        options->transport->abort(x->job.world);
    if (status == PP_INFEASIBLE && options->stop && *options->stop && !x->result.lost) {
        if (err) /* the caller's error may say that another process stopped the run */
            err->status = PP_OK;
        return pp_err_set(err, status, NULL, PP_INTERRUPTED);
    }
    return status;
}
