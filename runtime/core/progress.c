/* What a rank does now, and a ring of what it did before, under a lock of its own. The rank's
 * thread writes; the watchdog and the flight record read. */
#include "runtime/core/progress.h"

#include <stdio.h>

static const char *const words[] = {
#define PP_DOING_WORD(id, word) #word,
    PP_DOING_MAP(PP_DOING_WORD)
#undef PP_DOING_WORD
};

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

static void put_moment(const pp_program *program, const pp_moment *m, pp_ns origin_ns,
                       pp_json *list, pp_json_build *build)
{
    char token[40];
    pp_json *item = pp_json_new_object(build);
    pp_json_put_text(build, item, "does", words[m->doing]);
    pp_json_put_int(build, item, "since_ns", m->since_ns - origin_ns);
    pp_json_put_int(build, item, "step", m->step);
    if (m->doing == PP_DOING_COMPUTING || m->doing == PP_DOING_TURN || m->doing == PP_DOING_DEAD)
        pp_json_put_text(build, item, "what",
                         pp_op_print(program->op[m->what], token, sizeof token));
    if (m->doing == PP_DOING_WAITING || m->doing == PP_DOING_POSTING)
        pp_json_put_text(build, item, "what",
                         pp_transfer_print(&program->comm->transfer[m->what], token, sizeof token));
    pp_json_add(build, list, item);
}

pp_json *pp_progress_write(pp_progress *progress, const pp_program *program, pp_ns origin_ns,
                           pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    pthread_mutex_lock(&progress->lock);
    uint64_t end = progress->recorded;
    uint64_t begin = end > PP_FLIGHT_MOMENTS ? end - PP_FLIGHT_MOMENTS : 0;
    for (uint64_t k = begin; k < end; k++)
        put_moment(program, &progress->flight[k % PP_FLIGHT_MOMENTS], origin_ns, list, build);
    pthread_mutex_unlock(&progress->lock);
    return list;
}
