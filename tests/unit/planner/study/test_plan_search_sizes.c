/* Size protocols of whole plans: padding goes through the cost model, and a plan keeps its
 * protocol. */
#include "planner/study/plan_search.h"
#include "tests/support/planning.h"

/* Two bins of 2048 and a ragged last one. */
static const int64_t lengths[] = { 2048, 1500, 548, 700 };

static pp_plan_request data_request(const planning *p, const char *shapes)
{
    static const pp_host_costs host = { 5000, 10000, 8000 };
    pp_plan_request request = request_of(p, 2);
    pp_err err = { 0 };
    STEP_OK(pp_size_protocol_parse(shapes, &request.exchange.shapes, &err), err);
    STEP_OK(pp_schedule_get("1f1b", &request.schedule, &err), err);
    request.exchange.host = host;
    request.parallel.tp = 1;
    request.seq_length = 2048;
    request.micro_batch_size = 1;
    request.lengths = lengths;
    request.length_count = 4;
    request.framework = &pp_framework_megatron;
    request.switches.given.recompute = true;
    request.switches.value.recompute = PP_RECOMPUTE_NONE;
    return request;
}

static pp_search_result *choose_shapes(const planning *p, const char *shapes)
{
    const pp_plan_request request = data_request(p, shapes);
    return choose(&request);
}

static size_t last_row(const pp_costs *costs)
{
    return pp_cost_index(costs, 0, costs->microbatches - 1);
}

/* Padding costs compute, bytes and memory; throughput counts the tokens that were trained. */
START_TEST(padding_is_charged_in_time_bytes_and_memory)
{
    const planning p = planning_of("gpt3.6b", "h100-80g");
    pp_search_result *real = choose_shapes(&p, "plan");
    pp_search_result *padded = choose_shapes(&p, "padded");
    const pp_costs *a = real->plan->costs[0];
    const pp_costs *b = padded->plan->costs[0];
    size_t i = last_row(a);
    size_t j = last_row(b);
    ck_assert_uint_eq(a->microbatches, 3);
    ck_assert_int_eq(a->message_bytes[i] * 2048, a->message_bytes[0] * 700);
    ck_assert_int_eq(b->message_bytes[j], b->message_bytes[0]);
    ck_assert_int_eq(b->activation_bytes[j], b->activation_bytes[0]);
    ck_assert_int_lt(a->activation_bytes[i], b->activation_bytes[j]);
    ck_assert_int_lt(a->f_ns[i], b->f_ns[j]);
    /* {700 + 1348} attends as one sequence of 2048 does. */
    ck_assert_int_eq(b->f_ns[j], b->f_ns[pp_cost_index(b, 0, 0)]);
    ck_assert_int_eq((int64_t)a->tokens, 2048 + 1500 + 548 + 700);
    ck_assert_int_eq((int64_t)b->tokens, (int64_t)a->tokens);
    ck_assert(b->model_flops == a->model_flops);
    ck_assert_int_gt(padded->plan->prediction->step_ns, real->plan->prediction->step_ns);
    ck_assert_int_eq(padded->plan->workload.microbatch[2].tokens, 700); /* the data stay */
    pp_search_result_free(&real);
    pp_search_result_free(&padded);
}
END_TEST

/* Seconds of a kernel that reads and writes so many bytes, at the clock of a long step. */
static double copy_s(const pp_hardware *hw, int64_t bytes)
{
    const double s = hw->kernel_s + (double)bytes / (hw->memory_bytes_per_s * hw->elementwise);
    return s / hw->sustained;
}

/* A copy into the padded tensor reads real tokens and writes 2048; one out of it reads and writes
 * real ones. Stage 0 pads in F and unpads in B, and the last stage the other way round. */
START_TEST(padding_of_the_wire_is_charged_in_transfers_and_copies)
{
    const planning p = planning_of("gpt3.6b", "h100-80g");
    pp_search_result *real = choose_shapes(&p, "plan");
    pp_search_result *wire = choose_shapes(&p, "padded-wire");
    const pp_costs *a = real->plan->costs[0];
    const pp_costs *b = wire->plan->costs[0];
    ck_assert_uint_eq(a->stages, 2);
    for (uint32_t m = 0; m < 3; m++) {
        const size_t i = pp_cost_index(a, 0, m), j = pp_cost_index(b, 0, m);
        const int64_t own = a->message_bytes[i], whole = a->message_bytes[0];
        const double pad_ns = 1e9 * copy_s(&p.hardware, own + whole);
        const double unpad_ns = 1e9 * copy_s(&p.hardware, 2 * own);
        ck_assert_int_eq(b->message_bytes[j], whole);
        ck_assert_int_eq(b->send_f_ns[j], a->send_f_ns[0]);
        ck_assert_int_eq(b->send_b_ns[j + 1], a->send_b_ns[1]);
        ck_assert_int_eq(b->activation_bytes[j + 1], a->activation_bytes[i + 1]);
        ck_assert_double_eq_tol((double)(b->f_ns[j] - a->f_ns[i]), pad_ns, 2);
        ck_assert_double_eq_tol((double)(b->i_ns[j] - a->i_ns[i]), unpad_ns, 2);
        ck_assert_double_eq_tol((double)(b->b_ns[j] - a->b_ns[i]), unpad_ns, 2);
        ck_assert_double_eq_tol((double)(b->f_ns[j + 1] - a->f_ns[i + 1]), unpad_ns, 2);
        ck_assert_double_eq_tol((double)(b->i_ns[j + 1] - a->i_ns[i + 1]), pad_ns, 2);
        ck_assert_int_eq(b->w_ns[j + 1], a->w_ns[i + 1]);
    }
    ck_assert(b->model_flops == a->model_flops);
    pp_search_result_free(&real);
    pp_search_result_free(&wire);
}
END_TEST

START_TEST(buckets_lie_between_real_and_padded)
{
    const planning p = planning_of("gpt3.6b", "h100-80g");
    pp_search_result *real = choose_shapes(&p, "plan");
    pp_search_result *bucket = choose_shapes(&p, "bucket:1024");
    pp_search_result *same = choose_shapes(&p, "bucket:4");
    const pp_costs *b = bucket->plan->costs[0];
    ck_assert_int_eq(b->message_bytes[last_row(b)] * 2, b->message_bytes[0]);
    ck_assert_int_gt(bucket->plan->prediction->step_ns, real->plan->prediction->step_ns);
    ck_assert_int_eq(same->plan->prediction->step_ns, real->plan->prediction->step_ns);
    pp_search_result_free(&real);
    pp_search_result_free(&bucket);
    pp_search_result_free(&same);
}
END_TEST

/* If no duration of a message is given, it is the link's own latency: 2 ranks are in one node. */
START_TEST(a_message_takes_the_latency_of_the_link)
{
    const planning p = planning_of("gpt3.6b", "h100-80g");
    pp_plan_request request = data_request(&p, "message");
    pp_search_result *choice = choose(&request);
    ck_assert_int_gt(choice->plan->shape_message_ns, 0);
    ck_assert_int_eq(choice->plan->shape_message_ns,
                     (pp_ns)(p.hardware.node_p2p.alpha_s * 1e9 + 0.5));
    request.shape_message_given = true;
    request.exchange.shape_message_ns = 1000000;
    pp_search_result *slow = choose(&request);
    ck_assert_int_eq(slow->plan->shape_message_ns, 1000000);
    ck_assert_int_gt(slow->plan->prediction->step_ns, choice->plan->prediction->step_ns);
    pp_search_result_free(&choice);
    pp_search_result_free(&slow);
}
END_TEST

/* A reader of the file predicts the same step as `plan`, whatever the protocol. */
START_TEST(a_plan_file_keeps_its_protocol)
{
    static const char *const shapes[] = { "plan",        "local",      "message",
                                          "padded:3000", "bucket:512", "padded-wire:3000" };
    const planning p = planning_of("gpt3.6b", "h100-80g");
    pp_plan_request request = data_request(&p, shapes[_i / 2]);
    pp_plan *again = NULL;
    pp_report *report = NULL;
    pp_json *json = NULL;
    pp_err err = { 0 };
    request.exchange.tensors = 3;
    request.framework = _i % 2 ? &pp_framework_megatron : &pp_framework_deepspeed;
    pp_search_result *choice = choose(&request);
    char *text = plan_text(choice->plan);
    STEP_OK(pp_json_parse(text, strlen(text), "plan", &json, &err), err);
    STEP_OK(pp_plan_read(json, "plan", &again, &err), err);
    ck_assert_int_eq(again->sizes.kind, request.exchange.shapes.kind);
    ck_assert_int_eq(again->sizes.tokens, request.exchange.shapes.tokens);
    STEP_OK(pp_plan_simulate(again, NULL, NULL, NULL, &report, &err), err);
    char *first = report_text(choice->plan->prediction);
    /* The caller adds the bound. */
    report->has_bound = choice->plan->prediction->has_bound;
    report->lower_bound_ns = choice->plan->prediction->lower_bound_ns;
    memcpy(report->bound_name, choice->plan->prediction->bound_name, sizeof report->bound_name);
    char *second = report_text(report);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
    free(text);
    pp_json_free(&json);
    pp_report_free(&report);
    pp_plan_free(&again);
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    const planning p = planning_of("gpt3.6b", "h100-80g");
    pp_plan_request request = data_request(&p, "cached"); /* the last microbatch is shorter */
    refuse(&request, PP_INFEASIBLE, "mismatched sizes: microbatch 2 arrives at stage 1");
    request = data_request(&p, "padded:2047");
    refuse(&request, PP_INPUT, "microbatch 0 has 2048 tokens");
    request = data_request(&p, "message");
    request.framework = &pp_framework_torch;
    refuse(&request, PP_USAGE, "torch cannot do message");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes of plans");
    TCase *tc = tcase_create("shapes of plans");
    tcase_add_test(tc, padding_is_charged_in_time_bytes_and_memory);
    tcase_add_test(tc, padding_of_the_wire_is_charged_in_transfers_and_copies);
    tcase_add_test(tc, buckets_lie_between_real_and_padded);
    tcase_add_test(tc, a_message_takes_the_latency_of_the_link);
    tcase_add_loop_test(tc, a_plan_file_keeps_its_protocol, 0, 12);
    tcase_add_test(tc, what_cannot_be_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
