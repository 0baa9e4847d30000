/* What each rank is doing now, and what it did before: written by the thread of the rank, read by
 * the watchdog. */
#ifndef PPSIM_RUNTIME_CORE_PROGRESS_H
#define PPSIM_RUNTIME_CORE_PROGRESS_H

#include "sim/base/units.h"

#include <pthread.h>
#include <stdint.h>

/* enum value, its word in the flight record */
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

/* The state of a rank since one point in time. `what` is the index of an op of the program when the
 * rank computes, waits for its turn (until no other rank computes on its GPU), or died before that
 * op; it is the index of a transfer when the rank waits for one or posts one, and says whom it
 * meets; else it is 0. */
enum { PP_MEETS_RANKS, PP_MEETS_REPLICAS };

typedef struct pp_moment {
    pp_ns since_ns; /* on the clock of its rank */
    uint32_t step;  /* training step of the run, from 0 */
    uint32_t what;
    uint32_t steps_taken; /* steps of the rank's program that it has carried out in this step */
    pp_doing doing;
} pp_moment;

#define PP_FLIGHT_MOMENTS 256

typedef struct pp_progress {
    pthread_mutex_t lock;
    pp_moment now;
    pp_moment flight[PP_FLIGHT_MOMENTS]; /* ring buffer of the last moments */
    uint64_t recorded;                   /* moments ever put into the ring */
} pp_progress;

void pp_progress_init(pp_progress *progress);
void pp_progress_destroy(pp_progress *progress);
/* Records that the rank does `doing` to the op or transfer `what` from now_ns on. */
void pp_progress_set(pp_progress *progress, pp_doing doing, uint32_t what, pp_ns now_ns);
/* Records that the rank begins training step `step`: it meets the other ranks, and steps_taken is 0
 * again. */
void pp_progress_begin(pp_progress *progress, uint32_t step, pp_ns now_ns);
/* Records that the rank has carried out one more step of its program. */
void pp_progress_step(pp_progress *progress);
/* Returns a copy of what the rank is doing. */
pp_moment pp_progress_now(pp_progress *progress);

#endif
