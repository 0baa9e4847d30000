/* Makes programs without communication: finds, for each op of an order, the op whose result it
 * needs. Linear in the ops. These functions are not declared in program.h, because comm.h needs the
 * type of a program, and a program owns its communication. */
#include "sim/program/program_new.h"

#include "sim/base/alloc.h"
#include "sim/program/comm.h"
#include "sim/program/topological_order.h"

#include <stdlib.h>
#include <string.h>

/* Allocates one block with the program and then its arrays, those with the widest elements first.
 * Ranks advance together, so that their instructions are read with a stride; see pp_apart. */
static pp_program *allocate(const pp_order *order, size_t count)
{
    size_t begins = ((size_t)order->ranks + 1) * sizeof(size_t);
    size_t bytes = sizeof(pp_program) + begins + count * (sizeof(pp_op) + 2 * sizeof(uint32_t)) +
                   order->stages * sizeof(uint32_t) + 2 * PP_APART;
    pp_program *program = pp_alloc_large(1, bytes);
    if (!program)
        return NULL;
    char *block = (char *)(program + 1);
    *program = (pp_program){ .ranks = order->ranks,
                             .stages = order->stages,
                             .microbatches = order->microbatches,
                             .runs = 1,
                             .mirrored_from = order->mirrored_from,
                             .forward_only = pp_order_forward_only(order),
                             .count = count };
    program->rank_begin = (size_t *)(void *)block;
    program->op = pp_apart(block + begins, 0);
    program->source = pp_apart(program->op + count, 1);
    program->topological_order = program->source + count;
    program->stage_rank = program->topological_order + count;
    memcpy(program->rank_begin, order->rank_begin, begins);
    memcpy(program->stage_rank, order->stage_rank, order->stages * sizeof(uint32_t));
    return program;
}

/* Copies the ops, and finds the instructions of F, and of the backward that computes the gradient
 * of the input (I or B), for each stage and microbatch: [stages][microbatches] each. */
static void take_ops(const pp_op *ops, pp_program *program, uint32_t *forward, uint32_t *backward)
{
    const size_t m = program->microbatches, count = program->count;
    pp_op *own = program->op;
    bool paired = false;
    for (size_t i = 0; i < count; i++) {
        const pp_op op = own[i] = ops[i];
        paired |= op.paired;
        if (op.kind != PP_OP_W)
            (op.kind == PP_OP_F ? forward : backward)[op.stage * m + op.microbatch] = (uint32_t)i;
    }
    program->has_pairs = paired;
}

/* The op on which op i depends, or PP_NO_SOURCE. */
static inline uint32_t source_of(const pp_program *program, size_t i, const uint32_t *forward,
                                 const uint32_t *backward)
{
    const pp_op op = program->op[i];
    const size_t m = program->microbatches, at = op.stage * m + op.microbatch;
    if (op.kind == PP_OP_F && op.stage > 0)
        return forward[at - m];
    if ((op.kind == PP_OP_B || op.kind == PP_OP_I) && op.stage + 1u < program->stages)
        return backward[at + m];
    return PP_NO_SOURCE;
}

/* Sorts the ops as if each depended on those of its own rank alone.
 * Fails: like pp_program_sort_topologically. */
static pp_status sort_apart(pp_program *program, const uint32_t *forward, const uint32_t *backward,
                            pp_err *err)
{
    for (size_t i = 0; i < program->count; i++) {
        const uint32_t source = program->source[i];
        if (source != PP_NO_SOURCE && program->stage_rank[program->op[source].stage] !=
                                          program->stage_rank[program->op[i].stage])
            program->source[i] = PP_NO_SOURCE;
    }
    pp_status status = pp_program_sort_topologically(program, err);
    for (size_t i = 0; i < program->count; i++)
        program->source[i] = source_of(program, i, forward, backward);
    return status;
}

/* apart: transfers alone order the ops of different ranks. */
static pp_status make(const pp_order *order, bool apart, pp_program **program_out, pp_err *err)
{
    size_t count = order->rank_begin[order->ranks];
    size_t m = order->microbatches;
    pp_program *program = allocate(order, count);
    uint32_t *places = pp_alloc_large(2 * m, order->stages * sizeof *places);
    if (!places || !program) {
        free(places);
        free(program);
        return pp_err_nomem(err);
    }
    memset(places, 0xff, 2 * m * order->stages * sizeof *places); /* PP_NO_SOURCE, for excerpts */
    const uint32_t *forward = places;
    const uint32_t *backward = places + m * order->stages;
    take_ops(order->ops, program, places, places + m * order->stages);
    for (size_t i = 0; i < count; i++)
        program->source[i] = source_of(program, i, forward, backward);
    pp_status status = apart ? sort_apart(program, forward, backward, err)
                             : pp_program_sort_topologically(program, err);
    free(places);
    if (status)
        pp_program_free(&program);
    else
        *program_out = program;
    return status;
}

pp_status pp_program_from_order(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return make(order, false, program_out, err);
}

pp_status pp_program_from_excerpt(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return make(order, true, program_out, err);
}

void pp_program_free(pp_program **program)
{
    if (*program)
        pp_comm_free(&(*program)->comm);
    free(*program);
    *program = NULL;
}
