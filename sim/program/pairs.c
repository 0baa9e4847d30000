/* Checks overlapped pairs against their costs. Linear in the program. */
#include "sim/program/pairs.h"

#include "sim/base/minmax.h"

#include <inttypes.h>
#include <stdio.h>

pp_ns pp_pair_ns(const pp_program *program, const pp_costs *costs, size_t i)
{
    pp_op op = program->op[pp_pair_forward(program, i)];
    pp_op back = program->op[pp_pair_backward(program, i)];
    size_t f = pp_cost_index(costs, op.stage, op.microbatch);
    size_t b = pp_cost_index(costs, back.stage, back.microbatch);
    pp_ns hidden_ns = pp_min(costs->hidden_ns[f], costs->hidden_ns[b]);
    return costs->pair_ns[f] ? costs->pair_ns[f] : costs->f_ns[f] + costs->b_ns[b] - hidden_ns;
}

const char *pp_pair_print(const pp_program *program, size_t i, char *buffer, size_t size)
{
    char a[32];
    char b[32];
    snprintf(buffer, size, "(%s;%s)", pp_op_print(program->op[i], a, sizeof a),
             pp_op_print(program->op[i + 1], b, sizeof b));
    return buffer;
}

pp_status pp_pairs_check(const pp_program *program, const pp_costs *costs, pp_err *err)
{
    char pair[72];
    for (size_t i = 0; i < program->count; i++) {
        if (!pp_pair_starts(program, costs, i))
            continue;
        pp_op a = program->op[i];
        pp_op b = program->op[i + 1];
        pp_op back = program->op[pp_pair_backward(program, i)];
        pp_ns back_ns = costs->b_ns[pp_cost_index(costs, back.stage, back.microbatch)];
        if (a.stage == b.stage && a.microbatch == b.microbatch)
            return pp_err_set(
                err, PP_INFEASIBLE, NULL,
                "%s cannot overlap, because the backward needs the forward of its own pair",
                pp_pair_print(program, i, pair, sizeof pair));
        if (pp_pair_ns(program, costs, i) < back_ns)
            return pp_err_set(err, PP_INPUT, NULL,
                              "the overlapped pair %s takes %" PRId64
                              " ns, less than its backward alone, %" PRId64
                              " ns; give the pair at least the time of its longer half",
                              pp_pair_print(program, i, pair, sizeof pair),
                              pp_pair_ns(program, costs, i), back_ns);
    }
    return PP_OK;
}
