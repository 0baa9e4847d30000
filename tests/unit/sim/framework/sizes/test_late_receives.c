/* Executor ppsim with sizes in messages: messages precede activations, and receives are posted when
 * their size was read. Steps are compared word by word: +T posts a transfer, ?T waits for it, !T
 * reads the size that it delivered; the others are ops. */
#include "sim/analysis/memory.h"
#include "sim/base/text.h"
#include "sim/framework/sizes/size_protocol.h"
#include "tests/support/step.h"

static const pp_framework *ppsim(void)
{
    const pp_framework *framework = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get("ppsim", &framework, &err), err);
    return framework;
}

/* Lowers s->order and simulates it. */
static void lower(step *s, const char *shapes, int64_t tensors)
{
    pp_exchange_options exchange = { .tensors = tensors };
    pp_err err = { 0 };
    STEP_OK(pp_size_protocol_parse(shapes, &exchange.shapes, &err), err);
    STEP_OK(pp_framework_lower(ppsim(), s->order, s->costs, NULL, &s->program, &err), err);
    STEP_OK(pp_exchange_lower(ppsim(), &exchange, s->costs, s->program, &err), err);
    STEP_OK(pp_simulate(s->program, s->costs, &s->timeline, &err), err);
}

static step step_with(pp_order *order, const char *shapes)
{
    step s = { .order = order };
    s.costs = step_costs("F=1us,B=2us,comm=100ns", order->ranks, order->stages / order->ranks,
                         order->microbatches);
    lower(&s, shapes, 1);
    return s;
}

static void print_group(const pp_comm *comm, char sign, uint32_t g, pp_text *text)
{
    const pp_group *group = &comm->group[g];
    char token[40];
    for (uint32_t t = group->first; t < group->first + group->count; t++)
        pp_text_add(text, "%s%c%s", text->bytes ? " " : "", sign,
                    pp_transfer_print(&comm->transfer[t], token, sizeof token));
}

static void steps_are(const step *s, uint32_t rank, const char *wanted)
{
    const pp_comm *comm = s->program->comm;
    pp_text text = { 0 };
    char token[40];
    for (size_t k = comm->step_begin[rank]; k < comm->step_begin[rank + 1]; k++) {
        pp_comm_step at = comm->step[k];
        if (at.kind == PP_COMM_STEP_RUN)
            pp_text_add(&text, "%s%s", text.bytes ? " " : "",
                        pp_op_print(s->program->op[at.index], token, sizeof token));
        else
            print_group(comm,
                        at.kind == PP_COMM_STEP_POST   ? '+'
                        : at.kind == PP_COMM_STEP_WAIT ? '?'
                        : at.kind == PP_COMM_STEP_READ ? '!'
                                                       : '#',
                        at.index, &text);
    }
    ck_assert_str_eq(text.data, wanted);
    pp_text_free(&text);
}

/* Rank 0 knows all sizes, and gradients have the size of what was sent. Rank 1 posts the message of
 * the next activation at the place where it would otherwise post its tensor. */
START_TEST(a_message_is_read_right_before_its_op)
{
    step s = step_with(step_order("1f1b", 2, 1, 3, 0), "message");
    steps_are(&s, 0,
              "+0RECV_B0 0F0 +0SEND_FS0 +0SEND_F0 0F1 +0SEND_FS1 +0SEND_F1 +0RECV_B1 0B0 "
              "0F2 +0SEND_FS2 +0SEND_F2 +0RECV_B2 0B1 0B2");
    steps_are(&s, 1,
              "+1RECV_FS0 ?1RECV_FS0 !1RECV_FS0 +1RECV_F0 +1RECV_FS1 1F0 1B0 +1SEND_B0 "
              "?1RECV_FS1 !1RECV_FS1 +1RECV_F1 +1RECV_FS2 1F1 1B1 +1SEND_B1 "
              "?1RECV_FS2 !1RECV_FS2 +1RECV_F2 1F2 1B2 +1SEND_B2");
    ck_assert_int_eq(s.program->comm->shape_bytes[0], 16);
    step_free(&s);
}
END_TEST

/* Rank 1 needs its gradient before its forward, whose message gives the size of both. */
START_TEST(a_gradient_is_posted_when_its_size_is_known)
{
    step s = step_with(step_order("1f1b", 3, 1, 1, 0), "message");
    steps_are(&s, 1,
              "+1RECV_FS0 ?1RECV_FS0 !1RECV_FS0 +1RECV_F0 +1RECV_B0 1F0 +1SEND_FS0 +1SEND_F0 1B0 "
              "+1SEND_B0");
    step_free(&s);
}
END_TEST

static pp_order *order_on_a_v(const char *const rows[2])
{
    pp_order *looped PP_CLEANUP(pp_order_free) = step_order_of_rows(4, 2, rows, 2);
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_new(2, 4, 2, PP_PLACE_V, 64, &order, &err), err);
    for (uint32_t r = 0; r < 2; r++) {
        for (size_t i = looped->rank_begin[r]; i < looped->rank_begin[r + 1]; i++)
            pp_order_add(order, r, looped->ops[i].kind, looped->ops[i].stage,
                         looped->ops[i].microbatch);
    }
    pp_order_end(order);
    return order;
}

/* Stages 0 and 3 on rank 0. Rank 1 needs the gradient of stage 2 before the second activation,
 * which was sent first: it is read and posted first. */
START_TEST(earlier_transfers_of_the_edge_are_posted_first)
{
    static const char *const rows[] = { "0F0 0F1 3F0 3B0 0B0 3F1 3B1 0B1",
                                        "1F0 2F0 2B0 1B0 1F1 2F1 2B1 1B1" };
    step s = step_with(order_on_a_v(rows), "message");
    steps_are(&s, 0,
              "+3RECV_FS0 0F0 +0SEND_FS0 +0SEND_F0 0F1 +0SEND_FS1 +0SEND_F1 "
              "?3RECV_FS0 !3RECV_FS0 +3RECV_F0 +0RECV_B0 3F0 3B0 +3SEND_B0 +3RECV_FS1 0B0 "
              "?3RECV_FS1 !3RECV_FS1 +3RECV_F1 +0RECV_B1 3F1 3B1 +3SEND_B1 0B1");
    steps_are(&s, 1,
              "+1RECV_FS0 ?1RECV_FS0 !1RECV_FS0 +1RECV_F0 +1RECV_FS1 1F0 2F0 +2SEND_FS0 +2SEND_F0 "
              "?1RECV_FS1 !1RECV_FS1 +1RECV_F1 +2RECV_B0 2B0 1B0 +1SEND_B0 +2RECV_B1 1F1 2F1 "
              "+2SEND_FS1 +2SEND_F1 2B1 1B1 +1SEND_B1");
    step_free(&s);
}
END_TEST

/* The pair of a backward and the next forward starts when both inputs are there. */
START_TEST(a_pair_has_both_inputs_first)
{
    static const char rows[] = "0F0,0F1,0B0,0B1\n1F0,(1B0;1F1)OVERLAP_F_B,1B1\n";
    step s = { .costs = step_costs("F=1us,B=2us,FB=2us,comm=100ns", 2, 1, 2) };
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, sizeof rows - 1, "rows.csv", &s.order, &err), err);
    lower(&s, "message", 1);
    steps_are(&s, 1,
              "+1RECV_FS0 ?1RECV_FS0 !1RECV_FS0 +1RECV_F0 +1RECV_FS1 1F0 "
              "?1RECV_FS1 !1RECV_FS1 +1RECV_F1 1B0 +1SEND_B0 1F1 1B1 +1SEND_B1");
    step_free(&s);
}
END_TEST

/* Sizes 8 8 4 4 8, known as bytes or as durations. */
START_TEST(a_cached_size_is_sent_when_it_changes)
{
    static const uint32_t classes[] = { 0, 0, 1, 1, 0 };
    for (int bytes = 0; bytes < 2; bytes++) {
        step s = { .order = step_order("1f1b", 2, 1, 5, 0) };
        pp_err err = { 0 };
        STEP_OK(pp_costs_new(2, 2, 5, 2, &s.costs, &err), err);
        memcpy(s.costs->class_of, classes, sizeof classes);
        s.costs->has_memory = bytes;
        for (size_t i = 0; i < 4; i++) {
            s.costs->f_ns[i] = s.costs->b_ns[i] = 10;
            *(bytes ? &s.costs->message_bytes[i] : &s.costs->send_f_ns[i]) = i < 2 ? 8 : 4;
        }
        lower(&s, "cached", 1);
        steps_are(&s, 0,
                  "+0RECV_B0 0F0 +0SEND_FS0 +0SEND_F0 0F1 +0SEND_F1 +0RECV_B1 0B0 "
                  "0F2 +0SEND_FS2 +0SEND_F2 +0RECV_B2 0B1 0F3 +0SEND_F3 +0RECV_B3 0B2 "
                  "0F4 +0SEND_FS4 +0SEND_F4 +0RECV_B4 0B3 0B4");
        steps_are(&s, 1,
                  "+1RECV_FS0 ?1RECV_FS0 !1RECV_FS0 +1RECV_F0 +1RECV_F1 1F0 1B0 +1SEND_B0 "
                  "+1RECV_FS2 1F1 1B1 +1SEND_B1 "
                  "?1RECV_FS2 !1RECV_FS2 +1RECV_F2 +1RECV_F3 1F2 1B2 +1SEND_B2 "
                  "+1RECV_FS4 1F3 1B3 +1SEND_B3 "
                  "?1RECV_FS4 !1RECV_FS4 +1RECV_F4 1F4 1B4 +1SEND_B4");
        step_free(&s);
    }
}
END_TEST

static size_t messages_of(const step *s)
{
    size_t messages = 0;
    for (size_t t = 0; t < s->program->comm->transfer_count; t++)
        messages += s->program->comm->transfer[t].kind == PP_SEND_FS;
    return messages;
}

START_TEST(equal_sizes_are_sent_once_per_edge_and_chunk)
{
    static const struct {
        const char *schedule;
        uint32_t p, v;
        size_t edges; /* from stage to stage, between ranks */
    } rows[] = { { "1f1b", 4, 1, 3 }, { "interleaved", 2, 2, 3 }, { "zbv", 2, 2, 2 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        step s = step_with(step_order(rows[i].schedule, rows[i].p, rows[i].v, 8, 0), "cached");
        ck_assert_uint_eq(messages_of(&s), rows[i].edges);
        step_free(&s);
        s = step_with(step_order(rows[i].schedule, rows[i].p, rows[i].v, 8, 0), "message");
        ck_assert_uint_eq(messages_of(&s), 8 * rows[i].edges);
        step_free(&s);
    }
}
END_TEST

START_TEST(one_message_gives_the_size_of_several_tensors)
{
    step s = { .order = step_order("gpipe", 2, 1, 1, 0),
               .costs = step_costs("F=1us,B=2us,comm=100ns", 2, 1, 1) };
    lower(&s, "message", 2);
    steps_are(&s, 0, "+0RECV_B0 +0RECV_B0 0F0 +0SEND_FS0 +0SEND_F0 +0SEND_F0 0B0");
    steps_are(&s, 1,
              "+1RECV_FS0 ?1RECV_FS0 !1RECV_FS0 +1RECV_F0 +1RECV_F0 1F0 1B0 +1SEND_B0 +1SEND_B0");
    ck_assert_uint_eq(s.program->comm->group_count, 2 * 3);
    step_free(&s);
}
END_TEST

/* Rank 1: tensor 1-2, F 2-3, B 3-5. The second activation is computed at 2 but not requested until
 * 5: tensor 5-6, F 6-7, B 7-9; the gradient was requested ahead, 9-10; rank 0: B 10-12. */
START_TEST(a_late_receive_shows_the_transfer)
{
    for (uint32_t m = 1; m <= 2; m++) {
        step s = { .order = step_order("1f1b", 2, 1, m, 0),
                   .costs = step_costs("F=1us,B=2us,comm=1us", 2, 1, m) };
        lower(&s, "message", 1);
        ck_assert_int_eq(pp_timeline_makespan(s.timeline), m == 1 ? 8000 : 12000);
        step_free(&s);
    }
}
END_TEST

/* The most bytes of receive buffers on a rank, in tensors. */
static int64_t buffers_of(const char *schedule, const char *shapes, uint32_t p, uint32_t rank)
{
    step s = { .order = step_order(schedule, p, 1, 8, 0),
               .costs = step_costs("F=1us,B=2us,comm=100ns", p, 1, 8) };
    pp_memory_peak peak;
    pp_err err = { 0 };
    s.costs->has_memory = true;
    for (uint32_t k = 0; k < p; k++)
        s.costs->message_bytes[k] = 1024;
    lower(&s, shapes, 1);
    STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, rank, NULL, NULL, &peak, &err), err);
    step_free(&s);
    ck_assert_int_eq(peak.recv_bytes % 1024, 0);
    return peak.recv_bytes / 1024;
}

/* Only a message without a buffer is posted ahead. The last rank receives activations only;
 * gradients, whose size is known, are still posted one ahead, and a cached size allows that for
 * activations, too. */
START_TEST(a_late_buffer_is_one_buffer_less)
{
    for (uint32_t p = 2; p <= 4; p++) {
        ck_assert_int_eq(buffers_of("1f1b", "plan", p, p - 1), 2);
        ck_assert_int_eq(buffers_of("1f1b", "message", p, p - 1), 1);
        ck_assert_int_eq(buffers_of("1f1b", "cached", p, p - 1), 2);
        ck_assert_int_eq(buffers_of("1f1b", "plan", p, 0), 2);
        ck_assert_int_eq(buffers_of("1f1b", "message", p, 0), 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes_late");
    TCase *tc = tcase_create("late receives");
    tcase_add_test(tc, a_message_is_read_right_before_its_op);
    tcase_add_test(tc, a_gradient_is_posted_when_its_size_is_known);
    tcase_add_test(tc, earlier_transfers_of_the_edge_are_posted_first);
    tcase_add_test(tc, a_pair_has_both_inputs_first);
    tcase_add_test(tc, a_cached_size_is_sent_when_it_changes);
    tcase_add_test(tc, equal_sizes_are_sent_once_per_edge_and_chunk);
    tcase_add_test(tc, one_message_gives_the_size_of_several_tensors);
    tcase_add_test(tc, a_late_receive_shows_the_transfer);
    tcase_add_test(tc, a_late_buffer_is_one_buffer_less);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
