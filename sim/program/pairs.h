/* Overlapped pairs of a forward and a backward, (1F2;0B3)OVERLAP_F_B, that have a duration of their
 * own: both inputs are needed when the pair starts, and both results are sent when it ends. In a
 * timeline the first op spans the pair, and the second has no length and is at the pair's end. The
 * halves of other pairs, and of those with an I, run one after the other. */
#ifndef PPSIM_SIM_PROGRAM_PAIRS_H
#define PPSIM_SIM_PROGRAM_PAIRS_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* Returns true if the program's pairs have durations of their own. */
static inline bool pp_pairs_overlap(const pp_program *program, const pp_costs *costs)
{
    return program->has_pairs &&
           (costs->has_pairs || (costs->has_hidden && program->overlaps_pairs));
}

/* Returns true if instruction `i` is the first half of a pair with a duration of its own. */
static inline bool pp_pair_starts(const pp_program *program, const pp_costs *costs, size_t i)
{
    return pp_pairs_overlap(program, costs) && program->op[i].paired &&
           program->op[i].kind != PP_OP_I && program->op[i + 1].kind != PP_OP_I;
}

/* Returns true if instruction `i` is the second half of such a pair. */
static inline bool pp_pair_ends(const pp_program *program, const pp_costs *costs, size_t i)
{
    return i > 0 && pp_pair_starts(program, costs, i - 1);
}

/* The forward and the backward of the pair that starts at instruction `i`, in either order. */
static inline size_t pp_pair_forward(const pp_program *program, size_t i)
{
    return program->op[i].kind == PP_OP_F ? i : i + 1;
}

static inline size_t pp_pair_backward(const pp_program *program, size_t i)
{
    return program->op[i].kind == PP_OP_F ? i + 1 : i;
}

/* The duration of the pair that starts at instruction `i`. */
pp_ns pp_pair_ns(const pp_program *program, const pp_costs *costs, size_t i);

/* Checks all pairs, which must overlap.
 * Fails: INPUT when a pair is shorter than its backward, INFEASIBLE when the halves of a pair
 * depend on each other. */
PP_MUST_CHECK pp_status pp_pairs_check(const pp_program *program, const pp_costs *costs,
                                       pp_err *err);

/* Prints the pair that starts at instruction `i`: "(1F2;0B3)". Returns buffer. */
const char *pp_pair_print(const pp_program *program, size_t i, char *buffer, size_t size);

#endif
