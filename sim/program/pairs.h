/* Overlapped pairs of a forward and a backward, (1F2;0B3)OVERLAP_F_B, with a duration of their own:
 * both halves need their inputs when the pair starts, both results leave when it ends. In a
 * timeline the first op spans the pair and the second is empty at its end. A pair with an I runs
 * its halves one after the other, as all pairs do without such a duration. */
#ifndef PPSIM_SIM_PROGRAM_PAIRS_H
#define PPSIM_SIM_PROGRAM_PAIRS_H

#include "sim/cost/costs.h"
#include "sim/program/timeline.h"

/* Does instruction `i` start a pair that runs as one? */
static inline bool pp_pair_starts(const pp_program *program, const pp_costs *costs, size_t i)
{
    return costs->has_pairs && program->op[i].paired && program->op[i].kind != PP_OP_I &&
           program->op[i + 1].kind != PP_OP_I;
}

/* Is it the second half of one? */
static inline bool pp_pair_ends(const pp_program *program, const pp_costs *costs, size_t i)
{
    return costs->has_pairs && i > 0 && pp_pair_starts(program, costs, i - 1);
}

/* The forward of the pair that starts at instruction `i`; either half may stand first. */
static inline size_t pp_pair_forward(const pp_program *program, size_t i)
{
    return program->op[i].kind == PP_OP_F ? i : i + 1;
}

static inline size_t pp_pair_backward(const pp_program *program, size_t i)
{
    return program->op[i].kind == PP_OP_F ? i + 1 : i;
}

/* Of the pair that starts at instruction `i`. */
pp_ns pp_pair_ns(const pp_program *program, const pp_costs *costs, size_t i);

/* costs.has_pairs is set. Fails: INPUT when a pair is shorter than its backward, INFEASIBLE when
 * the halves of a pair need each other. */
PP_MUST_CHECK pp_status pp_pairs_check(const pp_program *program, const pp_costs *costs,
                                       pp_err *err);

/* "(1F2;0B3)", the pair that starts at instruction `i`. Returns buffer. */
const char *pp_pair_print(const pp_program *program, size_t i, char *buffer, size_t size);

#endif
