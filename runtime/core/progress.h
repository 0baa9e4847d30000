/* What each rank is doing now, and what it did last: written by the rank's thread, read by the
 * watchdog. */
#ifndef PPSIM_RUNTIME_CORE_PROGRESS_H
#define PPSIM_RUNTIME_CORE_PROGRESS_H

#include "sim/base/json.h"
#include "sim/program/comm.h"

#include <pthread.h>

/* enum, word in flight records */
#define PP_DOING_MAP(X)    \
    X(STARTING, starting)  \
    X(COMPUTING, computes) \
    X(TURN, queues)        \
    X(WAITING, awaits)     \
    X(POSTING, posts)      \
    X(MEETING, meets)      \
    X(FINISHED, finished)  \
    X(DEAD, died)          \
    X(FAILED, failed)

typedef enum pp_doing {
#define PP_DOING_ENUM(id, word) PP_DOING_##id,
    PP_DOING_MAP(PP_DOING_ENUM)
#undef PP_DOING_ENUM
} pp_doing;

/* COMPUTING, TURN (waits until no other rank computes on its GPU), DEAD: what is an instruction;
 * WAITING, POSTING: a transfer; else 0. */
typedef struct pp_moment {
    pp_ns since_ns; /* on the clock of its rank */
    uint32_t step;  /* of the run */
    uint32_t what;
    uint32_t steps_taken; /* of its program, in this step */
    pp_doing doing;
} pp_moment;

#define PP_FLIGHT_MOMENTS 256

typedef struct pp_progress {
    pthread_mutex_t lock;
    pp_moment now;
    pp_moment flight[PP_FLIGHT_MOMENTS]; /* the last ones, a ring */
    uint64_t recorded;
} pp_progress;

void pp_progress_init(pp_progress *progress);
void pp_progress_destroy(pp_progress *progress);
void pp_progress_set(pp_progress *progress, pp_doing doing, uint32_t what, pp_ns now_ns);
/* The next step of the run begins; steps_taken is 0 again. */
void pp_progress_begin(pp_progress *progress, uint32_t step, pp_ns now_ns);
/* The rank has taken one more step of its program. */
void pp_progress_step(pp_progress *progress);
pp_moment pp_progress_now(pp_progress *progress);

/* The last moments of a rank, oldest first: a list of objects. */
pp_json *pp_progress_write(pp_progress *progress, const pp_program *program, pp_ns origin_ns,
                           pp_json_build *build);

#endif
