/* The watchdog of a run. It runs in the thread that called pp_run and looks at the progress of all
 * ranks every 20 ms, detects ranks that failed, died or made no progress for longer than the
 * deadline, collects the states of other processes, reports the cause, and ends all ranks. */
#include "runtime/core/watchdog.h"

#include "runtime/core/clock.h"
#include "runtime/core/deadlock_report.h"
#include "runtime/core/progress_json.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 20000000
#define PATIENCE_NS                                                              \
    ((pp_ns)2000000000) /* for threads to end, and for other processes to answer \
                         */

/* Waits until a rank ends, at most LOOK_NS. Returns how many ranks have ended. */
static uint32_t wait_for_change(pp_worker_group *group)
{
    pp_ns until_ns = pp_clock_now_ns() + LOOK_NS;
    struct timespec at = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };
    pthread_mutex_lock(&group->lock);
    if (group->finished < group->running)
        pthread_cond_timedwait(&group->changed, &group->lock, &at);
    uint32_t finished = group->finished;
    pthread_mutex_unlock(&group->lock);
    return finished;
}

/* Returns the failure that came first among the ranks here that have ended, unless it is only
 * "stopped". */
static pp_status first_failure(pp_worker_group *group, pp_err *err)
{
    const pp_worker *first = NULL;
    bool stopped = false;
    for (uint32_t h = 0; h < group->running; h++) {
        pp_worker *worker = &group->worker[h];
        pp_doing doing = pp_progress_now(&worker->progress).doing;
        stopped = stopped || doing == PP_DOING_DEAD;
        if (doing != PP_DOING_FAILED) /* the err of a failed rank is complete */
            continue;
        bool own = strcmp(worker->err.text, "stopped") != 0;
        stopped = true;
        if (own && (!first || worker->failed_ns < first->failed_ns))
            first = worker;
    }
    if (first)
        return pp_err_set(err, first->status, first->err.where, "%s", first->err.text);
    return stopped ? pp_err_set(err, PP_INFEASIBLE, NULL, PP_STOPPED_ELSEWHERE) : PP_OK;
}

/* Returns whether a rank has died or has done the same thing for longer than its limit. */
static bool stands_still(pp_worker_group *group, bool *failed_out)
{
    pp_ns now_ns = pp_clock_now_ns();
    bool late = false;
    *failed_out = false;
    for (uint32_t h = 0; h < group->running; h++) {
        pp_moment m = pp_progress_now(&group->worker[h].progress);
        if (m.doing == PP_DOING_FAILED)
            *failed_out = true;
        /* a rank that waits for all others, or for its turn, is late because of others */
        pp_ns limit_ns = group->options->deadline_ns * (m.doing == PP_DOING_MEETING ? 2 : 1);
        if (m.doing == PP_DOING_DEAD ||
            (m.doing != PP_DOING_FINISHED && m.doing != PP_DOING_STARTING &&
             m.doing != PP_DOING_TURN && now_ns - m.since_ns > limit_ns))
            late = true;
    }
    return late;
}

/* Collects what all ranks are doing, in this process and in others. */
static pp_status collect_states(pp_worker_group *group, pp_moment *now, bool *known, pp_err *err)
{
    const pp_run_job *job = group->job;
    for (uint32_t h = 0; h < group->running; h++) {
        now[group->worker[h].rank] = pp_progress_now(&group->worker[h].progress);
        known[group->worker[h].rank] = true;
    }
    if (!job->transport->collect)
        return PP_OK;
    pp_moment own = now[group->first];
    own.since_ns -= group->worker[0].ahead_ns[group->first];
    return job->transport->collect(job->world, &own, sizeof own, PATIENCE_NS, now, known, err);
}

static pp_status report_deadlock(pp_worker_group *group, pp_err *err)
{
    const pp_program *program = group->job->program;
    pp_moment *now = pp_alloc_array(program->ranks, sizeof *now);
    bool *known = pp_alloc_array(program->ranks, sizeof *known);
    bool *matched = pp_alloc_array(program->comm->transfer_count, sizeof *matched);
    const pp_transport *transport = group->job->transport;
    pp_status status = !now || !known || !matched ? pp_err_nomem(err) : PP_OK;
    if (!status)
        status = collect_states(group, now, known, err);
    for (size_t t = 0; transport->matched && t < program->comm->transfer_count && !status; t++)
        matched[t] = transport->matched(group->job->world, (uint32_t)t);
    if (!status)
        status = pp_deadlock_report(
            program, now, known, transport->matched ? matched : NULL, transport->has_queues,
            pp_clock_now_ns() - group->worker[0].ahead_ns[group->first], err);
    free(now);
    free(known);
    free(matched);
    return status;
}

/* Returns whether all ranks here ended with a failure that every other rank finds by itself. */
static bool all_know(pp_worker_group *group)
{
    for (uint32_t h = 0; h < group->running; h++) {
        bool over = pp_progress_now(&group->worker[h].progress).doing == PP_DOING_FAILED;
        if (!over || !group->worker[h].disagrees) /* the second is written before the first */
            return false;
    }
    return true;
}

static void end_all(pp_worker_group *group)
{
    atomic_store(&group->ended, true);
    group->job->transport->abort(group->job->world);
}

/* Returns the flight record, the last moments of every rank here as JSON, or NULL when out of
 * memory. */
static char *write_flight(pp_worker_group *group)
{
    pp_json_build build = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *ranks = pp_json_new_array(&build);
    pp_ns origin_ns = group->record.begin_ns[group->first];
    pp_json_put_text(&build, root, "format", "ppsim.flight");
    pp_json_put_int(&build, root, "version", 1);
    for (uint32_t h = 0; h < group->running; h++) {
        pp_json *item = pp_json_new_object(&build);
        pp_json_put_int(&build, item, "rank", group->worker[h].rank);
        pp_json_put(
            &build, item, "moments",
            pp_progress_write(&group->worker[h].progress, group->job->program, origin_ns, &build));
        pp_json_add(&build, ranks, item);
    }
    pp_json_put(&build, root, "ranks", ranks);
    return pp_json_print(&build, root, &text, &bytes, NULL) ? NULL : text;
}

/* Waits until all threads have ended, for PATIENCE_NS at most. Returns false if some have not. */
static bool all_end(pp_worker_group *group)
{
    pp_ns until_ns = pp_clock_now_ns() + PATIENCE_NS;
    uint32_t finished = 0;
    while ((finished = wait_for_change(group)) < group->running && pp_clock_now_ns() < until_ns)
        ;
    return finished == group->running;
}

static void tell_progress(pp_worker_group *group)
{
    const pp_run_options *o = group->options;
    if (!o->progress || group->first)
        return;
    const uint32_t step = pp_progress_now(&group->worker[0].progress).step;
    o->progress(o->progress_context, step > o->first_step ? step - o->first_step : 0,
                o->warmup + o->iterations);
}

pp_status pp_worker_group_watch(pp_worker_group *group, bool *given_up_out, pp_err *err)
{
    const pp_run_job *job = group->job;
    pp_status status = PP_OK;
    bool failed = false;
    bool over = false;
    while (!status && !failed && !over) {
        over =
            wait_for_change(group) == group->running; /* the loop still looks at how they ended */
        tell_progress(group);
        if (!over && (status = pp_transport_lost(job->transport, job->world, err)))
            group->result->lost = true;
        else if (!over && group->options->stop && *group->options->stop)
            status = pp_err_set(err, PP_INFEASIBLE, NULL, PP_INTERRUPTED);
        else if (stands_still(group, &failed) && !failed)
            status = report_deadlock(group, err);
        else if (!over && job->transport->alarmed && job->transport->alarmed(job->world))
            status = report_deadlock(group, err);
    }
    if (status || (failed && !all_know(group)))
        end_all(group);
    *given_up_out = !all_end(group);
    if (!status)
        status = first_failure(group, err);
    if (*given_up_out)
        pp_err_set(err, PP_INFEASIBLE, NULL, "a rank failed, but other ranks have not ended");
    if (status || *given_up_out)
        group->result->flight = write_flight(group);
    return *given_up_out ? PP_INFEASIBLE : status;
}
