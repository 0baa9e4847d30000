/* Executor, size protocol and communicators are left to the search: no fixed combination does
 * better. */
#include "tests/support/planning.h"
#include "tests/support/sample.h"

typedef struct job {
    const char *model, *hardware;
    int64_t gpus, pp, tp, seq_length, batch;
    int lengths;      /* 0: equal; otherwise sequences of unequal length */
    const char *link; /* --rank-link; NULL: all are alike */
    const pp_framework *framework;
    bool free_framework, free_shapes, free_communicators;
    bool orders;
} job;

static const job jobs[] = {
    { "llama3-8b", "h100-80g", 0, 4, 2, 4096, 32, 0, NULL, NULL, true, false, false, true },
    { "gpt1.7b", "h100-80g", 0, 8, 1, 2048, 32, 0, NULL, NULL, true, false, false, false },
    { "llama3-8b", "h100-80g", 0, 4, 2, 4096, 16, 0, "1:2=5GB/s", NULL, true, false, false, true },
    { "gpt1.7b", "h100-80g", 0, 4, 1, 2048, 0, 24, NULL, NULL, true, true, false, false },
    { "gpt1.7b", "h100-80g", 0, 4, 1, 2048, 0, 24, NULL, &pp_framework_megatron, false, true, false,
      false },
    { "gpt1.7b", "h100-80g", 0, 4, 1, 2048, 0, 24, NULL, &pp_framework_xla, false, true, false,
      false },
    { "llama3-8b", "h100-80g", 0, 4, 2, 4096, 32, 0, NULL, &pp_framework_torch, false, false, true,
      true },
    { "llama3-8b", "h100-80g", 0, 8, 1, 4096, 32, 0, NULL, NULL, true, false, true, false },
    { "gpt1.7b", "h100-80g", 8, 0, 0, 2048, 16, 0, NULL, NULL, true, false, false, false },
};

static int64_t lengths[64];

static pp_plan_request request_for(const planning *p, const job *j, pp_rank_overrides *overrides)
{
    pp_plan_request request = request_of(p, j->pp);
    pp_err err = { 0 };
    for (int i = 0; i < j->lengths; i++) /* 300 to 2048 tokens */
        lengths[i] = 300 + i * 997 % 1749;
    request.gpus = j->gpus;
    request.parallel.tp = j->tp;
    request.seq_length = j->seq_length;
    request.global_batch_size = j->batch;
    request.lengths = j->lengths ? lengths : NULL;
    request.length_count = (size_t)j->lengths;
    request.framework = j->framework;
    request.orders = j->orders ? PP_ORDERS_BETTER : PP_ORDERS_NAMED;
    if (j->link) {
        STEP_OK(
            pp_rank_overrides_parse(PP_RANK_OVERRIDE_LINK, "--rank-link", j->link, overrides, &err),
            err);
        request.overrides = overrides;
    }
    request.free = (pp_free_settings){ .framework = j->free_framework,
                                       .shapes = j->free_shapes,
                                       .communicators = j->free_communicators };
    return request;
}

static double score_of(const pp_search_result *choice)
{
    const pp_candidate *c = &choice->candidate[0];
    return (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
}

/* The request with one framework, protocol and layout. Returns true if it has a plan. */
static bool beats_alone(const pp_plan_request *request, const pp_search_result *best)
{
    pp_search_result *alone = NULL;
    pp_err err = { 0 };
    if (pp_plan_search(request, &alone, &err) != PP_OK)
        return false;
    char shapes[64];
    ck_assert_msg(score_of(best) * 999 <= score_of(alone) * 1000,
                  "%s, shapes %s, communicators %d: %.0f, chosen %s: %.0f",
                  request->framework->name,
                  pp_size_protocol_print(&request->exchange.shapes, shapes, sizeof shapes),
                  (int)request->switches.value.communicators, score_of(alone),
                  best->plan->framework->name, score_of(best));
    pp_search_result_free(&alone);
    return true;
}

/* How a framework handles sizes by itself, from the table of docs/explanation/shape-overhead.md. */
static const char *const *protocols_of(const char *framework)
{
    static const char *const reads_plans[] = { "plan",   "message",    "cached",
                                               "padded", "bucket:512", NULL };
    static const char *const compiles[] = { "padded", "bucket:512", NULL };
    static const char *const one_size[] = { "padded", NULL };
    static const char *const asks[] = { "message", "padded", NULL };
    static const char *const fixed[] = { "torch", "zero-bubble", "dualpipe" };
    if (strcmp(framework, "ppsim") == 0)
        return reads_plans;
    if (strncmp(framework, "xla", 3) == 0 || strcmp(framework, "neuronx") == 0)
        return compiles;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (strncmp(framework, fixed[i], strlen(fixed[i])) == 0)
            return one_size;
    }
    return asks;
}

static size_t tried; /* combinations of one request */

static size_t look_at_layouts(pp_plan_request *one, const job *j, const pp_search_result *best)
{
    size_t planned = 0;
    for (int layout = 1; layout <= (j->free_communicators ? 3 : 1); layout++) {
        if (j->free_communicators)
            one->switches.value.communicators = (pp_communicators)layout;
        if (!sample_skips(tried++, 6, 3))
            planned += beats_alone(one, best);
    }
    return planned;
}

static size_t look_at_framework(const pp_plan_request *request, const job *j,
                                const pp_search_result *best)
{
    pp_plan_request one = *request;
    size_t planned = 0;
    one.free = (pp_free_settings){ .framework = false };
    if (!j->free_shapes)
        return look_at_layouts(&one, j, best);
    for (const char *const *name = protocols_of(request->framework->name); *name; name++) {
        pp_err err = { 0 };
        STEP_OK(pp_size_protocol_parse(*name, &one.exchange.shapes, &err), err);
        planned += look_at_layouts(&one, j, best);
    }
    return planned;
}

START_TEST(no_fixed_setting_is_faster)
{
    const job *j = &jobs[_i];
    planning p = planning_of(j->model, j->hardware);
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    pp_plan_request request = request_for(&p, j, &overrides);
    pp_search_result *best = choose(&request);
    size_t planned = 0;
    tried = 0;
    check_plan(best->plan);
    ck_assert(!!best->setting[PP_SETTING_FRAMEWORK].count == j->free_framework);
    ck_assert(!!best->setting[PP_SETTING_SHAPES].count == j->free_shapes);
    ck_assert(!!best->setting[PP_SETTING_COMMUNICATORS].count == j->free_communicators);
    ck_assert(!j->free_framework || best->plan->framework != &pp_framework_ideal);
    for (size_t i = 0; i < pp_framework_count(); i++) {
        request.framework = pp_framework_at(i);
        if (j->free_framework ? i > 0 : request.framework == j->framework)
            planned += look_at_framework(&request, j, best);
    }
    ck_assert_uint_ge(tried, 2);
    ck_assert_uint_ge(planned, sample_stride(6, 3) > 1 ? 0 : 2);
    pp_search_result_free(&best);
}
END_TEST

/* If everything is left to a choice of one, the plan equals the one of that executor. */
START_TEST(one_executor_is_as_if_given)
{
    static const pp_framework *const only[] = { &pp_framework_megatron, NULL };
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    pp_plan_request request = request_for(&p, &jobs[0], &overrides);
    request.free.frameworks = only;
    pp_search_result *chosen = choose(&request);
    request.free = (pp_free_settings){ .framework = false };
    request.framework = &pp_framework_megatron;
    pp_search_result *given = choose(&request);
    ck_assert_ptr_eq(chosen->plan->framework, &pp_framework_megatron);
    ck_assert_int_eq(chosen->plan->prediction->step_ns, given->plan->prediction->step_ns);
    ck_assert_uint_eq(chosen->setting[PP_SETTING_FRAMEWORK].count, 1);
    pp_search_result_free(&chosen);
    pp_search_result_free(&given);
}
END_TEST

/* The same budget in iterations with another number of threads gives the same plan, within the
 * budget. */
START_TEST(a_budget_in_iterations_repeats)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    pp_plan_request request = request_for(&p, &jobs[0], &overrides);
    char *text[2];
    request.max_simulations = _i ? 3000 : 60;
    for (uint32_t k = 0; k < 2; k++) {
        request.threads = 1 + 3 * k;
        pp_search_result *choice = choose(&request);
        ck_assert_uint_le(choice->simulated, request.max_simulations + 20);
        text[k] = plan_text(choice->plan);
        pp_search_result_free(&choice);
    }
    ck_assert_str_eq(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}
END_TEST

/* A clock that advances whenever it is read. */
typedef struct ticks {
    int64_t gone, all;
} ticks;

static bool time_is_up(void *context)
{
    ticks *t = context;
    return ++t->gone >= t->all;
}

static double time_spent(void *context)
{
    const ticks *t = context;
    return (double)t->gone / (double)t->all;
}

/* Nothing that was rated but not searched is faster, except for ties: "torch -4.89 %". */
START_TEST(a_short_time_takes_what_was_rated)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    ticks clock = { .all = 250 << _i };
    request.free.framework = true;
    request.stop = time_is_up;
    request.spent = time_spent;
    request.context = &clock;
    pp_search_result *choice = choose(&request);
    const pp_setting_choice *frameworks = &choice->setting[PP_SETTING_FRAMEWORK];
    for (size_t i = 0; i < frameworks->count; i++)
        ck_assert_msg(frameworks->value[i].more >= -0.001, "%s: %g",
                      frameworks->value[i].framework->name, frameworks->value[i].more);
    pp_search_result_free(&choice);
}
END_TEST

/* Equal microbatches need no size protocol; a request that fits nowhere is refused with a way
 * out. */
START_TEST(nothing_to_choose_is_said)
{
    planning p = planning_of("gpt1.7b", "h100-80g");
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    pp_plan_request request = request_for(&p, &jobs[1], &overrides);
    request.free = (pp_free_settings){ .shapes = true };
    pp_search_result *choice = choose(&request);
    ck_assert_int_eq(choice->plan->sizes.kind, PP_SIZES_PLAN);
    ck_assert(choice->setting[PP_SETTING_SHAPES].one_size);
    pp_search_result_free(&choice);
    request.free.framework = true;
    request.memory_limit_bytes = 1 << 28;
    refuse(&request, PP_INFEASIBLE, "short by");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("habits");
    TCase *tc = tcase_create("habits");
    tcase_set_timeout(tc, 600);
    tcase_add_loop_test(tc, no_fixed_setting_is_faster, 0, (int)(sizeof jobs / sizeof *jobs));
    sample_add_test(tc, one_executor_is_as_if_given, 2);
    tcase_add_loop_test(tc, a_budget_in_iterations_repeats, 0, 2);
    tcase_add_loop_test(tc, a_short_time_takes_what_was_rated, 0, 3);
    sample_add_test(tc, nothing_to_choose_is_said, 2);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
