/* The smallest change to a program that hangs after which it does not: tried, not guessed. */
#ifndef PPSIM_SIM_ANALYSIS_REPAIR_H
#define PPSIM_SIM_ANALYSIS_REPAIR_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* kind, key: smallest first */
#define PP_REPAIR_MAP(X) \
    X(NONE, none) X(SWAP, swap) X(GROUP, group) X(LANES, lanes) X(PARITY, parity)

typedef enum pp_repair_kind {
#define PP_REPAIR_ENUM(name, key) PP_REPAIR_##name,
    PP_REPAIR_MAP(PP_REPAIR_ENUM)
#undef PP_REPAIR_ENUM
} pp_repair_kind;

const char *pp_repair_key(pp_repair_kind kind);

typedef struct pp_repair {
    pp_repair_kind kind;
    uint32_t rank;          /* SWAP, GROUP: where; */
    uint32_t first, second; /* the transfers, as they stand now (of groups: their first ones) */
    pp_lanes lanes;         /* LANES: that suffice */
    uint32_t tried;         /* changes that were run */
    bool gave_up;           /* more would have been there to try */
} pp_repair;

/* Tries, on copies: two neighbouring sends or receives of a rank in the circle the other way round;
 * two sends or receives of a rank in the circle as one group; queues per direction, then per peer;
 * on all odd ranks, sends and receives that are neighbours the other way round (Megatron's rule).
 * The first one after which every send meets its receive, every tensor arrives where it should and
 * nothing hangs is the repair; kind NONE: none of them is one.
 * At most 200 are run, and no more than about five seconds' worth of steps.
 * circle: of a run of this program (sim/program/timeline.h). partial: as for pp_comm_finish.
 * Fails: NOMEM; INPUT as pp_simulate. */
PP_MUST_CHECK pp_status pp_repair_find(const pp_program *program, const pp_costs *costs,
                                       bool partial, pp_repair *repair_out, pp_err *err);

/* The program with the repair done. What the repair changes is a copy; the rest is the program's,
 * which must outlive it. Stays where it is: `program` points to `comm`.
 * Fails: INFEASIBLE when sends and receives no longer pair up (pp_comm_finish); NOMEM. */
typedef struct pp_repaired {
    pp_program program;
    pp_comm comm;
} pp_repaired;

PP_MUST_CHECK pp_status pp_repair_apply(const pp_program *program, const pp_repair *repair,
                                        bool partial, pp_repaired *out, pp_err *err);
void pp_repaired_free(pp_repaired *repaired);

#endif
