/* Argument lines for Megatron-LM contain only what it runs, and never two options that exclude each
 * other. Its rules: megatron/training/arguments.py and
 * core/transformer/pipeline_parallel_layer_layout.py. */
#include "tests/support/step.h"

static const pp_format *megatron(void)
{
    const pp_format *format = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_get("megatron", &format, &err), err);
    return format;
}

static pp_plan *plan_of(const char *schedule)
{
    pp_plan *plan = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_plan_new(&plan, &err), err);
    snprintf(plan->schedule, sizeof plan->schedule, "%s", schedule);
    return plan;
}

static void expect_lines(const pp_plan *plan, const pp_order *order, const char *expected)
{
    pp_companion companion = { 0 };
    pp_text text = { 0 };
    pp_err err = { 0 };
    const pp_export data = { .plan = plan, .order = order };
    STEP_OK(megatron()->emit(&data, &text, &companion, &err), err);
    ck_assert_str_eq(text.data, expected);
    ck_assert_ptr_null(companion.suffix);
    pp_text_free(&text);
}

static void expect_plan_refused(const pp_plan *plan, const pp_order *order, const char *words)
{
    pp_companion companion = { 0 };
    pp_text text = { 0 };
    pp_err err = { 0 };
    const pp_export data = { .plan = plan, .order = order };
    ck_assert_int_eq(megatron()->emit(&data, &text, &companion, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' lacks '%s'", err.text, words);
    pp_text_free(&text);
}

static void expect_refusal(const char *schedule, const pp_order *order, const char *words)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of(schedule);
    expect_plan_refused(plan, order, words);
}

/* Megatron refuses a layout together with a virtual stage count
 * (megatron/training/arguments.py). */
START_TEST(a_partition_is_written_as_a_layout_alone)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 4);
    const pp_stage stages[] = { { .layers = 3, .embedding = true },
                                { .first_layer = 3, .layers = 4 },
                                { .first_layer = 7, .layers = 4 },
                                { .first_layer = 11, .layers = 2, .loss = true } };
    plan->partition = calloc(4, sizeof *plan->partition);
    ck_assert_ptr_nonnull(plan->partition);
    memcpy(plan->partition, stages, sizeof stages);
    plan->parallel = (pp_parallel){ .pp = 2, .tp = 8, .cp = 1, .dp = 4, .ep = 1, .vpp = 2 };
    plan->micro_batch_size = 1;
    plan->global_batch_size = 16;
    plan->seq_length = 2048;
    plan->sequence_parallel = 1;
    plan->recompute = PP_RECOMPUTE_SELECTIVE;
    expect_lines(plan, order,
                 "--pipeline-model-parallel-size 2\n"
                 "--pipeline-model-parallel-layout \"Et*3|t*4|t*4|t*2L\"\n"
                 "--microbatch-group-size-per-virtual-pipeline-stage 4\n"
                 "--tensor-model-parallel-size 8\n"
                 "--context-parallel-size 1\n"
                 "--sequence-parallel\n"
                 "--micro-batch-size 1\n"
                 "--global-batch-size 16\n"
                 "--seq-length 2048\n"
                 "--recompute-granularity selective\n");
}
END_TEST

/* TransformerEngine's names (attention/dot_product_attention/context_parallel.py); the sizes of a
 * hierarchy begin with the ranks of an all-to-all (megatron/core/model_parallel_config.py). */
START_TEST(the_exchange_of_context_parallelism_has_its_name)
{
    static const char *const lines[] = {
        "--cp-comm-type p2p\n",
        "--cp-comm-type a2a\n",
        "--cp-comm-type all_gather\n",
        "--cp-comm-type a2a+p2p\n--hierarchical-context-parallel-sizes 4 2\n",
    };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("1f1b");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 2, 1, 4, 0);
    char expected[300];
    plan->parallel.cp = 8;
    plan->cp_inner = 4;
    for (int kind = 0; pp_cp_comm_names()[kind]; kind++) {
        plan->cp_comm = (pp_cp_comm)kind;
        snprintf(expected, sizeof expected,
                 "--pipeline-model-parallel-size 2\n--context-parallel-size 8\n%s", lines[kind]);
        expect_lines(plan, order, expected);
    }
}
END_TEST

START_TEST(what_is_not_known_is_not_written)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 4, 3, 8, 0);
    plan->parallel = (pp_parallel){ 0 };
    expect_lines(plan, order,
                 "--pipeline-model-parallel-size 4\n--num-virtual-stages-per-pipeline-rank 3\n");
}
END_TEST

START_TEST(full_recompute_is_written_and_sequence_parallelism_only_where_on)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("1f1b");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 4, 1, 8, 0);
    plan->parallel = (pp_parallel){ .pp = 4, .tp = 2, .cp = 2, .dp = 1, .ep = 4, .vpp = 1 };
    plan->recompute = PP_RECOMPUTE_FULL;
    plan->sequence_parallel = 0;
    expect_lines(plan, order,
                 "--pipeline-model-parallel-size 4\n"
                 "--tensor-model-parallel-size 2\n"
                 "--context-parallel-size 2\n"
                 "--cp-comm-type p2p\n"
                 "--expert-model-parallel-size 4\n"
                 "--moe-token-dispatcher-type alltoall\n"
                 "--recompute-granularity full\n"
                 "--recompute-method uniform\n"
                 "--recompute-num-layers 1\n");
    plan->parallel = (pp_parallel){ .pp = 4 };
    plan->recompute_layers = 3;
    expect_lines(plan, order,
                 "--pipeline-model-parallel-size 4\n"
                 "--recompute-granularity full\n"
                 "--recompute-method uniform\n"
                 "--recompute-num-layers 3\n");
}
END_TEST

/* --moe-token-dispatcher-type, --moe-flex-dispatcher-backend and --recompute-modules of
 * Megatron-LM's arguments; the attention core is what it recomputes if no module is named. */
START_TEST(dispatchers_and_modules_are_written)
{
    static const struct {
        pp_dispatcher kind;
        unsigned modules;
        const char *dispatcher, *recompute;
    } rows[] = {
        { PP_DISPATCHER_ALLTOALL, PP_MODULES_CORE, "alltoall\n", "" },
        { PP_DISPATCHER_ALLGATHER, 1U << PP_MODULE_MOE, "allgather\n",
          "--recompute-modules moe\n" },
        { PP_DISPATCHER_DEEPEP, 1U << PP_MODULE_LAYERNORM | 1U << PP_MODULE_MOE_ACT,
          "flex\n--moe-flex-dispatcher-backend deepep\n",
          "--recompute-modules layernorm moe_act\n" },
        { PP_DISPATCHER_HYBRIDEP, 0, "flex\n--moe-flex-dispatcher-backend hybridep\n", "" },
    };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("1f1b");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 4, 1, 8, 0);
    plan->parallel = (pp_parallel){ .pp = 4, .tp = 1, .cp = 1, .dp = 8, .ep = 8, .vpp = 1 };
    plan->recompute = PP_RECOMPUTE_SELECTIVE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[500];
        plan->dispatcher = rows[i].kind;
        plan->recompute_modules = rows[i].modules;
        snprintf(expected, sizeof expected,
                 "--pipeline-model-parallel-size 4\n"
                 "--tensor-model-parallel-size 1\n"
                 "--context-parallel-size 1\n"
                 "--expert-model-parallel-size 8\n"
                 "--moe-token-dispatcher-type %s"
                 "--recompute-granularity selective\n%s",
                 rows[i].dispatcher, rows[i].recompute);
        expect_lines(plan, order, expected);
    }
}
END_TEST

/* megatron/training/arguments.py: "--no-check-for-nan-in-loss-and-grad should be set with
 * --cuda-graph-impl=full_iteration"; transformer_config.py has the other rules. */
START_TEST(graphs_are_written_as_megatron_starts_with_them)
{
    const unsigned attention = 1U << PP_GRAPH_ATTENTION, moe = 1U << PP_GRAPH_MOE,
                   router = 1U << PP_GRAPH_ROUTER, preprocess = 1U << PP_GRAPH_PREPROCESS;
    const struct {
        unsigned graphs;
        const char *words;
    } wrong[] = { { PP_GRAPHS_FULL | attention, "full captures all" },
                  { moe | router, "moe holds moe_router" },
                  { preprocess, "moe_preprocess needs moe_router" },
                  { moe, "as many rows" },
                  { router, "no experts" } };
    const char *const degrees = "--pipeline-model-parallel-size 4\n"
                                "--tensor-model-parallel-size 2\n"
                                "--context-parallel-size 1\n";
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("1f1b");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 4, 1, 8, 0);
    char expected[500];
    plan->parallel = (pp_parallel){ .pp = 4, .tp = 2, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 };
    plan->recompute = PP_RECOMPUTE_FULL;
    plan->graphs = PP_GRAPHS_FULL;
    snprintf(expected, sizeof expected,
             "%s--cuda-graph-impl full_iteration\n"
             "--no-check-for-nan-in-loss-and-grad\n"
             "--recompute-granularity full\n"
             "--recompute-method uniform\n"
             "--recompute-num-layers 1\n",
             degrees);
    expect_lines(plan, order, expected);
    plan->graphs = attention;
    expect_plan_refused(plan, order, "recomputes no whole layers");
    plan->recompute = PP_RECOMPUTE_STAGES;
    plan->partition = calloc(4, sizeof *plan->partition);
    ck_assert_ptr_nonnull(plan->partition);
    for (int s = 0; s < 4; s++)
        plan->partition[s] = (pp_stage){ .first_layer = 8 * s, .layers = 8, .full = 3 };
    plan->partition[0].embedding = plan->partition[3].loss = true;
    expect_plan_refused(plan, order, "recomputes no whole layers");
    plan->recompute = PP_RECOMPUTE_NONE;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        plan->graphs = wrong[i].graphs;
        expect_plan_refused(plan, order, wrong[i].words);
    }
    plan->experts = true;
    plan->graphs = router;
    plan->recompute = PP_RECOMPUTE_SELECTIVE;
    plan->recompute_modules = 1U << PP_MODULE_MOE;
    expect_plan_refused(plan, order, "recomputation of moe holds moe_router");
}
END_TEST

START_TEST(recomputation_per_microbatch_is_refused_with_the_nearest)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("1f1b");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 2, 1, 3, 0);
    pp_err err = { 0 };
    plan->parallel = (pp_parallel){ 0 };
    plan->recompute = PP_RECOMPUTE_MICROBATCHES;
    STEP_OK(pp_recompute_table_new(1, 3, 2, &plan->recomputed, &err), err);
    expect_lines(plan, order, "--pipeline-model-parallel-size 2\n");
    pp_recompute_table_at(&plan->recomputed, 0, 0)[0].full = 3;
    expect_plan_refused(plan, order, "--recompute-method block --recompute-num-layers 3");
    pp_recompute_table_at(&plan->recomputed, 0, 2)[1] = (pp_recomputed){ 2, 2 };
    expect_plan_refused(plan, order, "--recompute-method block --recompute-num-layers 4");
}
END_TEST

/* Stages of 5 and 3 layers, per stage or with the same column for all microbatches. */
START_TEST(recomputation_that_is_alike_is_written_as_block_or_word)
{
    static const struct {
        pp_recomputed of[2];
        int64_t mtp;
        const char *lines; /* NULL: refused */
    } cases[] = {
        { { { 0, 0 }, { 0, 0 } }, 0, "" },
        { { { 2, 0 }, { 2, 0 } }, 0, "full\n--recompute-method block\n--recompute-num-layers 2\n" },
        { { { 4, 0 }, { 3, 0 } }, 0, "full\n--recompute-method block\n--recompute-num-layers 4\n" },
        { { { 5, 0 }, { 3, 0 } },
          0,
          "full\n--recompute-method uniform\n--recompute-num-layers 1\n" },
        { { { 0, 5 }, { 0, 3 } }, 0, "selective\n" },
        { { { 0, 5 }, { 0, 3 } }, 1, NULL }, /* the module is not recomputed */
        { { { 2, 0 }, { 1, 0 } }, 0, NULL },
        { { { 0, 2 }, { 0, 2 } }, 0, NULL },
    };
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof cases[0]); i++) {
        const pp_stage stages[] = { { .layers = 5, .embedding = true },
                                    { .first_layer = 5, .layers = 3, .loss = true } };
        const pp_recomputed *of = cases[i / 2].of;
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("1f1b");
        pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 2, 1, 3, 0);
        char expected[256];
        pp_err err = { 0 };
        plan->partition = calloc(2, sizeof *plan->partition);
        ck_assert_ptr_nonnull(plan->partition);
        memcpy(plan->partition, stages, sizeof stages);
        plan->partition[1].mtp = cases[i / 2].mtp;
        plan->recompute = i % 2 ? PP_RECOMPUTE_MICROBATCHES : PP_RECOMPUTE_STAGES;
        if (i % 2)
            STEP_OK(pp_recompute_table_new(2, 3, 2, &plan->recomputed, &err), err);
        for (size_t k = 0; k < 2 * 3 * 2 && i % 2; k++)
            plan->recomputed.of[k] = of[k % 2];
        for (size_t s = 0; s < 2 && i % 2 == 0; s++) {
            plan->partition[s].full = of[s].full;
            plan->partition[s].selective = of[s].selective;
        }
        snprintf(expected, sizeof expected,
                 "--pipeline-model-parallel-size 2\n"
                 "--pipeline-model-parallel-layout \"Et*5|t*3L\"\n%s%s",
                 cases[i / 2].lines && *cases[i / 2].lines ? "--recompute-granularity " : "",
                 cases[i / 2].lines ? cases[i / 2].lines : "");
        if (cases[i / 2].lines)
            expect_lines(plan, order, expected);
        else
            expect_plan_refused(plan, order, "the same number of whole layers on every stage");
    }
}
END_TEST

START_TEST(other_orders_are_refused_with_the_nearest)
{
    pp_order *gpipe PP_CLEANUP(pp_order_free) = step_order("gpipe", 4, 1, 8, 0);
    pp_order *own PP_CLEANUP(pp_order_free) = step_order("interleaved", 4, 2, 8, 0);
    pp_order *few PP_CLEANUP(pp_order_free) = step_order("interleaved", 4, 2, 3, 0);
    expect_refusal("gpipe", gpipe, "'1f1b' for these stages");
    pp_op moved = own->ops[own->rank_begin[1] - 1];
    own->ops[own->rank_begin[1] - 1] = own->ops[own->rank_begin[1] - 2];
    own->ops[own->rank_begin[1] - 2] = moved;
    expect_refusal("mine", own, "'interleaved' for these stages");
    expect_refusal("interleaved", few, "refuses this shape");
}
END_TEST

/* Interleaved transfers overlap unless --no-overlap-p2p-communication, which needs over 2 ranks. */
START_TEST(transfers_are_as_the_executor_has_them)
{
    static const struct {
        const char *framework;
        uint32_t ranks;
        const char *lines;
    } cases[] = {
        { "megatron", 4, "--no-overlap-p2p-communication\n" },
        { "megatron-overlap", 2, "" },
        { "megatron-overlap", 4, "" },
        { "megatron-overlap-flush", 4, "--overlap-p2p-communication-warmup-flush\n" },
        { "ideal", 4, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
        pp_order *order PP_CLEANUP(pp_order_free) =
            step_order("interleaved", cases[i].ranks, 2, 8, 0);
        char expected[200];
        plan->framework = pp_framework_find(cases[i].framework);
        plan->parallel = (pp_parallel){ 0 };
        snprintf(expected, sizeof expected,
                 "--pipeline-model-parallel-size %u\n--num-virtual-stages-per-pipeline-rank 2\n%s",
                 (unsigned)cases[i].ranks, cases[i].lines);
        expect_lines(plan, order, expected);
    }
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 8, 0);
    plan->framework = &pp_framework_megatron;
    expect_plan_refused(plan, order, "on 2 ranks");
}
END_TEST

/* validate_layer_layout: all MTP modules in one stage, in the last chunk of its rank. */
START_TEST(mtp_modules_are_counted_and_stand_where_megatron_takes_them)
{
    for (int where = 0; where < 4; where++) {
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("interleaved");
        pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
        pp_stage stages[4] = { { .layers = 3, .embedding = true },
                               { .first_layer = 3 },
                               { .first_layer = 3 },
                               { .first_layer = 3, .loss = true } };
        pp_companion companion = { 0 };
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        pp_err err = { 0 };
        stages[where ? where : 3].mtp = 1;
        stages[where ? where : 2].mtp += 1;
        plan->partition = calloc(4, sizeof *plan->partition);
        ck_assert_ptr_nonnull(plan->partition);
        memcpy(plan->partition, stages, sizeof stages);
        const pp_export data = { .plan = plan, .order = order };
        pp_status status = megatron()->emit(&data, &text, &companion, &err);
        if (where == 2 || where == 3) {
            STEP_OK(status, err);
            ck_assert_msg(strstr(text.data, "--mtp-num-layers 2\n") != NULL, "%s", text.data);
        } else {
            ck_assert_int_eq(status, PP_INFEASIBLE);
            ck_assert_msg(strstr(err.text, "MTP") != NULL, "%s", err.text);
        }
    }
}
END_TEST

/* The order decides, not the name in the plan. */
START_TEST(an_order_of_another_name_that_megatron_runs_is_written)
{
    pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of("custom");
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 2, 1, 4, 0);
    expect_lines(plan, order, "--pipeline-model-parallel-size 2\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format_megatron");
    TCase *tc = tcase_create("emit");
    tcase_add_test(tc, a_partition_is_written_as_a_layout_alone);
    tcase_add_test(tc, the_exchange_of_context_parallelism_has_its_name);
    tcase_add_test(tc, what_is_not_known_is_not_written);
    tcase_add_test(tc, dispatchers_and_modules_are_written);
    tcase_add_test(tc, graphs_are_written_as_megatron_starts_with_them);
    tcase_add_test(tc, full_recompute_is_written_and_sequence_parallelism_only_where_on);
    tcase_add_test(tc, recomputation_per_microbatch_is_refused_with_the_nearest);
    tcase_add_test(tc, recomputation_that_is_alike_is_written_as_block_or_word);
    tcase_add_test(tc, other_orders_are_refused_with_the_nearest);
    tcase_add_test(tc, transfers_are_as_the_executor_has_them);
    tcase_add_test(tc, mtp_modules_are_counted_and_stand_where_megatron_takes_them);
    tcase_add_test(tc, an_order_of_another_name_that_megatron_runs_is_written);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
