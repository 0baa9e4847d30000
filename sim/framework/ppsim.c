/* ppsim's own runtime. Every transfer is a group of its own, and every directed edge has a
 * communicator. A send is posted right after its producer. Receives are posted one input ahead, on
 * each edge in the order of its sends, which may differ from the order of use (schedules on a V
 * need some of them early). If sizes are sent in messages, sim/framework/sizes/late_receives.c
 * posts the receives.
 *
 * With sharded parameters a rank gathers and frees those of its stages, and reduces their
 * gradients, where PyTorch's pipeline runtime would (sim/framework/lowering/sharding_row.h).
 *
 * It cannot hang: only ops wait, each for its own input only; all receives before that input on its
 * edge are posted by then; and a rank reaches every send whose op can run. */
#include "sim/base/alloc.h"
#include "sim/framework/framework.h"
#include "sim/framework/lowering/lower.h"
#include "sim/framework/lowering/pytorch_settings.h"
#include "sim/framework/lowering/sharding_row.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/program_new.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* The inputs that come from other ranks, by the op that needs them. */
typedef struct inputs {
    const pp_program *program;
    /* [ops]: the previous and the next input on the edge, in the order of its sends, or NONE. */
    uint32_t *before, *after;
    uint32_t *consumer; /* [ops]: the op on another rank that needs the result, or NONE */
    uint32_t *last;     /* [ranks]: last input on the edge to that rank, while edges are built */
    bool *posted;       /* [ops] */
    /* With sharded parameters: the row of the rank that is lowered, and scratch of its rules. */
    pp_sharding_row row;
    uint32_t *weight_gradients;
    pp_comm_builder *builder;
} inputs;

static void inputs_free(inputs *in)
{
    free(in->before);
    free(in->after);
    free(in->consumer);
    free(in->last);
    free(in->posted);
    free(in->row.action);
    free(in->weight_gradients);
    pp_comm_builder_free(&in->builder);
}

static pp_status inputs_new(const pp_program *program, inputs *in, pp_err *err)
{
    size_t bytes = program->count * sizeof(uint32_t);
    *in = (inputs){ .program = program };
    in->before = pp_alloc_array(program->count, sizeof *in->before);
    in->after = pp_alloc_array(program->count, sizeof *in->after);
    in->consumer = pp_alloc_array(program->count, sizeof *in->consumer);
    in->last = pp_alloc_array(program->ranks, sizeof *in->last);
    in->posted = pp_alloc_array(program->count, sizeof *in->posted);
    if (!in->before || !in->after || !in->consumer || !in->last || !in->posted)
        return pp_err_nomem(err);
    memset(in->before, 0xff, bytes); /* NONE */
    memset(in->after, 0xff, bytes);
    memset(in->consumer, 0xff, bytes);
    return pp_comm_builder_new(program, &in->builder, err);
}

static void string_edges(inputs *in)
{
    const pp_program *program = in->program;
    for (size_t i = 0; i < program->count; i++) {
        if (pp_lower_arrives(program, program->op[i]))
            in->consumer[program->source[i]] = (uint32_t)i;
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t end = program->rank_begin[r + 1];
        for (size_t i = program->rank_begin[r]; i < end; i++) { /* reset of `last` */
            if (in->consumer[i] != NONE)
                in->last[program->stage_rank[program->op[in->consumer[i]].stage]] = NONE;
        }
        for (size_t i = program->rank_begin[r]; i < end; i++) {
            uint32_t to = in->consumer[i];
            if (to == NONE)
                continue;
            uint32_t *last = &in->last[program->stage_rank[program->op[to].stage]];
            in->before[to] = *last;
            if (*last != NONE)
                in->after[*last] = to;
            *last = to;
        }
    }
}

/* Posts the receive of op i, after those that precede it on its edge. */
static void receive(inputs *in, uint32_t rank, uint32_t i)
{
    const pp_op *op = in->program->op;
    if (!pp_lower_arrives(in->program, op[i]) || in->posted[i])
        return;
    uint32_t k = i;
    while (in->before[k] != NONE && !in->posted[in->before[k]])
        k = in->before[k];
    for (;; k = in->after[k]) {
        uint32_t group = pp_comm_open(in->builder, rank);
        pp_comm_add(in->builder, group, op[k].kind == PP_OP_F ? PP_RECV_F : PP_RECV_B, op[k].stage,
                    op[k].microbatch);
        pp_comm_post(in->builder, group);
        in->posted[k] = true;
        if (k == i)
            break;
    }
}

/* Adds the marks of the row from action *next on, and steps over the op that follows them. */
static void add_marks(inputs *in, uint32_t rank, size_t *next)
{
    for (; *next < in->row.count && !in->row.action[*next].ops; ++*next)
        pp_comm_mark(in->builder, rank, (pp_mark)in->row.action[*next].mark,
                     in->row.action[*next].stage);
}

static void lower_rank(inputs *in, uint32_t rank)
{
    const pp_program *program = in->program;
    size_t action = 0; /* of in->row */
    size_t end = program->rank_begin[rank + 1];
    size_t next = program->rank_begin[rank]; /* the first op whose input was not handled */
    size_t covered = next;                   /* one after the last op whose input was requested */
    for (size_t i = next; i < end; i++) {
        for (; next < end && (next <= i || covered <= i + 1); next++) {
            if (!pp_lower_arrives(program, program->op[next]))
                continue;
            receive(in, rank, (uint32_t)next);
            covered = next + 1;
        }
        add_marks(in, rank, &action);
        pp_comm_run(in->builder, rank, (uint32_t)i);
        if (action < in->row.count &&
            in->row.action[action].op + in->row.action[action].ops == i + 1)
            action++;
        if (in->consumer[i] == NONE)
            continue;
        pp_op op = program->op[i];
        uint32_t group = pp_comm_open(in->builder, rank);
        pp_comm_add(in->builder, group, op.kind == PP_OP_F ? PP_SEND_F : PP_SEND_B, op.stage,
                    op.microbatch);
        pp_comm_post(in->builder, group);
    }
    add_marks(in, rank, &action);
}

static pp_status make_row(inputs *in, uint32_t rank, pp_err *err)
{
    const pp_sharding_rules rules = { PP_LOOKAHEAD_FULL, true, in->weight_gradients };
    in->row.count = 0;
    return pp_sharding_row_make(in->program, rank, rules, &in->row, err);
}

static pp_status lower(const pp_order *order, bool sharded, pp_program **program_out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    inputs in PP_CLEANUP(inputs_free) = { 0 };
    pp_status status = pp_lower_check_one_rank(order, "ppsim", err);
    if (!status)
        status = pp_program_from_order(order, &program, err);
    if (status || (status = inputs_new(program, &in, err)))
        return status;
    string_edges(&in);
    if (sharded &&
        !(in.weight_gradients = pp_alloc_array(program->stages, sizeof *in.weight_gradients)))
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < program->ranks; r++) {
        if (sharded && (status = make_row(&in, r, err)))
            return status;
        lower_rank(&in, r);
    }
    if ((status = pp_comm_finish(in.builder, false, program, err)))
        return status;
    program->comm->semantics.lanes = PP_LANES_PER_PEER;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

static pp_status ppsim_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return lower(order, false, program_out, err);
}

static pp_status ppsim_lower_costs(const pp_order *order, const pp_costs *costs,
                                   pp_program **program_out, pp_err *err)
{
    return lower(order, costs->sharded, program_out, err);
}

const pp_framework pp_framework_ppsim = {
    .name = "ppsim",
    .summary =
        "the runtime of ppsim: receives one input ahead, in the order of the sends (any schedule)",
    .lower = ppsim_lower,
    .lower_timed = ppsim_lower_costs,
    .ignores_durations = true,
    .shards = true,
    .divides_gradients = true,
    .size_protocols = &pp_size_protocols_ppsim,
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_DONE },
};
