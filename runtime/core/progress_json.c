/* Writes the ring of moments of a rank as a list, oldest first, with ops and transfers by name. */
#include "runtime/core/progress_json.h"

#include "sim/program/comm.h"

static const char *const words[] = {
#define PP_DOING_WORD(id, word) #word,
    PP_DOING_MAP(PP_DOING_WORD)
#undef PP_DOING_WORD
};

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
