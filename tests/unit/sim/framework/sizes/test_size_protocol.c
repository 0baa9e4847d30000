/* Padding of data and of costs; names of protocols and hosts. */
#include "sim/framework/sizes/size_protocol.h"
#include "tests/support/step.h"

/* Sequences {5, 3}, {2}, {7}; two replicas would be padded the same way. */
static pp_workload small_data(void)
{
    static const int64_t lengths[] = { 5, 3, 2, 7 };
    pp_workload w = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_workload_pack(lengths, 4, 8, 1, 1, 1, &w, &err), err);
    ck_assert_uint_eq(w.microbatches, 3);
    return w;
}

static void pads_to(const char *text, const int64_t tokens[3], const int64_t squares[3],
                    uint32_t expected)
{
    pp_workload w = small_data();
    pp_workload padded = { 0 };
    pp_size_protocol shapes;
    pp_err err = { 0 };
    uint32_t distinct = 0;
    STEP_OK(pp_size_protocol_parse(text, &shapes, &err), err);
    STEP_OK(pp_workload_pad(&shapes, &w, &padded, &distinct, &err), err);
    ck_assert_uint_eq(distinct, expected);
    for (size_t j = 0; j < 3; j++) {
        ck_assert_int_eq(padded.microbatch[j].tokens, tokens[j]);
        ck_assert_int_eq(padded.microbatch[j].square_sum, squares[j]);
        int64_t sum = 0;
        for (size_t i = 0; i < padded.microbatch[j].count; i++)
            sum += padded.lengths[padded.microbatch[j].first + i];
        ck_assert_int_eq(sum, tokens[j]);
    }
    pp_workload_free(&w);
    pp_workload_free(&padded);
}

/* The last sequence is lengthened, as NeMo does. {5, 3} {2} {7}. */
START_TEST(padding_lengthens_the_last_sequence)
{
    pads_to("plan", (int64_t[]){ 8, 2, 7 }, (int64_t[]){ 34, 4, 49 }, 3);
    pads_to("padded", (int64_t[]){ 8, 8, 8 }, (int64_t[]){ 34, 64, 64 }, 1);
    pads_to("padded:10", (int64_t[]){ 10, 10, 10 }, (int64_t[]){ 50, 100, 100 }, 1);
    pads_to("bucket:4", (int64_t[]){ 8, 4, 8 }, (int64_t[]){ 34, 16, 64 }, 2);
    pads_to("bucket:1", (int64_t[]){ 8, 2, 7 }, (int64_t[]){ 34, 4, 49 }, 3);
}
END_TEST

/* padded-wire keeps the data, and says how long tensors are on the wire. */
START_TEST(only_the_wire_is_padded)
{
    static const char *const texts[] = { "padded-wire", "padded-wire:10", "padded", "plan" };
    static const int64_t wire[] = { 8, 10, 0, 0 };
    pads_to("padded-wire", (int64_t[]){ 8, 2, 7 }, (int64_t[]){ 34, 4, 49 }, 3);
    pads_to("padded-wire:10", (int64_t[]){ 8, 2, 7 }, (int64_t[]){ 34, 4, 49 }, 3);
    for (size_t i = 0; i < sizeof wire / sizeof wire[0]; i++) {
        pp_workload w = small_data();
        pp_workload padded = { 0 };
        pp_size_protocol shapes;
        pp_err err = { 0 };
        char printed[32];
        STEP_OK(pp_size_protocol_parse(texts[i], &shapes, &err), err);
        ck_assert_str_eq(pp_size_protocol_print(&shapes, printed, sizeof printed), texts[i]);
        STEP_OK(pp_workload_pad(&shapes, &w, &padded, NULL, &err), err);
        ck_assert_int_eq(padded.wire_tokens, wire[i]);
        pp_workload_free(&w);
        pp_workload_free(&padded);
    }
}
END_TEST

START_TEST(what_is_longer_than_the_padding_is_named)
{
    pp_workload w = small_data();
    pp_workload padded = { 0 };
    pp_size_protocol shapes;
    pp_err err = { 0 };
    STEP_OK(pp_size_protocol_parse("padded:7", &shapes, &err), err);
    ck_assert_int_eq(pp_workload_pad(&shapes, &w, &padded, NULL, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "microbatch 0 has 8 tokens") && strstr(err.text, "padded:8"),
                  "%s", err.text);
    err = (pp_err){ 0 };
    STEP_OK(pp_size_protocol_parse("padded-wire:7", &shapes, &err), err);
    ck_assert_int_eq(pp_workload_pad(&shapes, &w, &padded, NULL, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "give at least padded-wire:8"), "%s", err.text);
    pp_workload_free(&w);
}
END_TEST

START_TEST(without_a_model_padding_takes_the_longest_class)
{
    pp_costs *costs = NULL;
    pp_size_protocol shapes;
    pp_err err = { 0 };
    STEP_OK(pp_costs_new(2, 2, 3, 3, &costs, &err), err);
    for (uint32_t c = 0; c < 3; c++) {
        costs->class_of[c] = c;
        costs->f_ns[2 * c] = (pp_ns[]){ 5, 9, 7 }[c];
        costs->b_ns[2 * c + 1] = (pp_ns[]){ 5, 3, 7 }[c];
    }
    STEP_OK(pp_size_protocol_parse("padded", &shapes, &err), err);
    STEP_OK(pp_costs_pad(&shapes, costs, &err), err);
    for (uint32_t j = 0; j < 3; j++)
        ck_assert_uint_eq(costs->class_of[j], 2);
    STEP_OK(pp_size_protocol_parse("bucket:8", &shapes, &err), err);
    ck_assert_int_eq(pp_costs_pad(&shapes, costs, &err), PP_USAGE);
    STEP_OK(pp_size_protocol_parse("padded:8", &shapes, &err), err);
    ck_assert_int_eq(pp_costs_pad(&shapes, costs, &err), PP_USAGE);
    pp_costs_free(&costs);
}
END_TEST

/* Without a model, transfers are those of the longest microbatch of each stage, and ops keep their
 * own durations. */
START_TEST(without_a_model_only_transfers_are_padded)
{
    static const pp_ns own_ns[] = { 5, 9, 7 };
    pp_costs *costs = NULL;
    pp_size_protocol shapes;
    pp_err err = { 0 };
    STEP_OK(pp_costs_new(2, 2, 3, 3, &costs, &err), err);
    for (uint32_t c = 0; c < 3; c++) {
        costs->class_of[c] = c;
        costs->f_ns[2 * c] = own_ns[c];
        costs->send_f_ns[2 * c] = (pp_ns[]){ 50, 90, 70 }[c];
        costs->send_b_ns[2 * c + 1] = (pp_ns[]){ 5, 1, 2 }[c];
        costs->message_bytes[2 * c] = (int64_t[]){ 100, 180, 140 }[c];
    }
    STEP_OK(pp_size_protocol_parse("padded-wire", &shapes, &err), err);
    STEP_OK(pp_costs_pad(&shapes, costs, &err), err);
    for (uint32_t c = 0; c < 3; c++) {
        ck_assert_uint_eq(costs->class_of[c], c);
        ck_assert_int_eq(costs->f_ns[2 * c], own_ns[c]);
        ck_assert_int_eq(costs->send_f_ns[2 * c], 90);
        ck_assert_int_eq(costs->send_b_ns[2 * c + 1], 5);
        ck_assert_int_eq(costs->message_bytes[2 * c], 180);
        ck_assert_int_eq(costs->message_bytes[2 * c + 1], 0);
    }
    STEP_OK(pp_size_protocol_parse("padded-wire:8", &shapes, &err), err);
    ck_assert_int_eq(pp_costs_pad(&shapes, costs, &err), PP_USAGE);
    ck_assert_msg(strstr(err.text, "or padded-wire (the longest microbatch)"), "%s", err.text);
    pp_costs_free(&costs);
}
END_TEST

START_TEST(only_what_is_meant_is_read)
{
    static const char *const wrong[] = {
        "plain",    "plan:3",   "bucket",       "bucket:",       "bucket:0",
        "padded:",  "padded:x", "message:",     "pad",           ":",
        "cached:1", "local ",   "padded-wire:", "padded-wire:0", "padded-wires"
    };
    static const char *const hosts[] = { "launch",     "launch=5", "launch=1us,launch=1us",
                                         "sync=1us,,", "wait=1us", "read=-1us",
                                         "read=2000s" };
    pp_size_protocol shapes;
    pp_host_costs host;
    pp_err err = { 0 };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(pp_size_protocol_parse(wrong[i], &shapes, &err) == PP_USAGE, "%s", wrong[i]);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        ck_assert_msg(pp_host_costs_parse(hosts[i], &host, &err) == PP_USAGE, "%s", hosts[i]);
    STEP_OK(pp_host_costs_parse("read=8us,launch=5us", &host, &err), err);
    ck_assert_int_eq(host.launch_ns, 5000);
    ck_assert_int_eq(host.sync_ns, 0);
    ck_assert_int_eq(host.read_ns, 8000);
    STEP_OK(pp_size_protocol_parse("bucket:512", &shapes, &err), err);
    ck_assert_int_eq(shapes.tokens, 512);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("padding");
    TCase *tc = tcase_create("padding");
    tcase_add_test(tc, padding_lengthens_the_last_sequence);
    tcase_add_test(tc, only_the_wire_is_padded);
    tcase_add_test(tc, without_a_model_only_transfers_are_padded);
    tcase_add_test(tc, what_is_longer_than_the_padding_is_named);
    tcase_add_test(tc, without_a_model_padding_takes_the_longest_class);
    tcase_add_test(tc, only_what_is_meant_is_read);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
