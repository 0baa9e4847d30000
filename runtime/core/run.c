/* Executes a program: prepares one worker for each rank that this process hosts, starts their
 * threads, watches them, and gathers the result. After a failure, memory that late messages or
 * threads may still use is kept until the world is closed. */
#include "runtime/core/run.h"

#include "runtime/core/agreement.h"
#include "runtime/core/iteration.h"
#include "runtime/core/watchdog.h"
#include "sim/base/alloc.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void worker_group_free(pp_worker_group *group)
{
    for (uint32_t h = 0; group->worker && h < group->count; h++) {
        pp_interpreter_free(&group->worker[h].in);
        pp_progress_destroy(&group->worker[h].progress);
        pp_sharding_free(&group->worker[h].sharding);
        free(group->worker[h].tied);
        free(group->worker[h].packed);
        free(group->worker[h].ahead_ns);
    }
    free(group->worker);
    for (uint32_t h = 0; group->turn && h < group->turns; h++)
        pthread_mutex_destroy(&group->turn[h]);
    free(group->turn);
    pp_program_index_free(&group->cells);
    pp_record_free(&group->record);
    pthread_cond_destroy(&group->changed);
    pthread_mutex_destroy(&group->lock);
    free(group);
}

void pp_run_result_free(pp_run_result *result)
{
    for (uint32_t k = 0; result->iteration && k < result->count; k++)
        pp_timeline_free(&result->iteration[k].timeline);
    free(result->iteration);
    free(result->rank_bytes);
    free(result->flight);
    if (result->group && !result->given_up)
        worker_group_free(result->group);
    *result = (pp_run_result){ 0 };
}

/* Returns the lock of the GPU that the rank computes on, or NULL if its ops do not have to take
 * turns. */
static pthread_mutex_t *turn_of(const pp_worker_group *group, uint32_t rank)
{
    const pp_run_job *job = group->job;
    return group->turn ? &group->turn[job->compute->gpu(job->worker[rank]) % group->turns] : NULL;
}

static pp_status make_turns(pp_worker_group *group, uint32_t count, pp_err *err)
{
    if (!group->options->serialize)
        return PP_OK;
    group->turn = pp_alloc_array(count, sizeof *group->turn);
    if (!group->turn)
        return pp_err_nomem(err);
    for (; group->turns < count; group->turns++)
        pthread_mutex_init(&group->turn[group->turns], NULL);
    return PP_OK;
}

static pp_status prepare_worker(pp_worker_group *group, pp_worker *worker, uint64_t hash,
                                pp_err *err)
{
    const pp_run_job *job = group->job;
    uint32_t ranks = job->program->ranks;
    worker->in =
        (pp_interpreter){ .program = job->program,
                          .costs = job->costs,
                          .cells = &group->cells,
                          .program_hash = hash,
                          .rank = worker->rank,
                          .limit_bytes = group->options->limit_bytes,
                          .block =
                              group->options->block ? &group->options->block[worker->rank] : NULL,
                          .memory = job->memory,
                          .transport = job->transport,
                          .world = job->world,
                          .compute = job->compute,
                          .work = job->work,
                          .compute_worker = job->worker[worker->rank],
                          .record = &group->record,
                          .progress = &worker->progress,
                          .faults = group->options->faults,
                          .ended = &group->ended,
                          .poison = group->options->poison,
                          .turn = turn_of(group, worker->rank) };
    worker->ahead_ns = pp_alloc_array(ranks, sizeof *worker->ahead_ns);
    if (!worker->ahead_ns)
        return pp_err_nomem(err);
    if (group->count < ranks) {
        worker->packed =
            pp_alloc_array(ranks + (size_t)1, pp_record_bytes(job->program, &group->record));
        if (!worker->packed)
            return pp_err_nomem(err);
    }
    if (group->tied_bytes) {
        worker->tied = pp_alloc_array(2 * (ranks + (size_t)1), group->tied_bytes);
        if (!worker->tied)
            return pp_err_nomem(err);
    }
    pp_status status = PP_OK;
    if (job->work->replicas) {
        worker->sharding = (pp_sharding){ .transport = job->transport,
                                          .world = job->world,
                                          .compute = job->compute,
                                          .work = job->work,
                                          .worker = job->worker[worker->rank],
                                          .rank = worker->rank,
                                          .progress = &worker->progress };
        worker->in.sharding = &worker->sharding;
        status = pp_sharding_prepare(&worker->sharding, err);
    }
    if (!status)
        status = pp_interpreter_prepare(&worker->in, err);
    if (worker->in.arena.bytes > group->result->arena_bytes)
        group->result->arena_bytes = worker->in.arena.bytes;
    group->result->rank_bytes[worker->rank] = worker->in.arena.bytes;
    return status;
}

/* Returns how many bytes transfer t carries at most. */
static size_t payload_of(const pp_worker_group *group, const pp_transfer *t)
{
    int64_t whole = pp_comm_bytes(group->job->program->comm, group->job->costs, t);
    int64_t limit = group->options->limit_bytes;
    if (pp_transfer_is_shape((pp_transfer_kind)t->kind))
        return sizeof(int64_t[4]);
    return (size_t)(limit >= 0 && whole > limit ? limit : whole);
}

static pp_status load(const pp_worker_group *group, pp_err *err)
{
    const pp_run_job *job = group->job;
    const pp_comm *comm = job->program->comm;
    pp_status status = PP_OK;
    size_t *bytes = pp_alloc_array(comm->transfer_count, sizeof *bytes);
    if (!bytes)
        return pp_err_nomem(err);
    for (size_t t = 0; t < comm->transfer_count && job->transport->reserve; t++)
        bytes[t] = payload_of(group, &comm->transfer[t]);
    if (job->transport->reserve)
        status = job->transport->reserve(job->world, job->program, bytes, err);
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        bool buffered = pp_transfer_sends((pp_transfer_kind)own->kind) &&
                        pp_comm_is_buffered(comm, job->costs, own);
        bytes[t] = buffered ? payload_of(group, own) : 0;
    }
    if (!status)
        status = job->transport->load(job->world, job->program, bytes, err);
    free(bytes);
    return status;
}

static pp_status worker_group_new(const pp_run_job *job, const pp_run_options *options,
                                  pp_run_result *result, pp_worker_group **group_out, pp_err *err)
{
    pp_worker_group *group = pp_alloc_array(1, sizeof *group);
    pthread_condattr_t monotonic;
    if (!group)
        return pp_err_nomem(err);
    *group = (pp_worker_group){ .job = job, .options = options, .result = result };
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&group->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&group->lock, NULL);
    atomic_init(&group->ended, false);
    uint32_t count = 0;
    job->transport->hosts(job->world, &group->first, &count);
    uint64_t hash = pp_program_hash(job->program, job->costs);
    group->tied_bytes =
        job->compute->tied_bytes ? job->compute->tied_bytes(job->worker[group->first]) : 0;
    pp_status status = pp_program_index_new(job->program, &group->cells, err);
    if (!status)
        status = pp_record_new(job->program, options->check_memory, &group->record, err);
    if (!status && !(group->worker = pp_alloc_array(count, sizeof *group->worker)))
        status = pp_err_nomem(err);
    if (!status)
        status = make_turns(group, count, err);
    for (uint32_t h = 0; h < count && !status; h++, group->count = h) {
        group->worker[h].group = group;
        group->worker[h].rank = group->first + h;
        group->worker[h].err = pp_err_like(err);
        pp_progress_init(&group->worker[h].progress);
    }
    for (uint32_t h = 0; h < count && !status; h++)
        status = prepare_worker(group, &group->worker[h], hash, err);
    if (!status)
        status = load(group, err);
    if (status)
        worker_group_free(group);
    else
        *group_out = group;
    return status;
}

static pp_status start_threads(pp_worker_group *group, pp_err *err)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    size_t stack_bytes = group->options->stack_bytes;
    pthread_attr_setstacksize(&small, stack_bytes ? stack_bytes : PP_STACK_BYTES);
    int failed = 0;
    while (group->running < group->count && !failed) {
        pp_worker *worker = &group->worker[group->running];
        failed = pthread_create(&worker->thread, &small, pp_worker_run, worker);
        group->running += !failed;
    }
    pthread_attr_destroy(&small);
    return failed ? pp_err_set(err, PP_NOMEM, NULL,
                               "this machine cannot start %" PRIu32
                               " threads; try fewer ranks, or raise its limit (ulimit -u)",
                               group->count)
                  : PP_OK;
}

/* Called when a thread could not be started: ends the ranks that have a thread, which wait for the
 * others. */
static void cancel_started(pp_worker_group *group, bool *given_up_out)
{
    pp_err ignored = { 0 };
    group->job->transport->abort(group->job->world);
    (void)!pp_worker_group_watch(group, given_up_out, &ignored);
}

pp_status pp_run(const pp_run_job *job, const pp_run_options *options, pp_run_result *result_out,
                 pp_err *err)
{
    pp_worker_group *group = NULL;
    *result_out = (pp_run_result){ 0 };
    result_out->iteration = pp_alloc_array(options->iterations, sizeof *result_out->iteration);
    result_out->rank_bytes = pp_alloc_array(job->program->ranks, sizeof *result_out->rank_bytes);
    if (!result_out->iteration || !result_out->rank_bytes)
        return pp_err_nomem(err);
    pp_status status = worker_group_new(job, options, result_out, &group, err);
    if (status)
        return status;
    status = start_threads(group, err);
    if (status)
        cancel_started(group, &result_out->given_up);
    else
        status = pp_worker_group_watch(group, &result_out->given_up, err);
    for (uint32_t h = 0; h < group->running; h++) {
        if (result_out->given_up)
            pthread_detach(group->worker[h].thread);
        else
            pthread_join(group->worker[h].thread, NULL);
    }
    result_out->agreement_ns = group->worker[0].agreement_ns;
    result_out->clock_error_ns = group->worker[0].clock_error_ns;
    if (!status)
        worker_group_free(group);
    else /* a thread that was given up may still use it */
        result_out->group = group;
    if (!status && result_out->count)
        pp_run_choose_median(result_out);
    return status;
}
