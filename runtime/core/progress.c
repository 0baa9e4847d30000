/* Keeps what a rank is doing now, and a ring of what it did before; one lock protects both. The
 * thread of the rank writes them; the watchdog and the flight record read them. */
#include "runtime/core/progress.h"

void pp_progress_init(pp_progress *progress)
{
    *progress = (pp_progress){ .now = { .doing = PP_DOING_STARTING } };
    pthread_mutex_init(&progress->lock, NULL);
}

void pp_progress_destroy(pp_progress *progress)
{
    pthread_mutex_destroy(&progress->lock);
}

void pp_progress_set(pp_progress *progress, pp_doing doing, uint32_t what, pp_ns now_ns)
{
    pthread_mutex_lock(&progress->lock);
    progress->now.doing = doing;
    progress->now.what = what;
    progress->now.since_ns = now_ns;
    progress->flight[progress->recorded++ % PP_FLIGHT_MOMENTS] = progress->now;
    pthread_mutex_unlock(&progress->lock);
}

void pp_progress_begin(pp_progress *progress, uint32_t step, pp_ns now_ns)
{
    pthread_mutex_lock(&progress->lock);
    progress->now.step = step;
    progress->now.steps_taken = 0;
    pthread_mutex_unlock(&progress->lock);
    pp_progress_set(progress, PP_DOING_MEETING, 0, now_ns);
}

void pp_progress_step(pp_progress *progress)
{
    pthread_mutex_lock(&progress->lock);
    progress->now.steps_taken++;
    pthread_mutex_unlock(&progress->lock);
}

pp_moment pp_progress_now(pp_progress *progress)
{
    pthread_mutex_lock(&progress->lock);
    pp_moment now = progress->now;
    pthread_mutex_unlock(&progress->lock);
    return now;
}
