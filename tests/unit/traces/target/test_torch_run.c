/* Configurations of torchtitan and NeMo AutoModel: option names of torchtitan 0.2.2, 0.3.0 and
 * b5bcd76c (torchtitan/config), and of NeMo AutoModel 0.7.0 (recipes/_dist_utils.py,
 * components/distributed/pipelining). Both frameworks' own code has read such files:
 * docs/reference/interop.md. */
#include "tests/support/step.h"

static const pp_format *format_of(const char *name)
{
    const pp_format *format = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_get(name, &format, &err), err);
    return format;
}

/* 2 ranks of 2 stages, 10 layers, 2 replicas; everything it points to is freed with the plan. */
static pp_plan *plan_of(const char *schedule)
{
    static const pp_stage stages[] = { { .layers = 2, .embedding = true },
                                       { .first_layer = 2, .layers = 3 },
                                       { .first_layer = 5, .layers = 3 },
                                       { .first_layer = 8, .layers = 2, .loss = true } };
    pp_plan *plan = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    snprintf(plan->schedule, sizeof plan->schedule, "%s", schedule);
    plan->recompute = PP_RECOMPUTE_SELECTIVE;
    plan->parallel = (pp_parallel){ .pp = 2, .tp = 8, .cp = 1, .dp = 2, .ep = 1, .vpp = 2 };
    plan->micro_batch_size = 2;
    plan->seq_length = 4096;
    plan->sequence_parallel = 1;
    plan->partition = calloc(4, sizeof *plan->partition);
    plan->command = strdup("ppsim plan --model \"a\nb\"");
    ck_assert(plan->partition && plan->command);
    memcpy(plan->partition, stages, sizeof stages);
    return plan;
}

static void expect(const char *format, const pp_export *data, const char *expected)
{
    pp_companion companion = { 0 };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text rows PP_CLEANUP(pp_text_free) = { 0 };
    pp_companion json = { 0 };
    pp_err err = { 0 };
    STEP_OK(format_of(format)->emit(data, &text, &companion, &err), err);
    ck_assert_str_eq(text.data, expected);
    STEP_OK(format_of("pytorch-csv")->emit(data, &rows, &json, &err), err);
    ck_assert_str_eq(companion.suffix, ".csv");
    ck_assert_str_eq(companion.text.data, rows.data);
    pp_text_free(&companion.text);
    pp_text_free(&json.text);
}

START_TEST(torchtitan_0_2_is_given_toml)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
    const pp_export data = { .plan = plan, .order = order, .path = "run/my \"t\".toml" };
    expect("torchtitan", &data,
           "# Made by: ppsim plan --model \"a b\"\n"
           "# For the configuration of torchtitan 0.2, a TOML file.\n"
           "# The path of the schedule is from where training starts.\n"
           "\n[training]\n"
           "local_batch_size = 8\n"
           "global_batch_size = 16\n"
           "seq_len = 4096\n"
           "\n[parallelism]\n"
           "pipeline_parallel_degree = 2\n"
           "tensor_parallel_degree = 8\n"
           "context_parallel_degree = 1\n"
           "expert_parallel_degree = 1\n"
           "data_parallel_replicate_degree = 1\n"
           "data_parallel_shard_degree = 2\n"
           "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
           "pipeline_parallel_schedule_csv = \"run/my \\\"t\\\".toml.csv\"\n"
           "pipeline_parallel_microbatch_size = 2\n"
           "module_fqns_per_model_part = [\n"
           "    [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
           "    [\"layers.2\", \"layers.3\", \"layers.4\"],\n"
           "    [\"layers.5\", \"layers.6\", \"layers.7\"],\n"
           "    [\"layers.8\", \"layers.9\", \"norm\", \"output\"],\n"
           "]\n"
           "\n[activation_checkpoint]\n"
           "mode = \"selective\"\n"
           "selective_ac_option = \"op\"\n");
}
END_TEST

START_TEST(torchtitan_0_3_is_given_python)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("zbv");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("zbv", 2, 2, 4, 0);
    const pp_export data = { .plan = plan, .order = order, .path = "t.py" };
    plan->recompute = PP_RECOMPUTE_FULL;
    plan->sequence_parallel = 0;
    expect("torchtitan", &data,
           "# Made by: ppsim plan --model \"a b\"\n"
           "# For torchtitan 0.3 and later: apply() changes a Trainer.Config.\n"
           "# The path of the schedule is from where training starts.\n"
           "from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC\n"
           "\n\ndef apply(config):\n"
           "    if hasattr(config.parallelism, \"num_pp_microbatches\"):  # after 0.3.0\n"
           "        config.parallelism.num_pp_microbatches = 4\n"
           "        config.training.num_tokens_per_microbatch_per_dp_rank = 8192\n"
           "        config.training.max_context_length = 4096\n"
           "        config.training.num_tokens_per_train_step = 65536\n"
           "    else:\n"
           "        config.parallelism.pipeline_parallel_microbatch_size = 2\n"
           "        config.training.local_batch_size = 8\n"
           "        config.training.global_batch_size = 16\n"
           "        config.training.seq_len = 4096\n"
           "    config.training.disable_cuda_graphs = True\n"
           "    config.parallelism.pipeline_parallel_degree = 2\n"
           "    config.parallelism.tensor_parallel_degree = 8\n"
           "    config.parallelism.context_parallel_degree = 1\n"
           "    config.parallelism.expert_parallel_degree = 1\n"
           "    config.parallelism.data_parallel_replicate_degree = 1\n"
           "    config.parallelism.data_parallel_shard_degree = 2\n"
           "    config.parallelism.enable_sequence_parallel = False\n"
           "    config.parallelism.pipeline_parallel_schedule = \"ZBVZeroBubble\"\n"
           "    config.parallelism.pipeline_parallel_schedule_csv = \"t.py.csv\"\n"
           "    config.parallelism.module_fqns_per_model_part = [\n"
           "        [\"tok_embeddings\", \"layers.0\", \"layers.1\"],\n"
           "        [\"layers.2\", \"layers.3\", \"layers.4\"],\n"
           "        [\"layers.5\", \"layers.6\", \"layers.7\"],\n"
           "        [\"layers.8\", \"layers.9\", \"norm\", \"lm_head\"],\n"
           "    ]\n"
           "    config.activation_checkpoint = FullAC.Config()\n"
           "    config.compile.enable = False\n"
           "    return config\n");
}
END_TEST

/* Options of torchtitan 0.2.1 (job_config.py), and later an argument of model_registry(). */
START_TEST(experts_travel_as_predicted)
{
    static const char *const paths[] = { "t.toml", "t.py" };
    static const char *const said[] = { "expert_parallel_comm_backend = \"%s\"\n",
                                        "model_registry(..., moe_comm_backend=\"%s\")" };
    static const struct {
        pp_dispatcher kind;
        const char *name;
    } rows[] = { { PP_DISPATCHER_ALLTOALL, "standard" },
                 { PP_DISPATCHER_DEEPEP, "deepep" },
                 { PP_DISPATCHER_HYBRIDEP, "hybridep" } };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
    const pp_export data = { .plan = plan, .order = order, .path = paths[_i] };
    for (int i = 0; i < 6; i++) {
        const int ep = 1 + i % 2;
        char expected[100];
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_companion companion = { 0 };
        pp_err err = { 0 };
        plan->parallel.ep = ep;
        plan->dispatcher = rows[i / 2].kind;
        snprintf(expected, sizeof expected, said[_i], rows[i / 2].name);
        STEP_OK(format_of("torchtitan")->emit(&data, &text, &companion, &err), err);
        ck_assert_int_eq(strstr(text.data, expected) != NULL, ep > 1);
        pp_text_free(&companion.text);
    }
}
END_TEST

/* A V is built for the name ZBVZeroBubble only (split_model_into_stages), so dualpipev has it. */
START_TEST(automodel_is_given_yaml)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("dualpipev");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("dualpipev", 2, 2, 4, 0);
    const pp_export data = { .plan = plan, .order = order, .path = "a.yaml" };
    plan->recompute = PP_RECOMPUTE_FULL;
    expect("automodel", &data,
           "# Made by: ppsim plan --model \"a b\"\n"
           "# For a recipe of NeMo AutoModel.\n"
           "# The path of the schedule is from where training starts.\n"
           "distributed:\n"
           "  strategy: fsdp2\n"
           "  pp_size: 2\n"
           "  tp_size: 8\n"
           "  cp_size: 1\n"
           "  dp_size: 2\n"
           "  ep_size: 1\n"
           "  sequence_parallel: true\n"
           "  activation_checkpointing: full\n"
           "  pipeline:\n"
           "    pp_schedule: ZBVZeroBubble\n"
           "    pp_schedule_csv: \"a.yaml.csv\"\n"
           "    pp_microbatch_size: 2\n"
           "    pp_seq_len: 4096\n"
           "    module_fqns_per_model_part:\n"
           "      - [\"model.embed_tokens\", \"model.layers.0\", \"model.layers.1\", "
           "\"model.rotary_emb\"]\n"
           "      - [\"model.layers.2\", \"model.layers.3\", \"model.layers.4\", "
           "\"model.rotary_emb\"]\n"
           "      - [\"model.layers.5\", \"model.layers.6\", \"model.layers.7\", "
           "\"model.rotary_emb\"]\n"
           "      - [\"model.layers.8\", \"model.layers.9\", \"model.norm\", \"lm_head\", "
           "\"model.rotary_emb\"]\n"
           "\nstep_scheduler:\n"
           "  local_batch_size: 8\n"
           "  global_batch_size: 16\n"
           "\ncompile:\n"
           "  enabled: false\n");
}
END_TEST

/* One way to make a plan invalid that both accept. */
typedef struct spoilt {
    const char *reason;
    void (*spoil)(pp_export *data, pp_plan *plan, pp_order **order);
    pp_status status;
} spoilt;

static void rebuild(pp_order **order, const char *schedule, uint32_t p, uint32_t v, uint32_t m)
{
    pp_order_free(order);
    *order = step_order(schedule, p, v, m, 0);
}

static void compile(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)plan;
    rebuild(order, "zbv", 2, 2, 4);
    data->compiled = true;
}

static void split_selectively(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    pp_order_free(order);
    *order = step_order("zbv", 2, 2, 4, 0);
    plan->recompute = PP_RECOMPUTE_SELECTIVE;
}

static void drop_backward(pp_export *data, pp_plan *plan, pp_order **order)
{
    pp_order *whole = *order;
    pp_err err = { 0 };
    (void)data;
    (void)plan;
    STEP_OK(pp_order_drop_backward(whole, order, &err), err);
    pp_order_free(&whole);
}

static void one_rank(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    (void)plan;
    rebuild(order, "1f1b", 1, 1, 4);
}

/* Swaps stage 1 and stage 2, which gives neither a loop nor a V. */
static void misplace(pp_export *data, pp_plan *plan, pp_order **order)
{
    static const char rows[] = "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n4F0,5F0,5B0,4B0\n";
    pp_err err = { 0 };
    (void)data;
    free(plan->partition);
    plan->partition = NULL;
    pp_order_free(order);
    STEP_OK(pp_format_read(rows, strlen(rows), "rows.csv", order, &err), err);
}

static void unequal(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    plan->workload = (pp_workload){ .replicas = 1, .microbatches = (*order)->microbatches };
    plan->workload.microbatch = calloc((*order)->microbatches, sizeof(pp_microbatch));
    ck_assert_ptr_nonnull(plan->workload.microbatch);
    for (uint32_t j = 0; j < (*order)->microbatches; j++)
        plan->workload.microbatch[j].tokens = 100 + j;
}

static void orders_of_replicas(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    (void)order;
    plan->order_count = 2;
}

static void mtp(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    (void)order;
    plan->partition[3].mtp = 1;
}

static void three_stages(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    free(plan->partition);
    plan->partition = NULL;
    rebuild(order, "interleaved", 2, 3, 4);
}

/* In every row, so that the order stays valid. */
static void swap_losses(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    (void)plan;
    rebuild(order, "gpipe", 2, 1, 4);
    for (size_t i = 0; i < (*order)->rank_begin[2]; i++) {
        uint32_t *j = &(*order)->ops[i].microbatch;
        *j = *j < 2 ? 1 - *j : *j;
    }
}

static void to_stdout(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)plan;
    (void)order;
    data->path = "-";
}

static void compress(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)plan;
    (void)order;
    data->path = "t.toml.gz";
}

static void recompute_stages(pp_export *data, pp_plan *plan, pp_order **order)
{
    (void)data;
    (void)order;
    plan->recompute = PP_RECOMPUTE_STAGES;
    plan->partition[1].full = 1;
}

static void recompute_microbatches(pp_export *data, pp_plan *plan, pp_order **order)
{
    pp_err err = { 0 };
    (void)data;
    (void)order;
    plan->recompute = PP_RECOMPUTE_MICROBATCHES;
    STEP_OK(pp_recompute_table_new(1, 4, 4, &plan->recomputed, &err), err);
    pp_recompute_table_at(&plan->recomputed, 0, 3)[3].full = 1;
}

static void recompute_columns(pp_export *data, pp_plan *plan, pp_order **order)
{
    recompute_microbatches(data, plan, order);
    for (uint32_t j = 0; j < 4; j++)
        pp_recompute_table_at(&plan->recomputed, 0, j)[3].full = 1;
}

static const spoilt cases[] = {
    { "torch.compile", compile, PP_INFEASIBLE },
    { "an extra time", split_selectively, PP_INFEASIBLE },
    { "only forwards", drop_backward, PP_INFEASIBLE },
    { "1 pipeline rank", one_rank, PP_INFEASIBLE },
    { "loop", misplace, PP_INFEASIBLE },
    { "one shape", unequal, PP_INFEASIBLE },
    { "have different orders", orders_of_replicas, PP_INFEASIBLE },
    { "multi-token", mtp, PP_INFEASIBLE },
    { "2 stages per rank", three_stages, PP_INFEASIBLE },
    { "wrong losses", swap_losses, PP_INFEASIBLE },
    { "the same on all stages", recompute_stages, PP_INFEASIBLE },
    { "the same on all stages", recompute_columns, PP_INFEASIBLE },
    { "the same for all microbatches", recompute_microbatches, PP_INFEASIBLE },
    { "give a file", to_stdout, PP_USAGE },
    { ".gz", compress, PP_USAGE },
};

enum { CASES = sizeof cases / sizeof cases[0] };

START_TEST(what_they_do_not_run_is_refused)
{
    static const char *const names[] = { "torchtitan", "automodel" };
    const spoilt *c = &cases[_i % CASES];
    const char *name = names[_i / CASES];
    for (int k = 0; k < 2; k++) { /* first unchanged, then made invalid */
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
        pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
        pp_export data = { .plan = plan, .path = "t.toml" };
        pp_companion companion = { 0 };
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_err err = { 0 };
        if (k)
            c->spoil(&data, plan, &order);
        data.order = order;
        pp_status status = format_of(name)->emit(&data, &text, &companion, &err);
        ck_assert_msg(status == (k ? c->status : PP_OK), "%s: %s", c->reason, err.text);
        ck_assert_msg(!k || strstr(err.text, c->reason), "'%s' lacks '%s'", err.text, c->reason);
        plan->order_count = 0;
        pp_text_free(&companion.text);
    }
}
END_TEST

/* If all stages, or all stages and microbatches, recompute the same, one word is written for all of
 * them. */
START_TEST(recomputation_that_is_alike_is_written_as_its_word)
{
    static const pp_recompute words[] = { PP_RECOMPUTE_NONE, PP_RECOMPUTE_SELECTIVE,
                                          PP_RECOMPUTE_FULL };
    static const char *const names[] = { "torchtitan", "automodel" };
    const pp_recompute ways[] = { words[_i % 3], PP_RECOMPUTE_STAGES, PP_RECOMPUTE_MICROBATCHES };
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
    pp_text text[3] = { { 0 } };
    pp_err err = { 0 };
    for (int k = 0; k < 3; k++) {
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
        pp_companion companion = { 0 };
        const pp_export data = { .plan = plan, .order = order, .path = "t.toml" };
        plan->recompute = ways[k];
        for (uint32_t s = 0; s < 4 && k == 1; s++) {
            plan->partition[s].selective = _i % 3 == 1 ? plan->partition[s].layers : 0;
            plan->partition[s].full = _i % 3 == 2 ? plan->partition[s].layers : 0;
        }
        if (k == 2)
            STEP_OK(pp_recompute_table_new(2, 4, 4, &plan->recomputed, &err), err);
        for (uint32_t i = 0; i < 2 * 4 * 4 && k == 2; i++) {
            const int32_t layers = (int32_t)plan->partition[i % 4].layers;
            plan->recomputed.of[i] =
                (pp_recomputed){ _i % 3 == 2 ? layers : 0, _i % 3 == 1 ? layers : 0 };
        }
        STEP_OK(format_of(names[_i / 3])->emit(&data, &text[k], &companion, &err), err);
        ck_assert_str_eq(text[k].data, text[0].data);
        pp_text_free(&companion.text);
    }
    for (int k = 0; k < 3; k++)
        pp_text_free(&text[k]);
}
END_TEST

/* Padded microbatches have one size: that of the longest, or the requested one. */
START_TEST(padded_microbatches_are_as_long_as_the_padding)
{
    static const int64_t tokens[] = { 0, 128 };
    static const char *const lines[] = { "\nseq_len = 103\n", "\nseq_len = 128\n" };
    for (int i = 0; i < 2; i++) {
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
        pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
        pp_export data = { .plan = plan, .order = order, .path = "t.toml" };
        pp_companion companion = { 0 };
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_err err = { 0 };
        unequal(&data, plan, &order);
        plan->micro_batch_size = 1;
        plan->sizes = (pp_size_protocol){ .kind = PP_SIZES_PADDED, .tokens = tokens[i] };
        STEP_OK(format_of("torchtitan")->emit(&data, &text, &companion, &err), err);
        ck_assert_msg(strstr(text.data, lines[i]) != NULL, "%s", text.data);
        pp_text_free(&companion.text);
    }
}
END_TEST

START_TEST(limits_of_one_framework_alone)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
    pp_order *few PP_CLEANUP(pp_order_free) = step_order("1f1b", 4, 1, 3, 0);
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
    pp_companion companion = { 0 };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_export data = { .plan = plan, .order = few, .path = "a.yaml" };
    ck_assert_int_eq(format_of("automodel")->emit(&data, &text, &companion, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "3 are fewer than 4") != NULL, "%s", err.text);
    data.order = order;
    err = (pp_err){ 0 };
    ck_assert_int_eq(format_of("torchtitan")->emit(&data, &text, &companion, &err), PP_USAGE);
    ck_assert_msg(strstr(err.text, ".py") != NULL, "%s", err.text);
    data.path = "t.toml";
    err = (pp_err){ 0 };
    plan->sequence_parallel = 0; /* not an option of 0.2 */
    ck_assert_int_eq(format_of("torchtitan")->emit(&data, &text, &companion, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "--sequence-parallel on") != NULL, "%s", err.text);
    data.path = "t.py";
    err = (pp_err){ 0 };
    plan->parallel.cp = 2; /* a ring, which is an option of 0.2 only */
    ck_assert_int_eq(format_of("torchtitan")->emit(&data, &text, &companion, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "--cp-comm all-gather") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_torch");
    TCase *tc = tcase_create("emit");
    tcase_add_test(tc, torchtitan_0_2_is_given_toml);
    tcase_add_test(tc, torchtitan_0_3_is_given_python);
    tcase_add_loop_test(tc, experts_travel_as_predicted, 0, 2);
    tcase_add_test(tc, automodel_is_given_yaml);
    tcase_add_loop_test(tc, what_they_do_not_run_is_refused, 0, 2 * CASES);
    tcase_add_loop_test(tc, recomputation_that_is_alike_is_written_as_its_word, 0, 6);
    tcase_add_test(tc, padded_microbatches_are_as_long_as_the_padding);
    tcase_add_test(tc, limits_of_one_framework_alone);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
