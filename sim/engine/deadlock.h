/* Why a program with communication hangs: the shortest circle of transfers that wait for each
 * other. */
#ifndef PPSIM_SIM_ENGINE_DEADLOCK_H
#define PPSIM_SIM_ENGINE_DEADLOCK_H

#include "sim/program/comm.h"
#include "sim/program/timeline.h"

/* Where a run of the engine came to a stop. */
typedef struct pp_stuck {
    const pp_program *program;
    const bool *done;        /* [transfers] */
    const uint32_t *front;   /* [transfers]: the first group of its lane that is not done; its own
                                where nothing is in front of it */
    const bool *issued;      /* [groups] */
    const uint32_t *waiting; /* [ranks]: group that the rank waits for, or PP_NO_SOURCE */
} pp_stuck;

/* No transfer stands in it twice. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_circle_find(const pp_stuck *stuck, pp_circle *circle_out, pp_err *err);
void pp_circle_free(pp_circle *circle);

/* "rank 0: 0SEND_F1 needs 1RECV_F1 of rank 1". Returns buffer. */
const char *pp_circle_print(const pp_program *program, const pp_circle_member *member, char *buffer,
                            size_t size);

/* Fails: INFEASIBLE, always, with the circle rank by rank. */
pp_status pp_circle_report(const pp_program *program, const pp_circle *circle, pp_err *err);

#endif
