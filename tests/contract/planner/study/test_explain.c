/* What would make a plan fit: every set of options does, and no smaller one. */
#include "planner/study/explain.h"
#include "tests/support/planning.h"

static pp_explanation *explain(const pp_plan_request *request)
{
    pp_explanation *x = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_explain(request, &x, &err), err);
    return x;
}

static int index_of(const char *name, const char *const *names)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    ck_assert_msg(names[i] != NULL, "%s", name);
    return i;
}

/* As a front end would. */
static void set_option(pp_plan_request *request, const char *option, const char *value)
{
    static const char *const recompute[] = { "none",      "selective",      "full", "auto",
                                             "per-stage", "per-microbatch", NULL };
    static const char *const known[] = {
        "ranks",     "tp",   "dp",        "ep", "micro_batch_size", "chunks", "schedule",
        "recompute", "zero", "partition", NULL
    };
    int64_t *const numbers[] = { &request->parallel.pp,      &request->parallel.tp,
                                 &request->parallel.dp,      &request->parallel.ep,
                                 &request->micro_batch_size, &request->parallel.vpp };
    int i = index_of(option, known);
    if (i < 6) {
        *numbers[i] = step_number(value);
    } else if (i == 6) {
        request->schedule = pp_schedule_find(value);
    } else if (i == 7) {
        request->switches.given.recompute = true;
        request->switches.value.recompute = (pp_recompute)index_of(value, recompute);
    } else if (i == 8) {
        request->switches.given.zero = true;
        request->switches.value.zero = 1;
    } else {
        ck_assert_str_eq(value, "auto");
        request->partition = PP_PARTITION_AUTO;
    }
}

/* All options but the one at `without`; returns how many there are. */
static int with_options(pp_plan_request *request, const char *options, int without)
{
    char text[256];
    char *rest = text;
    char *option;
    int count = 0;
    snprintf(text, sizeof text, "%s", options);
    for (; (option = step_cut(&rest, ' ')); count++) {
        const char *value = step_cut(&rest, ' ');
        if (count != without)
            set_option(request, option, value);
    }
    return count;
}

static const struct {
    const char *model;
    int64_t pp, tp, dp, size;
    const char *schedule;
    pp_recompute recompute;
    bool uniform;
} cases[] = {
    { "gpt175b", 8, 2, 2, 4, "1f1b", PP_RECOMPUTE_SELECTIVE, true },
    { "llama3-70b", 4, 4, 1, 1, "1f1b", PP_RECOMPUTE_NONE, false },
    { "mixtral-8x7b", 4, 2, 2, 2, "gpipe", PP_RECOMPUTE_NONE, false },
};

START_TEST(every_set_fits_and_none_smaller)
{
    planning p = planning_of(cases[_i].model, "h100-80g");
    pp_plan_request request = request_of(&p, cases[_i].pp);
    request.parallel.tp = cases[_i].tp;
    request.parallel.dp = cases[_i].dp;
    request.global_batch_size = 128;
    request.micro_batch_size = cases[_i].size;
    request.schedule = pp_schedule_find(cases[_i].schedule);
    request.switches.given.recompute = true;
    request.switches.value.recompute = cases[_i].recompute;
    request.partition = cases[_i].uniform ? PP_PARTITION_UNIFORM : PP_PARTITION_AUTO;
    refuse(&request, PP_INFEASIBLE, "nothing fits");
    pp_explanation *x = explain(&request);
    ck_assert_ptr_nonnull(x);
    ck_assert_uint_ge(x->remedies, 1);
    ck_assert_int_gt(x->short_bytes, 0);
    ck_assert_int_eq(x->asked.short_bytes, x->short_bytes);
    ck_assert_int_gt(x->asked.step_ns, 0);
    ck_assert_int_gt(x->asked.peak_bytes, x->asked.short_bytes);
    for (size_t i = 0; i < x->remedies; i++) {
        const char *options = x->remedy[i].options;
        pp_plan_request changed = request;
        int count = with_options(&changed, options, -1);
        pp_search_result *choice = choose(&changed);
        ck_assert_msg(choice->candidate[0].step_ns == x->remedy[i].candidate.step_ns, "%s",
                      options);
        pp_search_result_free(&choice);
        /* a growth of replicas is two options, and so are a schedule and its vpp */
        for (int k = 0; k < count && !strstr(options, "dp ") && !strstr(options, "chunks "); k++) {
            pp_err err = { 0 };
            changed = request;
            with_options(&changed, options, k);
            pp_status status = pp_plan_search(&changed, &choice, &err);
            ck_assert_msg(status == PP_INFEASIBLE || status == PP_USAGE, "%s without option %d",
                          options, k);
        }
        if (i)
            ck_assert_int_ge(pp_parallel_gpus(&x->remedy[i].candidate.parallel),
                             pp_parallel_gpus(&x->remedy[i - 1].candidate.parallel));
    }
    ck_assert_uint_ge(x->effects, 4);
    for (size_t i = 0; i < x->effects; i++)
        ck_assert(!x->effect[i].fits || x->effect[i].short_bytes == 0);
    pp_explanation_free(&x);
}
END_TEST

START_TEST(what_fits_needs_no_words)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    ck_assert_ptr_null(explain(&request));
}
END_TEST

/* Not even 64 times as many GPUs: there is no set, and the effects say how far it is. */
START_TEST(hopeless_is_said)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 8;
    request.memory_limit_bytes = 1 << 20;
    pp_explanation *x = explain(&request);
    ck_assert_uint_eq(x->remedies, 0);
    ck_assert_uint_ge(x->effects, 2);
    for (size_t i = 0; i < x->effects; i++)
        ck_assert(!x->effect[i].fits);
    pp_explanation_free(&x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain");
    TCase *tc = tcase_create("explain");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, every_set_fits_and_none_smaller, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, what_fits_needs_no_words);
    tcase_add_test(tc, hopeless_is_said);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
