/* Compares predictions with published steps, layers and memory: prints the tables of
 * docs/explanation/cost-model.md and asserts the targets. Repeats the fit of the two numbers that
 * are fitted to step times, leaving out one model at a time. */
#include "sim/cost/step_interval.h"
#include "tests/support/published.h"

static double percent(double predicted, double published)
{
    return 100 * (predicted / published - 1);
}

typedef struct tally {
    double sum, mean, max;
    int count;
} tally;

static void tally_add(tally *t, double error)
{
    t->sum += error;
    t->mean += fabs(error);
    t->max = fmax(t->max, fabs(error));
    t->count++;
}

static void tally_print(const char *name, const tally *t)
{
    printf("| **%s** | bias %+.1f | mean %.1f | max %.1f |\n", name, t->sum / t->count,
           t->mean / t->count, t->max);
}

static tally predict_set(const run *runs, size_t count, const char *set, const pp_hardware *hw)
{
    tally t = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (strcmp(runs[i].set, set) != 0)
            continue;
        const double seconds = run_predict(&runs[i], hw);
        const double error = percent(seconds, runs[i].seconds);
        printf("| %s | %.2f | %.2f | %+.1f |\n", runs[i].id, runs[i].seconds, seconds, error);
        tally_add(&t, error);
    }
    tally_print(set, &t);
    return t;
}

static const struct {
    const char *set;
    double mean, max;
    int count;
} targets[] = { { "korthikanti2022", 3, 6, 8 }, { "sc21", 4, 8, 10 }, { "side", 6, 6, 1 } };

START_TEST(published_steps_are_predicted)
{
    run *runs = calloc(RUNS_MAX, sizeof *runs);
    const size_t count = run_read_all(runs);
    const pp_hardware hw = run_hardware("a100-80g");
    const tally t = predict_set(runs, count, targets[_i].set, &hw);
    ck_assert_int_eq(t.count, targets[_i].count);
    ck_assert_double_le(t.mean / t.count, targets[_i].mean);
    ck_assert_double_le(t.max, targets[_i].max);
    free(runs);
}
END_TEST

/* What ppsim plan says about its errors on A100 is what they are; on other GPUs it depends on the
 * stack (tests/accuracy.py). */
START_TEST(errors_are_those_that_plan_prints)
{
    static const char *const others[] = { "h100-80g", "h200-141g", "b200-180g",
                                          "v100-32g", "l40s-48g",  "" };
    const pp_published_steps *known =
        pp_published_steps_of("a100-80g", "megatron-2022", false, false);
    run *runs = calloc(RUNS_MAX, sizeof *runs);
    const size_t count = run_read_all(runs);
    const pp_hardware hw = run_hardware("a100-80g");
    tally t = { 0 };
    for (size_t i = 0; i < count; i++)
        tally_add(&t, percent(run_predict(&runs[i], &hw), runs[i].seconds));
    ck_assert_int_eq(t.count, known->steps);
    ck_assert_double_eq(round(t.mean / t.count), known->mean_percent);
    ck_assert_double_eq(round(t.max), known->most_percent);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_ptr_null(pp_published_steps_of(others[i], "megatron-2022", false, false));
    free(runs);
}
END_TEST

/* One layer alone; stack: that of the published measurement. */
static pp_unit_cost layer_of(const pp_model *model, const pp_hardware *hw, pp_switches switches,
                             int64_t tp, int64_t batch)
{
    const pp_cost_context context = {
        .model = model, .hardware = hw, .switches = switches, .parallel = { 1, tp, 1, 1, 1, 1 }
    };
    pp_unit_cost cost;
    pp_err err = { 0 };
    STEP_OK(
        pp_cost_unit(&context, PP_UNIT_LAYER, 0, batch * 2048, batch * 2048 * 2048, &cost, &err),
        err);
    return cost;
}

/* Korthikanti 2022, Table 4: forward and backward of a layer of the 22B model. */
START_TEST(published_layer_times_are_predicted)
{
    const pp_hardware hw = run_hardware("a100-80g");
    const pp_model model = run_model("gpt22b");
    pp_json *json = run_data();
    const pp_json_at root = pp_json_root(json, "published_steps.json");
    pp_json_at list, row;
    size_t count = 0;
    tally t = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_json_get(&root, "layer_22b", &list, &err), err);
    STEP_OK(pp_json_count(&list, &count, &err), err);
    for (size_t i = 0; i < count; i++) {
        STEP_OK(pp_json_item(&list, i, &row, &err), err);
        pp_switches sw;
        sw = stack_switches("megatron-2022", &(pp_parallel){ .tp = 8 });
        sw.recompute = run_recompute(run_text(&row, "recompute"));
        STEP_OK(pp_json_get_bool(&row, "sequence_parallel", &sw.sequence_parallel, &err), err);
        const pp_unit_cost cost = layer_of(&model, &hw, sw, 8, 4);
        const double ms[] = { 1e3 * cost.f_s, 1e3 * (cost.i_s + cost.w_s) };
        const double published[] = { run_double(&row, "forward_ms"),
                                     run_double(&row, "backward_ms") };
        for (int k = 0; k < 2; k++) {
            printf("| %s, %s | %.1f ms | %.2f ms | %+.1f |\n", run_text(&row, "id"),
                   k ? "backward" : "forward", published[k], ms[k], percent(ms[k], published[k]));
            tally_add(&t, percent(ms[k], published[k]));
        }
    }
    tally_print("22B layer", &t);
    ck_assert_int_eq(t.count, 10);
    ck_assert_double_le(t.mean / t.count, 3);
    ck_assert_double_le(t.max, 5);
    pp_json_free(&json);
}
END_TEST

/* TransformerEngine, getting_started: one layer, h 4096, ffn 16384, 32 heads, s 2048, b 8, forward
 * and backward, on one H100: 48.3 ms with unfused attention, 35.7 ms with its own. */
START_TEST(a_layer_on_h100_is_predicted)
{
    static const double published_ms[] = { 48.28, 35.71 };
    pp_hardware hw = run_hardware("h100-80g");
    hw.sustained = 1; /* one layer in a short loop */
    const pp_model model = { .layers = 1,
                             .hidden = 4096,
                             .heads = 32,
                             .kv_heads = 32,
                             .head_dim = 128,
                             .v_head_dim = 128,
                             .ffn = 16384,
                             .vocab = 51200,
                             .max_seq_length = 2048,
                             .linear_bias = true,
                             .learned_positions = true,
                             .dropout = true };
    tally t = { 0 };
    for (int flash = 0; flash < 2; flash++) {
        const pp_switches sw = { .recompute = PP_RECOMPUTE_NONE,
                                 .flash_attention = flash,
                                 .fused_wgrad = true,
                                 .grad_dtype = PP_DTYPE_BF16 };
        const pp_unit_cost cost = layer_of(&model, &hw, sw, 1, 8);
        const double ms = 1e3 * (cost.f_s + cost.i_s + cost.w_s);
        printf("| H100 layer, %s attention | %.1f ms | %.1f ms | %+.1f |\n",
               flash ? "fused" : "unfused", published_ms[flash], ms,
               percent(ms, published_ms[flash]));
        tally_add(&t, percent(ms, published_ms[flash]));
    }
    ck_assert_double_le(t.max, 5);
}
END_TEST

/* Korthikanti 2022, Figure 1: activations of the first stage, at their peak, to the printed digits
 * (5 or 6 of them). The embedding's dropout mask and the loss are counted apart, as in the paper.
 */
START_TEST(published_activation_memory_is_exact)
{
    const pp_hardware hw = run_hardware("a100-80g");
    pp_json *json = run_data();
    const pp_json_at root = pp_json_root(json, "published_steps.json");
    pp_json_at list, row;
    size_t count = 0;
    pp_err err = { 0 };
    STEP_OK(pp_json_get(&root, "activations", &list, &err), err);
    STEP_OK(pp_json_count(&list, &count, &err), err);
    for (size_t i = 0; i < 2 * count; i++) {
        STEP_OK(pp_json_item(&list, i / 2, &row, &err), err);
        const bool selective = i % 2 == 1;
        run r = { .model = run_model(run_text(&row, "model")),
                  .micro_batch_size = run_int(&row, "micro_batch_size"),
                  .seq_length = 2048,
                  .parallel = { run_int(&row, "pp"), 8, 1, 1, 1, run_int(&row, "vpp") } };
        r.microbatches = (uint32_t)r.parallel.pp * 2;
        r.switches = stack_switches("megatron-2022", &r.parallel);
        r.switches.recompute = selective ? PP_RECOMPUTE_SELECTIVE : PP_RECOMPUTE_NONE;
        r.switches.sequence_parallel = selective;
        const uint32_t p = (uint32_t)r.parallel.pp, v = (uint32_t)r.parallel.vpp;
        step s = { .order = step_order(v > 1 ? "interleaved" : "1f1b", p, v, r.microbatches,
                                       v > 1 ? p : 0),
                   .costs = run_costs(&r, &hw) };
        step_simulate(&s);
        pp_memory_peak peak;
        STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 0, NULL, NULL, &peak, &err), err);
        const double gib = (double)peak.bytes[PP_MEMORY_ACTIVATIONS] / (1 << 30);
        const double published = run_double(&row, selective ? "tp_sp_selective_GiB" : "tp_GiB");
        printf("| %s %s | %.3f GiB | %.3f GiB | |\n", r.model.name,
               selective ? "selective + SP" : "tensor parallel", published, gib);
        ck_assert_msg(fabs(gib - published) < 6e-4, "%s: %.4f for %.3f", r.model.name, gib,
                      published);
        step_free(&s);
    }
    pp_json_free(&json);
}
END_TEST

/* Megatron-Core 0.8 on H100: published model FLOPs utilisation lies between 38 and 48 % (Megatron
 * Core r0.8 README: 41 to 48 %; Llama 3 report: 38 to 43 %), as known second-hand; "sustained" is
 * fitted to such figures, so this guards the fit but is not an independent check. */
START_TEST(utilisation_on_h100_is_plausible)
{
    static const struct {
        const char *model;
        int64_t pp, tp, dp, vpp, seq_length;
        uint32_t microbatches;
    } rows[] = {
        { "gpt175b", 8, 8, 12, 12, 2048, 128 },    { "gpt530b", 35, 8, 9, 3, 2048, 280 },
        { "llama3-405b", 16, 8, 64, 1, 8192, 32 }, { "llama3-405b", 9, 8, 64, 7, 8192, 36 },
        { "llama3-70b", 4, 8, 16, 5, 8192, 32 },   { "llama2-70b", 4, 8, 8, 5, 4096, 32 },
    };
    const pp_hardware hw = run_hardware("h100-80g");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run r = { .model = run_model(rows[i].model),
                  .micro_batch_size = 1,
                  .seq_length = rows[i].seq_length,
                  .microbatches = rows[i].microbatches,
                  .parallel = { rows[i].pp, rows[i].tp, 1, rows[i].dp, 1, rows[i].vpp } };
        r.switches = stack_switches("megatron-2024", &r.parallel);
        r.switches.recompute = PP_RECOMPUTE_NONE;
        pp_costs *costs = run_costs(&r, &hw);
        const double mfu = costs->model_flops / run_predict(&r, &hw) / costs->peak_flops_per_s;
        printf("| %s pp %d tp %d dp %d vpp %d | MFU %.1f %% |\n", r.model.name, (int)rows[i].pp,
               (int)rows[i].tp, (int)rows[i].dp, (int)rows[i].vpp, 100 * mfu);
        ck_assert_double_ge(mfu, 0.33);
        ck_assert_double_le(mfu, 0.49);
        pp_costs_free(&costs);
    }
}
END_TEST

/* Grid of the two numbers fitted to step times, and every row's error on it. */
enum { SCALES = 11, SHARES = 11 };

static double scale_at(int i)
{
    return 0.94 + 0.01 * i;
}

static double share_at(int i)
{
    return 0.62 + 0.02 * i;
}

/* Mean error over the rows of all sets except `left_out` (NULL: all). */
static double fit_loss(const run *runs, size_t count, const double *errors, const char *left_out)
{
    double loss = 0;
    int rows = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(runs[i].set, "side") == 0 ||
            (left_out && strcmp(runs[i].model_name, left_out) == 0))
            continue;
        loss += fabs(errors[i]);
        rows++;
    }
    return loss / rows;
}

static int best_point(const run *runs, size_t count, double (*errors)[RUNS_MAX],
                      const char *left_out)
{
    int best = 0;
    for (int g = 1; g < SCALES * SHARES; g++) {
        if (fit_loss(runs, count, errors[g], left_out) <
            fit_loss(runs, count, errors[best], left_out))
            best = g;
    }
    return best;
}

/* Both rows of a model are left out together, then predicted with the fit to the other rows. */
START_TEST(models_left_out_are_predicted)
{
    run *runs = calloc(RUNS_MAX, sizeof *runs);
    double(*errors)[RUNS_MAX] = calloc(SCALES * SHARES, sizeof *errors);
    pp_hardware hw = run_hardware("a100-80g");
    const size_t count = run_read_all(runs);
    for (int g = 0; g < SCALES * SHARES; g++) {
        hw.gemm.scale = scale_at(g / SHARES);
        hw.elementwise = share_at(g % SHARES);
        for (size_t i = 0; i < count; i++)
            errors[g][i] = percent(run_predict(&runs[i], &hw), runs[i].seconds);
    }
    const int all = best_point(runs, count, errors, NULL);
    printf("| all rows | e %.2f, hb %.2f | mean %.2f %% |\n", scale_at(all / SHARES),
           share_at(all % SHARES), fit_loss(runs, count, errors[all], NULL));
    tally sets[2] = { { 0 } };
    for (size_t i = 0; i < count; i++) {
        const bool korthikanti = strcmp(runs[i].set, "korthikanti2022") == 0;
        if (strcmp(runs[i].set, "side") == 0)
            continue;
        const int g = best_point(runs, count, errors, runs[i].model_name);
        printf("| %s without %s | e %.2f, hb %.2f | %+.1f |\n", runs[i].id, runs[i].model_name,
               scale_at(g / SHARES), share_at(g % SHARES), errors[g][i]);
        tally_add(&sets[korthikanti], errors[g][i]);
    }
    tally_print("sc21, model left out", &sets[0]);
    tally_print("korthikanti2022, model left out", &sets[1]);
    ck_assert_double_le(sets[0].mean / sets[0].count, 4);
    ck_assert_double_le(sets[1].mean / sets[1].count, 4);
    /* tests/accuracy.py makes the other half-widths in this way */
    const double left_out = (sets[0].mean + sets[1].mean) / (sets[0].count + sets[1].count);
    ck_assert_double_eq_tol(
        1.4 * left_out,
        pp_published_steps_of("a100-80g", "megatron-2022", false, false)->half_percent, 0.05);
    free(errors);
    free(runs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("accuracy");
    TCase *tc = tcase_create("accuracy");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, published_steps_are_predicted, 0, 3);
    tcase_add_test(tc, errors_are_those_that_plan_prints);
    tcase_add_test(tc, published_layer_times_are_predicted);
    tcase_add_test(tc, a_layer_on_h100_is_predicted);
    tcase_add_test(tc, published_activation_memory_is_exact);
    tcase_add_test(tc, utilisation_on_h100_is_plausible);
    tcase_add_test(tc, models_left_out_are_predicted);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
