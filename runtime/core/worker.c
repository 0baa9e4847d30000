/* The thread of one rank during a run: it agrees with the other ranks on what to run, compares
 * clocks, and then, step after step, interprets the program, exchanges the gradients of tied
 * weights, updates, and shares the record. */
#include "runtime/core/worker.h"

#include "runtime/core/clock.h"
#include "runtime/core/iteration.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static pp_status meet(pp_worker *worker, const void *mine, size_t bytes, void *all_out, pp_err *err)
{
    const pp_run_job *job = worker->group->job;
    pp_progress_set(&worker->progress, PP_DOING_MEETING, 0, pp_clock_now_ns());
    return job->transport->all_gather(job->world, worker->rank, mine, bytes, all_out, err);
}

static pp_status agree(pp_worker *worker, pp_err *err)
{
    const pp_worker_group *group = worker->group;
    uint32_t ranks = group->job->program->ranks;
    pp_agreement *own = &worker->agreement;
    pp_agreement *all = pp_alloc_array(ranks, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    *own = pp_agreement_of(&worker->in, group->options);
    if (pp_faults_at(group->options->faults, PP_FAULT_PLAN, worker->rank, 0, 0))
        own->program = ~own->program;
    pp_ns begin_ns = pp_clock_now_ns();
    pp_status status = meet(worker, own, sizeof *own, all, err);
    worker->agreement_ns = pp_clock_now_ns() - begin_ns;
    if (!status) {
        status = pp_agreement_check(all, ranks, err);
        worker->disagrees = status != PP_OK;
    }
    free(all);
    return status;
}

/* Finds out how far the clocks of all ranks are ahead of rank 0's. */
static pp_status set_clocks(pp_worker *worker, pp_err *err)
{
    const pp_run_job *job = worker->group->job;
    uint32_t ranks = job->program->ranks;
    pp_ns *own = worker->clock_ns;
    pp_ns(*all)[2] = pp_alloc_array(ranks, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    pp_status status = job->transport->clock_ahead(job->world, worker->rank, &own[0], &own[1], err);
    if (!status)
        status = meet(worker, own, sizeof *all, all, err);
    for (uint32_t r = 0; r < ranks && !status; r++) {
        worker->ahead_ns[r] = all[r][0];
        worker->clock_error_ns =
            all[r][1] > worker->clock_error_ns ? all[r][1] : worker->clock_error_ns;
    }
    free(all);
    return status;
}

/* The first and the last stage exchange the gradients of the weights that they share. */
static pp_status exchange_tied(pp_worker *worker, pp_err *err)
{
    const pp_worker_group *group = worker->group;
    const pp_run_job *job = group->job;
    size_t bytes = group->tied_bytes;
    uint32_t last = job->program->stages - 1;
    uint32_t first_rank = job->program->stage_rank[0];
    uint32_t last_rank = job->program->stage_rank[last];
    if (!bytes)
        return PP_OK;
    if (worker->rank == first_rank)
        job->compute->tied_get(worker->in.compute_worker, 0, worker->tied);
    if (worker->rank == last_rank)
        job->compute->tied_get(worker->in.compute_worker, last, worker->tied + bytes);
    char *all = worker->tied + 2 * bytes;
    pp_status status = meet(worker, worker->tied, 2 * bytes, all, err);
    if (!status && worker->rank == first_rank)
        job->compute->tied_put(worker->in.compute_worker, 0,
                               all + (2 * (size_t)last_rank + 1) * bytes);
    if (!status && worker->rank == last_rank)
        job->compute->tied_put(worker->in.compute_worker, last,
                               all + 2 * (size_t)first_rank * bytes);
    return status;
}

/* Sends the rows of this rank to rank 0, where those of all ranks are unpacked. */
static pp_status share_record(pp_worker *worker, pp_err *err)
{
    pp_worker_group *group = worker->group;
    const pp_program *program = group->job->program;
    size_t bytes = pp_record_bytes(program, &group->record);
    if (!worker->packed)
        return meet(worker, NULL, 0, NULL, err);
    pp_record_pack(program, &group->record, worker->rank, worker->packed);
    pp_status status = meet(worker, worker->packed, bytes, worker->packed + bytes, err);
    for (uint32_t r = 0; r < program->ranks && !status && worker->rank == 0; r++)
        pp_record_unpack(program, &group->record, r, worker->packed + (r + 1) * bytes,
                         worker->ahead_ns[r]);
    return status;
}

static pp_status run_step(pp_worker *worker, uint32_t number, pp_err *err)
{
    pp_worker_group *group = worker->group;
    const pp_run_job *job = group->job;
    uint32_t step = group->options->first_step + number;
    int64_t preemptions = pp_clock_preemptions();
    pp_status status = job->compute->begin(worker->in.compute_worker, step, err);
    pp_progress_begin(&worker->progress, step, pp_clock_now_ns());
    if (!status)
        status = job->transport->begin(job->world, worker->rank, err);
    if (!status)
        status = meet(worker, NULL, 0, NULL, err);
    if (status) /* rank 0 may still read the record of the previous step */
        return status;
    group->record.begin_ns[worker->rank] = pp_clock_now_ns();
    status = pp_interpret(&worker->in, step, err);
    if (!status && !job->program->forward_only && !(status = exchange_tied(worker, err)))
        status = worker->in.sharding ? pp_sharding_end(&worker->sharding, err)
                                     : job->compute->end(worker->in.compute_worker, err);
    group->record.over_ns[worker->rank] = pp_clock_now_ns();
    group->record.preemptions[worker->rank] = pp_clock_preemptions() - preemptions;
    if (!status)
        status = share_record(worker, err);
    if (!status && worker->rank == 0 && number >= group->options->warmup)
        status = pp_worker_group_keep(group, number - group->options->warmup, err);
    return status;
}

void *pp_worker_run(void *argument)
{
    pp_worker *worker = argument;
    pp_worker_group *group = worker->group;
    const pp_run_job *job = group->job;
    uint32_t steps = group->options->warmup + group->options->iterations;
    pp_clock_sharpen();
    pp_status status = agree(worker, &worker->err);
    if (!status)
        status = set_clocks(worker, &worker->err);
    for (uint32_t n = 0; n < steps && !status; n++)
        status = run_step(worker, n, &worker->err);
    if (!status && worker->in.sharding && group->options->keep_values)
        status = pp_sharding_restore(&worker->sharding, &worker->err);
    if (!status) /* fails if a message was left over */
        status = job->transport->begin(job->world, worker->rank, &worker->err);
    worker->status = status;
    worker->failed_ns = pp_clock_now_ns();
    if (pp_progress_now(&worker->progress).doing != PP_DOING_DEAD)
        pp_progress_set(&worker->progress, status ? PP_DOING_FAILED : PP_DOING_FINISHED, 0,
                        worker->failed_ns);
    pthread_mutex_lock(&group->lock);
    group->finished++;
    pthread_cond_signal(&group->changed);
    pthread_mutex_unlock(&group->lock);
    return NULL;
}
