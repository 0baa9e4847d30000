/* DeepSeek's DualPipe and DualPipeV (dualpipe/dualpipe.py, dualpipev.py) collect sends and
 * receives, post them as one batch right before the next compute, and wait for it. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/lower.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/schedule/builders/dual.h"

typedef struct state {
    const pp_lowering *l;
    pp_dual_rank at;
    size_t next;      /* the next op */
    uint32_t batch;   /* collected since the last commit */
    uint32_t f_in[2]; /* [phase]: microbatches whose receive was added to a batch */
    uint32_t b_in[2];
    const pp_op *f_out[2]; /* [phase]: the last forward that ran */
    const pp_op *b_out[2];
} state;

static void commit(state *s)
{
    pp_comm_exchange(s->l->builder, s->batch);
    s->batch = pp_comm_open(s->l->builder, s->l->rank);
}

static pp_op op_of(const state *s, pp_op_kind kind, int phase, uint32_t microbatch)
{
    return (pp_op){ .stage = (uint16_t)s->at.stage[phase],
                    .microbatch = s->at.first[phase] + microbatch,
                    .kind = (uint8_t)kind };
}

static void receive_f(state *s, int phase)
{
    const pp_op op = op_of(s, PP_OP_F, phase, s->f_in[phase]++);
    pp_lower_receive(s->l, s->batch, &op);
}

static void receive_b(state *s, int phase)
{
    const pp_op op = op_of(s, PP_OP_B, phase, s->b_in[phase]++);
    pp_lower_receive(s->l, s->batch, &op);
}

static void send_f(const state *s, int phase)
{
    pp_lower_send(s->l, s->batch, s->f_out[phase]);
}

static void send_b(const state *s, int phase)
{
    pp_lower_send(s->l, s->batch, s->b_out[phase]);
}

/* Posts the batch, then runs the next op, or the next two if they overlap. */
static void run(state *s)
{
    const pp_op *op;
    commit(s);
    do {
        op = &s->l->program->op[s->next];
        int phase = op->stage != s->at.stage[0];
        if (op->kind == PP_OP_F)
            s->f_out[phase] = op;
        else if (op->kind != PP_OP_W)
            s->b_out[phase] = op;
        pp_comm_run(s->l->builder, s->l->rank, (uint32_t)s->next++);
    } while (op->paired);
}

static void forward(state *s, int phase)
{
    receive_f(s, phase);
    run(s);
    send_f(s, phase);
}

static void backward(state *s, int phase)
{
    receive_b(s, phase);
    run(s);
    send_b(s, phase);
}

static void forward_backward(state *s, int f, int b, bool receive)
{
    if (receive)
        receive_f(s, f);
    receive_b(s, b);
    run(s);
    send_f(s, f);
    send_b(s, b);
}

/* Step 2. On the two middle ranks of DualPipe, the output of phase 0 is sent before the other phase
 * runs. In DualPipeV it stays on the last rank. */
static void fill_both(state *s, bool last)
{
    bool crosses = last && s->at.places < s->l->program->ranks;
    receive_f(s, 0);
    for (uint32_t i = 0; i <= s->at.place; i++) {
        run(s);
        if (crosses)
            send_f(s, 0);
        receive_f(s, 0);
        receive_f(s, 1);
        run(s);
        if (!last || i < s->at.place)
            send_f(s, 1);
        if (!crosses)
            send_f(s, 0);
    }
}

/* Steps 1 to 3: forwards of both phases, then the first gradients. */
static void fill(state *s, uint32_t below, bool last)
{
    for (uint32_t i = 0; i < 2 * below; i++)
        forward(s, 0);
    fill_both(s, last);
    for (uint32_t i = 0; i < below; i++) {
        backward(s, 1);
        receive_f(s, 1);
        run(s); /* W */
        run(s);
        send_f(s, 1);
    }
}

/* Step 4. On the ranks farthest from the entry, the first pair does not overlap. */
static void overlap(state *s, uint32_t pairs, bool last)
{
    for (uint32_t i = 0; i < pairs; i++) {
        if (i == 0 && last) {
            run(s);
            send_f(s, 1);
            receive_b(s, 1);
            run(s);
            send_f(s, 0);
            send_b(s, 1);
        } else {
            forward_backward(s, 0, 1, i > 0);
        }
        forward_backward(s, 1, 0, true);
    }
}

static pp_status lower_rank(const pp_lowering *l, pp_err *err)
{
    const pp_program *program = l->program;
    bool mirrored = program->mirrored_from < program->microbatches;
    state s = { .l = l,
                .at = (mirrored ? pp_dual_directions : pp_dual_v)(l->rank, program->ranks,
                                                                  program->microbatches),
                .next = l->begin,
                .batch = pp_comm_open(l->builder, l->rank) };
    uint32_t below = s.at.places - 1 - s.at.place;
    bool last = below == 0;
    (void)err;
    fill(&s, below, last);
    overlap(&s, s.at.count - 2 * s.at.places + s.at.place + 1, last);
    for (uint32_t i = 0; i < below; i++) { /* step 5 */
        backward(&s, 1);
        forward_backward(&s, 1, 0, true);
    }
    for (uint32_t i = 0; i <= s.at.place; i++) { /* step 6 */
        backward(&s, 1);
        backward(&s, 0);
    }
    for (uint32_t i = 0; i < below; i++) { /* step 7 */
        run(&s);                           /* W */
        backward(&s, 0);
    }
    while (s.next < l->end) /* step 8 */
        run(&s);
    commit(&s);
    return PP_OK;
}

static pp_status dualpipe_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    pp_status status = pp_lower_check_trains(order, "dualpipe", "torch or ideal", err);
    if (!status)
        status = pp_lower_check_schedule(
            order, "dualpipe",
            order->mirrored_from < order->microbatches ? "dualpipe" : "dualpipev", err);
    return status ? status : pp_lower_ranks(order, 0, lower_rank, program_out, err);
}

const pp_framework pp_framework_dualpipe = {
    .name = "dualpipe",
    .summary = "DualPipe: one batch of transfers before each computation, waited for at once "
               "(dualpipe, dualpipev)",
    .lower = dualpipe_lower,
    .overlaps_pairs = true,
    .size_protocols = &pp_size_protocols_fixed,
    /* dualpipe.py: append_irecv allocates; to_free holds what was sent until the batch is done
     * (_commit_and_wait_comm); return_outputs is off */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_WAITED },
};
