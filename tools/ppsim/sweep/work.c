/* Hands out the points of a sweep to threads and processes, and keeps the first line that arrives
 * for each. */
#include "tools/ppsim/sweep/work.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/ticker.h"
#include "tools/ppsim/plan/interrupt.h"
#include "tools/ppsim/sweep/point.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The most points that are handed out at once; the points that are left make so many batches for
 * each thread, as long as there are enough. */
enum { BATCH_MOST = 20, BATCHES_EACH = 4 };

struct pp_sweep_work {
    const pp_sweep *sweep;
    pp_console *console;  /* of the thread that made this */
    pthread_mutex_t lock; /* protects all fields below */
    pp_sweep_file *file;
    pp_sweep_lines *lines;
    uint32_t threads;
    uint32_t next;         /* all points before it have been handed out */
    uint32_t left, wanted; /* points without a line; points of this shard */
    pp_err failure;
    pp_ticker ticker;
};

pp_status pp_sweep_work_new(const pp_sweep *sweep, pp_sweep_file *file, pp_sweep_lines *lines,
                            pp_sweep_work **work_out, pp_err *err)
{
    pp_sweep_work *work = pp_alloc_array(1, sizeof *work);
    if (!work)
        return pp_err_nomem(err);
    work->sweep = sweep;
    work->console = pp_console_current();
    work->file = file;
    work->lines = lines;
    for (uint32_t i = 0; i < lines->points; i++) {
        work->wanted += pp_sweep_has(sweep, i);
        work->left += pp_sweep_has(sweep, i) && !lines->line[i];
    }
    work->ticker = pp_ticker_begin("points", work->wanted - work->left);
    pthread_mutex_init(&work->lock, NULL);
    *work_out = work;
    return PP_OK;
}

void pp_sweep_work_free(pp_sweep_work **work)
{
    if (!*work)
        return;
    pthread_mutex_destroy(&(*work)->lock);
    free(*work);
    *work = NULL;
}

/* Finds the first point of this shard from *at on that has no line. The caller holds the lock. */
static bool find_open(const pp_sweep_work *work, uint32_t *at)
{
    while (*at < work->lines->points && (!pp_sweep_has(work->sweep, *at) || work->lines->line[*at]))
        ++*at;
    return *at < work->lines->points;
}

static bool is_over(const pp_sweep_work *work)
{
    return work->left == 0 || work->failure.status || pp_interrupted(work->console);
}

/* Points that follow each other are handed out to one thread, since many have the same orders and
 * programs: `next` is the first of them that is left. */
typedef struct batch {
    uint32_t next, end;
} batch;

/* Takes the next point of the thread's batch, or of a new one if it has none. Batches become
 * shorter towards the end, so that the threads end together. */
static bool take(pp_sweep_work *work, batch *own, uint32_t *point_out)
{
    pthread_mutex_lock(&work->lock);
    const uint32_t shards = work->sweep->shards;
    bool found = !is_over(work);
    if (found && (!find_open(work, &own->next) || own->next >= own->end)) {
        const uint32_t fair = work->left / (BATCHES_EACH * work->threads);
        const uint32_t points = fair < 1 ? 1 : fair < BATCH_MOST ? fair : BATCH_MOST;
        found = find_open(work, &work->next);
        own->next = work->next;
        own->end = points < (work->lines->points - own->next) / shards ? own->next + points * shards
                                                                       : work->lines->points;
        work->next = own->end;
    }
    if (found)
        *point_out = own->next++;
    pthread_mutex_unlock(&work->lock);
    return found;
}

static void show(pp_sweep_work *work)
{
    if (work->left)
        pp_ticker_show(&work->ticker, "", work->wanted - work->left, work->wanted);
    else
        pp_ticker_end(&work->ticker);
}

/* After it no point is handed out. The caller holds the lock. */
static void fail_locked(pp_sweep_work *work, const pp_err *why)
{
    if (!work->failure.status)
        work->failure = *why;
}

/* Takes over the line of a point. */
static void give(pp_sweep_work *work, uint32_t point, char *line, size_t bytes)
{
    pp_err err = PP_COMMAND_ERR;
    pthread_mutex_lock(&work->lock);
    if (work->lines->line[point] || work->failure.status) {
        free(line);
    } else if (pp_sweep_file_append(work->file, line, bytes, &err)) {
        fail_locked(work, &err);
        free(line);
    } else {
        work->lines->line[point] = line;
        work->lines->done++;
        work->left--;
        show(work);
    }
    pthread_mutex_unlock(&work->lock);
}

static void fail(pp_sweep_work *work, const pp_err *why)
{
    pthread_mutex_lock(&work->lock);
    fail_locked(work, why);
    pthread_mutex_unlock(&work->lock);
}

pp_status pp_sweep_result(pp_sweep_work *work, pp_err *err)
{
    if (work->failure.status)
        return pp_err_set(err, work->failure.status, work->failure.where, "%s", work->failure.text);
    return pp_sweep_file_sync(work->file, err);
}

bool pp_sweep_unfinished(pp_sweep_work *work, uint32_t *done_out, uint32_t *wanted_out)
{
    pthread_mutex_lock(&work->lock);
    *wanted_out = work->wanted;
    *done_out = work->wanted - work->left;
    if (work->left)
        pp_ticker_end(&work->ticker);
    pthread_mutex_unlock(&work->lock);
    return *done_out < *wanted_out;
}

static void compute(pp_sweep_work *work)
{
    pp_kept_orders *kept PP_CLEANUP(pp_kept_orders_free) = NULL;
    pp_err why = PP_COMMAND_ERR;
    batch own = { 0 };
    uint32_t point;
    if (pp_kept_orders_new(&kept, &why)) {
        fail(work, &why);
        return;
    }
    while (take(work, &own, &point)) {
        char *line = NULL;
        size_t bytes = 0;
        pp_err err = PP_COMMAND_ERR;
        pp_status status = pp_point_run(work->sweep, point, kept, &line, &bytes, &err);
        err.status = status; /* the status is set even if there is no message */
        if (status)
            fail(work, &err);
        else
            give(work, point, line, bytes);
    }
}

static void *run_thread(void *argument)
{
    pp_console_use(((pp_sweep_work *)argument)->console);
    compute(argument);
    return NULL;
}

/* If a thread cannot be created, the others compute its points. */
void pp_sweep_compute(pp_sweep_work *work, uint32_t threads)
{
    pthread_t *thread = pp_alloc_array(threads, sizeof *thread);
    uint32_t started = 0;
    work->threads = threads;
    while (thread && started + 1 < threads &&
           pthread_create(&thread[started], NULL, run_thread, work) == 0)
        started++;
    compute(work);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}
