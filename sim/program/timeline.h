/* Start and end of every instruction of a program. The engine predicts timelines and the runtime
 * measures them; all reports, plots and comparisons accept both. */
#ifndef PPSIM_SIM_PROGRAM_TIMELINE_H
#define PPSIM_SIM_PROGRAM_TIMELINE_H

#include "sim/base/units.h"
#include "sim/program/program.h"

/* X(name, key in reports): why a rank does not compute.
 *
 * - DATA: the input is not computed yet.
 * - BUFFER: the receiver of a send has not posted its receive yet.
 * - LINK: both ends are posted, and the transfer is queued or running.
 * - HOST: the host has not issued the op yet.
 * - SYNC: the rank waits in a device sync. */
#define PP_IDLE_MAP(X) X(DATA, data) X(BUFFER, buffer) X(LINK, link) X(HOST, host) X(SYNC, sync)

typedef enum pp_idle_cause {
#define PP_IDLE_ENUM(name, key) PP_IDLE_##name,
    PP_IDLE_MAP(PP_IDLE_ENUM)
#undef PP_IDLE_ENUM
        PP_IDLE_COUNT,
} pp_idle_cause;

const char *pp_idle_key(pp_idle_cause cause);

/* An interval in which a rank was idle for one cause. */
typedef struct pp_wait {
    pp_ns at_ns, waits_ns;
    uint32_t step;     /* what had to wait: into comm->step, or without comm into program->op */
    uint32_t transfer; /* the rank's transfer that it awaited; PP_NO_SOURCE without communication */
    uint32_t blocker;  /* the transfer or op that was late; PP_NO_SOURCE: outside the program */
    uint16_t rank;
    uint8_t cause; /* pp_idle_cause */
    bool blocker_is_op;
} pp_wait;

typedef enum pp_circle_reason {
    PP_CIRCLE_BEHIND,     /* waits_for is before it in its lane */
    PP_CIRCLE_NEEDS,      /* waits_for is its other end */
    PP_CIRCLE_NOT_POSTED, /* its other end is not posted because that rank waits for waits_for */
    PP_CIRCLE_OWN_PLACE,  /* its rank waits for it before posting it */
} pp_circle_reason;

typedef struct pp_circle_member {
    uint32_t transfer;
    uint32_t waits_for; /* the next member's transfer; the last one's is the first */
    pp_circle_reason reason;
} pp_circle_member;

/* Transfers that wait for each other in a cycle. */
typedef struct pp_circle {
    pp_circle_member *member;
    size_t count;
} pp_circle;

/* A gather of the parameters of a stage, or a reduction of its gradients. */
typedef struct pp_sharding_span {
    pp_ns start_ns, end_ns;
    uint32_t rank;
    uint16_t stage;
    bool reduces;
} pp_sharding_span;

/* When the transfers of a program with communication took place, and what its ranks waited for. */
typedef struct pp_comm_timeline {
    pp_ns *post_ns;   /* [transfers]: when its rank posted it */
    pp_ns *start_ns;  /* [transfers]: when both ends were posted and their lanes free */
    pp_ns *end_ns;    /* [transfers] */
    pp_ns *idle_ns;   /* [ranks * PP_IDLE_COUNT]: the waits, summed by cause */
    pp_ns *host_ns;   /* [steps]: clock of the host after the step; NULL unless comm->observed */
    pp_ns *device_ns; /* [steps]: clock of the device after the step; NULL unless comm->observed */
    pp_wait *wait;    /* in the order in which the engine found them */
    size_t wait_count, wait_capacity;
    pp_sharding_span *sharding; /* likewise; with sharded parameters only */
    size_t sharding_count, sharding_capacity;
    pp_circle circle; /* after a hang: a shortest cycle */
} pp_comm_timeline;

/* Owner frees with pp_timeline_free. Indices are those of the program's instructions. */
typedef struct pp_timeline {
    size_t count;
    pp_ns *start_ns;        /* [count] */
    pp_ns *end_ns;          /* [count]; end_ns[-1] is 0, for instructions without a source */
    pp_comm_timeline *comm; /* NULL: a program without communication */
} pp_timeline;

/* Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_timeline_new(size_t count, pp_timeline **timeline_out, pp_err *err);
/* A timeline for a program, with room for its transfers. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_timeline_new_comm(const pp_program *program, pp_timeline **timeline_out,
                                             pp_err *err);
void pp_timeline_free(pp_timeline **timeline); /* for PP_CLEANUP; *timeline NULL is fine */

/* The end of the last instruction; 0 when there is none. */
pp_ns pp_timeline_makespan(const pp_timeline *timeline);

#endif
