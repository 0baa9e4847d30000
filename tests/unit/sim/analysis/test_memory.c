/* Memory of ranks that communicate, against cases worked out by hand. */
#include "sim/analysis/memory.h"
#include "tests/support/executors.h"

/* F 10, B 20, a transfer 5. */
static pp_costs *costs_of(uint32_t p, uint32_t v, uint32_t m)
{
    pp_costs *costs = step_costs("F=10ns,I=10ns,W=10ns,comm=5ns", p, v, m);
    costs->has_memory = true;
    for (uint32_t s = 0; s < p * v; s++) {
        costs->activation_bytes[s] = 1000;
        costs->message_bytes[s] = 7;
        costs->temporary_bytes[s] = 100;
    }
    costs->logits_bytes[p * v - 1] = 50;
    costs->output_bytes[p * v - 1] = 30;
    return costs;
}

/* Takes ownership of the order. buffers: NULL: those of the framework. */
static step run_order(const char *framework, pp_order *order, uint32_t v, const pp_buffers *buffers)
{
    step s = { .order = order, .costs = costs_of(order->ranks, v, order->microbatches) };
    const pp_framework *found = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get(framework, &found, &err), err);
    STEP_OK(pp_framework_lower(found, s.order, NULL, NULL, &s.program, &err), err);
    if (buffers)
        s.program->comm->buffers = *buffers;
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    STEP_OK(pp_report_build("test", found, s.program, s.timeline, s.costs, true, &s.report, &err),
            err);
    return s;
}

static step run(const char *framework, const char *schedule, uint32_t p, uint32_t v, uint32_t m,
                const pp_buffers *buffers)
{
    return run_order(framework, step_order(schedule, p, v, m, 0), v, buffers);
}

typedef struct expected {
    int64_t total_bytes, at_ns, recv_bytes, send_bytes;
} expected;

/* 1F1B as PyTorch lowers it, p = 2, m = 3. Rank 0 runs F0 0-10, F1 10-20, B0 50-70, F2 70-80, B1
 * 90-110, B2 120-140; rank 1 F0 15-25, B0 25-45, F1 45-55, B1 55-75, F2 85-95, B2 95-115. Rank 0
 * posts its receives at 20, 80, 110, rank 1 at 0, 25, 55; F1 is sent 25-30.
 *
 * B0 of rank 0 starts with two activations, its gradient in a buffer and its temporaries: 2107.
 * With until-waited the send of F1 is there too, as nothing was sent since (2114); until-backward
 * F0 and F1 (2121); until-step-end B1 at 90 with F0, F1, F2 (2128). Three gradient buffers from the
 * start: 2121. Rank 1 holds one activation, logits, temporaries, the next input: 1157. There
 * until-waited keeps B0's gradient until B1's is sent at 75, and so does until-step-end (1164 at
 * 55). A buffer per microbatch: two in addition to the one in the activation, 1164. Outputs: 60
 * returned while the last backward runs, which has no next input, 1210. A backward as one graph:
 * 1000 more in place of 100. */
static const struct {
    pp_buffers buffers;
    expected rank[2];
} cases[] = {
    { { PP_RECV_ON_POST, PP_SEND_UNTIL_DONE, 0, 0, 0 },
      { { 2107, 50, 7, 7 }, { 1157, 25, 7, 7 } } },
    { { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 },
      { { 2114, 50, 7, 14 }, { 1164, 55, 7, 14 } } },
    { { PP_RECV_ON_POST, PP_SEND_UNTIL_BACKWARD, 0, 0, 0 },
      { { 2121, 50, 7, 14 }, { 1157, 25, 7, 7 } } },
    { { PP_RECV_ON_POST, PP_SEND_UNTIL_STEP_END, 0, 0, 0 },
      { { 2128, 90, 7, 21 }, { 1164, 55, 7, 21 } } },
    { { PP_RECV_PER_MICROBATCH, PP_SEND_UNTIL_DONE, 0, 0, 0 },
      { { 2121, 50, 21, 7 }, { 1164, 25, 21, 7 } } },
    { { PP_RECV_PER_STAGE, PP_SEND_UNTIL_DONE, 0, 0, 0 },
      { { 2107, 50, 7, 7 }, { 1157, 25, 14, 7 } } },
    { { PP_RECV_PER_DIRECTION, PP_SEND_UNTIL_DONE, 0, 0, 0 },
      { { 2107, 50, 7, 7 }, { 1157, 25, 14, 7 } } },
    { { PP_RECV_POOL, PP_SEND_UNTIL_DONE, 0, 0, 0 }, { { 2107, 50, 7, 7 }, { 1157, 25, 14, 7 } } },
    { { PP_RECV_POOL, PP_SEND_UNTIL_DONE, 1, 0, 0 }, { { 2107, 50, 7, 7 }, { 1157, 25, 7, 7 } } },
    { { PP_RECV_ON_POST, PP_SEND_UNTIL_DONE, 0, 1, 0 },
      { { 2107, 50, 7, 7 }, { 1210, 95, 7, 7 } } },
    { { PP_RECV_ON_POST, PP_SEND_UNTIL_DONE, 0, 0, 1 },
      { { 3007, 50, 7, 7 }, { 2057, 25, 7, 7 } } },
};

START_TEST(policies_meet_hand_computed_peaks)
{
    step s PP_CLEANUP(step_free) = run("torch", "1f1b", 2, 1, 3, &cases[_i].buffers);
    for (uint32_t r = 0; r < 2; r++) {
        const pp_rank_report *rank = &s.report->per_rank[r];
        const expected *e = &cases[_i].rank[r];
        ck_assert_int_eq(rank->memory.total_bytes, e->total_bytes);
        ck_assert_int_eq(rank->memory.at_ns, e->at_ns);
        ck_assert_int_eq(rank->peak_recv_bytes, e->recv_bytes);
        ck_assert_int_eq(rank->peak_send_bytes, e->send_bytes);
    }
}
END_TEST

/* Between two ops, the peak names the next one. Rank 1 posts its receive at 0 and runs F at 15. */
START_TEST(a_peak_between_ops_names_the_next_one)
{
    const pp_buffers buffers = { 0 };
    step s PP_CLEANUP(step_free) = run("torch", "1f1b", 2, 1, 1, &buffers);
    pp_memory_peak peak;
    pp_err err = { 0 };
    s.costs->activation_bytes[1] = s.costs->logits_bytes[1] = s.costs->temporary_bytes[1] = 0;
    STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 1, NULL, NULL, &peak, &err), err);
    ck_assert_int_eq(peak.total_bytes, 7);
    ck_assert_int_eq(peak.at_ns, 0); /* posted; F0 starts at 15 */
    ck_assert_uint_eq(peak.instruction, s.program->rank_begin[1]);
    s.costs->message_bytes[0] = 0;
    s.costs->logits_bytes[1] = 9;
    STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 1, NULL, NULL, &peak, &err), err);
    ck_assert_int_eq(peak.total_bytes, 9);
    ck_assert_int_eq(peak.at_ns, 15);
}
END_TEST

/* GPipe runs its four F at 0, 10, 20, 30. The third one, at 20, is the first beyond 2500 bytes on
 * rank 0; rank 1 starts 15 later and has more room. Rank 0's B0 adds 100: 4100 bytes fit a limit of
 * 4100. */
START_TEST(the_first_op_over_the_limit_is_reported)
{
    step s PP_CLEANUP(step_free) = run("ideal", "gpipe", 2, 1, 4, NULL);
    pp_err err = { 0 };
    uint32_t r = 9;
    s.costs->limit_bytes[1] = 5000;
    STEP_OK(pp_report_set_limit(s.report, s.program, s.timeline, s.costs, 2500, &err), err);
    const pp_rank_report *first = pp_report_first_over(s.report, &r);
    ck_assert_uint_eq(r, 0);
    ck_assert_int_eq(first->over_at_ns, 20);
    ck_assert_int_eq(first->over_bytes, 3000);
    ck_assert_int_eq(first->over_op.kind, PP_OP_F);
    ck_assert_uint_eq(first->over_op.microbatch, 2);
    ck_assert_int_eq(s.report->per_rank[1].over_bytes, 0);
    STEP_OK(pp_report_set_limit(s.report, s.program, s.timeline, s.costs, 4100, &err), err);
    ck_assert_ptr_null(pp_report_first_over(s.report, &r));
}
END_TEST

/* Transfers of 15: F0 is still on its way (10 to 25) when F1 is sent at 20 and the gradient's
 * buffer is posted. The rank computes nothing then; B0 comes next. */
START_TEST(what_is_on_its_way_is_not_released)
{
    const pp_buffers buffers = { .send = PP_SEND_UNTIL_WAITED };
    step s PP_CLEANUP(step_free) = run("torch", "1f1b", 2, 1, 2, &buffers);
    pp_memory_peak peak;
    pp_err err = { 0 };
    s.costs->send_f_ns[0] = s.costs->send_b_ns[1] = 15;
    s.costs->temporary_bytes[0] = 0;
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 0, NULL, NULL, &peak, &err), err);
    ck_assert_int_eq(peak.total_bytes, 2000 + 2 * 7 + 7);
    ck_assert_int_eq(peak.at_ns, 20);
    ck_assert_int_eq(s.program->op[peak.instruction].kind, PP_OP_B);
    ck_assert_uint_eq(s.program->op[peak.instruction].microbatch, 0);
}
END_TEST

/* A send that is buffered at the other end takes no time, so that a buffer that the wait right
 * after it releases was never held, though the rank does something between them at that instant. */
START_TEST(what_is_released_at_once_was_never_held)
{
    const pp_buffers buffers = { .send = PP_SEND_AT_WAIT };
    step s PP_CLEANUP(step_free) = run("megatron-unbatched", "1f1b", 2, 1, 2, &buffers);
    pp_err err = { 0 };
    ck_assert_int_ge(s.report->per_rank[1].peak_send_bytes, 7);
    s.program->comm->semantics.mode = PP_COMM_EAGER;
    s.program->comm->semantics.eager_bytes = 7;
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    for (uint32_t r = 0; r < 2; r++) {
        pp_memory_peak peak;
        STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, r, NULL, NULL, &peak, &err), err);
        ck_assert_int_eq(peak.send_bytes, 0);
        ck_assert_int_eq(peak.recv_bytes, 7);
    }
}
END_TEST

/* The receives and sends of the first case, in rank 0's order. */
START_TEST(posts_are_when_the_rank_issues_them)
{
    static const pp_ns posts[] = { 10, 20, 20, 80, 80, 110 };
    const pp_buffers buffers = { 0 };
    step s PP_CLEANUP(step_free) = run("torch", "1f1b", 2, 1, 3, &buffers);
    const pp_comm *comm = s.program->comm;
    size_t seen = 0;
    for (size_t k = comm->step_begin[0]; k < comm->step_begin[1]; k++) {
        if (comm->step[k].kind != PP_COMM_STEP_POST)
            continue;
        ck_assert_uint_lt(seen, 6);
        uint32_t t = comm->group[comm->step[k].index].first;
        ck_assert_int_eq(s.timeline->comm->post_ns[t], posts[seen++]);
        ck_assert_int_le(s.timeline->comm->post_ns[t], s.timeline->comm->start_ns[t]);
    }
    ck_assert_uint_eq(seen, 6);
}
END_TEST

/* Without communication, the peak is two activations plus temporaries and nothing else. */
START_TEST(ideal_has_temporaries_and_no_buffers)
{
    step s = { .order = step_order("1f1b", 2, 1, 3, 0), .costs = costs_of(2, 1, 3) };
    step_simulate(&s);
    const pp_memory_peak *peak = &s.report->per_rank[0].memory;
    ck_assert_int_eq(peak->total_bytes, 2100);
    ck_assert_int_eq(peak->bytes[PP_MEMORY_TEMPORARIES], 100);
    ck_assert_int_eq(s.report->per_rank[0].peak_op.kind, PP_OP_B);
    ck_assert_int_eq(s.report->per_rank[0].peak_recv_bytes, 0);
    ck_assert_int_eq(s.report->per_rank[0].peak_send_bytes, 0);
    ck_assert_int_eq(s.report->per_rank[1].memory.total_bytes, 1150);
    step_free(&s);
}
END_TEST

/* I holds the temporaries, W does not: W needs only the stash. */
START_TEST(temporaries_end_with_the_input_gradient)
{
    step s = { .order = step_order("zb-h1", 2, 1, 2, 0), .costs = costs_of(2, 1, 2) };
    for (uint32_t i = 0; i < 2; i++)
        s.costs->stash_bytes[i] = 2000;
    step_simulate(&s);
    const pp_memory_peak *peak = &s.report->per_rank[1].memory;
    ck_assert_int_eq(s.report->per_rank[1].peak_op.kind, PP_OP_W);
    ck_assert_int_eq(peak->total_bytes, 2 * 2000); /* W0 after I1 */
    s.costs->stash_bytes[1] = 0;
    pp_memory_peak again;
    pp_err err = { 0 };
    STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 1, NULL, NULL, &again, &err), err);
    ck_assert_int_eq(again.total_bytes, 1150);
    ck_assert_int_eq(s.program->op[again.instruction].kind, PP_OP_I);
    step_free(&s);
}
END_TEST

static int64_t recv_peak(uint32_t m, uint8_t policy)
{
    const pp_buffers buffers = { .recv = policy };
    step s PP_CLEANUP(step_free) = run("torch", "1f1b", 4, 1, m, &buffers);
    return s.report->per_rank[1].peak_recv_bytes;
}

/* Rank 1 of 4 receives m activations and m gradients. */
START_TEST(buffers_per_microbatch_grow_and_posted_ones_do_not)
{
    for (uint32_t m = 8; m <= 32; m *= 2) {
        ck_assert_int_eq(recv_peak(m, PP_RECV_PER_MICROBATCH), 2 * m * 7);
        ck_assert_int_eq(recv_peak(m, PP_RECV_ON_POST), recv_peak(8, PP_RECV_ON_POST));
        ck_assert_int_eq(recv_peak(m, PP_RECV_POOL), recv_peak(8, PP_RECV_POOL));
        ck_assert_int_le(recv_peak(m, PP_RECV_POOL), recv_peak(m, PP_RECV_PER_STAGE));
    }
}
END_TEST

/* pytorch#196465, "Pool granularity": Interleaved1F1B, pp 4, vpp 4; the same for 8, 16, 32
 * microbatches. Activations keep their slot until their backward has run. */
START_TEST(receive_slots_are_those_published)
{
    static const struct {
        pp_buffers buffers;
        uint64_t slots[4];
    } published[] = {
        { { .recv = PP_RECV_PER_STAGE }, { 22, 30, 28, 32 } },
        { { .recv = PP_RECV_PER_DIRECTION }, { 14, 20, 17, 18 } },
        { { .recv = PP_RECV_POOL }, { 14, 20, 17, 16 } },
        /* not published: with a copy of the input a slot is free when F has run */
        { { .recv = PP_RECV_PER_STAGE, .recv_copied = true }, { 18, 14, 12, 20 } },
        { { .recv = PP_RECV_PER_DIRECTION, .recv_copied = true }, { 6, 4, 3, 6 } },
        { { .recv = PP_RECV_POOL, .recv_copied = true }, { 4, 4, 3, 4 } },
    };
    for (uint32_t m = 8; m <= 32; m *= 2) {
        for (size_t k = 0; k < sizeof published / sizeof published[0]; k++) {
            step s PP_CLEANUP(step_free) =
                run("torch", "interleaved", 4, 4, m, &published[k].buffers);
            for (uint32_t r = 0; r < 4; r++) {
                pp_recv_pool pool;
                pp_err err = { 0 };
                STEP_OK(pp_recv_pool_of(s.program, NULL, r, &pool, &err), err);
                ck_assert_uint_eq(pool.slots, published[k].slots[r]);
                ck_assert_int_eq(pool.bytes, 0);
                STEP_OK(pp_recv_pool_of(s.program, s.costs, r, &pool, &err), err);
                ck_assert_int_eq(pool.bytes, 7 * (int64_t)published[k].slots[r]);
                ck_assert_int_eq(s.report->per_rank[r].peak_recv_bytes, pool.bytes);
            }
        }
    }
}
END_TEST

/* pytorch#193903: a rank in the middle kept "microbatches * stages_per_rank" activations that it
 * had sent, and as many gradients, to the end of the step. */
START_TEST(sends_kept_to_the_end_are_all_of_them)
{
    for (uint32_t m = 8; m <= 32; m *= 2) {
        const pp_buffers buffers = { .send = PP_SEND_UNTIL_STEP_END };
        step s PP_CLEANUP(step_free) = run("torch", "interleaved", 4, 4, m, &buffers);
        ck_assert_int_eq(s.report->per_rank[1].peak_send_bytes, 2 * m * 4 * 7);
        ck_assert_int_eq(s.report->per_rank[0].peak_send_bytes, (2 * 4 - 1) * m * 7);
    }
}
END_TEST

/* Slots are as large as the largest tensor of their pool; a buffer per microbatch has its own. */
START_TEST(slots_have_the_size_of_the_largest)
{
    const pp_buffers kinds[] = { { .recv = PP_RECV_PER_MICROBATCH },
                                 { .recv = PP_RECV_PER_DIRECTION },
                                 { .recv = PP_RECV_POOL } };
    const int64_t bytes[] = { 3 * 7 + 3 * 11, 3 * 7 + 11, 4 * 11 }; /* F0 F1 B0 F2 before B0 */
    for (size_t k = 0; k < 3; k++) {
        step s PP_CLEANUP(step_free) = run("torch", "1f1b", 3, 1, 3, &kinds[k]);
        pp_recv_pool pool;
        pp_err err = { 0 };
        s.costs->message_bytes[1] = 11; /* the tensor that rank 1 sends, and its gradient */
        STEP_OK(pp_recv_pool_of(s.program, s.costs, 1, &pool, &err), err);
        ck_assert_int_eq(pool.bytes, bytes[k]);
    }
}
END_TEST

START_TEST(every_framework_has_its_settings)
{
    static const struct {
        const char *name;
        pp_buffers buffers;
    } settings[] = {
        { "ideal", { 0 } },
        { "torch", { PP_RECV_PER_MICROBATCH, PP_SEND_UNTIL_STEP_END, 0, 1, 0 } },
        { "megatron", { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 } },
        { "megatron-overlap", { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 } },
        { "megatron-overlap-flush", { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 } },
        { "megatron-fsdp", { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 } },
        { "zero-bubble", { PP_RECV_ON_POST, PP_SEND_UNTIL_DONE, 0, 0, 0 } },
        { "dualpipe", { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 } },
        { "deepspeed", { PP_RECV_PER_DIRECTION, PP_SEND_UNTIL_BACKWARD, 1, 0, 0 } },
        { "colossalai", { PP_RECV_ON_POST, PP_SEND_UNTIL_BACKWARD, 0, 0, 0 } },
        { "neuronx", { PP_RECV_ON_POST, PP_SEND_UNTIL_BACKWARD, 0, 0, 1 } },
        { "xla", { PP_RECV_ON_POST, PP_SEND_UNTIL_BACKWARD, 0, 0, 1 } },
        { "xla-fused", { PP_RECV_ON_POST, PP_SEND_UNTIL_BACKWARD, 0, 0, 1 } },
        { "torch-defer-recv", { PP_RECV_PER_MICROBATCH, PP_SEND_UNTIL_STEP_END, 0, 1, 0 } },
        { "torch-2.6", { PP_RECV_PER_MICROBATCH, PP_SEND_UNTIL_STEP_END, 0, 1, 0 } },
        { "torch-2.15", { PP_RECV_ON_POST, PP_SEND_AT_WAIT, 0, 1, 0 } },
        { "megatron-unbatched", { PP_RECV_ON_POST, PP_SEND_UNTIL_WAITED, 0, 0, 0 } },
        { "ppsim", { PP_RECV_ON_POST, PP_SEND_UNTIL_DONE, 0, 0, 0 } },
    };
    ck_assert_uint_eq(sizeof settings / sizeof settings[0], pp_framework_count());
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const pp_framework *framework = NULL;
        const pp_buffers *b = &settings[i].buffers;
        pp_err err = { 0 };
        STEP_OK(pp_framework_get(settings[i].name, &framework, &err), err);
        ck_assert_uint_eq(framework->buffers.recv, b->recv);
        ck_assert_uint_eq(framework->buffers.send, b->send);
        ck_assert_int_eq(framework->buffers.recv_copied, b->recv_copied);
        ck_assert_int_eq(framework->buffers.return_outputs, b->return_outputs);
        ck_assert_int_eq(framework->buffers.fused_backward, b->fused_backward);
    }
}
END_TEST

/* One schedule under each framework's own buffer policies, p = 2, m = 3. Rank 0 when a B starts:
 * two activations, temporaries, the gradient; torch: three gradient buffers and three sends (B1),
 * the others that keep outputs two; neuronx a graph of 1000. Rank 1 when its last B starts (B0 if
 * nothing was kept before): torch two receive buffers, two outputs, two gradients sent; deepspeed
 * its buffer for inputs. */
START_TEST(executors_differ_in_peak)
{
    static const struct {
        const char *name;
        int64_t rank0, rank1;
    } peaks[] = {
        { "torch", 2100 + 21 + 21, 1150 + 14 + 60 + 14 }, { "megatron", 2100 + 7, 1150 },
        { "deepspeed", 2100 + 7 + 14, 1150 + 7 },         { "colossalai", 2100 + 7 + 14, 1150 },
        { "neuronx", 2000 + 1000 + 7 + 14, 1050 + 1000 },
    };
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        step s PP_CLEANUP(step_free) = run(peaks[i].name, "1f1b", 2, 1, 3, NULL);
        ck_assert_int_eq(s.report->per_rank[0].memory.total_bytes, peaks[i].rank0);
        ck_assert_int_eq(s.report->per_rank[1].memory.total_bytes, peaks[i].rank1);
    }
}
END_TEST

typedef struct watch {
    pp_ns at_ns;
    int64_t most, recv, send;
    int64_t last[PP_MEMORY_COUNT];
    int64_t limit_bytes, over_bytes; /* first total beyond the limit, and when */
    pp_ns over_at_ns;
} watch;

static void look(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    watch *w = context;
    int64_t total = 0;
    ck_assert_int_ge(at_ns, w->at_ns);
    w->at_ns = at_ns;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        ck_assert_int_ge(bytes[c], 0);
        total += bytes[c];
        w->last[c] = bytes[c];
    }
    w->most = total > w->most ? total : w->most;
    if (w->limit_bytes && total > w->limit_bytes && !w->over_bytes) {
        w->over_bytes = total;
        w->over_at_ns = at_ns;
    }
    w->recv = bytes[PP_MEMORY_RECV_BUFFERS] > w->recv ? bytes[PP_MEMORY_RECV_BUFFERS] : w->recv;
    w->send = bytes[PP_MEMORY_SEND_BUFFERS] > w->send ? bytes[PP_MEMORY_SEND_BUFFERS] : w->send;
}

/* With a limit one byte below the peak, the peak is the first instant above it; for other limits,
 * the samples determine the first one. */
static void check_first_over(const step *s, uint32_t r, const watch *w, const pp_memory_peak *peak)
{
    pp_memory_peak over;
    pp_err err = { 0 };
    STEP_OK(pp_memory_first_over(s->program, s->timeline, s->costs, r, peak->total_bytes - 1, &over,
                                 &err),
            err);
    ck_assert_int_eq(over.total_bytes, peak->total_bytes);
    ck_assert_int_eq(over.at_ns, peak->at_ns);
    ck_assert_uint_eq(over.instruction, peak->instruction);
    STEP_OK(pp_memory_first_over(s->program, s->timeline, s->costs, r, w->limit_bytes, &over, &err),
            err);
    ck_assert_int_eq(over.total_bytes, w->over_bytes);
    ck_assert_int_eq(over.at_ns, w->over_at_ns);
}

static void check_rank(const step *s, const pp_buffers *buffers, uint32_t r, uint32_t m)
{
    const pp_rank_report *rank = &s->report->per_rank[r];
    pp_memory_peak peak;
    pp_recv_pool pool;
    pp_err err = { 0 };
    watch w = { .limit_bytes = rank->memory.total_bytes * 2 / 3 };
    int64_t sum = 0;
    STEP_OK(pp_memory_replay(s->program, s->timeline, s->costs, r, look, &w, &peak, &err), err);
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        sum += peak.bytes[c];
    check_first_over(s, r, &w, &peak);
    ck_assert_int_eq(sum, peak.total_bytes);
    ck_assert_int_eq(w.most, peak.total_bytes);
    ck_assert_int_eq(w.recv, rank->peak_recv_bytes);
    ck_assert_int_eq(w.send, rank->peak_send_bytes);
    STEP_OK(pp_recv_pool_of(s->program, s->costs, r, &pool, &err), err);
    ck_assert_int_eq(w.last[PP_MEMORY_ACTIVATIONS], 0);
    ck_assert_int_eq(w.last[PP_MEMORY_LOGITS], 0);
    ck_assert_int_eq(w.last[PP_MEMORY_TEMPORARIES], 0);
    ck_assert_int_eq(w.last[PP_MEMORY_WEIGHT_STASH], 0);
    ck_assert_int_eq(w.last[PP_MEMORY_RECV_BUFFERS],
                     buffers->recv == PP_RECV_ON_POST ? 0 : pool.bytes);
    uint32_t last = s->program->stage_rank[s->program->stages - 1];
    ck_assert_int_eq(w.last[PP_MEMORY_OUTPUTS], buffers->return_outputs && r == last ? 30 * m : 0);
    if (buffers->send == PP_SEND_UNTIL_DONE)
        ck_assert_int_eq(w.last[PP_MEMORY_SEND_BUFFERS], 0);
}

/* Nothing is ever negative, everything allocated is released, and the components equal the peak,
 * which is the first and largest total of the samples: under every policy, for schedules of one and
 * two chunks. */
START_TEST(every_policy_balances)
{
    static const struct {
        const char *framework, *schedule;
        uint32_t chunks;
    } tried[] = {
        { "torch", "1f1b", 1 },           { "torch", "gpipe", 1 },
        { "torch", "interleaved", 2 },    { "torch", "zbv", 2 },
        { "megatron", "interleaved", 2 }, { "megatron-overlap", "interleaved", 2 },
        { "zero-bubble", "zb-h2", 1 },    { "dualpipe", "dualpipev", 2 },
        { "deepspeed", "1f1b", 1 },       { "neuronx", "1f1b", 1 },
        { "colossalai", "1f1b", 1 },
    };
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        for (unsigned k = 0; k < PP_RECV_BUFFERS_COUNT * PP_SEND_BUFFERS_COUNT; k++) {
            const pp_buffers buffers = { .recv = (uint8_t)(k % PP_RECV_BUFFERS_COUNT),
                                         .send = (uint8_t)(k / PP_RECV_BUFFERS_COUNT),
                                         .recv_copied = (k + i) & 1,
                                         .return_outputs = (k + i) & 2,
                                         .fused_backward = (k + i) & 4 };
            step s PP_CLEANUP(step_free) =
                run(tried[i].framework, tried[i].schedule, 4, tried[i].chunks, 8, &buffers);
            for (uint32_t r = 0; r < 4; r++)
                check_rank(&s, &buffers, r, 8);
        }
    }
}
END_TEST

/* Parameters and gradients of rank 0 at the starts of its ops. */
typedef struct unsharded_log {
    int64_t parameters[64], gradients[64];
    size_t count;
    pp_ns first_ns, last_ns; /* starts of the first and of the last op */
    int64_t first_parameters, last_parameters, last_gradients;
} unsharded_log;

static void log_unsharded(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    unsharded_log *log = context;
    ck_assert_uint_lt(log->count, 64);
    if (at_ns <= log->first_ns)
        log->first_parameters = bytes[PP_MEMORY_PARAMETERS];
    if (at_ns <= log->last_ns) {
        log->last_parameters = bytes[PP_MEMORY_PARAMETERS];
        log->last_gradients = bytes[PP_MEMORY_GRADIENTS];
    }
    log->parameters[log->count] = bytes[PP_MEMORY_PARAMETERS];
    log->gradients[log->count++] = bytes[PP_MEMORY_GRADIENTS];
}

static int64_t most_of(const int64_t *bytes, size_t count)
{
    int64_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

/* Interleaved, rank 0 with stages 0 and 2: both are gathered before the first op (3 + 100 + 400).
 * Whole gradients of stage 2 (2000) come with 2B0, and when 2B1 is over are reduced to 20, and its
 * parameters are freed, before 0B0, which makes those of stage 0 (1000). Under torch-2.6 the first
 * op of a stage gathers, and its last one frees. The forwards of gpipe have no gradients. */
START_TEST(sharded_stages_are_whole_from_gather_to_reduction)
{
    static const struct {
        const char *framework, *schedule;
        uint32_t chunks;
        int64_t first_parameters, most_parameters, last_parameters, most_gradients, last_gradients;
    } tried[] = {
        { "torch", "interleaved", 2, 503, 503, 103, 2000, 1020 },
        { "torch-2.15", "interleaved", 2, 503, 503, 103, 2000, 1020 },
        { "ppsim", "interleaved", 2, 503, 503, 103, 2000, 1020 },
        { "torch-2.6", "interleaved", 2, 103, 503, 103, 2000, 1020 },
        { "torch", "gpipe", 1, 103, 103, 103, 1000, 1000 },
    };
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        step s PP_CLEANUP(step_free) = { 0 };
        pp_memory_peak peak;
        unsharded_log log = { 0 };
        pp_err err = { 0 };
        const uint32_t v = tried[i].chunks;
        const pp_framework *found = NULL;
        s.order = step_order(tried[i].schedule, 2, v, 2, 0);
        s.costs = costs_of(2, v, 2);
        s.costs->sharded = true;
        s.costs->parameter_bytes[0] = 3;
        for (uint32_t k = 0; k < 2 * v; k++) {
            s.costs->gathered_bytes[k] = k < 2 ? 100 : 400;
            s.costs->whole_gradient_bytes[k] = k < 2 ? 1000 : 2000;
            s.costs->gradient_shard_bytes[k] = k < 2 ? 10 : 20;
        }
        STEP_OK(pp_framework_get(tried[i].framework, &found, &err), err);
        STEP_OK(pp_framework_lower(found, s.order, s.costs, NULL, &s.program, &err), err);
        STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
        log.first_ns = s.timeline->start_ns[0];
        log.last_ns = s.timeline->start_ns[s.program->rank_begin[1] - 1];
        STEP_OK(
            pp_memory_replay(s.program, s.timeline, s.costs, 0, log_unsharded, &log, &peak, &err),
            err);
        ck_assert_int_eq(log.first_parameters, tried[i].first_parameters);
        ck_assert_int_eq(most_of(log.parameters, log.count), tried[i].most_parameters);
        ck_assert_int_eq(log.last_parameters, tried[i].last_parameters);
        ck_assert_int_eq(log.gradients[1], 0);
        ck_assert_int_eq(most_of(log.gradients, log.count), tried[i].most_gradients);
        ck_assert_int_eq(log.last_gradients, tried[i].last_gradients);
    }
}
END_TEST

/* The same rank, where a forward leaves 7 of its stage and holds 30 while it gathers: 0F0 frees
 * stage 0 (400 + 7), 0F1 holds 30 of it, 2F0 frees stage 2 (7 + 7), 2F1 holds 30 of that, 2B0 has
 * it whole (7 + 400), and after its reduction 0B0 has stage 0 whole. */
START_TEST(a_forward_frees_what_a_backward_gathers)
{
    static const char *const frameworks[] = { "torch", "torch-2.15" };
    for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++) {
        step s PP_CLEANUP(step_free) = { 0 };
        pp_memory_peak peak;
        unsharded_log log = { 0 };
        pp_err err = { 0 };
        const pp_framework *found = NULL;
        s.order = step_order("interleaved", 2, 2, 2, 0);
        s.costs = costs_of(2, 2, 2);
        s.costs->sharded = s.costs->regathers = true;
        for (uint32_t k = 0; k < 4; k++) {
            s.costs->gathered_bytes[k] = k < 2 ? 100 : 400;
            s.costs->kept_bytes[k] = 7;
            s.costs->passing_bytes[k] = 30;
        }
        STEP_OK(pp_framework_get(frameworks[i], &found, &err), err);
        STEP_OK(pp_framework_lower(found, s.order, s.costs, NULL, &s.program, &err), err);
        STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
        STEP_OK(
            pp_memory_replay(s.program, s.timeline, s.costs, 0, log_unsharded, &log, &peak, &err),
            err);
        static const int64_t held[] = { 0, 500, 407, 430, 407, 14, 37, 14, 407, 100 };
        size_t at = 0;
        for (size_t k = 0; k < log.count; k++) {
            at += log.parameters[k] != held[at];
            ck_assert_uint_lt(at, sizeof held / sizeof *held);
            ck_assert_int_eq(log.parameters[k], held[at]);
        }
        ck_assert_uint_eq(at, sizeof held / sizeof *held - 1);
    }
}
END_TEST

/* Under megatron-fsdp a rank holds the layers and gradients of one op while it runs, beside 3 of
 * its shards: F0 F1 of stage 0, then of stage 2, then backwards the other way round. */
START_TEST(every_op_holds_what_it_needs_and_frees_it)
{
    static const int64_t parameters[] = { 100, 100, 400, 400, 400, 400, 100, 100 };
    static const int64_t gradients[] = { 0, 0, 0, 0, 2000, 2000, 1000, 1000 };
    step s PP_CLEANUP(step_free) = { 0 };
    pp_memory_peak peak;
    unsharded_log log = { 0 };
    pp_err err = { 0 };
    s.order = step_order("interleaved", 2, 2, 2, 0);
    s.costs = costs_of(2, 2, 2);
    s.costs->sharded = s.costs->shards_ops = true;
    s.costs->parameter_bytes[0] = 3;
    for (uint32_t k = 0; k < 4; k++) {
        s.costs->gathered_bytes[k] = k < 2 ? 100 : 400;
        s.costs->whole_gradient_bytes[k] = k < 2 ? 1000 : 2000;
    }
    STEP_OK(pp_framework_lower(pp_framework_find("megatron-fsdp"), s.order, s.costs, NULL,
                               &s.program, &err),
            err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 0, log_unsharded, &log, &peak, &err),
            err);
    size_t op = 0;
    bool held = false;
    for (size_t k = 0; k < log.count; k++) {
        const bool now = log.parameters[k] != 3;
        op += held && !now;
        held = now;
        if (!now)
            ck_assert_int_eq(log.gradients[k], 0);
        if (now) {
            ck_assert_uint_lt(op, 8);
            ck_assert_int_eq(log.parameters[k], 3 + parameters[op]);
            ck_assert_int_eq(log.gradients[k], gradients[op]);
        }
    }
    ck_assert_uint_eq(op, 8);
}
END_TEST

/* An evaluation holds nothing for a backward. */
START_TEST(evaluations_balance)
{
    static const char *const frameworks[] = { "torch", "megatron", "deepspeed", "zero-bubble" };
    for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++) {
        for (unsigned k = 0; k < PP_RECV_BUFFERS_COUNT * PP_SEND_BUFFERS_COUNT; k++) {
            const pp_buffers buffers = { .recv = (uint8_t)(k % PP_RECV_BUFFERS_COUNT),
                                         .send = (uint8_t)(k / PP_RECV_BUFFERS_COUNT),
                                         .recv_copied = k & 1,
                                         .return_outputs = k & 2 };
            pp_err err = { 0 };
            pp_order *forwards = NULL;
            pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 4, 1, 8, 0);
            STEP_OK(pp_order_drop_backward(order, &forwards, &err), err);
            step s PP_CLEANUP(step_free) = run_order(frameworks[i], forwards, 1, &buffers);
            for (uint32_t r = 0; r < 4; r++) {
                check_rank(&s, &buffers, r, 8);
                ck_assert_int_le(s.report->per_rank[r].memory.bytes[PP_MEMORY_ACTIVATIONS], 1000);
            }
        }
    }
}
END_TEST

/* From its start, a pair has the memory of both of its halves: two activations and those of a
 * backward. */
START_TEST(overlapped_pairs_hold_both_halves)
{
    const pp_buffers none = { 0 };
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = run("dualpipe", "dualpipev", 2, 2, 8, &none);
    s.costs->has_pairs = true;
    for (uint32_t stage = 0; stage < 4; stage++)
        s.costs->pair_ns[stage] = 25;
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    pp_report_free(&s.report);
    STEP_OK(pp_report_build("test", &pp_framework_dualpipe, s.program, s.timeline, s.costs, true,
                            &s.report, &err),
            err);
    for (uint32_t r = 0; r < 2; r++)
        check_rank(&s, &none, r, 8);
    /* DualPipeV: 2p + 1 activations (schedules of DeepSeek-AI), here with a backward under way */
    const pp_memory_peak *peak = &s.report->per_rank[0].memory;
    ck_assert_int_eq(peak->bytes[PP_MEMORY_ACTIVATIONS], 5000);
    ck_assert_int_eq(peak->bytes[PP_MEMORY_TEMPORARIES], 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tc = tcase_create("buffers");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, policies_meet_hand_computed_peaks, 0,
                        (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(tc, the_first_op_over_the_limit_is_reported);
    tcase_add_test(tc, a_peak_between_ops_names_the_next_one);
    tcase_add_test(tc, what_is_on_its_way_is_not_released);
    tcase_add_test(tc, what_is_released_at_once_was_never_held);
    tcase_add_test(tc, posts_are_when_the_rank_issues_them);
    tcase_add_test(tc, ideal_has_temporaries_and_no_buffers);
    tcase_add_test(tc, temporaries_end_with_the_input_gradient);
    tcase_add_test(tc, buffers_per_microbatch_grow_and_posted_ones_do_not);
    tcase_add_test(tc, receive_slots_are_those_published);
    tcase_add_test(tc, sends_kept_to_the_end_are_all_of_them);
    tcase_add_test(tc, slots_have_the_size_of_the_largest);
    tcase_add_test(tc, every_framework_has_its_settings);
    tcase_add_test(tc, executors_differ_in_peak);
    tcase_add_test(tc, every_policy_balances);
    tcase_add_test(tc, a_forward_frees_what_a_backward_gathers);
    tcase_add_test(tc, every_op_holds_what_it_needs_and_frees_it);
    tcase_add_test(tc, evaluations_balance);
    tcase_add_test(tc, sharded_stages_are_whole_from_gather_to_reduction);
    tcase_add_test(tc, overlapped_pairs_hold_both_halves);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
