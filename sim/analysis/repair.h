/* Finds the smallest change that repairs a program that hangs, by simulating each candidate. */
#ifndef PPSIM_SIM_ANALYSIS_REPAIR_H
#define PPSIM_SIM_ANALYSIS_REPAIR_H

#include "sim/cost/costs.h"
#include "sim/program/comm.h"

/* X(name in the enum, key in files), the smallest change first. pp_repair_find explains them. */
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
    uint32_t rank;          /* SWAP, GROUP: the rank whose steps change */
    uint32_t first, second; /* SWAP, GROUP: indices of the transfers in the program; for groups, of
                               their first transfers */
    pp_lanes lanes;         /* LANES: the lanes that suffice */
    uint32_t tried;         /* number of changes that were simulated */
    bool gave_up;           /* true if changes remained to be tried */
} pp_repair;

/* Tries these changes on copies of the program:
 *
 * - SWAP: exchange two neighbouring sends or receives of a rank in the cycle,
 * - GROUP: post two sends or receives of a rank in the cycle as one group,
 * - LANES: give each rank one lane per direction, then one per peer,
 * - PARITY: on all odd ranks, exchange neighbouring sends and receives (Megatron's rule).
 *
 * The first change after which every send meets its receive, every tensor arrives where it is
 * needed and nothing hangs is the repair; the kind is NONE if there is none. At most 200 changes
 * are simulated, and about as many steps as take five seconds. partial: as for pp_comm_finish.
 * Fails: NOMEM; INPUT as pp_simulate. */
PP_MUST_CHECK pp_status pp_repair_find(const pp_program *program, const pp_costs *costs,
                                       bool partial, pp_repair *repair_out, pp_err *err);

/* A repaired program. What the repair changed is its own; the rest is borrowed from the original,
 * which must outlive it. It must not be moved, since `program` points to `comm`. */
typedef struct pp_repaired {
    pp_program program;
    pp_comm comm;
} pp_repaired;

/* Applies `repair` to a copy of `program`. Owner frees with pp_repaired_free.
 * Fails: INFEASIBLE when sends and receives no longer pair up (pp_comm_finish), NOMEM. */
PP_MUST_CHECK pp_status pp_repair_apply(const pp_program *program, const pp_repair *repair,
                                        bool partial, pp_repaired *out, pp_err *err);
void pp_repaired_free(pp_repaired *repaired);

#endif
