/* What the thread of one rank does during a run. */
#include "runtime/core/agree.h"
#include "runtime/core/clock.h"
#include "runtime/core/run_int.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static pp_status meet(pp_hand *hand, const void *mine, size_t bytes, void *all_out, pp_err *err)
{
    const pp_run_job *job = hand->crew->job;
    pp_progress_set(&hand->progress, PP_DOING_MEETING, 0, pp_clock_now_ns());
    return job->transport->all_gather(job->world, hand->rank, mine, bytes, all_out, err);
}

static pp_status agree(pp_hand *hand, pp_err *err)
{
    const pp_crew *crew = hand->crew;
    uint32_t ranks = crew->job->program->ranks;
    pp_agreement *own = &hand->agreement;
    pp_agreement *all = pp_alloc_array(ranks, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    *own = pp_agreement_of(&hand->in, crew->options);
    if (pp_faults_at(crew->options->faults, PP_FAULT_PLAN, hand->rank, 0, 0))
        own->program = ~own->program;
    pp_ns begin_ns = pp_clock_now_ns();
    pp_status status = meet(hand, own, sizeof *own, all, err);
    hand->agreement_ns = pp_clock_now_ns() - begin_ns;
    if (!status) {
        status = pp_agreement_check(all, ranks, err);
        hand->disagrees = status != PP_OK;
    }
    free(all);
    return status;
}

/* How far the clocks of all ranks are ahead of rank 0's. */
static pp_status set_clocks(pp_hand *hand, pp_err *err)
{
    const pp_run_job *job = hand->crew->job;
    uint32_t ranks = job->program->ranks;
    pp_ns *own = hand->clock_ns;
    pp_ns(*all)[2] = pp_alloc_array(ranks, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    pp_status status = job->transport->clock_ahead(job->world, hand->rank, &own[0], &own[1], err);
    if (!status)
        status = meet(hand, own, sizeof *all, all, err);
    for (uint32_t r = 0; r < ranks && !status; r++) {
        hand->ahead_ns[r] = all[r][0];
        hand->clock_error_ns = all[r][1] > hand->clock_error_ns ? all[r][1] : hand->clock_error_ns;
    }
    free(all);
    return status;
}

/* First and last stage exchange the gradients of the weights that they share. */
static pp_status exchange_tied(pp_hand *hand, pp_err *err)
{
    const pp_crew *crew = hand->crew;
    const pp_run_job *job = crew->job;
    size_t bytes = crew->tied_bytes;
    uint32_t last = job->program->stages - 1;
    uint32_t first_rank = job->program->stage_rank[0];
    uint32_t last_rank = job->program->stage_rank[last];
    if (!bytes)
        return PP_OK;
    if (hand->rank == first_rank)
        job->compute->tied_get(hand->in.worker, 0, hand->tied);
    if (hand->rank == last_rank)
        job->compute->tied_get(hand->in.worker, last, hand->tied + bytes);
    char *all = hand->tied + 2 * bytes;
    pp_status status = meet(hand, hand->tied, 2 * bytes, all, err);
    if (!status && hand->rank == first_rank)
        job->compute->tied_put(hand->in.worker, 0, all + (2 * (size_t)last_rank + 1) * bytes);
    if (!status && hand->rank == last_rank)
        job->compute->tied_put(hand->in.worker, last, all + 2 * (size_t)first_rank * bytes);
    return status;
}

/* Everybody's rows come to everybody. */
static pp_status share_record(pp_hand *hand, pp_err *err)
{
    pp_crew *crew = hand->crew;
    const pp_program *program = crew->job->program;
    size_t bytes = pp_record_bytes(program, &crew->record);
    if (!hand->packed)
        return meet(hand, NULL, 0, NULL, err);
    pp_record_pack(program, &crew->record, hand->rank, hand->packed);
    pp_status status = meet(hand, hand->packed, bytes, hand->packed + bytes, err);
    for (uint32_t r = 0; r < program->ranks && !status && hand->rank == 0; r++)
        pp_record_unpack(program, &crew->record, r, hand->packed + (r + 1) * bytes,
                         hand->ahead_ns[r]);
    return status;
}

static pp_status run_step(pp_hand *hand, uint32_t number, pp_err *err)
{
    pp_crew *crew = hand->crew;
    const pp_run_job *job = crew->job;
    uint32_t step = crew->options->first_step + number;
    int64_t preemptions = pp_clock_preemptions();
    pp_status status = job->compute->begin(hand->in.worker, step, err);
    pp_progress_begin(&hand->progress, step, pp_clock_now_ns());
    if (!status)
        status = job->transport->begin(job->world, hand->rank, err);
    if (!status)
        status = meet(hand, NULL, 0, NULL, err);
    if (status) /* rank 0 may still read what was written of the step before */
        return status;
    crew->record.begin_ns[hand->rank] = pp_clock_now_ns();
    status = pp_interpret(&hand->in, step, err);
    if (!status && !job->program->forward_only && !(status = exchange_tied(hand, err)))
        status = job->compute->end(hand->in.worker, err);
    crew->record.over_ns[hand->rank] = pp_clock_now_ns();
    crew->record.preemptions[hand->rank] = pp_clock_preemptions() - preemptions;
    if (!status)
        status = share_record(hand, err);
    if (!status && hand->rank == 0 && number >= crew->options->warmup)
        status = pp_crew_keep(crew, number - crew->options->warmup, err);
    return status;
}

void *pp_hand_run(void *argument)
{
    pp_hand *hand = argument;
    pp_crew *crew = hand->crew;
    const pp_run_job *job = crew->job;
    uint32_t steps = crew->options->warmup + crew->options->iterations;
    pp_clock_sharpen();
    pp_status status = agree(hand, &hand->err);
    if (!status)
        status = set_clocks(hand, &hand->err);
    for (uint32_t n = 0; n < steps && !status; n++)
        status = run_step(hand, n, &hand->err);
    if (!status) /* is anything left over? */
        status = job->transport->begin(job->world, hand->rank, &hand->err);
    hand->status = status;
    hand->failed_ns = pp_clock_now_ns();
    if (pp_progress_now(&hand->progress).doing != PP_DOING_DEAD)
        pp_progress_set(&hand->progress, status ? PP_DOING_FAILED : PP_DOING_FINISHED, 0,
                        hand->failed_ns);
    pthread_mutex_lock(&crew->lock);
    crew->finished++;
    pthread_cond_signal(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}
