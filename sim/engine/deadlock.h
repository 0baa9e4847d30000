/* Explains why a program with communication hangs, by the shortest cycle of transfers that wait for
 * each other. */
#ifndef PPSIM_SIM_ENGINE_DEADLOCK_H
#define PPSIM_SIM_ENGINE_DEADLOCK_H

#include "sim/program/comm.h"
#include "sim/program/timeline.h"

/* The state in which a simulation stopped before its end. All arrays are borrowed. */
typedef struct pp_stuck {
    const pp_program *program;
    const bool *done;      /* [transfers] */
    const uint32_t *front; /* [transfers]: the first unfinished group of its lane, which may be its
                              own */
    const bool *issued;    /* [groups] */
    const uint32_t *waiting; /* [ranks]: the group that the rank waits for, or PP_NO_SOURCE */
} pp_stuck;

/* Finds a shortest cycle; it contains no transfer twice. Owner frees with pp_circle_free. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_circle_find(const pp_stuck *stuck, pp_circle *circle_out, pp_err *err);
void pp_circle_free(pp_circle *circle);

/* Prints "rank 0: 0SEND_F1 needs 1RECV_F1 of rank 1". Returns buffer. */
const char *pp_circle_print(const pp_program *program, const pp_circle_member *member, char *buffer,
                            size_t size);

/* Reports the cycle rank by rank and returns INFEASIBLE. */
pp_status pp_circle_report(const pp_program *program, const pp_circle *circle, pp_err *err);

#endif
