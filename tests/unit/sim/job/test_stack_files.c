/* Stack files: what they say of the software of papers, how they meet the hardware, and what is
 * wrong with bad ones. */
#include "sim/cost/gpu_batch.h"
#include "tests/support/published.h"
#include "tests/support/stacks.h"

#include <math.h>

/* Each stack's switches are those of the paper or program after which it is named. */
START_TEST(stacks_switch_what_their_papers_say)
{
    pp_switches old;
    pp_switches mid;
    pp_switches now;
    pp_parallel parallel = { .pp = 4, .tp = 8, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 };
    old = stack_switches("megatron-2021", &parallel);
    mid = stack_switches("megatron-2022", &parallel);
    now = stack_switches("every-schedule", &parallel);
    ck_assert(old.zero == 0 && mid.zero == 0 && now.zero == 1);
    ck_assert(!old.tp_overlap && !old.fused_wgrad && !old.flash_attention && !old.p2p_overlap);
    ck_assert(!old.sequence_parallel && !old.grad_sync_overlap);
    ck_assert_int_eq(pp_dtype_bytes(old.grad_dtype), 2);
    ck_assert(now.transformer_engine && !mid.transformer_engine && !old.transformer_engine);
    ck_assert(mid.tp_overlap && mid.fused_wgrad && mid.sequence_parallel && !mid.flash_attention);
    ck_assert(!mid.grad_sync_overlap && !mid.p2p_overlap);
    ck_assert_int_eq(pp_dtype_bytes(mid.grad_dtype), 4);
    const pp_switches eager = stack_switches("pytorch-eager", &parallel);
    const pp_switches compiled = stack_switches("torchtitan-2025", &parallel);
    ck_assert(eager.eager_loss && !eager.fused_loss);
    ck_assert(compiled.fused_loss && !compiled.eager_loss); /* its loss is compiled, too */
    ck_assert(now.tp_overlap && now.fused_wgrad && now.sequence_parallel && now.flash_attention);
    ck_assert(now.grad_sync_overlap && now.p2p_overlap);
    ck_assert_int_eq(now.dtype, PP_DTYPE_BF16);
    ck_assert_int_eq(now.recompute, PP_RECOMPUTE_AUTO);
    parallel.tp = parallel.dp = 1;
    now = stack_switches("every-schedule", &parallel);
    ck_assert(!now.sequence_parallel && now.zero == 0);
    parallel.cp = 2; /* Megatron-Core divides the state over the ranks of dp x cp */
    now = stack_switches("every-schedule", &parallel);
    ck_assert_int_eq(now.zero, 1);
    /* ParallelismConfig.context_parallel_rotate_method; --cp-comm-type of Megatron-LM */
    ck_assert_int_eq(stack_switches("torchtitan-2025", &parallel).cp_comm, PP_CP_COMM_ALL_GATHER);
    ck_assert_int_eq(now.cp_comm, PP_CP_COMM_RING);
}
END_TEST

/* Every file of traces/data/stacks has a source for its settings and its speeds, which
 * pp_stack_parse demands, and the name of its file. */
START_TEST(every_stack_is_read)
{
    for (const char *const *name = stack_names(); *name; name++)
        ck_assert_str_eq(stack_named(*name)->name, *name);
    ck_assert_ptr_null(stack_or_null("megatron-2020"));
}
END_TEST

static const char *const text =
    "{\"format\": \"ppsim.stack\", \"version\": 1, \"name\": \"mine\", \"summary\": \"a test\","
    " \"features\": {\"sequence_parallel\": true, \"distributed_optimizer\": true,"
    "  \"context_parallel\": true, \"expert_parallel\": true, \"selective_recompute\": true,"
    "  \"free_schedules\": true, \"precisions\": [\"fp8\"], \"source\": \"here\"},"
    " \"settings\": {\"flash_attention\": true, \"grad_sync_overlap\": true,"
    "  \"p2p_overlap\": true, \"tp_overlap\": true, \"tp_overlap_all\": true,"
    "  \"fused_wgrad\": true, \"fused_loss\": true, \"eager_loss\": false, \"transformer_engine\": "
    "true, "
    "\"scatter_gather\": false,"
    "  \"grad_dtype\": \"fp32\", \"dtype\": \"bf16\", \"source\": \"here\"},"
    " \"gpus\": [{\"architecture\": \"hopper\","
    "  \"sustained\": {\"value\": 0.75, \"source\": \"here\", \"status\": \"prior\"},"
    "  \"sustained_low\": {\"value\": 0.5, \"source\": \"there\", \"status\": \"step fit\"}}]}";

/* An alias has all that the stack has for which it stands, and schedules that it adds. */
START_TEST(an_alias_is_what_it_stands_for)
{
    const pp_parallel parallel = { .pp = 4, .tp = 8, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 };
    const pp_hardware h100 = run_hardware("h100-80g");
    const pp_stack *alias = stack_named("current");
    const pp_stack *meant = stack_named(alias->stands_for);
    const pp_switches a = pp_stack_switches(alias, &h100, &parallel),
                      m = pp_stack_switches(meant, &h100, &parallel);
    const pp_hardware a100 = run_hardware("a100-80g");
    char words[400];
    ck_assert_str_eq(pp_stack_stands_for(alias, &a100), "megatron-2024");
    ck_assert_str_eq(pp_stack_stands_for(alias, &h100), "megatron-bridge-2026");
    ck_assert(a.tp_overlap_all && a.fused_loss && a.sustained > 0 && a.sustained_low > 0);
    ck_assert(m.tp_overlap_all && m.fused_loss);
    ck_assert_double_eq(a.sustained, m.sustained);
    ck_assert_double_eq(a.sustained_low, m.sustained_low);
    ck_assert(alias->has.free_schedules && !meant->has.free_schedules);
    ck_assert(alias->has.precision[PP_PRECISION_NVFP4] && alias->has.expert_parallel);
    ck_assert_str_eq(pp_stack_meant(alias), meant->name);
    ck_assert_str_eq(pp_stack_print(alias->name, alias->stands_for, words, sizeof words),
                     "current (megatron-bridge-2026)");
    ck_assert_str_eq(pp_stack_print(meant->name, meant->stands_for, words, sizeof words),
                     meant->name);
}
END_TEST

/* Formats came one after the other: FP8 with delayed scaling, then recipes to choose from. */
START_TEST(stacks_train_in_formats_of_their_time)
{
    static const struct {
        const char *stack;
        bool fp8, current, nvfp4;
    } rows[] = {
        { "megatron-2022", false, false, false },    { "nemo-2023", true, false, false },
        { "megatron-2024", true, false, false },     { "nemo-2025", true, true, false },
        { "torchtitan-2025", false, true, false },   { "pytorch-eager", false, false, false },
        { "megatron-bridge-2026", true, true, true }
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pp_stack *stack = stack_named(rows[i].stack);
        ck_assert(stack->has.precision[PP_PRECISION_BF16]);
        ck_assert_int_eq(stack->has.precision[PP_PRECISION_FP8], rows[i].fp8);
        ck_assert_int_eq(stack->has.precision[PP_PRECISION_FP8_CURRENT], rows[i].current);
        ck_assert_int_eq(stack->has.precision[PP_PRECISION_NVFP4], rows[i].nvfp4);
    }
}
END_TEST

/* The speed is that of the stack on the architecture that it names, and elsewhere the hardware's.
 */
START_TEST(a_stack_has_its_own_speed_on_a_gpu)
{
    const pp_hardware h100 = run_hardware("h100-80g"), a100 = run_hardware("a100-80g");
    const pp_model model = run_model("llama3-8b");
    pp_stack stack;
    pp_err err = { 0 };
    STEP_OK(pp_stack_parse(text, strlen(text), "mine.json", &stack, &err), err);
    for (int k = 0; k < 3; k++) {
        pp_cost_context c = { .model = &model,
                              .hardware = k == 2 ? &a100 : &h100,
                              .parallel = {
                                  .pp = 1, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
        pp_unit_cost own, plain;
        c.switches = pp_stack_switches(&stack, c.hardware, &c.parallel);
        c.switches.recompute = PP_RECOMPUTE_NONE;
        c.switches.precision = k == 1 ? PP_PRECISION_FP8 : PP_PRECISION_BF16;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, 4096, 4096 * 4096, &own, &err), err);
        c.switches.sustained = c.switches.sustained_low = 0;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, 4096, 4096 * 4096, &plain, &err), err);
        const double share = k == 2 ? a100.sustained : k == 1 ? 0.5 : 0.75;
        ck_assert_double_eq_tol(own.f_s * share, plain.f_s * c.hardware->sustained, 1e-15);
    }
}
END_TEST

/* `text` with `to` in the place of `from`, or after it. Returns buffer. */
static const char *edited(const char *from, const char *to, bool after, char *buffer, size_t size)
{
    const char *at = strstr(text, from);
    ck_assert_ptr_nonnull(at);
    snprintf(buffer, size, "%.*s%s%s%s", (int)(at - text), text, after ? from : "", to,
             at + strlen(from));
    return buffer;
}

/* Growth is per doubling beyond 8 GPUs, on a line between doublings (96 GPUs: 3.5); the clock is
 * the cube root of the power; the offset is a part of the step. None is there unless it is given.
 */
START_TEST(a_stack_has_growth_power_and_an_offset)
{
    static const struct {
        int64_t dp;
        double doublings;
    } rows[] = { { 1, 0 }, { 8, 0 }, { 16, 1 }, { 64, 3 }, { 96, 3.5 }, { 2048, 8 } };
    const pp_hardware h100 = run_hardware("h100-80g");
    const pp_model model = run_model("llama3-8b");
    char with[2048];
    pp_stack stack, plain;
    pp_err err = { 0 };
    edited("{\"architecture\": \"hopper\",",
           " \"growth\": {\"value\": 0.01, \"source\": \"a\", \"status\": \"prior\"},"
           " \"power_limit\": {\"value\": 0.512, \"source\": \"a\", \"status\": \"prior\"},"
           " \"step_offset_s\": {\"value\": 0.25, \"source\": \"a\", \"status\": \"prior\"},",
           true, with, sizeof with);
    STEP_OK(pp_stack_parse(text, strlen(text), "mine.json", &plain, &err), err);
    STEP_OK(pp_stack_parse(with, strlen(with), "mine.json", &stack, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_cost_context c = {
            .model = &model,
            .hardware = &h100,
            .parallel = { .pp = 1, .tp = 1, .cp = 1, .dp = rows[i].dp, .ep = 1, .vpp = 1 }
        };
        pp_unit_cost one, other;
        c.switches = pp_stack_switches(&plain, &h100, &c.parallel);
        c.switches.recompute = PP_RECOMPUTE_NONE;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, 4096, 4096 * 4096, &one, &err), err);
        c.switches = pp_stack_switches(&stack, &h100, &c.parallel);
        c.switches.recompute = PP_RECOMPUTE_NONE;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, 4096, 4096 * 4096, &other, &err), err);
        const double times = (1 + 0.01 * rows[i].doublings) / 0.8;
        ck_assert_double_eq_tol(other.f_s, one.f_s * times, 1e-15);
        ck_assert_double_eq_tol(other.w_s, one.w_s * times, 1e-15);
    }
    run r = { .model = model,
              .parallel = { .pp = 2, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    r.micro_batch_size = 1;
    r.seq_length = 4096;
    r.microbatches = 2;
    r.switches = pp_stack_switches(&stack, &h100, &r.parallel);
    r.switches.recompute = PP_RECOMPUTE_NONE;
    pp_costs *costs = run_costs(&r, &h100);
    ck_assert_int_eq(costs->fixed_ns, llround(1e9 * (h100.step_fixed_s + 0.25)));
    pp_costs_free(&costs);
}
END_TEST

/* With tp_overlap_all the forward hides its exchange, too; with fused_loss the loss is shorter, and
 * nothing else. */
START_TEST(settings_of_tuned_stacks_shorten_what_they_name)
{
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_model model = run_model("llama3-70b");
    pp_cost_context c = { .model = &model,
                          .hardware = &hw,
                          .parallel = { .pp = 1, .tp = 8, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    pp_unit_cost before[2], after[2];
    pp_err err = { 0 };
    c.switches = stack_switches("every-schedule", &c.parallel);
    c.switches.recompute = PP_RECOMPUTE_NONE;
    for (int loss = 0; loss < 2; loss++) {
        const pp_unit_kind kind = loss ? PP_UNIT_LOSS : PP_UNIT_LAYER;
        STEP_OK(pp_cost_unit(&c, kind, 0, 8192, 8192 * 8192, &before[loss], &err), err);
        c.switches.tp_overlap_all = true;
        c.switches.fused_loss = loss;
        STEP_OK(pp_cost_unit(&c, kind, 0, 8192, 8192 * 8192, &after[loss], &err), err);
        ck_assert_double_lt(after[loss].f_s, before[loss].f_s);
        ck_assert_double_lt(after[loss].i_s, before[loss].i_s);
        ck_assert_double_eq(after[loss].w_s, before[loss].w_s);
    }
}
END_TEST

static void refuse(const char *from, const char *to, const char *message)
{
    char bad[2048];
    pp_stack stack;
    pp_err err = { 0 };
    edited(from, to, false, bad, sizeof bad);
    ck_assert_int_eq(pp_stack_parse(bad, strlen(bad), "mine.json", &stack, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, message) != NULL, "%s %s", err.where, err.text);
}

/* A deterministic backward of attention is slower, and nothing else. With CUDA graphs a layer of 64
 * tokens does not wait for the host, which launches 20 kernels; one of 8,192 never does. */
START_TEST(deterministic_attention_and_graphs_change_what_they_name)
{
    const pp_hardware hw = run_hardware("h100-80g");
    pp_model model = run_model("llama3-8b");
    model.hidden = model.ffn = 1024;
    model.heads = model.kv_heads = 8;
    pp_cost_context c = { .model = &model,
                          .hardware = &hw,
                          .parallel = { .pp = 1, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    pp_unit_cost plain[2], fixed[2], graphs[2];
    pp_err err = { 0 };
    for (int k = 0; k < 2; k++) {
        const int64_t tokens = k ? 8192 : 64;
        c.switches = stack_switches("every-schedule", &c.parallel);
        c.switches.recompute = PP_RECOMPUTE_NONE;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, tokens, tokens * tokens, &plain[k], &err), err);
        c.switches.deterministic = true;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, tokens, tokens * tokens, &fixed[k], &err), err);
        c.switches.deterministic = false;
        c.switches.cuda_graphs = true;
        STEP_OK(pp_cost_unit(&c, PP_UNIT_LAYER, 0, tokens, tokens * tokens, &graphs[k], &err), err);
    }
    const double attention = fixed[1].i_s - plain[1].i_s;
    ck_assert(attention > 0.26 * 0.2 * plain[1].i_s && attention < 0.26 * plain[1].i_s);
    ck_assert_double_eq(fixed[1].f_s, plain[1].f_s);
    ck_assert_double_eq(fixed[1].w_s, plain[1].w_s);
    ck_assert_double_eq_tol(plain[0].f_s, 20 * hw.launch_s / pp_sustained_of(&c), 1e-12);
    ck_assert_double_lt(graphs[0].f_s, plain[0].f_s);
    ck_assert_double_lt(graphs[0].i_s + graphs[0].w_s, plain[0].i_s + plain[0].w_s);
    ck_assert_double_eq(graphs[1].f_s, plain[1].f_s);
    ck_assert_double_eq(graphs[1].i_s, plain[1].i_s);
}
END_TEST

/* What a job changes of its stack's settings is what makes its switches of those of the stack. */
START_TEST(changes_of_settings_are_kept)
{
    const pp_parallel parallel = { .pp = 4, .tp = 8, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 };
    const pp_switches stack = stack_switches("nemo-2025", &parallel);
    pp_switches job = stack;
    pp_switches again = stack;
    job.flash_attention = job.transformer_engine = false;
    job.eager_loss = true;
    job.communicators = PP_COMMUNICATORS_WORLD;
    job.dtype = PP_DTYPE_FP16;
    const pp_stack_changes changes = pp_stack_changes_of(&stack, &job);
    for (size_t i = 0; i < PP_STACK_SETTINGS; i++) {
        const char *name = pp_stack_setting_name(i);
        ck_assert_int_eq(changes.to[i], strcmp(name, "eager_loss") == 0 ? 1
                                        : strcmp(name, "flash_attention") == 0 ||
                                                strcmp(name, "transformer_engine") == 0
                                            ? -1
                                            : 0);
    }
    pp_stack_change(&changes, &again);
    ck_assert(!again.flash_attention && !again.transformer_engine && again.eager_loss);
    ck_assert_int_eq(again.communicators, PP_COMMUNICATORS_WORLD);
    ck_assert_int_eq(again.dtype, PP_DTYPE_FP16);
    ck_assert(again.p2p_overlap == stack.p2p_overlap && again.fused_loss == stack.fused_loss);
}
END_TEST

START_TEST(bad_files_are_refused)
{
    refuse("0.75", "75", "0.1");
    refuse("\"step fit\"", "\"fit\"", "is not one of published");
    refuse("[\"fp8\"]", "[\"fp9\"]", "is not the name of a precision");
    refuse("\"source\": \"there\", ", "", "source");
    refuse("\"prior\"", "\"guess\"", "is not one of published");
    refuse("\"sustained\"", "\"growth\"", "0.1");
    refuse("\"bf16\"", "\"fp8\"", "is not one of bf16, fp16, fp32");
    refuse("\"fused_loss\": true, ", "", "fused_loss");
    refuse("\"fused_wgrad\"", "\"fused_grad\"", "fused_grad");
    refuse("\"source\": \"here\", \"status\"", "\"status\"", "source");
    refuse("\"bf16\"", "\"bf16\", \"cp_comm\": \"p2p\"", "is not one of ring, all-to-all");
    refuse("\"bf16\"", "\"bf16\", \"moe_fp8_dispatch\": 8", "true or false");
    refuse("\"bf16\"", "\"bf16\", \"moe_shared_expert_overlap\": 8", "true or false");
    refuse("\"summary\"", "\"stands_for\": \"x\", \"summary\"", "features");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack_files");
    TCase *tc = tcase_create("stack");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, stacks_switch_what_their_papers_say);
    tcase_add_test(tc, every_stack_is_read);
    tcase_add_test(tc, an_alias_is_what_it_stands_for);
    tcase_add_test(tc, stacks_train_in_formats_of_their_time);
    tcase_add_test(tc, a_stack_has_its_own_speed_on_a_gpu);
    tcase_add_test(tc, a_stack_has_growth_power_and_an_offset);
    tcase_add_test(tc, settings_of_tuned_stacks_shorten_what_they_name);
    tcase_add_test(tc, deterministic_attention_and_graphs_change_what_they_name);
    tcase_add_test(tc, changes_of_settings_are_kept);
    tcase_add_test(tc, bad_files_are_refused);
    return step_run(suite);
}
