/* The search leaves out what the stack cannot run and what nobody would run; what is given stays.
 */
#include "planner/candidate/rules.h"

#include "tests/support/planning.h"

static const char *refused_for(const pp_plan_request *request, const pp_parallel *p)
{
    pp_rule_broken broken;
    return pp_rules_refuse(request, p, &broken) ? broken.why : "";
}

static pp_plan_request free_request(const planning *p, int64_t gpus)
{
    return (pp_plan_request){ .model = &p->model,
                              .hardware = &p->hardware,
                              .gpus = gpus,
                              .switches = { .stack = stack_named("every-schedule") } };
}

START_TEST(each_rule_refuses_what_it_names)
{
    static const struct {
        const char *model, *hardware, *stack;
        int64_t seq_length;
        pp_parallel bad, good;
        const char *why;
    } rows[] = {
        { "gpt175b",
          "a100-80g",
          "megatron-2021",
          8192,
          { 8, 8, 2, 2, 1, 1, 0 },
          { 8, 8, 1, 4, 1, 1, 0 },
          "no context parallelism" },
        { "mixtral-8x7b",
          "a100-80g",
          "megatron-2022",
          4096,
          { 4, 1, 1, 8, 8, 1, 0 },
          { 4, 1, 1, 8, 1, 1, 0 },
          "no expert parallelism" },
        { "gpt530b",
          "a100-80g",
          "every-schedule",
          2048,
          { 105, 8, 1, 3, 1, 1, 0 },
          { 35, 8, 1, 9, 1, 1, 0 },
          "fewer than two layers" },
        { "gpt175b",
          "a100-80g",
          "every-schedule",
          2048,
          { 1, 6, 1, 4, 1, 1, 0 },
          { 1, 4, 1, 6, 1, 1, 0 },
          "the GPUs of a node" },
        /* 192 GPUs are 2 x 96, more than a rack, or 3 x 64 */
        { "gpt175b",
          "gb200-nvl72",
          "every-schedule",
          2048,
          { 1, 96, 1, 2, 1, 1, 0 },
          { 1, 32, 1, 6, 1, 1, 0 },
          "the GPUs of a node" },
        { "llama3-8b",
          "h100-80g",
          "every-schedule",
          4096,
          { 1, 8, 2, 1, 1, 1, 0 },
          { 1, 8, 1, 2, 1, 1, 0 },
          "4096 tokens" },
        /* DeepSeek's own ep was 64 */
        { "deepseek-v3",
          "h100-80g",
          "every-schedule",
          4096,
          { 16, 1, 1, 128, 8, 1, 0 },
          { 16, 1, 1, 128, 64, 1, 0 },
          "experts take more than a quarter" },
    };
    const size_t i = (size_t)_i;
    const planning p = planning_of(rows[i].model, rows[i].hardware);
    pp_plan_request request = free_request(&p, pp_parallel_gpus(&rows[i].bad));
    request.switches.stack = stack_named(rows[i].stack);
    request.seq_length = rows[i].seq_length;
    ck_assert_msg(strstr(refused_for(&request, &rows[i].bad), rows[i].why) != NULL, "%s",
                  refused_for(&request, &rows[i].bad));
    ck_assert_str_eq(refused_for(&request, &rows[i].good), "");
    /* given, it is only remarked */
    request.parallel = rows[i].bad;
    ck_assert_str_eq(refused_for(&request, &rows[i].bad), "");
    pp_rule_broken broken = { .why = "" };
    size_t next = 0;
    ck_assert(pp_rules_remark(&request, &rows[i].bad, &next, &broken));
    ck_assert_ptr_nonnull(strstr(broken.why, rows[i].why));
    ck_assert_msg(!pp_rules_remark(&request, &rows[i].bad, &next, &broken), "%s", broken.why);
}
END_TEST

/* Two key/value heads: tp 4 would copy them. */
START_TEST(key_value_heads_stay_whole)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    p.model.kv_heads = 2;
    const pp_plan_request request = free_request(&p, 8);
    ck_assert_ptr_nonnull(
        strstr(refused_for(&request, &(pp_parallel){ 1, 4, 1, 2, 1, 1, 0 }), "key/value"));
    ck_assert_str_eq(refused_for(&request, &(pp_parallel){ 1, 2, 1, 4, 1, 1, 0 }), "");
}
END_TEST

/* If no larger ep would divide the experts, the one at hand stays. */
START_TEST(experts_stay_where_nothing_divides_them)
{
    const planning p = planning_of("deepseek-v3", "h100-80g");
    const pp_plan_request request = free_request(&p, 128);
    ck_assert_str_eq(refused_for(&request, &(pp_parallel){ 16, 1, 1, 8, 8, 1, 0 }), "");
}
END_TEST

/* Megatron of 2021 made 1F1B and interleaved orders, and recomputed all or nothing. */
START_TEST(old_stacks_have_old_schedules)
{
    static const struct {
        const char *stack;
        bool limited, uniform;
    } rows[] = { { "megatron-2021", true, true },
                 { "megatron-2022", true, false },
                 { "every-schedule", false, false } };
    for (size_t i = 0; i < 3; i++) {
        pp_plan_request request = { .switches = { .stack = stack_named(rows[i].stack) },
                                    .orders = PP_ORDERS_BETTER };
        pp_rules_limit(&request);
        ck_assert_int_eq(request.only != NULL, rows[i].limited);
        ck_assert_int_eq(request.orders, rows[i].limited ? PP_ORDERS_NAMED : PP_ORDERS_BETTER);
        ck_assert_int_eq(request.recompute_uniform, rows[i].uniform);
        pp_plan_request given = { .switches = { .stack = stack_named(rows[i].stack) },
                                  .orders = PP_ORDERS_PLANNED };
        pp_rules_limit(&given);
        ck_assert(!given.only && given.orders == PP_ORDERS_PLANNED);
    }
}
END_TEST

/* TransformerEngine's user buffers carry 8 bits, not 4: what a stack overlaps with GEMMs is exposed
 * in nvfp4, unless it is given. */
START_TEST(nvfp4_exposes_exchange_over_tp)
{
    static const struct {
        pp_precision precision;
        bool given, overlaps;
    } rows[] = { { PP_PRECISION_BF16, false, true },
                 { PP_PRECISION_MXFP8, false, true },
                 { PP_PRECISION_NVFP4, false, false },
                 { PP_PRECISION_NVFP4, true, true } };
    const pp_switches stack = { .tp_overlap = true, .tp_overlap_all = true };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_switch_request request = { .value = { .precision = rows[i].precision,
                                                 .tp_overlap = true } };
        request.given.precision = true;
        request.given.tp_overlap = rows[i].given;
        ck_assert_int_eq(pp_switches_requested(&request, stack).tp_overlap, rows[i].overlaps);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tc = tcase_create("rules");
    tcase_add_loop_test(tc, each_rule_refuses_what_it_names, 0, 7);
    tcase_add_test(tc, key_value_heads_stay_whole);
    tcase_add_test(tc, experts_stay_where_nothing_divides_them);
    tcase_add_test(tc, old_stacks_have_old_schedules);
    tcase_add_test(tc, nvfp4_exposes_exchange_over_tp);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
