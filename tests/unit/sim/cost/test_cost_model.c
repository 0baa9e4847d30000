/* The cost model follows published formulas of bytes and FLOPs, and their consequences for the
 * job. */
#include "sim/cost/cost_model.h"
#include "tests/support/published.h"

#include <time.h>

static pp_cost_context context_of(const pp_model *model, const pp_hardware *hw, const char *stack,
                                  int64_t tp, pp_recompute recompute)
{
    pp_cost_context c = { .model = model,
                          .hardware = hw,
                          .parallel = { .pp = 1, .tp = tp, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    c.switches = stack_switches(stack, &c.parallel);
    c.switches.recompute = recompute;
    return c;
}

static pp_unit_cost layer(const pp_cost_context *c, int64_t tokens, int64_t square_sum)
{
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(c, PP_UNIT_LAYER, c->model->layers - 1, tokens, square_sum, &cost, &err),
            err);
    return cost;
}

/* In 16 bits a layer keeps, per token: for a gate of attention, the gate and the output before it;
 * for two norms more, their inputs; and where both halves share one norm, one input less. */
START_TEST(gates_and_norms_are_kept)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_model plain = run_model("llama3-8b");
    pp_model gate = plain, four = plain, one = plain;
    gate.attention_gate = true;
    four.norms = 4;
    one.norms = 1;
    one.parallel_block = true;
    const pp_model *const models[] = { &plain, &gate, &four, &one };
    double bytes[4];
    for (size_t k = 0; k < 4; k++) {
        const pp_cost_context c =
            context_of(models[k], &hw, "megatron-bridge-2026", 1, PP_RECOMPUTE_NONE);
        bytes[k] = layer(&c, 1000, 1000000).activation_bytes;
    }
    const double h = 4096 * 1000.0;
    ck_assert_double_eq_tol(bytes[1] - bytes[0], 2 * (h + h), 1);
    ck_assert_double_eq_tol(bytes[2] - bytes[0], 2 * 2 * h, 1);
    ck_assert_double_eq_tol(bytes[0] - bytes[3], 2 * 2 * h, 1);
}
END_TEST

/* The gradients that PyTorch keeps from I to W, in hidden sizes per token, as counted in a run of
 * stage_backward_input (PyTorch 2.13 and 2.15) on layers of transformers 5.18 on the CPU: llama
 * with ffn 4 h 15, with half as many keys and ffn 3.5 h 13, qwen3 the same with norms of q and
 * k 14.5, gpt2 11. Checkpointed layers ran again in W for every op with weights; queries, keys and
 * values, which transformers' llama has apart and gpt2 joint, are one here: 7, 7, 9 and 6. */
START_TEST(a_late_split_keeps_gradients)
{
    static const struct {
        int64_t kv_heads, ffn;
        bool gated, qk_norm;
        double gradients, ops, inner;
    } truths[] = {
        { 32, 4 * 4096, true, false, 15, 7, 12 },
        { 16, 14336, true, false, 13, 7, 10 },
        { 16, 14336, true, true, 14.5, 9, 10 },
        { 32, 4 * 4096, false, false, 11, 6, 8 },
    };
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t k = 0; k < sizeof truths / sizeof truths[0]; k++) {
        pp_model model = run_model("llama3-8b");
        model.kv_heads = truths[k].kv_heads;
        model.ffn = truths[k].ffn;
        model.gated_mlp = truths[k].gated;
        model.qk_norm = truths[k].qk_norm;
        pp_cost_context c = context_of(&model, &hw, "current", 1, PP_RECOMPUTE_FULL);
        const pp_unit_cost full = layer(&c, 1000, 1000000);
        ck_assert_double_eq_tol(full.weight_gradient_bytes, truths[k].gradients * 2 * 4096 * 1000,
                                1);
        ck_assert_double_eq_tol(full.again_s, truths[k].ops * full.f_s, 1e-12);
        /* attention's log-sum-exp of 32 heads, too */
        ck_assert_double_eq_tol(full.again_bytes,
                                truths[k].ops * (truths[k].inner * 2 * 4096 + 4 * 32) * 1000, 1);
        ck_assert_double_eq_tol(full.again_once_bytes,
                                truths[k].ops * 2 * (double)truths[k].ffn * 1000, 1);
        c.switches.recompute = PP_RECOMPUTE_NONE;
        const pp_unit_cost none = layer(&c, 1000, 1000000);
        ck_assert_double_eq(none.again_s, 0);
        ck_assert_double_eq(none.again_bytes + none.again_once_bytes, 0);
    }
}
END_TEST

/* F.silu(w1(x)) * w3(x) keeps what silu reads, both factors and the product, which w2 reads: four
 * times the width where a kernel for both keeps three (counted on torchtitan's Llama 3 layer, which
 * keeps 20.5 h and the log-sum-exp in 16 bits). GELU has no factor. */
START_TEST(eager_layers_keep_the_output_of_the_activation_function)
{
    const pp_hardware hw = run_hardware("h100-80g");
    for (int gated = 0; gated < 2; gated++) {
        pp_model model = run_model("llama3-8b");
        model.gated_mlp = gated;
        pp_cost_context c = context_of(&model, &hw, "current", 1, PP_RECOMPUTE_NONE);
        const pp_unit_cost fused = layer(&c, 1000, 1000000);
        c.switches.eager_layers = true;
        const pp_unit_cost eager = layer(&c, 1000, 1000000);
        ck_assert_double_eq_tol(eager.activation_bytes - fused.activation_bytes,
                                gated ? 2 * 14336 * 1000 : 0, 1);
        if (gated)
            ck_assert_double_eq_tol(eager.activation_bytes,
                                    (2 * (6.5 * 4096 + 4 * 14336) + 4 * 32) * 1000, 1);
        ck_assert_double_eq(eager.weight_gradient_bytes, fused.weight_gradient_bytes);
        ck_assert(eager.temporary_bytes <= fused.temporary_bytes);
    }
}
END_TEST

/* Under a framework that splits late, W of the first stage is the whole backward and I nothing;
 * other stages keep all activations and the gradients until W, which runs layers again. */
START_TEST(a_late_split_moves_work_to_w)
{
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_new(2, 2, 3, 1, &costs, &err), err);
    for (size_t s = 0; s < 2; s++) {
        costs->i_ns[s] = 30;
        costs->w_ns[s] = 20;
        costs->b_ns[s] = 45;
        costs->again_ns[s] = 70;
        costs->activation_bytes[s] = 1000;
        costs->stash_bytes[s] = 600;
        costs->weight_gradient_bytes[s] = 500;
        costs->recompute_bytes[s] = 90;
        costs->again_bytes[s] = 250;
        costs->temporary_bytes[s] = 8;
        costs->message_bytes[s] = 16;
    }
    STEP_OK(pp_costs_add_late(costs, &err), err);
    const pp_costs *late = costs->late;
    const int64_t expected[2][5] = { { 0, 45, 45, 1016, 98 }, { 30, 90, 45, 1500, 250 } };
    for (size_t s = 0; s < 2; s++) {
        const int64_t found[] = { late->i_ns[s], late->w_ns[s], late->b_ns[s], late->stash_bytes[s],
                                  late->w_extra_bytes[s] };
        for (size_t k = 0; k < 5; k++)
            ck_assert_int_eq(found[k], expected[s][k]);
        ck_assert_int_eq(costs->w_ns[s], 20);
        ck_assert_int_eq(costs->stash_bytes[s], 600);
    }
}
END_TEST

/* Korthikanti 2022, sections 4.1 to 4.2 and 5: bytes per layer, to the byte. */
START_TEST(activation_bytes_follow_the_formulas)
{
    static const struct {
        const char *key;
        int64_t tp;
        bool sequence_parallel;
        pp_recompute recompute;
    } variants[] = {
        { "none", 1, false, PP_RECOMPUTE_NONE },
        { "tp", 8, false, PP_RECOMPUTE_NONE },
        { "tp_sp", 8, true, PP_RECOMPUTE_NONE },
        { "tp_sel", 8, false, PP_RECOMPUTE_SELECTIVE },
        { "tp_sp_sel", 8, true, PP_RECOMPUTE_SELECTIVE },
        { "full", 8, false, PP_RECOMPUTE_FULL },
    };
    const pp_hardware hw = run_hardware("a100-80g");
    pp_json *json = run_data();
    const pp_json_at root = pp_json_root(json, "published_steps.json");
    pp_json_at list, row, bytes;
    size_t count = 0;
    pp_err err = { 0 };
    STEP_OK(pp_json_get(&root, "activations", &list, &err), err);
    STEP_OK(pp_json_count(&list, &count, &err), err);
    for (size_t i = 0; i < count; i++) {
        STEP_OK(pp_json_item(&list, i, &row, &err), err);
        STEP_OK(pp_json_get(&row, "formula_bytes_per_layer", &bytes, &err), err);
        const pp_model model = run_model(run_text(&row, "model"));
        const int64_t tokens = 2048 * run_int(&row, "micro_batch_size");
        for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++) {
            pp_cost_context c =
                context_of(&model, &hw, "megatron-2022", variants[k].tp, variants[k].recompute);
            c.switches.sequence_parallel = variants[k].sequence_parallel;
            const double expected = run_double(&bytes, variants[k].key);
            const double found = layer(&c, tokens, tokens * 2048).activation_bytes;
            ck_assert_msg(fabs(found - expected) < 1, "%s %s: %.0f for %.0f", model.name,
                          variants[k].key, found, expected);
        }
    }
    pp_json_free(&json);
}
END_TEST

static const char *const model_names[] = {
    "gpt1.7b",   "gpt22b",     "gpt175b",     "gpt1t",        "llama2-7b",   "llama2-70b",
    "llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "deepseek-v3", "zb14.6b",
};
static const char *const hardware_names[] = { "a100-80g", "h100-80g",    "h200-141g",   "b200-180g",
                                              "l40s-48g", "v100-32g",    "gb200-nvl72", "b300-288g",
                                              "h20-96g",  "mi355x-288g", "tpu-v6e",     "trn2" };
#define MODELS ((int)(sizeof model_names / sizeof model_names[0]))
#define HARDWARES ((int)(sizeof hardware_names / sizeof hardware_names[0]))

/* What the backward of one layer holds at its fullest instant, per token, less what it has dropped.
 * gpt175b over 8, h = 12288: the residual stream's gradient, 2h/8, the same gathered, 2h, and that
 * of the activation function's output, h. On one GPU the latter is 8h, and when the gradient of the
 * function's input is there, too, its output is gone. Unfused attention: twice the scores,
 * gradients of q, k, v and output, and the 16h that the MLP kept are gone. llama3-8b, h 4096, MLP
 * of 3.5h: 2h
 * + 7h + 14h - 7h. mixtral: two such experts. */
START_TEST(temporaries_are_the_fullest_instant_of_a_backward)
{
    static const struct {
        const char *model, *stack;
        int64_t tp, per_token;
    } cases[] = {
        { "gpt175b", "every-schedule", 8, 2 * 12288 / 8 + 2 * 12288 + 12288 },
        { "gpt175b", "every-schedule", 1, 10 * 12288 },
        { "gpt175b", "megatron-2022", 1, 10 * 12288 - 16 * 12288 + 2 * 96 * 2048 * 2 },
        { "llama3-8b", "every-schedule", 1, (2 + 14) * 4096 },
        { "mixtral-8x7b", "every-schedule", 1, (2 + 28) * 4096 },
    };
    const pp_hardware hw = run_hardware("a100-80g");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_model model = run_model(cases[i].model);
        pp_cost_context c = context_of(&model, &hw, cases[i].stack, cases[i].tp, PP_RECOMPUTE_NONE);
        c.switches.sequence_parallel = cases[i].tp > 1;
        const pp_unit_cost u = layer(&c, 2048, 2048 * 2048);
        ck_assert_msg(u.temporary_bytes == 2048.0 * (double)cases[i].per_token, "%s: %g per token",
                      cases[i].model, u.temporary_bytes / 2048);
        ck_assert_double_eq(u.output_bytes, 0);
    }
}
END_TEST

/* Without rotary positions, grouped queries are copied out of the joint product: 2 x 64 x 128 bytes
 * per token of llama3-70b. */
START_TEST(attention_keeps_copies)
{
    pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, "every-schedule", 1, PP_RECOMPUTE_NONE);
    const double plain = layer(&c, 4096, 4096 * 4096).activation_bytes;
    model.learned_positions = true;
    ck_assert_double_eq(layer(&c, 4096, 4096 * 4096).activation_bytes,
                        plain + 4096.0 * 2 * 64 * 128);
    model.kv_heads = model.heads;
    const double all = layer(&c, 4096, 4096 * 4096).activation_bytes;
    model.learned_positions = false;
    ck_assert_double_eq(layer(&c, 4096, 4096 * 4096).activation_bytes, all);
}
END_TEST

/* mixtral-8x7b, two experts of a token: what they read is gathered over tp, and nothing of what
 * they return is kept. With many experts of few columns, the forward is fuller than the backward:
 * routed rows before and after the exchange, and outputs in two orders. */
START_TEST(experts_keep_what_they_read)
{
    pp_model model = run_model("mixtral-8x7b");
    const pp_hardware hw = run_hardware("h100-80g");
    for (int64_t tp = 1; tp <= 4; tp *= 4) {
        pp_cost_context c = context_of(&model, &hw, "every-schedule", tp, PP_RECOMPUTE_NONE);
        c.switches.sequence_parallel = tp > 1;
        pp_unit_cost u[2];
        for (int k = 0; k < 2; k++) {
            u[k] = layer(&c, 4096, 4096 * 4096);
            model.expert_ffn /= 14336 / 512;
        }
        model.expert_ffn = 14336;
        const double t = (double)tp, inner = 2 * 3 * 14336 / t;
        const double attention = 2 * (4096 + 4096 + 2 * 1024) / t + 4 * 32 / t;
        const double norms = 4 * 2 * 4096 / t, router = 13 * 8 / t;
        ck_assert_double_eq(u[0].activation_bytes,
                            4096 * (attention + norms + router + 2 * 2 * 4096 + 2 * inner));
        const double rows = 2 * 2 * 4096;
        ck_assert_double_eq(u[1].temporary_bytes,
                            4096 * (rows / t + (tp > 1 ? rows : 0) + 2 * rows + 2 * 2 * 4096 / t));
    }
}
END_TEST

/* The head of gpt175b over 8: V/t = 6400 logits. A fused loss keeps 16 bits of each, not 32, and
 * then the head holds the gradients of its weight, 2 x 6400h, and of its input, which is gathered,
 * too. Without TransformerEngine, the fused accumulation makes no gradient of the weight. */
START_TEST(the_head_returns_its_logits)
{
    const pp_model model = run_model("gpt175b");
    const pp_hardware hw = run_hardware("a100-80g");
    pp_cost_context c = context_of(&model, &hw, "every-schedule", 8, PP_RECOMPUTE_NONE);
    pp_unit_cost u;
    pp_err err = { 0 };
    c.switches.sequence_parallel = true;
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 2048, 2048 * 2048, &u, &err), err);
    ck_assert_double_eq(u.output_bytes, 2048.0 * 4 * 6400);
    ck_assert_double_le(u.output_bytes, u.logits_bytes);
    const double inputs = 2048.0 * 12288 * (2 + 2 + 2.0 / 8), weight = 2.0 * 6400 * 12288;
    ck_assert_double_eq(u.temporary_bytes, inputs + weight - 2048.0 * 2 * 6400);
    c.switches.fused_loss = true;
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 2048, 2048 * 2048, &u, &err), err);
    ck_assert_double_eq(u.logits_bytes, 2048.0 * (2 * 6400 + 4 * 12288 / 8));
    ck_assert_double_eq(u.temporary_bytes, inputs + weight);
    c.switches.eager_loss = true;
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 2048, 2048 * 2048, &u, &err), err);
    ck_assert_double_eq(u.logits_bytes, 2048.0 * (4 * 6400 + 4 * 12288 / 8));
    ck_assert_double_eq(u.temporary_bytes, inputs + weight - 2048.0 * 2 * 6400);
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 16384, 16384 * 2048, &u, &err), err);
    ck_assert_double_eq(u.temporary_bytes, 16384.0 * 8 * 6400);
    c.switches.eager_loss = false;
    c.switches.fused_loss = c.switches.transformer_engine = false;
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 2048, 2048 * 2048, &u, &err), err);
    ck_assert_double_eq(u.temporary_bytes, 2048.0 * 2 * 6400);
}
END_TEST

/* The units of a model on one GPU sum to the model (except for the padding of the vocabulary). */
START_TEST(parameters_of_the_units_are_the_model)
{
    pp_model model = run_model(model_names[_i]);
    model.vocab = (model.vocab + 127) / 128 * 128;
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, "every-schedule", 1, PP_RECOMPUTE_NONE);
    double sum = 0;
    pp_unit_cost unit;
    pp_err err = { 0 };
    for (int64_t l = 0; l < model.layers; l++) {
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, l, 1024, 1 << 20, &unit, &err), err);
        sum += unit.parameters;
    }
    STEP_OK(pp_cost_unit(&c, PP_UNIT_EMBEDDING, 0, 1024, 1 << 20, &unit, &err), err);
    sum += unit.parameters;
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 1024, 1 << 20, &unit, &err), err);
    sum += unit.parameters;
    const double expected = (double)pp_model_parameters(&model);
    ck_assert_msg(fabs(sum / expected - 1) < 1e-3, "%s: %.0f for %.0f", model.name, sum, expected);
}
END_TEST

/* SC21: 72 B s l h^2 (1 + s/(6h) + V/(12 l h)), without recomputation. */
START_TEST(model_flops_are_megatrons)
{
    const pp_model model = run_model("gpt175b");
    const pp_hardware hw = run_hardware("a100-80g");
    run r = { .model = model,
              .parallel = { .pp = 8, .tp = 8, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 },
              .micro_batch_size = 1,
              .seq_length = 2048,
              .microbatches = 16 };
    r.switches = stack_switches("megatron-2022", &r.parallel);
    r.switches.recompute = PP_RECOMPUTE_FULL;
    pp_costs *costs = run_costs(&r, &hw);
    const double batch = 32, s = 2048, h = (double)model.hidden, l = (double)model.layers;
    const double expected = 72 * batch * s * l * h * h * (1 + s / (6 * h) + 51200 / (12 * l * h));
    ck_assert_double_eq_tol(costs->model_flops / expected, 1, 1e-9);
    ck_assert_double_eq(costs->tokens, batch * s);
    ck_assert_double_eq(costs->peak_flops_per_s, 128 * 312e12);
    pp_costs_free(&costs);
}
END_TEST

/* Cost depends on tokens and squared lengths: attention is only in F and I. */
START_TEST(packed_sequences_are_cheaper_than_one_long)
{
    const pp_model model = run_model("llama3-8b");
    const pp_hardware hw = run_hardware("h100-80g");
    for (int unfused = 0; unfused < 2; unfused++) {
        pp_cost_context c = context_of(&model, &hw, "every-schedule", 1, PP_RECOMPUTE_NONE);
        c.switches.flash_attention = !unfused;
        const pp_unit_cost whole = layer(&c, 1024, 1024 * 1024);
        const pp_unit_cost pack = layer(&c, 1024, 2 * 512 * 512);
        ck_assert_double_lt(pack.f_s, whole.f_s);
        ck_assert_double_lt(pack.i_s, whole.i_s);
        ck_assert_double_eq_tol(pack.w_s, whole.w_s, 1e-12);
        ck_assert_double_lt(pack.model_flops, whole.model_flops);
    }
}
END_TEST

START_TEST(recomputation_trades_time_for_memory)
{
    const pp_model model = run_model("gpt175b");
    const pp_hardware hw = run_hardware("a100-80g");
    pp_unit_cost cost[3];
    for (int k = 0; k < 3; k++) {
        const pp_cost_context c =
            context_of(&model, &hw, "megatron-2022", 8, (pp_recompute)(PP_RECOMPUTE_NONE + k));
        cost[k] = layer(&c, 2048, 2048 * 2048);
    }
    for (int k = 1; k < 3; k++) {
        ck_assert_double_eq(cost[k].f_s, cost[0].f_s);
        ck_assert_double_gt(cost[k].i_s, cost[k - 1].i_s);
        ck_assert_double_eq(cost[k].w_s, cost[0].w_s);
        ck_assert_double_lt(cost[k].activation_bytes, cost[k - 1].activation_bytes);
        ck_assert_double_gt(cost[k].recompute_bytes, cost[k - 1].recompute_bytes);
    }
    ck_assert_double_eq_tol(cost[2].i_s - cost[2].f_s, cost[0].i_s, 1e-12);
    ck_assert_double_eq(cost[1].recompute_bytes + cost[1].activation_bytes,
                        cost[0].activation_bytes);
}
END_TEST

static run small_run(const char *model, int64_t pp, int64_t tp, int64_t dp, int64_t vpp)
{
    run r = { .model = run_model(model),
              .micro_batch_size = 1,
              .seq_length = 2048,
              .microbatches = 8,
              .parallel = { .pp = pp, .tp = tp, .cp = 1, .dp = dp, .ep = 1, .vpp = vpp } };
    r.switches = stack_switches("every-schedule", &r.parallel);
    r.switches.recompute = PP_RECOMPUTE_NONE;
    return r;
}

/* With full recomputation its layer runs again in W and is held there, as in any layer. */
START_TEST(an_mtp_module_runs_its_layer_again)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_model model = run_model("deepseek-v3");
    const pp_cost_context c = context_of(&model, &hw, "every-schedule", 1, PP_RECOMPUTE_FULL);
    pp_unit_cost mtp;
    pp_err err = { 0 };
    STEP_OK(pp_cost_unit(&c, PP_UNIT_MTP, model.layers - 1, 4096, 4096 * 4096, &mtp, &err), err);
    pp_unit_cost last;
    STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, model.layers - 1, 4096, 4096 * 4096, &last, &err), err);
    ck_assert(last.again_s > 0);
    ck_assert_double_eq(mtp.again_s, last.again_s);
    ck_assert_double_eq(mtp.again_bytes, last.again_bytes);
}
END_TEST

/* An MTP module has a layer and a head, one after the other. */
START_TEST(an_mtp_module_has_the_larger_temporaries)
{
    const pp_hardware hw = run_hardware("h100-80g");
    pp_model model = run_model("deepseek-v3");
    for (int k = 0; k < 2; k++) {
        const pp_cost_context c = context_of(&model, &hw, "every-schedule", 1, PP_RECOMPUTE_NONE);
        pp_unit_cost mtp, loss;
        pp_err err = { 0 };
        STEP_OK(pp_cost_unit(&c, PP_UNIT_MTP, 0, 4096, 4096 * 4096, &mtp, &err), err);
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LOSS, 0, 4096, 4096 * 4096, &loss, &err), err);
        const double one = layer(&c, 4096, 4096 * 4096).temporary_bytes;
        ck_assert_int_eq(one < loss.temporary_bytes, k);
        ck_assert_double_eq(mtp.temporary_bytes, k ? loss.temporary_bytes : one);
        model.vocab *= 4;
    }
}
END_TEST

/* One unit of a stage at a time has temporaries, and each leaves its outputs. llama3-8b over 2: a
 * layer h of the residual stream's gradient, 7h of the activation function's inputs', and 3.5h of
 * its output's while 3.5h that were kept are gone; the head a gradient of its weight V/2 x h, of
 * its logits 2 V / 2 in place of the 4 V / 2 that it returns, and of its input 5h. */
START_TEST(a_stage_has_the_temporaries_of_its_largest_unit)
{
    const pp_hardware hw = run_hardware("h100-80g");
    run r = small_run("llama3-8b", 4, 2, 1, 1);
    pp_costs *c = run_costs(&r, &hw);
    const int64_t tokens = r.micro_batch_size * r.seq_length;
    ck_assert_int_eq(c->temporary_bytes[0], tokens * 8 * 4096);
    ck_assert_int_eq(c->temporary_bytes[3], tokens * (5 * 4096 - 128256) + INT64_C(128256) * 4096);
    ck_assert_int_eq(c->output_bytes[0], 0);
    ck_assert_int_eq(c->output_bytes[3], tokens * 2 * 128256);
    pp_costs_free(&c);
}
END_TEST

/* 18 bytes per parameter, or 6 + 12 / dp (Megatron's theoretical_memory_usage). */
START_TEST(state_per_parameter_is_megatrons)
{
    const pp_hardware hw = run_hardware("h100-80g");
    for (int zero = 0; zero < 2; zero++) {
        run r = small_run("llama3-8b", 4, 2, 8, 1);
        r.switches.zero = zero;
        pp_costs *c = run_costs(&r, &hw);
        for (uint32_t rank = 0; rank < 4; rank++) {
            const double p = (double)c->parameter_bytes[rank] / 2;
            ck_assert_double_eq_tol((double)c->gradient_bytes[rank] / p, 4, 1e-6);
            ck_assert_double_eq_tol((double)c->optimizer_bytes[rank] / p, zero ? 1.5 : 12, 1e-6);
        }
        pp_costs_free(&c);
    }
}
END_TEST

/* DualPipe: rank r holds stages r and p - 1 - r. */
START_TEST(bidirectional_ranks_hold_two_stages)
{
    const pp_hardware hw = run_hardware("h100-80g");
    run r = small_run("llama3-8b", 4, 2, 1, 1);
    pp_costs *one = run_costs(&r, &hw);
    pp_cost_context context = { .model = &r.model,
                                .hardware = &hw,
                                .parallel = r.parallel,
                                .switches = r.switches,
                                .placement = PP_PLACE_BIDIRECTIONAL };
    pp_stage *stages = run_stages(&r.model, 4);
    pp_workload workload;
    pp_costs *two = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_workload_fixed(r.microbatches, r.micro_batch_size, r.seq_length, &workload, &err),
            err);
    STEP_OK(pp_cost_model_build(&context, stages, 4, &workload, 0, &two, &err), err);
    for (uint32_t k = 0; k < 4; k++) {
        ck_assert_int_eq(two->parameter_bytes[k],
                         one->parameter_bytes[k] + one->parameter_bytes[3 - k]);
        ck_assert_int_eq(two->gradient_bytes[k],
                         one->gradient_bytes[k] + one->gradient_bytes[3 - k]);
        ck_assert_int_eq(two->optimizer_bytes[k],
                         one->optimizer_bytes[k] + one->optimizer_bytes[3 - k]);
    }
    pp_workload_free(&workload);
    free(stages);
    pp_costs_free(&one);
    pp_costs_free(&two);
}
END_TEST

START_TEST(step_boundary_has_what_the_job_needs)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = small_run("gpt22b", 4, 8, 1, 1);
    pp_costs *c = run_costs(&r, &hw);
    ck_assert_int_eq(c->grad_sync_ns[0], 0);
    ck_assert_int_gt(c->tied_ns[0], 0);
    ck_assert_int_eq(c->tied_ns[1], 0);
    ck_assert_int_eq(c->tied_ns[0], c->tied_ns[3]);
    ck_assert_int_gt(c->optimizer_ns[0], 0);
    ck_assert_int_gt(c->comm_library_bytes[0], 0);
    pp_costs_free(&c);
    r.parallel.dp = 4;
    r.switches.grad_sync_overlap = false;
    c = run_costs(&r, &hw);
    const pp_ns exposed = c->grad_sync_ns[1];
    ck_assert_int_gt(exposed, 0);
    pp_costs_free(&c);
    r.switches.grad_sync_overlap = true;
    c = run_costs(&r, &hw);
    ck_assert_int_lt(c->grad_sync_ns[1], exposed);
    pp_costs_free(&c);
    r.parallel = (pp_parallel){ .pp = 1, .tp = 8, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 };
    c = run_costs(&r, &hw);
    ck_assert_int_eq(c->tied_ns[0], 0);
    ck_assert_int_eq(c->send_f_ns[0], 0);
    pp_costs_free(&c);
}
END_TEST

/* On a V, the first and the last stage are both on rank 0, so nothing is reduced. */
START_TEST(a_tied_embedding_on_one_rank_needs_no_reduction)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = small_run("gpt22b", 4, 8, 1, 2);
    for (int v = 0; v < 2; v++) {
        r.placement = v ? PP_PLACE_V : PP_PLACE_LOOP;
        pp_costs *c = run_costs(&r, &hw);
        for (int rank = 0; rank < 4; rank++)
            ck_assert_int_eq(c->tied_ns[rank] > 0, !v && (rank == 0 || rank == 3));
        pp_costs_free(&c);
    }
}
END_TEST

/* Megatron's interleaved schedule without overlap waits for its exchanges, which are part of the
 * ops. */
START_TEST(exchanges_without_overlap_are_in_the_ops)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = small_run("gpt22b", 4, 8, 1, 2);
    pp_costs *overlapped = run_costs(&r, &hw);
    r.switches.p2p_overlap = false;
    pp_costs *waiting = run_costs(&r, &hw);
    ck_assert_int_gt(overlapped->send_f_ns[0], 0);
    ck_assert_int_eq(waiting->send_f_ns[0], 0);
    ck_assert_int_gt(waiting->f_ns[1], overlapped->f_ns[1]);
    ck_assert_int_gt(waiting->i_ns[1], overlapped->i_ns[1]);
    ck_assert_int_eq(waiting->w_ns[1], overlapped->w_ns[1]);
    pp_costs_free(&overlapped);
    pp_costs_free(&waiting);
}
END_TEST

START_TEST(classes_are_the_distinct_microbatches)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const run r = small_run("llama3-8b", 2, 1, 2, 1);
    const pp_cost_context context = {
        .model = &r.model, .hardware = &hw, .parallel = r.parallel, .switches = r.switches
    };
    int64_t lengths[] = { 512, 512, 1024, 512, 512, 256 };
    pp_microbatch list[] = {
        { 1024, 2 * 512 * 512, 0, 2 }, { 1024, 1024 * 1024, 2, 1 }, { 1024, 2 * 512 * 512, 3, 2 },
        { 256, 256 * 256, 5, 1 },      { 256, 256 * 256, 5, 1 },    { 256, 256 * 256, 5, 1 },
    };
    const pp_workload workload = {
        .replicas = 2, .microbatches = 3, .microbatch = list, .lengths = lengths, .length_count = 6
    };
    pp_stage *stages = run_stages(&r.model, 2);
    pp_costs *c = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_cost_model_build(&context, stages, 2, &workload, 0, &c, &err), err);
    ck_assert_uint_eq(c->classes, 2);
    ck_assert_uint_eq(c->class_of[2], 0);
    ck_assert_double_eq(c->tokens, 3 * 1024 + 3 * 256);
    const double flops = c->model_flops;
    pp_costs_free(&c);
    STEP_OK(pp_cost_model_build(&context, stages, 2, &workload, 1, &c, &err), err);
    ck_assert_uint_eq(c->classes, 1);
    ck_assert_double_eq_tol(c->model_flops / flops, 1, 1e-12);
    pp_costs_free(&c);
    pp_costs *both[2] = { NULL };
    STEP_OK(pp_cost_model_build_all(&context, stages, 2, &workload, both, &err), err);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_double_eq(both[i]->model_flops, flops);
        ck_assert_double_eq(both[i]->tokens, 3 * 1024 + 3 * 256);
        ck_assert_uint_eq(both[i]->classes, 2 - i);
        pp_costs_free(&both[i]);
    }
    STEP_OK(pp_cost_model_tables(&context, stages, 2, &workload, 1, &c, &err), err);
    ck_assert_uint_eq(c->classes, 1);
    ck_assert_double_eq(c->model_flops, 0);
    pp_costs_free(&c);
    free(stages);
}
END_TEST

/* This was quadratic in the replicas and took minutes. */
START_TEST(many_replicas_cost_what_their_microbatches_cost)
{
    enum { REPLICAS = 256, EACH = 64 };
    const pp_hardware hw = run_hardware("h100-80g");
    run r = small_run("llama3-8b", 2, 1, 2, 1);
    r.parallel.dp = REPLICAS;
    const pp_cost_context context = {
        .model = &r.model, .hardware = &hw, .parallel = r.parallel, .switches = r.switches
    };
    pp_microbatch *list = calloc((size_t)REPLICAS * EACH, sizeof *list);
    pp_costs **costs = calloc(REPLICAS, sizeof *costs);
    ck_assert_ptr_nonnull(list);
    ck_assert_ptr_nonnull(costs);
    for (size_t j = 0; j < (size_t)REPLICAS * EACH; j++)
        list[j] = (pp_microbatch){ .tokens = 1000 + (int64_t)j, .square_sum = 1000000, .count = 1 };
    const pp_workload workload = { .replicas = REPLICAS, .microbatches = EACH, .microbatch = list };
    pp_stage *stages = run_stages(&r.model, 2);
    pp_err err = { 0 };
    const clock_t start = clock();
    STEP_OK(pp_cost_model_build_all(&context, stages, 2, &workload, costs, &err), err);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    ck_assert_msg(seconds < 5, "%g s", seconds);
    for (size_t i = 0; i < REPLICAS; i++)
        pp_costs_free(&costs[i]);
    free(costs);
    free(list);
    free(stages);
}
END_TEST

START_TEST(impossible_splits_are_wrong_usage)
{
    static const struct {
        const char *model;
        pp_parallel parallel;
        const char *where, *text;
    } cases[] = {
        { "gpt22b", { 1, 3, 1, 1, 1, 1, 0 }, "tp", "1, 2, 4, 8, 16, 32, 64" },
        { "llama3-8b", { 1, 64, 1, 1, 1, 1, 0 }, "tp", "does not divide the 32" },
        { "llama3-8b", { 1, 1, 1, 8, 8, 1, 0 }, "ep", "no experts" },
        { "mixtral-8x7b", { 1, 1, 1, 8, 3, 1, 0 }, "ep", "1, 2, 4, 8" },
        { "mixtral-8x7b", { 1, 1, 1, 4, 8, 1, 0 }, "ep", "dp x cp" },
        { "mixtral-8x7b", { 1, 2, 1, 4, 8, 1, 0 }, "ep", "with etp 1, experts are not divided" },
        { "mixtral-8x7b", { 1, 2, 1, 4, 8, 1, 1 }, "sequence_parallel", "etp 1 beside tp 2" },
        { "mixtral-8x7b", { 1, 2, 1, 2, 8, 1, 1 }, "ep", "the 4 GPUs of tp x cp x dp / etp" },
        { "mixtral-8x7b", { 1, 2, 1, 4, 1, 1, 3 }, "etp", "columns of an expert" },
        { "mixtral-8x7b", { 1, 1, 1, 2, 1, 1, 4 }, "etp", "the 2 GPUs of tp x cp x dp" },
        { "llama3-8b", { 1, 2, 1, 1, 1, 1, 1 }, "etp", "no experts; leave it out" },
        { "gpt22b", { 0, 1, 1, 1, 1, 1, 0 }, "ranks", "must be from 1" },
    };
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_model model = run_model(cases[i].model);
        pp_cost_context c = context_of(&model, &hw, "every-schedule", 1, PP_RECOMPUTE_NONE);
        c.parallel = cases[i].parallel;
        pp_err err = { 0 };
        ck_assert_int_eq(pp_cost_context_check(&c, &err), PP_USAGE);
        ck_assert_str_eq(err.where, cases[i].where);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
    }
}
END_TEST

static void check_cost(const pp_unit_cost *u, const char *where)
{
    const double values[] = { u->f_s,
                              u->i_s,
                              u->w_s,
                              u->activation_bytes,
                              u->stash_bytes,
                              u->recompute_bytes,
                              u->logits_bytes,
                              u->temporary_bytes,
                              u->output_bytes,
                              u->parameters,
                              u->expert_parameters,
                              u->model_flops };
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
        ck_assert_msg(isfinite(values[k]) && values[k] >= 0, "%s: value %zu is %g", where, k,
                      values[k]);
    ck_assert_msg(u->f_s > 0 && u->i_s + u->w_s > 0, "%s: no time", where);
    ck_assert_msg(u->expert_parameters <= u->parameters, "%s: experts", where);
}

static bool grows(double from, double to)
{
    return to >= from * (1 - 1e-12); /* sums round */
}

/* For every model on every GPU, whatever the split, costs are finite, not negative, and grow with
 * the work. */
START_TEST(costs_are_finite_and_grow)
{
    static const pp_parallel splits[] = {
        { 1, 1, 1, 8, 1, 1, 0 }, { 4, 2, 1, 4, 1, 2, 0 }, { 2, 8, 1, 2, 1, 1, 0 },
        { 2, 4, 2, 2, 1, 1, 0 }, { 8, 8, 4, 8, 1, 1, 0 }, { 1, 1, 2, 8, 8, 1, 0 },
    };
    const pp_model model = run_model(model_names[_i]);
    int checked = 0;
    for (int h = 0; h < HARDWARES; h++) {
        const pp_hardware hw = run_hardware(hardware_names[h]);
        for (size_t k = 0; k < sizeof splits / sizeof splits[0]; k++) {
            pp_cost_context c = context_of(&model, &hw, k % 2 ? "megatron-2022" : "every-schedule",
                                           splits[k].tp, (pp_recompute)(k % 3));
            c.parallel = splits[k];
            pp_err err = { 0 };
            if (pp_cost_context_check(&c, &err) != PP_OK)
                continue;
            for (int kind = PP_UNIT_EMBEDDING; kind <= PP_UNIT_LOSS; kind++) {
                pp_unit_cost last = { 0 };
                for (int64_t t = 1; t <= 1 << 18; t *= 8) {
                    pp_unit_cost u;
                    char where[200];
                    snprintf(where, sizeof where, "%s %s split %zu unit %d tokens %d", model.name,
                             hw.name, k, kind, (int)t);
                    STEP_OK(pp_cost_unit(&c, (pp_unit_kind)kind, 0, t, t * (t < 8192 ? t : 8192),
                                         &u, &err),
                            err);
                    check_cost(&u, where);
                    ck_assert_msg(grows(last.f_s, u.f_s) &&
                                      grows(last.i_s + last.w_s, u.i_s + u.w_s) &&
                                      grows(last.activation_bytes, u.activation_bytes),
                                  "%s: shrinks", where);
                    last = u;
                    checked++;
                }
            }
        }
    }
    ck_assert_int_gt(checked, 100);
}
END_TEST

/* More tensor parallelism: less time per op inside a node, more GPU-seconds; far more across. */
START_TEST(tensor_parallelism_saves_time_but_not_work)
{
    const pp_model model = run_model("gpt175b");
    const pp_hardware hw = run_hardware("a100-80g");
    double last_s = INFINITY, last_work = 0;
    for (int64_t tp = 1; tp <= 32; tp *= 2) {
        const pp_cost_context c = context_of(&model, &hw, "megatron-2022", tp, PP_RECOMPUTE_NONE);
        const pp_unit_cost u = layer(&c, 2048, 2048 * 2048);
        const double seconds = u.f_s + u.i_s + u.w_s;
        if (tp <= 8)
            ck_assert_double_lt(seconds, last_s);
        ck_assert_double_gt(seconds * (double)tp, last_work);
        last_s = seconds;
        last_work = seconds * (double)tp;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost_model");
    TCase *tc = tcase_create("cost_model");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, activation_bytes_follow_the_formulas);
    tcase_add_test(tc, gates_and_norms_are_kept);
    tcase_add_test(tc, a_late_split_keeps_gradients);
    tcase_add_test(tc, a_late_split_moves_work_to_w);
    tcase_add_test(tc, eager_layers_keep_the_output_of_the_activation_function);
    tcase_add_loop_test(tc, parameters_of_the_units_are_the_model, 0, MODELS);
    tcase_add_test(tc, model_flops_are_megatrons);
    tcase_add_test(tc, packed_sequences_are_cheaper_than_one_long);
    tcase_add_test(tc, recomputation_trades_time_for_memory);
    tcase_add_test(tc, state_per_parameter_is_megatrons);
    tcase_add_test(tc, bidirectional_ranks_hold_two_stages);
    tcase_add_test(tc, temporaries_are_the_fullest_instant_of_a_backward);
    tcase_add_test(tc, attention_keeps_copies);
    tcase_add_test(tc, experts_keep_what_they_read);
    tcase_add_test(tc, the_head_returns_its_logits);
    tcase_add_test(tc, an_mtp_module_runs_its_layer_again);
    tcase_add_test(tc, an_mtp_module_has_the_larger_temporaries);
    tcase_add_test(tc, a_stage_has_the_temporaries_of_its_largest_unit);
    tcase_add_test(tc, step_boundary_has_what_the_job_needs);
    tcase_add_test(tc, a_tied_embedding_on_one_rank_needs_no_reduction);
    tcase_add_test(tc, exchanges_without_overlap_are_in_the_ops);
    tcase_add_test(tc, classes_are_the_distinct_microbatches);
    tcase_add_test(tc, many_replicas_cost_what_their_microbatches_cost);
    tcase_add_test(tc, impossible_splits_are_wrong_usage);
    tcase_add_loop_test(tc, costs_are_finite_and_grow, 0, MODELS);
    tcase_add_test(tc, tensor_parallelism_saves_time_but_not_work);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
