/* Every kind of layer costs what its products take, and layers of several kinds add up in any
 * order. */
#include "sim/cost/cost_model.h"
#include "tests/support/published.h"

#include <string.h>

#define T 32768.0 /* tokens, one sequence */

static pp_model config(const char *name)
{
    pp_model model;
    size_t bytes = 0;
    pp_err err = { 0 };
    char *text = run_file("tests/data/models", name, &bytes);
    STEP_OK(pp_model_parse(text, bytes, name, &model, &err), err);
    free(text);
    return model;
}

static pp_cost_context context_of(const pp_model *model, const pp_hardware *hw)
{
    pp_cost_context c = { .model = model,
                          .hardware = hw,
                          .parallel = { .pp = 1, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    c.switches = stack_switches("every-schedule", &c.parallel);
    c.switches.recompute = PP_RECOMPUTE_NONE;
    return c;
}

static pp_unit_cost layer_cost(const pp_cost_context *c, int64_t layer, int64_t tokens)
{
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(c, PP_UNIT_LAYER, layer, tokens, tokens * tokens, &cost, &err), err);
    return cost;
}

/* weights: of the matrices by which a token is multiplied; pairs: widths that are summed over for
 * each pair of tokens, and the pairs; scan: FLOPs of a token within and between chunks. */
static double flops(double weights, double width, double pairs, double scan)
{
    return 3 * (2 * T * weights + 2 * width * pairs + T * scan);
}

/* The counts by hand. A full layer has T^2 pairs (the mask is not counted), of which a window of w
 * leaves 2 (T w - w^2 / 2) and chunks of c leave T c. Products of a chunk: the papers named in
 * sim/cost/scan.c. */
START_TEST(flops_of_every_kind_of_layer_are_those_counted_by_hand)
{
    const double full = T * T;
    const double gqa8 = 4096 * (4096 + 2 * 1024) + 4096 * 4096; /* 32 heads of 128, 8 for keys */
    const double gemma = 5376 * (4096 + 2 * 2048) + 4096 * 5376 + 3.0 * 5376 * 21504;
    const double oss = 2880 * (4096 + 2 * 512) + 4096 * 2880 + 2880 * 32 + 4 * 3.0 * 2880 * 2880;
    const double maverick = 5120 * (5120 + 2 * 1024) + 5120 * 5120;
    const double next =
        2048 * 512 + 11 * 3.0 * 2048 * 512; /* router, 10 experts and a shared one */
    const double mla =
        7168 * 1536 + 1536 * 128.0 * 192 + 7168 * 576 + 512 * 128.0 * 256 + 128 * 128.0 * 7168;
    const double indexer = 1536 * 64.0 * 128 + 7168 * (128 + 64);
    const struct {
        const char *model;
        int64_t layer;
        double flops;
    } cases[] = {
        { "qwen3-8b", 0, flops(gqa8 + 3.0 * 4096 * 12288, 2 * 4096, full, 0) },
        { "gemma3-27b", 0, flops(gemma, 2 * 4096, 2 * (T * 1024 - 1024 * 512.0), 0) },
        { "gemma3-27b", 5, flops(gemma, 2 * 4096, full, 0) },
        { "gpt-oss-20b", 0, flops(oss, 2 * 4096, 2 * (T * 128 - 64 * 128), 0) },
        { "gpt-oss-20b", 1, flops(oss, 2 * 4096, full, 0) },
        { "llama4-maverick", 0, flops(maverick + 3.0 * 5120 * 16384, 2 * 5120, T * 8192, 0) },
        { "llama4-maverick", 3,
          flops(maverick + 5120 * 128 + 2 * 3.0 * 5120 * 8192, 2 * 5120, full, 0) },
        /* 32 heads of 128 x 128: three products over keys and two over values in chunks of 64 */
        { "qwen3-next-80b-a3b", 0,
          flops(2048 * (2 * 2048 + 2 * 4096 + 64) + 4096 * 2048 + next, 0, 0,
                2 * 32 * (5 * 64 * 128.0 + 3 * 128 * 128)) },
        { "qwen3-next-80b-a3b", 3,
          flops(2048 * (2 * 4096 + 2 * 512) + 4096 * 2048 + next, 2 * 4096, full, 0) },
        /* 8 groups with a state of 128, 128 heads of 64, chunks of 128 */
        { "nemotron-h-8b", 0,
          flops(4096 * (2 * 8192 + 2 * 1024 + 128) + 8192 * 4096.0, 0, 0,
                2 * (8 * 128 * 128.0 + 128 * 128 * 64.0 + 2 * 128 * 128 * 64.0)) },
        { "nemotron-h-8b", 1, flops(2 * 4096.0 * 21504, 0, 0, 0) },
        { "nemotron-h-8b", 7, flops(gqa8, 2 * 4096, full, 0) },
        { "falcon-h1-34b", 0,
          flops(5120 * (2560 + 2 * 512) + 2560 * 5120 + 5120 * (2 * 4096 + 2 * 512 + 32) +
                    4096 * 5120 + 3.0 * 5120 * 21504,
                2 * 2560, full, 2 * (2 * 128 * 256.0 + 4096 * 128.0 + 2 * 4096 * 256.0)) },
        /* lightning attention: 64 heads of 128, blocks of 256, and a gate */
        { "minimax-text-01", 0,
          flops(6144 * 4 * 8192.0 + 8192 * 6144.0 + 6144 * 32 + 2 * 3.0 * 6144 * 9216, 0, 0,
                2 * 64 * (2 * 256 * 128.0 + 2 * 128 * 128)) },
        /* 64 heads of 128 look at all pairs, 128 heads of 192 and 128 at the best 2048 */
        { "deepseek-v3.2", 0,
          flops(mla + indexer + 3.0 * 7168 * 18432, 128 * 320, 2 * (T * 2048 - 2048 * 1024.0), 0) +
              6 * full * 64 * 128 },
        { "minitron-8b", 0,
          flops(4096 * (6144 + 2 * 1024) + 6144 * 4096 + 2 * 4096.0 * 16384, 2 * 6144, full, 0) },
    };
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_model m = config(cases[i].model);
        const pp_cost_context c = context_of(&m, &hw);
        const double found = layer_cost(&c, cases[i].layer, (int64_t)T).model_flops;
        ck_assert_msg(fabs(found / cases[i].flops - 1) < 1e-3, "%s, layer %d: %g, not %g",
                      cases[i].model, (int)cases[i].layer, found, cases[i].flops);
    }
}
END_TEST

/* Twice the tokens take twice the time of a scan and of a window, but more than that of attention
 * to all tokens. */
START_TEST(scans_and_windows_are_linear_in_tokens)
{
    const pp_hardware hw = run_hardware("h100-80g");
    static const struct {
        const char *model;
        int64_t linear, full;
    } cases[] = { { "nemotron-h-8b", 0, 7 },
                  { "gemma3-27b", 0, 5 },
                  { "minimax-text-01", 0, 7 },
                  { "qwen3-next-80b-a3b", 0, 3 },
                  { "llama4-scout", 0, 3 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_model m = config(cases[i].model);
        const pp_cost_context c = context_of(&m, &hw);
        double ratio[2];
        for (int k = 0; k < 2; k++) {
            const int64_t layer = k ? cases[i].full : cases[i].linear;
            const pp_unit_cost one = layer_cost(&c, layer, 1 << 17);
            const pp_unit_cost two = layer_cost(&c, layer, 1 << 18);
            ratio[k] = (two.f_s + two.i_s + two.w_s) / (one.f_s + one.i_s + one.w_s);
        }
        ck_assert_msg(ratio[0] > 1.8 && ratio[0] < 2.05 && ratio[1] > 2.2, "%s: %g, %g",
                      cases[i].model, ratio[0], ratio[1]);
    }
}
END_TEST

/* The weights that ranks hold are those that the model counts: with one GPU per stage, all layers
 * together have what is left of the total without the ends. */
START_TEST(layers_hold_the_parameters_that_the_model_counts)
{
    static const char *const names[] = {
        "llama3-8b",
        "qwen2.5-72b",
        "qwen3-30b-a3b",
        "qwen1.5-moe-a2.7b",
        "qwen3-next-80b-a3b",
        "deepseek-v3.2",
        "kimi-k2",
        "llama4-maverick",
        "gemma2-9b",
        "gemma3-27b",
        "phi-2",
        "gpt-oss-20b",
        "glm-4-9b-0414",
        "glm-4.5-air",
        "minimax-text-01",
        "minimax-m2",
        "olmo3-7b",
        "command-r7b",
        "minitron-8b",
        "nemotron-h-8b",
        "nemotron-3-nano-30b-a3b",
        "falcon-7b",
        "falcon-h1-34b",
        "opt-6.7b",
        "gpt-neox-20b",
        "bloom-7b1",
        "starcoder2-15b",
        "stablelm-2-12b",
        "ernie-4.5-21b-a3b",
        "hunyuan-a13b",
        "seed-oss-36b",
    };
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const pp_model m = config(names[i]);
        const pp_cost_context c = context_of(&m, &hw);
        const double h = (double)m.hidden, norm = h * (m.rms_norm ? 1 : 2);
        double left = (double)pp_model_parameters(&m) - norm - (m.embedding_norm ? norm : 0) -
                      (double)m.vocab * (h * (m.tied_embeddings ? 1 : 2) + m.head_bias) -
                      (m.learned_positions ? (double)m.max_seq_length * h : 0);
        for (int64_t l = 0; l < m.layers; l++)
            left -= layer_cost(&c, l, 1024).parameters;
        ck_assert_msg(fabs(left) < 1, "%s: %g parameters too few", names[i], left);
    }
}
END_TEST

/* Stages are cut within the pattern of five layers with a window and one without. */
START_TEST(a_stage_of_mixed_layers_costs_the_sum_of_its_units)
{
    pp_hardware hw = run_hardware("h100-80g");
    hw.host_gap_s = 0;
    run r = { .model = config("gemma3-27b"),
              .micro_batch_size = 1,
              .seq_length = 16384,
              .microbatches = 2,
              .parallel = { .pp = 4, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    r.switches = stack_switches("every-schedule", &r.parallel);
    r.switches.recompute = PP_RECOMPUTE_NONE;
    const pp_cost_context c = {
        .model = &r.model, .hardware = &hw, .parallel = r.parallel, .switches = r.switches
    };
    pp_stage *stages = run_stages(&r.model, 4);
    pp_costs *costs = run_costs(&r, &hw);
    for (uint32_t s = 1; s < 3; s++) {
        double f_s = 0, bytes = 0, temporary_bytes = 0;
        for (int64_t l = 0; l < stages[s].layers; l++) {
            const pp_unit_cost u = layer_cost(&c, stages[s].first_layer + l, 16384);
            f_s += u.f_s;
            bytes += u.activation_bytes;
            temporary_bytes = fmax(temporary_bytes, u.temporary_bytes);
        }
        const size_t at = pp_cost_index(costs, s, 0);
        ck_assert_double_eq_tol((double)costs->f_ns[at] * 1e-9, f_s, 1e-8);
        ck_assert_double_eq_tol((double)costs->activation_bytes[at], bytes, 4);
        ck_assert_double_eq_tol((double)costs->temporary_bytes[at], temporary_bytes, 4);
    }
    pp_costs_free(&costs);
    free(stages);
}
END_TEST

/* With tensor parallelism the heads of a scan are divided, but for the keys of its groups, of which
 * each rank needs one: 8 groups over 8 ranks, and 2 over 4. */
START_TEST(heads_of_a_scan_are_divided)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_model m = config("nemotron-h-8b"), h1 = config("falcon-h1-34b");
    pp_cost_context c = context_of(&m, &hw);
    c.parallel.tp = 8;
    const double inner = 4096 * (2 * 1024 + 2 * 128 + 16), out = 1024 * 4096;
    const double other = (1024 + 256) * 5 + 3 * 16 + 1024 + 4096;
    ck_assert_double_eq_tol(layer_cost(&c, 0, 1024).parameters, inner + out + other, 0.5);
    c = context_of(&h1, &hw);
    const double whole = layer_cost(&c, 0, 1024).parameters;
    c.parallel.tp = 4;
    const double copies = 4 * layer_cost(&c, 0, 1024).parameters - whole;
    /* the norms and 2 x 256 x 2 more columns and taps for keys */
    ck_assert_double_eq_tol(copies, 3 * 2 * 5120 + 2 * 512 * (5120 + 5), 0.5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan");
    TCase *tc = tcase_create("scan");
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, flops_of_every_kind_of_layer_are_those_counted_by_hand);
    tcase_add_test(tc, scans_and_windows_are_linear_in_tokens);
    tcase_add_test(tc, layers_hold_the_parameters_that_the_model_counts);
    tcase_add_test(tc, a_stage_of_mixed_layers_costs_the_sum_of_its_units);
    tcase_add_test(tc, heads_of_a_scan_are_divided);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
