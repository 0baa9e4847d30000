/* A barrier per rank, with two rows of addresses in turn: a thread that is already in the next
 * round does not overwrite what others still read. */
#include "runtime/core/meeting.h"

#include "runtime/core/transport.h"
#include "sim/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

/* The meetings of one rank. */
typedef struct place {
    pthread_cond_t all_here;
    const void **shown; /* [2 * replicas] */
    uint64_t round;
    uint32_t here;
} place;

struct pp_meeting {
    uint32_t ranks, replicas;
    place *place; /* [ranks] */
    const void **shown;
    pthread_mutex_t lock; /* protects all places */
    bool stopped;
};

void pp_meeting_free(pp_meeting **meeting)
{
    pp_meeting *m = *meeting;
    if (!m)
        return;
    for (uint32_t r = 0; m->place && r < m->ranks; r++)
        pthread_cond_destroy(&m->place[r].all_here);
    pthread_mutex_destroy(&m->lock);
    free(m->place);
    free(m->shown);
    free(m);
    *meeting = NULL;
}

pp_status pp_meeting_new(uint32_t ranks, uint32_t replicas, pp_meeting **meeting_out, pp_err *err)
{
    pp_meeting *m = pp_alloc_array(1, sizeof *m);
    if (!m)
        return pp_err_nomem(err);
    *m = (pp_meeting){ .ranks = ranks, .replicas = replicas };
    pthread_mutex_init(&m->lock, NULL);
    m->place = pp_alloc_array(ranks, sizeof *m->place);
    m->shown = pp_alloc_array(2 * (size_t)ranks, replicas * sizeof *m->shown);
    for (uint32_t r = 0; m->place && r < ranks; r++) {
        pthread_cond_init(&m->place[r].all_here, NULL);
        m->place[r].shown = m->shown ? m->shown + 2 * (size_t)r * replicas : NULL;
    }
    *meeting_out = m;
    if (m->place && m->shown)
        return PP_OK;
    pp_meeting_free(meeting_out);
    return pp_err_nomem(err);
}

pp_status pp_meeting_show(pp_meeting *m, uint32_t rank, uint32_t replica, const void *mine,
                          const void *const **all_out, pp_err *err)
{
    place *p = &m->place[rank];
    pthread_mutex_lock(&m->lock);
    const uint64_t round = p->round;
    const void **shown = p->shown + (round % 2) * m->replicas;
    shown[replica] = mine;
    if (++p->here == m->replicas) {
        p->here = 0;
        p->round++;
        pthread_cond_broadcast(&p->all_here);
    }
    while (p->round == round && !m->stopped)
        pthread_cond_wait(&p->all_here, &m->lock);
    const bool through = p->round != round;
    pthread_mutex_unlock(&m->lock);
    *all_out = shown;
    return through ? PP_OK : pp_world_stopped(err);
}

void pp_meeting_abort(pp_meeting *m)
{
    pthread_mutex_lock(&m->lock);
    m->stopped = true;
    for (uint32_t r = 0; r < m->ranks; r++)
        pthread_cond_broadcast(&m->place[r].all_here);
    pthread_mutex_unlock(&m->lock);
}
