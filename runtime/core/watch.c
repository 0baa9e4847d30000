/* Sees that a run gets on, and says why when it does not. */
#include "runtime/core/clock.h"
#include "runtime/core/run_int.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 20000000
#define PATIENCE_NS                                                              \
    ((pp_ns)2000000000) /* for threads to end, and for other processes to answer \
                         */

/* Until something changed, or the time to look again. Returns how many ranks have ended. */
static uint32_t doze(pp_crew *crew)
{
    pp_ns until_ns = pp_clock_now_ns() + LOOK_NS;
    struct timespec at = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };
    pthread_mutex_lock(&crew->lock);
    if (crew->finished < crew->running)
        pthread_cond_timedwait(&crew->changed, &crew->lock, &at);
    uint32_t finished = crew->finished;
    pthread_mutex_unlock(&crew->lock);
    return finished;
}

/* What the ranks here ended with; the earliest that has words of its own. Ranks that have not ended
 * do not count. */
static pp_status first_failure(pp_crew *crew, pp_err *err)
{
    const pp_hand *first = NULL;
    bool stopped = false;
    for (uint32_t h = 0; h < crew->running; h++) {
        pp_hand *hand = &crew->hand[h];
        pp_doing doing = pp_progress_now(&hand->progress).doing;
        stopped = stopped || doing == PP_DOING_DEAD;
        if (doing != PP_DOING_FAILED) /* else its thread has written what follows */
            continue;
        bool own = strcmp(hand->err.text, "stopped") != 0;
        stopped = true;
        if (own && (!first || hand->failed_ns < first->failed_ns))
            first = hand;
    }
    if (first)
        return pp_err_set(err, first->status, first->err.where, "%s", first->err.text);
    return stopped ? pp_err_set(err, PP_INFEASIBLE, NULL, PP_STOPPED_ELSEWHERE) : PP_OK;
}

/* Has a rank died, or is one at the same thing for too long? */
static bool stands_still(pp_crew *crew, bool *failed_out)
{
    pp_ns now_ns = pp_clock_now_ns();
    bool late = false;
    *failed_out = false;
    for (uint32_t h = 0; h < crew->running; h++) {
        pp_moment m = pp_progress_now(&crew->hand[h].progress);
        if (m.doing == PP_DOING_FAILED)
            *failed_out = true;
        /* those who only wait for all others, or for their turn, are late by others' fault */
        pp_ns limit_ns = crew->options->deadline_ns * (m.doing == PP_DOING_MEETING ? 2 : 1);
        if (m.doing == PP_DOING_DEAD ||
            (m.doing != PP_DOING_FINISHED && m.doing != PP_DOING_STARTING &&
             m.doing != PP_DOING_TURN && now_ns - m.since_ns > limit_ns))
            late = true;
    }
    return late;
}

/* The moments of all ranks, here and elsewhere. */
static pp_status ask_around(pp_crew *crew, pp_moment *now, bool *known, pp_err *err)
{
    const pp_run_job *job = crew->job;
    for (uint32_t h = 0; h < crew->running; h++) {
        now[crew->hand[h].rank] = pp_progress_now(&crew->hand[h].progress);
        known[crew->hand[h].rank] = true;
    }
    if (!job->transport->collect)
        return PP_OK;
    pp_moment own = now[crew->first];
    own.since_ns -= crew->hand[0].ahead_ns[crew->first];
    return job->transport->collect(job->world, &own, sizeof own, PATIENCE_NS, now, known, err);
}

static pp_status tell_hang(pp_crew *crew, pp_err *err)
{
    const pp_program *program = crew->job->program;
    pp_moment *now = pp_alloc_array(program->ranks, sizeof *now);
    bool *known = pp_alloc_array(program->ranks, sizeof *known);
    bool *matched = pp_alloc_array(program->comm->transfer_count, sizeof *matched);
    const pp_transport *transport = crew->job->transport;
    pp_status status = !now || !known || !matched ? pp_err_nomem(err) : PP_OK;
    if (!status)
        status = ask_around(crew, now, known, err);
    for (size_t t = 0; transport->matched && t < program->comm->transfer_count && !status; t++)
        matched[t] = transport->matched(crew->job->world, (uint32_t)t);
    if (!status)
        status = pp_hang_report(program, now, known, transport->matched ? matched : NULL,
                                pp_clock_now_ns() - crew->hand[0].ahead_ns[crew->first], err);
    free(now);
    free(known);
    free(matched);
    return status;
}

/* Did all ranks here end with what every other rank finds out for itself? */
static bool all_know(pp_crew *crew)
{
    for (uint32_t h = 0; h < crew->running; h++) {
        bool over = pp_progress_now(&crew->hand[h].progress).doing == PP_DOING_FAILED;
        if (!over || !crew->hand[h].disagrees) /* the second is written before the first */
            return false;
    }
    return true;
}

static void end_all(pp_crew *crew)
{
    atomic_store(&crew->ended, true);
    crew->job->transport->abort(crew->job->world);
}

/* The last moments of every rank here; NULL where memory is out. */
static char *write_flight(pp_crew *crew)
{
    pp_json_build build = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    pp_json *root PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *ranks = pp_json_new_array(&build);
    pp_ns origin_ns = crew->record.begin_ns[crew->first];
    pp_json_put_text(&build, root, "format", "ppsim.flight");
    pp_json_put_int(&build, root, "version", 1);
    for (uint32_t h = 0; h < crew->running; h++) {
        pp_json *item = pp_json_new_object(&build);
        pp_json_put_int(&build, item, "rank", crew->hand[h].rank);
        pp_json_put(
            &build, item, "moments",
            pp_progress_write(&crew->hand[h].progress, crew->job->program, origin_ns, &build));
        pp_json_add(&build, ranks, item);
    }
    pp_json_put(&build, root, "ranks", ranks);
    return pp_json_print(&build, root, &text, &bytes, NULL) ? NULL : text;
}

/* Until all threads have ended; false: some do not. */
static bool all_end(pp_crew *crew)
{
    pp_ns until_ns = pp_clock_now_ns() + PATIENCE_NS;
    uint32_t finished = 0;
    while ((finished = doze(crew)) < crew->running && pp_clock_now_ns() < until_ns)
        ;
    return finished == crew->running;
}

static void tell_progress(pp_crew *crew)
{
    const pp_run_options *o = crew->options;
    if (!o->progress || crew->first)
        return;
    const uint32_t step = pp_progress_now(&crew->hand[0].progress).step;
    o->progress(o->progress_context, step > o->first_step ? step - o->first_step : 0,
                o->warmup + o->iterations);
}

pp_status pp_crew_watch(pp_crew *crew, bool *given_up_out, pp_err *err)
{
    const pp_run_job *job = crew->job;
    pp_status status = PP_OK;
    bool failed = false;
    bool over = false;
    while (!status && !failed && !over) {
        over = doze(crew) == crew->running; /* how they ended is looked at all the same */
        tell_progress(crew);
        if (!over && crew->options->stop && *crew->options->stop)
            status = pp_err_set(err, PP_INFEASIBLE, NULL, PP_INTERRUPTED);
        else if (stands_still(crew, &failed) && !failed)
            status = tell_hang(crew, err);
        else if (!over && job->transport->alarmed && job->transport->alarmed(job->world))
            status = tell_hang(crew, err);
    }
    if (status || (failed && !all_know(crew)))
        end_all(crew);
    *given_up_out = !all_end(crew);
    if (!status)
        status = first_failure(crew, err);
    if (*given_up_out)
        pp_err_set(err, PP_INFEASIBLE, NULL, "a rank failed, and others do not end");
    if (status || *given_up_out)
        crew->result->flight = write_flight(crew);
    return *given_up_out ? PP_INFEASIBLE : status;
}
