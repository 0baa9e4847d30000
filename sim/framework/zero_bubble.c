/* sail-sg's zero-bubble runtime (megatron/core/pipeline_parallel/zerobubble/scheduler). A send
 * comes right after its producer. Receives are placed in the order of the times of their sends:
 * before the first op that ends later, or before the next send if that is earlier, so that all
 * ranks have one common order of transfers. The transfers between two ops of a rank are one batch,
 * all of which is waited for together; a batch ends early after the input of the next op
 * (zerobubble/runtime.py: add_communication, flush). */
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/heap.h"
#include "sim/framework/framework.h"
#include "sim/framework/lowering/lower.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/program_new.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Times that decide the order if no costs are known; all ops are alike. sail-sg measures them. */
enum { OP_TIME = 1000, COMM_TIME = 1 };

/* When an op ends, and which op of another rank needs its result; if there is one, it sends. */
typedef struct result {
    pp_ns time;        /* when the op ends */
    uint32_t consumer; /* the op on another rank that needs the result, or NONE */
} result;

/* The next send of a rank. */
typedef struct send {
    pp_ns time;
    uint32_t consumer, producer;
} send;

typedef struct placing {
    const pp_program *program;
    const pp_costs *costs; /* NULL: not known */
    pp_comm_builder *builder;
    result *made;    /* [ops] */
    size_t *next;    /* [ranks]: the next op to be written */
    uint32_t *batch; /* [ranks]: the batch that is being collected, or NONE */
    send *next_send; /* [ranks] */
    pp_heap sends;   /* of ranks: the one with the earliest next send comes first */
} placing;

static void placing_free(placing *p)
{
    pp_comm_builder_free(&p->builder);
    free(p->made);
    free(p->next);
    free(p->batch);
    free(p->next_send);
    free(p->sends.id);
}

/* Returns false if the dimensions of the costs do not match the program, or if their sums are too
 * large; the engine refuses them later. */
static bool are_usable(const pp_program *program, const pp_costs *costs)
{
    if (!costs || costs->stages != program->stages || costs->microbatches != program->microbatches)
        return false;
    const pp_ns *tables[] = { costs->f_ns, costs->i_ns,      costs->w_ns,
                              costs->b_ns, costs->send_f_ns, costs->send_b_ns };
    pp_ns longest = 0;
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++) {
        for (size_t i = 0; i < (size_t)costs->classes * costs->stages; i++)
            longest = tables[k][i] > longest ? tables[k][i] : longest;
    }
    return !program->count || longest <= INT64_MAX / 4 / (pp_ns)program->count;
}

static pp_status placing_new(const pp_program *program, const pp_costs *costs, placing *p,
                             pp_err *err)
{
    *p = (placing){ .program = program, .costs = are_usable(program, costs) ? costs : NULL };
    p->made = pp_alloc_array(program->count, sizeof *p->made);
    p->next = pp_alloc_array(program->ranks, sizeof *p->next);
    p->batch = pp_alloc_array(program->ranks, sizeof *p->batch);
    p->sends.id = pp_alloc_array(program->ranks, sizeof *p->sends.id);
    p->next_send = pp_alloc_array(program->ranks, sizeof *p->next_send);
    p->sends.context = p->next_send;
    if (!p->made || !p->next || !p->batch || !p->sends.id || !p->next_send)
        return pp_err_nomem(err);
    memset(p->batch, 0xff, program->ranks * sizeof *p->batch);
    memcpy(p->next, program->rank_begin, program->ranks * sizeof *p->next);
    return pp_comm_builder_new(program, &p->builder, err);
}

static uint32_t rank_of(const placing *p, size_t op)
{
    return pp_program_rank(p->program, p->program->op[op]);
}

static pp_ns op_ns(const placing *p, pp_op op)
{
    if (!p->costs)
        return (op.kind == PP_OP_B ? 2 : 1) * OP_TIME;
    const pp_ns *tables[] = { p->costs->f_ns, p->costs->i_ns, p->costs->w_ns, p->costs->b_ns };
    return tables[op.kind][pp_cost_index(p->costs, op.stage, op.microbatch)];
}

/* The latency from the end of its source to op i on another rank. */
static pp_ns comm_ns(const placing *p, uint32_t i)
{
    return p->costs ? pp_edge_latency(p->program, p->costs, i) : COMM_TIME;
}

/* Times every op as early as its rank and its input allow. */
static void set_times(placing *p)
{
    const pp_program *program = p->program;
    for (size_t k = 0; k < program->count; k++) {
        uint32_t i = program->topological_order[k];
        uint32_t rank = rank_of(p, i);
        uint32_t source = program->source[i];
        pp_ns start = i > program->rank_begin[rank] ? p->made[i - 1].time : 0;
        if (source != PP_NO_SOURCE) {
            bool crosses = rank_of(p, source) != rank;
            pp_ns there = p->made[source].time + (crosses ? comm_ns(p, i) : 0);
            start = there > start ? there : start;
            if (crosses)
                p->made[source].consumer = i;
        }
        p->made[i] = (result){ start + op_ns(p, program->op[i]), NONE };
    }
}

/* Sends at the same time are in the order of the receivers' ranks, and then of the receiving ops.
 */
static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const send *next = context;
    return next[a].time != next[b].time ? next[a].time < next[b].time
                                        : next[a].consumer < next[b].consumer;
}

/* Makes the first send of `rank` from op i on its next one. Returns false when there is none. */
static bool find_send(placing *p, uint32_t rank, size_t i)
{
    size_t end = p->program->rank_begin[rank + 1];
    while (i < end && p->made[i].consumer == NONE)
        i++;
    if (i == end)
        return false;
    p->next_send[rank] = (send){ p->made[i].time, p->made[i].consumer, (uint32_t)i };
    return true;
}

static void flush(placing *p, uint32_t rank)
{
    if (p->batch[rank] != NONE)
        pp_comm_post(p->builder, p->batch[rank]);
    p->batch[rank] = NONE;
}

/* Writes the batch before the next op of `rank`, and then that op. */
static void run(placing *p, uint32_t rank)
{
    flush(p, rank);
    pp_comm_run(p->builder, rank, (uint32_t)p->next[rank]++);
}

static void collect(placing *p, uint32_t rank, pp_transfer_kind kind, pp_op op)
{
    if (p->batch[rank] == NONE)
        p->batch[rank] = pp_comm_open(p->builder, rank);
    pp_comm_add(p->builder, p->batch[rank], kind, op.stage, op.microbatch);
}

/* Places the next send of rank `from` and its receive. The receive comes before the first op that
 * ends at its time or later, but not after an op that sends, since that is placed at its own time.
 */
static void place(placing *p, uint32_t from)
{
    const send made = p->next_send[from];
    uint32_t to = rank_of(p, made.consumer);
    pp_op sent = p->program->op[made.producer];
    bool forward = sent.kind == PP_OP_F;
    while (p->next[from] <= made.producer)
        run(p, from);
    collect(p, from, forward ? PP_SEND_F : PP_SEND_B, sent);
    pp_ns due_ns = made.time + comm_ns(p, made.consumer);
    while (p->next[to] < made.consumer && p->made[p->next[to]].time < due_ns)
        run(p, to);
    collect(p, to, forward ? PP_RECV_F : PP_RECV_B, p->program->op[made.consumer]);
    if (p->next[to] == made.consumer)
        flush(p, to);
}

static void place_all(placing *p)
{
    const pp_program *program = p->program;
    for (uint32_t r = 0; r < program->ranks; r++) {
        if (find_send(p, r, program->rank_begin[r]))
            pp_heap_push(&p->sends, is_before, r);
    }
    while (p->sends.count) {
        const uint32_t rank = p->sends.id[0];
        place(p, rank);
        if (find_send(p, rank, (size_t)p->next_send[rank].producer + 1))
            pp_heap_sink(&p->sends, is_before, 0, rank);
        else
            pp_heap_pop(&p->sends, is_before);
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        while (p->next[r] < program->rank_begin[r + 1])
            run(p, r);
        flush(p, r);
    }
}

static pp_status check(const pp_order *order, pp_err *err)
{
    char token[32];
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        if (order->ops[i].paired)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                              "zero-bubble cannot run overlapped pairs, and %s is half of one; "
                              "choose dualpipe or torch",
                              pp_op_print(order->ops[i], token, sizeof token));
    }
    return PP_OK;
}

static pp_status lower_timed(const pp_order *order, const pp_costs *costs, pp_program **program_out,
                             pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    placing p PP_CLEANUP(placing_free) = { 0 };
    pp_status status = pp_lower_check_one_rank(order, "zero-bubble", err);
    if (!status)
        status = check(order, err);
    if (status || (status = pp_program_from_order(order, &program, err)) ||
        (status = placing_new(program, costs, &p, err)))
        return status;
    set_times(&p);
    place_all(&p);
    if ((status = pp_comm_finish(p.builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

static pp_status zero_bubble_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return lower_timed(order, NULL, program_out, err);
}

const pp_framework pp_framework_zero_bubble = {
    .name = "zero-bubble",
    .summary = "zero-bubble runtime: sends right after the op and receives where they are due, in "
               "one order on all ranks",
    .lower = zero_bubble_lower,
    .lower_timed = lower_timed,
    .size_protocols = &pp_size_protocols_fixed,
    /* zerobubble/runtime.py: a receive allocates; an output is released once its send is issued, so
     * that only the send holds it */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_DONE },
    .post_validates = true, /* sail-sg: zero-bubble's optimizer post-validation */
};
