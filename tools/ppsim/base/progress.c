/* Shows the progress of a search in one line of a terminal, from its first second on. A thread
 * writes it, since a search that finds nothing better for a while reports nothing. */
#include "tools/ppsim/base/progress.h"

#include "runtime/core/clock.h"
#include "tools/ppsim/base/ticker.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 1000000000
#define EVERY_NS 200000000

static void show(pp_progress_line *line)
{
    const int64_t now_ns = pp_clock_now_ns();
    char left[32] = "";
    if (line->end_ns)
        snprintf(left, sizeof left, ", %.0f s left",
                 now_ns < line->end_ns ? (double)(line->end_ns - now_ns) * 1e-9 : 0);
    char text[256];
    snprintf(text, sizeof text, "%.0f s%s: %s", (double)(now_ns - line->begin_ns) * 1e-9, left,
             line->best[0] ? line->best : "searching");
    pp_ticker_line(text);
    line->shown = true;
}

static struct timespec after(int64_t ns)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    const int64_t sum_ns = at.tv_nsec + ns;
    at.tv_sec += (time_t)(sum_ns / 1000000000);
    at.tv_nsec = (long)(sum_ns % 1000000000);
    return at;
}

static void *run(void *argument)
{
    pp_progress_line *line = argument;
    const int64_t gone_ns = pp_clock_now_ns() - line->begin_ns;
    struct timespec next = after(gone_ns < FIRST_NS ? FIRST_NS - gone_ns : 0);
    pthread_mutex_lock(&line->lock);
    while (!line->ended) {
        if (pthread_cond_timedwait(&line->end, &line->lock, &next) && !line->ended) {
            show(line);
            next = after(EVERY_NS);
        }
    }
    pthread_mutex_unlock(&line->lock);
    return NULL;
}

void pp_progress_line_begin(pp_progress_line *line, int64_t begin_ns, int64_t end_ns)
{
    pthread_condattr_t monotonic;
    *line = (pp_progress_line){ .console = pp_console_current(),
                                .begin_ns = begin_ns,
                                .end_ns = end_ns };
    if (line->console || isatty(STDERR_FILENO) != 1)
        return;
    pthread_mutex_init(&line->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&line->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    line->runs = pthread_create(&line->thread, NULL, run, line) == 0;
}

void pp_progress_line_set(pp_progress_line *line, const char *best)
{
    if (line->console)
        pp_console_progress(line->console, best);
    if (!line->runs)
        return;
    pthread_mutex_lock(&line->lock);
    snprintf(line->best, sizeof line->best, "%s", best);
    pthread_mutex_unlock(&line->lock);
}

void pp_progress_line_hide(pp_progress_line *line)
{
    if (!line->runs)
        return;
    pthread_mutex_lock(&line->lock);
    if (line->shown)
        pp_ticker_line("");
    pthread_mutex_unlock(&line->lock);
}

void pp_progress_line_end(pp_progress_line *line)
{
    if (!line->runs)
        return;
    pthread_mutex_lock(&line->lock);
    line->ended = true;
    pthread_cond_signal(&line->end);
    pthread_mutex_unlock(&line->lock);
    pthread_join(line->thread, NULL);
    pthread_cond_destroy(&line->end);
    pthread_mutex_destroy(&line->lock);
    if (line->shown)
        pp_ticker_line("");
    line->runs = false;
}
