/* Orders of forwards only, as in evaluation. */
#include "planner/bound/bound.h"
#include "sim/order/order_check.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"

static pp_order *forwards_of(const char *schedule, uint32_t p, uint32_t v, uint32_t m)
{
    pp_order *whole PP_CLEANUP(pp_order_free) = step_order(schedule, p, v, m, 0);
    pp_order *kept = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_drop_backward(whole, &kept, &err), err);
    return kept;
}

/* Forwards run without waiting: (m + p - 1) F, and p - 1 links; also for m < p. */
START_TEST(an_evaluation_takes_m_plus_p_minus_1_forwards)
{
    static const char *const names[] = { "gpipe", "1f1b", "eager-1f1b", "zb-h1", "zb-2p" };
    for (uint32_t p = 1; p <= 8; p++) {
        for (uint32_t m = 1; m <= 9; m++) {
            pp_bound bound;
            pp_err err = { 0 };
            step s PP_CLEANUP(step_free) =
                step_of(forwards_of(names[_i], p, 1, m), "F=10us,B=50us,comm=3us");
            ck_assert_int_eq(s.report->makespan_ns, (m + p - 1) * 10000 + (p - 1) * 3000);
            STEP_OK(pp_bound_order(s.costs, s.order, 0, &bound, &err), err);
            ck_assert_int_eq(bound.ns, s.report->makespan_ns);
        }
    }
}
END_TEST

/* The remaining order is complete, in the order of the schedule, and nothing is held for a
 * backward. */
START_TEST(every_schedule_can_be_evaluated)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    const pp_schedule_params shape = { .ranks = 4,
                                       .chunks = schedule->chunks ? schedule->chunks : 3,
                                       .microbatches = 8 };
    pp_err err = { 0 };
    pp_order *whole PP_CLEANUP(pp_order_free) = step_order_for(schedule->name, &shape);
    step s PP_CLEANUP(step_free) = { 0 };
    STEP_OK(pp_order_drop_backward(whole, &s.order, &err), err);
    STEP_OK(pp_order_check(s.order, schedule->name, &err), err);
    ck_assert(pp_order_forward_only(s.order));
    ck_assert(!pp_order_forward_only(whole));
    ck_assert_uint_eq(s.order->rank_begin[4], (size_t)8 * s.order->stages);
    for (uint32_t r = 0; r < 4; r++) {
        size_t i = whole->rank_begin[r];
        for (size_t k = s.order->rank_begin[r]; k < s.order->rank_begin[r + 1]; k++, i++) {
            while (whole->ops[i].kind != PP_OP_F)
                i++;
            ck_assert_uint_eq(s.order->ops[k].stage, whole->ops[i].stage);
            ck_assert_uint_eq(s.order->ops[k].microbatch, whole->ops[i].microbatch);
            ck_assert_uint_eq(s.order->ops[k].paired, 0);
        }
    }
    s.costs = step_costs("F=1us,B=2us,comm=0", 4, s.order->stages / 4, 8);
    step_simulate(&s);
    for (uint32_t r = 0; r < 4; r++)
        ck_assert_uint_eq(s.report->per_rank[r].peak_live_activations, 1);
}
END_TEST

/* Parameters remain; gradients, optimizer state and the step tail exist only in training. */
START_TEST(an_evaluation_holds_parameters_and_one_activation)
{
    step s PP_CLEANUP(step_free) = { .order = forwards_of("1f1b", 2, 1, 4) };
    s.costs = step_costs("F=10us,B=20us,comm=0", 2, 1, 4);
    s.costs->has_memory = true;
    s.costs->fixed_ns = 5;
    s.costs->model_flops = 3e6;
    s.costs->peak_flops_per_s = 1e12;
    for (int k = 0; k < 2; k++) {
        s.costs->activation_bytes[k] = 100;
        s.costs->logits_bytes[k] = 10;
        s.costs->parameter_bytes[k] = 7000;
        s.costs->gradient_bytes[k] = 70000;
        s.costs->optimizer_bytes[k] = 700000;
        s.costs->grad_sync_ns[k] = 33;
        s.costs->optimizer_ns[k] = 44;
    }
    step_simulate(&s);
    ck_assert_int_eq(s.report->peak_memory_bytes, 7110);
    ck_assert_int_eq(s.report->step_ns, 50000);
    ck_assert_int_eq(s.report->step_boundary_ns, 0);
    ck_assert_double_eq_tol(s.report->model_flops_utilization, 1e6 / (1e12 * 50e-6), 1e-12);
}
END_TEST

/* DeepSpeed's InferenceSchedule: even stages send before they receive, odd ones after
 * (deepspeed/runtime/pipe/schedule.py). Megatron, Colossal-AI and neuronx-distributed: receive, F,
 * send, one microbatch after the other. */
static const char *tokens_of(const pp_program *program, uint32_t rank, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t s = program->comm->step_begin[rank]; s < program->comm->step_begin[rank + 1]; s++) {
        char token[40];
        const pp_comm_step *at = &program->comm->step[s];
        if (at->kind == PP_COMM_STEP_WAIT)
            continue;
        const pp_group *group =
            at->kind == PP_COMM_STEP_POST ? &program->comm->group[at->index] : NULL;
        for (uint32_t k = 0; k < (group ? group->count : 1); k++) {
            if (group)
                pp_transfer_print(&program->comm->transfer[group->first + k], token, sizeof token);
            else
                pp_op_print(program->op[at->index], token, sizeof token);
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     k      ? "+"
                                     : used ? " "
                                            : "",
                                     token);
        }
    }
    return text;
}

START_TEST(frameworks_evaluate_in_their_own_way)
{
    static const struct {
        const char *framework, *rank1, *rank2;
    } rows[] = {
        { "deepspeed", "1RECV_F0 1F0 1RECV_F1 1SEND_F0 1F1 1SEND_F1",
          "2RECV_F0 2F0 2SEND_F0 2RECV_F1 2F1 2SEND_F1" },
        { "megatron", "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1",
          "2RECV_F0 2F0 2SEND_F0 2RECV_F1 2F1 2SEND_F1" },
        { "colossalai", "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1",
          "2RECV_F0 2F0 2SEND_F0 2RECV_F1 2F1 2SEND_F1" },
        { "neuronx", "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1",
          "2RECV_F0 2F0 2SEND_F0 2RECV_F1 2F1 2SEND_F1" },
    };
    pp_order *order PP_CLEANUP(pp_order_free) = forwards_of("1f1b", 4, 1, 2);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        char text[400];
        pp_err err = { 0 };
        STEP_OK(lower_with(rows[k].framework, order, &program, &err), err);
        ck_assert_str_eq(tokens_of(program, 1, text, sizeof text), rows[k].rank1);
        ck_assert_str_eq(tokens_of(program, 2, text, sizeof text), rows[k].rank2);
    }
}
END_TEST

/* Megatron's interleaved evaluation is all warm-up: a batch {send_next, recv_prev} per forward. */
START_TEST(megatron_evaluates_interleaved_as_it_warms_up)
{
    pp_order *order PP_CLEANUP(pp_order_free) = forwards_of("interleaved", 4, 2, 4);
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    char text[800];
    STEP_OK(lower_with("megatron", order, &program, &err), err);
    ck_assert_str_eq(tokens_of(program, 0, text, sizeof text),
                     "0F0 0SEND_F0 0F1 0SEND_F1 0F2 0SEND_F2 0F3 4RECV_F0+0SEND_F3 "
                     "4F0 4RECV_F1+4SEND_F0 4F1 4RECV_F2+4SEND_F1 4F2 4RECV_F3+4SEND_F2 4F3 "
                     "4SEND_F3");
}
END_TEST

/* More microbatches than the warm-up of training: still one forward after the other. */
START_TEST(megatron_evaluates_long_runs_alike)
{
    pp_order *order PP_CLEANUP(pp_order_free) = forwards_of("interleaved", 4, 2, 16);
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(lower_with("megatron", order, &program, &err), err);
    for (uint32_t r = 0; r < 4; r++) {
        size_t i = program->rank_begin[r];
        for (size_t s = program->comm->step_begin[r]; s < program->comm->step_begin[r + 1]; s++) {
            if (program->comm->step[s].kind == PP_COMM_STEP_RUN)
                ck_assert_uint_eq(program->comm->step[s].index, i++);
        }
        ck_assert_uint_eq(i, program->rank_begin[r + 1]);
    }
}
END_TEST

START_TEST(what_is_not_modelled_is_refused_with_a_way_out)
{
    static const struct {
        const char *framework, *schedule;
        uint32_t v;
    } refused[] = {
        { "megatron-overlap", "interleaved", 2 }, { "megatron-overlap-flush", "interleaved", 2 },
        { "colossalai", "interleaved", 2 },       { "neuronx", "interleaved", 2 },
        { "dualpipe", "dualpipev", 2 },           { "dualpipe", "dualpipe", 1 },
    };
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        pp_order *order PP_CLEANUP(pp_order_free) =
            forwards_of(refused[k].schedule, 4, refused[k].v, 8);
        pp_program *program = NULL;
        pp_err err = { 0 };
        ck_assert_int_eq(lower_with(refused[k].framework, order, &program, &err), PP_USAGE);
        ck_assert_msg(strstr(err.text, "runs forwards only; choose"), "%s", err.text);
    }
}
END_TEST

/* A file has only forwards, or everything that training needs, and nothing between. */
START_TEST(a_file_of_forwards_has_all_of_them)
{
    static const char whole[] = "0F0,0F1\n1F0,1F1\n";
    static const char short_of_one[] = "0F0,0F1\n1F0\n";
    static const char mixed[] = "0F0,0F1,0B0\n1F0,1F1\n";
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_order *none = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_read(whole, strlen(whole), "x.csv", &order, &err), err);
    ck_assert(pp_order_forward_only(order));
    ck_assert_int_eq(pp_format_read(short_of_one, strlen(short_of_one), "x.csv", &none, &err),
                     PP_INPUT);
    ck_assert_msg(strstr(err.text, "stage 1 microbatch 1 has no F"), "%s", err.text);
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_format_read(mixed, strlen(mixed), "x.csv", &none, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "has no B (or I and W)"), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evaluation");
    TCase *tc = tcase_create("forwards only");
    tcase_add_loop_test(tc, an_evaluation_takes_m_plus_p_minus_1_forwards, 0, 5);
    tcase_add_loop_test(tc, every_schedule_can_be_evaluated, 0, (int)pp_schedule_count());
    tcase_add_test(tc, an_evaluation_holds_parameters_and_one_activation);
    tcase_add_test(tc, frameworks_evaluate_in_their_own_way);
    tcase_add_test(tc, megatron_evaluates_interleaved_as_it_warms_up);
    tcase_add_test(tc, megatron_evaluates_long_runs_alike);
    tcase_add_test(tc, what_is_not_modelled_is_refused_with_a_way_out);
    tcase_add_test(tc, a_file_of_forwards_has_all_of_them);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
