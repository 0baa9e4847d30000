/* Number formats: which layers are quantized, what that saves and costs in time and bytes, and
 * which GPUs have which format. */
#include "sim/cost/cost_model.h"
#include "tests/support/published.h"

static pp_cost_context context_of(const pp_model *model, const pp_hardware *hw,
                                  pp_precision precision)
{
    pp_cost_context c = { .model = model,
                          .hardware = hw,
                          .parallel = { .pp = 1, .tp = 4, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 } };
    c.switches = stack_switches("every-schedule", &c.parallel);
    c.switches.recompute = PP_RECOMPUTE_NONE;
    c.switches.precision = precision;
    return c;
}

static pp_unit_cost unit(const pp_cost_context *c, pp_unit_kind kind, int64_t layer)
{
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(c, kind, layer, 8192, (int64_t)8192 * 8192, &cost, &err), err);
    return cost;
}

/* A large layer takes less time in fewer bits, and keeps less, in every pass. Head and embedding
 * are as they were. */
START_TEST(fewer_bits_take_less_time_and_memory)
{
    static const pp_precision of_h100[] = { PP_PRECISION_FP8, PP_PRECISION_FP8_CURRENT,
                                            PP_PRECISION_FP8_BLOCK };
    static const pp_precision of_b200[] = { PP_PRECISION_FP8, PP_PRECISION_MXFP8,
                                            PP_PRECISION_NVFP4 };
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware(_i ? "b200-180g" : "h100-80g");
    const pp_cost_context plain = context_of(&model, &hw, PP_PRECISION_BF16);
    const pp_unit_cost wide = unit(&plain, PP_UNIT_LAYER, 40);
    for (int k = 0; k < 3; k++) {
        const pp_cost_context c = context_of(&model, &hw, _i ? of_b200[k] : of_h100[k]);
        const pp_unit_cost low = unit(&c, PP_UNIT_LAYER, 40);
        ck_assert_double_lt(low.f_s, 0.9 * wide.f_s);
        ck_assert_double_lt(low.i_s, 0.9 * wide.i_s);
        ck_assert_double_lt(low.w_s, 0.9 * wide.w_s);
        ck_assert_double_gt(low.f_s, wide.f_s / 4);
        ck_assert_double_lt(low.activation_bytes, wide.activation_bytes);
        ck_assert_double_lt(low.stash_bytes, wide.stash_bytes);
        ck_assert_double_eq(low.model_flops, wide.model_flops);
        ck_assert_double_eq(unit(&c, PP_UNIT_LOSS, 0).f_s, unit(&plain, PP_UNIT_LOSS, 0).f_s);
        ck_assert_double_eq(unit(&c, PP_UNIT_EMBEDDING, 0).w_s,
                            unit(&plain, PP_UNIT_EMBEDDING, 0).w_s);
    }
}
END_TEST

/* Per token: the input of each norm and of attention stay in 16 bits (2 h / t with sequence
 * parallelism, q, k, v and the output), as do the two inputs of SwiGLU; the inputs of the four
 * linear layers take one byte; 4 bytes per head and row belong to attention. */
START_TEST(kept_bytes_are_those_of_transformer_engine)
{
    const pp_model m = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&m, &hw, PP_PRECISION_FP8);
    const double h = (double)m.hidden, t = 4, ffn = (double)m.ffn / t;
    const double q = (double)m.heads * 128 / t, kv = (double)m.kv_heads * 128 / t;
    const double sixteen = 2 * (2 * h / t + 2 * q + 2 * kv + 2 * ffn);
    const double eight = 2 * h / t + q + ffn;
    ck_assert_double_eq_tol(unit(&c, PP_UNIT_LAYER, 40).activation_bytes,
                            8192 * (sixteen + eight + 4 * (double)m.heads / t), 1);
}
END_TEST

/* With fp8-current-all the first and the last layer are as all others. */
START_TEST(all_layers_may_be_quantized)
{
    const pp_model model = run_model("llama3-8b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context some = context_of(&model, &hw, PP_PRECISION_FP8_CURRENT);
    const pp_cost_context all = context_of(&model, &hw, PP_PRECISION_FP8_CURRENT_ALL);
    const double inner_s = unit(&some, PP_UNIT_LAYER, 1).f_s;
    ck_assert_double_gt(unit(&some, PP_UNIT_LAYER, 0).f_s, 1.1 * inner_s);
    for (int64_t layer = 0; layer < model.layers; layer++)
        ck_assert_double_eq(unit(&all, PP_UNIT_LAYER, layer).f_s, inner_s);
}
END_TEST

/* With fp8-current the first and the last layer are those of bf16, and the stage is their sum. */
START_TEST(first_and_last_layer_stay_in_16_bits)
{
    const pp_model model = run_model("llama3-8b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context plain = context_of(&model, &hw, PP_PRECISION_BF16);
    const pp_cost_context low = context_of(&model, &hw, PP_PRECISION_FP8_CURRENT);
    const double edge_s = unit(&plain, PP_UNIT_LAYER, 0).f_s;
    const double inner_s = unit(&low, PP_UNIT_LAYER, 1).f_s;
    ck_assert_double_eq(unit(&low, PP_UNIT_LAYER, 0).f_s, edge_s);
    ck_assert_double_eq(unit(&low, PP_UNIT_LAYER, 31).f_s, edge_s);
    ck_assert_double_eq(unit(&low, PP_UNIT_LAYER, 30).f_s, inner_s);
    ck_assert_double_lt(inner_s, edge_s);
    run r = { .model = model,
              .micro_batch_size = 1,
              .seq_length = 8192,
              .microbatches = 8,
              .parallel = { .pp = 4, .tp = 4, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 },
              .switches = low.switches };
    pp_costs *costs = run_costs(&r, &hw);
    /* stages of 8 layers without ends differ from the second one by what the edge layer adds */
    const double second = (double)costs->f_ns[1], third = (double)costs->f_ns[2];
    const double last = (double)costs->f_ns[3] - 1e9 * unit(&low, PP_UNIT_LOSS, 0).f_s;
    ck_assert_double_eq(second, third);
    ck_assert_double_eq_tol(last - second, 1e9 * (edge_s - inner_s), 2);
    pp_costs_free(&costs);
}
END_TEST

/* Bounds and partitions compute each kind of layer once. */
START_TEST(layers_of_a_kind_cost_the_same)
{
    const pp_model model = run_model(_i ? "deepseek-v3" : "llama3-8b");
    const pp_hardware hw = run_hardware("h100-80g");
    pp_cost_context c = context_of(&model, &hw, PP_PRECISION_FP8_CURRENT);
    double f_s[PP_LAYER_KINDS] = { 0 };
    int kinds = 0;
    for (int64_t layer = 0; layer < model.layers; layer++) {
        double *known = &f_s[pp_layer_kind(&c, layer)];
        const double now = unit(&c, PP_UNIT_LAYER, layer).f_s;
        kinds += *known == 0;
        *known = *known > 0 ? *known : now;
        ck_assert_double_eq(now, *known);
    }
    ck_assert_int_eq(kinds, _i ? 4 : 2);
}
END_TEST

/* A weight takes its copy and a transposed copy of one byte each, and with --fp8-params off also
 * the two bytes from which they are made; those are gathered over the replicas. */
START_TEST(weights_are_kept_quantized)
{
    const pp_model m = run_model("llama3-8b");
    const pp_hardware hw = run_hardware("h100-80g");
    const double h = (double)m.hidden;
    /* matrices of the 8 layers of a stage on one of 4 tensor-parallel ranks */
    const double low = 8 * (h * (2 * h + 2 * 1024) + 3 * h * (double)m.ffn) / 4;
    pp_ns sync_ns[2];
    int64_t bytes[3];
    for (int k = 0; k < 3; k++) {
        run r = { .model = m,
                  .micro_batch_size = 1,
                  .seq_length = 8192,
                  .microbatches = 8,
                  .parallel = { .pp = 4, .tp = 4, .cp = 1, .dp = 4, .ep = 1, .vpp = 1 },
                  .switches =
                      context_of(&m, &hw, k ? PP_PRECISION_FP8 : PP_PRECISION_BF16).switches };
        r.switches.low_parameters = k == 2;
        r.switches.grad_sync_overlap = false;
        pp_costs *costs = run_costs(&r, &hw);
        bytes[k] = costs->parameter_bytes[1];
        if (k)
            sync_ns[k - 1] = costs->grad_sync_ns[1];
        pp_costs_free(&costs);
    }
    ck_assert_double_eq_tol((double)(bytes[1] - bytes[0]), 2 * low, 2);
    ck_assert_int_eq(bytes[2], bytes[0]);
    ck_assert_int_lt(sync_ns[1], sync_ns[0]);
}
END_TEST

START_TEST(a_gpu_without_the_format_is_refused)
{
    const pp_model model = run_model("llama3-8b");
    const pp_hardware old = run_hardware("a100-80g"), new = run_hardware("h100-80g");
    const pp_cost_context contexts[] = { context_of(&model, &old, PP_PRECISION_FP8),
                                         context_of(&model, &new, PP_PRECISION_NVFP4) };
    for (int k = 0; k < 2; k++) {
        pp_err err = { 0 };
        ck_assert_int_eq(pp_cost_context_check(&contexts[k], &err), PP_USAGE);
        ck_assert_ptr_nonnull(strstr(err.text, k ? "possible values: bf16, fp8, fp8-current"
                                                 : "possible values: bf16"));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost_model_precision");
    TCase *tc = tcase_create("precision");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, fewer_bits_take_less_time_and_memory, 0, 2);
    tcase_add_test(tc, kept_bytes_are_those_of_transformer_engine);
    tcase_add_test(tc, all_layers_may_be_quantized);
    tcase_add_test(tc, first_and_last_layer_stay_in_16_bits);
    tcase_add_loop_test(tc, layers_of_a_kind_cost_the_same, 0, 2);
    tcase_add_test(tc, weights_are_kept_quantized);
    tcase_add_test(tc, a_gpu_without_the_format_is_refused);
    return step_run(suite);
}
