/* PyTorch's pipelining of the end of 2024 (2.6), whose schedule classes run their own loops instead
 * of _PipelineScheduleRuntime. Schedule1F1B batches each send with the receive of the next input of
 * the other direction and waits for the batch. ScheduleGPipe receives right before each op. All
 * other classes derive from PipelineScheduleMulti: all ranks go through one table in time steps,
 * and after each step a rank sends its result, receives what its neighbours computed in the same
 * step, and waits for both (_step_microbatches). Where a step is empty follows
 * _get_1f1b_rank_ops and ScheduleLoopedBFS; for other orders every op is in the first step in which
 * its inputs are there. Source: torch/distributed/pipelining/schedules.py and stage.py of 2.6.0.
 * Linear in the ops and steps. */
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/framework/framework.h"
#include "sim/framework/lowering/lower.h"
#include "sim/framework/lowering/megatron_sends.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"

#include <stdlib.h>

/* Schedule1F1B._step_microbatches */

static uint32_t post_send(const pp_lowering *l, const pp_op *op)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    pp_lower_send(l, group, op);
    pp_comm_post(l->builder, group);
    return group;
}

/* Sends one result and receives the other input in one batch, and waits for it. */
static void fuse(const pp_lowering *l, const pp_op *sent, const pp_op *next)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    pp_lower_send(l, group, sent);
    pp_lower_receive(l, group, next);
    pp_comm_exchange(l->builder, group);
}

/* The forwards before the first backward, or the backwards after the last forward: sends are waited
 * for after the next op. `unsent`: that send of the last op is left to the caller. */
static void run_alike(const pp_lowering *l, size_t begin, size_t end, uint32_t *send, bool unsent)
{
    const pp_op *op = l->program->op;
    for (size_t i = begin; i < end; i++) {
        pp_lower_receive_now(l, &op[i]);
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        if (*send != PP_NO_SOURCE)
            pp_comm_wait(l->builder, *send);
        *send = i + 1 < end || !unsent ? post_send(l, &op[i]) : PP_NO_SOURCE;
    }
}

static pp_status lower_1f1b(const pp_lowering *l, pp_err *err)
{
    const pp_op *op = l->program->op;
    size_t warm = l->begin, cool = l->end;
    uint32_t send = PP_NO_SOURCE;
    (void)err;
    while (op[warm].kind == PP_OP_F)
        warm++;
    while (op[cool - 1].kind == PP_OP_B)
        cool--;
    cool++; /* the first backward after the last forward is fused with the send of that */
    run_alike(l, l->begin, warm, &send, true);
    for (size_t i = warm; i < cool; i++) {
        fuse(l, &op[i - 1], &op[i]);
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
    }
    send = post_send(l, &op[cool - 1]);
    run_alike(l, cool, l->end, &send, false);
    pp_comm_wait(l->builder, send);
    return PP_OK;
}

/* ScheduleGPipe: sends are waited for at the end of all forwards, and of all backwards. */
static pp_status lower_gpipe(const pp_lowering *l, pp_err *err)
{
    const pp_op *op = l->program->op;
    uint32_t *sent = pp_alloc_array(l->end - l->begin, sizeof *sent);
    if (!sent)
        return pp_err_nomem(err);
    size_t waited = 0;
    for (size_t i = l->begin; i < l->end; i++) {
        bool last = i + 1 == l->end || op[i + 1].kind != op[i].kind;
        pp_lower_receive_now(l, &op[i]);
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        sent[i - l->begin] = post_send(l, &op[i]);
        for (; last && waited <= i - l->begin; waited++)
            pp_comm_wait(l->builder, sent[waited]);
    }
    free(sent);
    return PP_OK;
}

/* PipelineScheduleMulti._step_microbatches */

typedef enum pads { PADS_NONE, PADS_INTERLEAVED, PADS_LOOPED_BFS, PADS_SPLIT } pads;

typedef struct table {
    uint32_t *step;   /* [count]: the time step of each op */
    uint32_t *before; /* [count]: empty steps right before the op */
    size_t *next;     /* [ranks]: the rank's first op that has not run */
    pp_comm_builder *builder;
} table;

static void table_free(table *t)
{
    free(t->step);
    free(t->before);
    free(t->next);
    pp_comm_builder_free(&t->builder);
}

/* Empty steps of a rank: before its first op as many as its number, so that rank r begins when its
 * input is there; after its warm-up until the first backward has come up; and, interleaved, one
 * before each backward of the cool-down, to keep in step with ranks that still alternate. group:
 * the microbatches that a chunk runs before the next one. */
static void add_pads(const pp_program *program, uint32_t rank, pads kind, uint32_t group,
                     uint32_t *before)
{
    size_t begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
    size_t forwards = (size_t)(program->stages / program->ranks) * program->microbatches;
    size_t hops = program->ranks - 1 - rank;
    size_t warm = (size_t)(program->stages / program->ranks - 1) * group +
                  (kind == PADS_SPLIT ? hops : 2 * hops);
    if (warm > forwards || kind == PADS_LOOPED_BFS)
        warm = forwards;
    before[begin] = rank;
    if (kind != PADS_INTERLEAVED) {
        before[begin + warm] = (uint32_t)(kind == PADS_SPLIT ? hops : 2 * hops);
        return;
    }
    size_t first_backward = program->stages + 2 * hops;
    if (first_backward > warm + rank)
        before[begin + warm] = (uint32_t)(first_backward - warm - rank);
    for (size_t i = end - warm; i < end; i++)
        before[i]++;
}

/* Puts every op into a time step.
 * fixed: empty steps are PyTorch's alone. Fails: USAGE when an input comes too late then. */
static pp_status number_steps(const pp_program *program, bool fixed, table *t, uint32_t *last_out,
                              pp_err *err)
{
    uint32_t last = 0;
    for (size_t k = 0; k < program->count; k++) {
        uint32_t i = program->topological_order[k];
        uint32_t rank = pp_program_rank(program, program->op[i]);
        uint32_t step = t->before[i];
        if (i > program->rank_begin[rank])
            step += t->step[i - 1] + 1;
        bool late = program->source[i] != PP_NO_SOURCE && step <= t->step[program->source[i]];
        if (late && fixed) {
            char token[32];
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                              "PyTorch 2.6 refuses this order: its time steps run %s before the "
                              "input has been sent; choose more microbatches, or executor torch",
                              pp_op_print(program->op[i], token, sizeof token));
        }
        t->step[i] = late ? t->step[program->source[i]] + 1 : step;
        last = t->step[i] > last ? t->step[i] : last;
    }
    *last_out = last;
    return PP_OK;
}

/* The op that a rank runs in this time step, or NULL. */
static const pp_op *op_of(const pp_program *program, const table *t, uint32_t rank, uint32_t now)
{
    size_t i = t->next[rank];
    return i < program->rank_begin[rank + 1] && t->step[i] == now ? &program->op[i] : NULL;
}

/* Adds the receives of what forwards, or backwards, of this time step sent. */
static void receive(const pp_program *program, const table *t, uint32_t now, bool forward,
                    const uint32_t *group)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        const pp_op *op = op_of(program, t, r, now);
        if (!op || (op->kind == PP_OP_F) != forward || !pp_lower_leaves(program, *op))
            continue;
        uint32_t stage = forward ? op->stage + 1u : op->stage - 1u;
        uint32_t to = pp_program_stage_rank(program, stage, op->microbatch);
        pp_comm_add(t->builder, group[to], forward ? PP_RECV_F : PP_RECV_B, stage, op->microbatch);
    }
}

/* Runs one time step on all ranks. group: [ranks], space. */
static void run_step(const pp_program *program, table *t, uint32_t now, uint32_t *group)
{
    pp_lowering l = { .builder = t->builder, .program = program };
    for (l.rank = 0; l.rank < program->ranks; l.rank++) {
        group[l.rank] = pp_comm_open(t->builder, l.rank);
        if (op_of(program, t, l.rank, now))
            pp_comm_run(t->builder, l.rank, (uint32_t)t->next[l.rank]);
        pp_lower_send(&l, group[l.rank], op_of(program, t, l.rank, now));
    }
    receive(program, t, now, true, group);
    receive(program, t, now, false, group);
    for (uint32_t r = 0; r < program->ranks; r++) {
        pp_comm_exchange(t->builder, group[r]);
        t->next[r] += op_of(program, t, r, now) != NULL;
    }
}

static pp_status lower_steps(const pp_order *order, pads kind, pp_program **program_out,
                             pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    table t PP_CLEANUP(table_free) = { 0 };
    pp_status status = pp_program_from_order(order, &program, err);
    if (status)
        return status;
    t.step = pp_alloc_array(program->count, sizeof *t.step);
    t.before = pp_alloc_array(program->count, sizeof *t.before);
    t.next = pp_alloc_array(program->ranks, sizeof *t.next);
    uint32_t *group = pp_alloc_array(program->ranks, sizeof *group);
    status = t.step && t.before && t.next && group ? pp_comm_builder_new(program, &t.builder, err)
                                                   : pp_err_nomem(err);
    for (uint32_t r = 0; !status && r < program->ranks; r++) {
        t.next[r] = program->rank_begin[r];
        if (kind != PADS_NONE)
            add_pads(program, r, kind, pp_megatron_group(order), t.before);
    }
    uint32_t last = 0;
    bool fixed = kind == PADS_INTERLEAVED || kind == PADS_LOOPED_BFS;
    if (!status)
        status = number_steps(program, fixed, &t, &last, err);
    for (uint32_t now = 0; !status && now <= last; now++)
        run_step(program, &t, now, group);
    free(group);
    if (status || (status = pp_comm_finish(t.builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

static pp_status check(const pp_order *order, pp_err *err)
{
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        if (order->ops[i].paired)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                              "PyTorch 2.6 has no overlapped pairs; choose torch");
    }
    pp_status status = pp_lower_check_one_rank(order, "torch-2.6", err);
    return status ? status : pp_lower_check_trains(order, "torch-2.6", "torch", err);
}

static const struct {
    const char *schedule;
    bool single;         /* one stage per rank */
    pp_lower_rank *rank; /* its own loop; NULL: in time steps */
    pads pads;
} classes[] = {
    { "1f1b", true, lower_1f1b, PADS_NONE },
    { "gpipe", true, lower_gpipe, PADS_NONE },
    { "interleaved", false, NULL, PADS_INTERLEAVED },
    { "looped-bfs", false, NULL, PADS_LOOPED_BFS },
    { "interleaved-zb", false, NULL, PADS_SPLIT },
};

static pp_status lower_as_classes(const pp_order *order, pp_program **program_out, pp_err *err)
{
    bool single = order->stages == order->ranks;
    pads kind = PADS_NONE;
    pp_status status = check(order, err);
    for (size_t k = 0; !status && k < sizeof classes / sizeof classes[0]; k++) {
        bool same = false;
        uint32_t group = classes[k].pads == PADS_INTERLEAVED ? pp_megatron_group(order) : 0;
        if (single != classes[k].single)
            continue;
        status = pp_schedule_makes(classes[k].schedule, order, group, &same, err);
        if (!status && same && classes[k].rank)
            return pp_lower_ranks(order, 0, classes[k].rank, program_out, err);
        kind = !status && same ? classes[k].pads : kind;
    }
    return status ? status : lower_steps(order, kind, program_out, err);
}

/* FSDP gathers the layers of a stage in its first forward. Its reductions do not hold up anything:
 * the runtime did not wait for them (pytorch#144535). */
static pp_status torch_2_6_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    pp_status status = lower_as_classes(order, program_out, err);
    if (!status)
        (*program_out)->comm->gathers_in_ops = true;
    return status;
}

const pp_framework pp_framework_torch_2_6 = {
    .name = "torch-2.6",
    .summary = "PyTorch of the end of 2024: its schedule classes exchange tensors in time steps",
    .lower = torch_2_6_lower,
    .size_protocols = &pp_size_protocols_torch,
    .splits_late = true,
    .shards = true,
    .gathers_all = true,
    /* stage.py: receive buffers for all microbatches exist from the start, output_chunks holds the
     * outputs of every stage until the step ends, those of the last are returned. */
    .buffers = { .recv = PP_RECV_PER_MICROBATCH,
                 .send = PP_SEND_UNTIL_STEP_END,
                 .return_outputs = true },
};
