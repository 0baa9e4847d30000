/* Sets of options that make a plan fit: each does, and no smaller one does. */
#include "planner/study/explain.h"
#include "tests/support/planning.h"

static pp_explanation *explain(const pp_plan_request *request)
{
    pp_explanation *x = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_explain(request, &x, &err), err);
    return x;
}

static int recompute_named(const char *name)
{
    const char *const *names = pp_recompute_names();
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    ck_assert_msg(names[i] != NULL, "%s", name);
    return i;
}

/* Sets a field the way a front end would. */
static void set_field(pp_plan_request *request, const pp_field_value *v)
{
    switch ((int)v->field) {
    case PP_FIELD_RANKS:
        request->parallel.pp = v->number;
        break;
    case PP_FIELD_TP:
        request->parallel.tp = v->number;
        break;
    case PP_FIELD_DP:
        request->parallel.dp = v->number;
        break;
    case PP_FIELD_EP:
        request->parallel.ep = v->number;
        break;
    case PP_FIELD_MICRO_BATCH_SIZE:
        request->micro_batch_size = v->number;
        break;
    case PP_FIELD_CHUNKS:
        request->parallel.vpp = v->number;
        break;
    case PP_FIELD_SCHEDULE:
        request->schedule = pp_schedule_find(v->word);
        break;
    case PP_FIELD_RECOMPUTE:
        request->switches.given.recompute = true;
        request->switches.value.recompute = (pp_recompute)recompute_named(v->word);
        break;
    case PP_FIELD_ZERO:
        request->switches.given.zero = true;
        request->switches.value.zero = (int)v->number;
        break;
    case PP_FIELD_PARTITION:
        ck_assert_str_eq(v->word, "auto");
        request->partition = PP_PARTITION_AUTO;
        break;
    default:
        ck_abort_msg("field %d", (int)v->field);
    }
}

/* All values but the one at `without`. */
static void with_values(pp_plan_request *request, const pp_field_values *list, size_t without)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i != without)
            set_field(request, &list->value[i]);
    }
}

static bool has_field(const pp_field_values *list, pp_field field)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->value[i].field == field)
            return true;
    }
    return false;
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
        const pp_field_values *values = &x->remedy[i].values;
        char options[PP_REPAIR_VALUES_BYTES];
        pp_plan_request changed = request;
        pp_field_values_print(values, NULL, options, sizeof options);
        with_values(&changed, values, SIZE_MAX);
        pp_search_result *choice = choose(&changed);
        ck_assert_msg(choice->candidate[0].step_ns == x->remedy[i].candidate.step_ns, "%s",
                      options);
        pp_search_result_free(&choice);
        /* a growth of replicas is two options, and so are a schedule and its vpp */
        const bool joined = has_field(values, PP_FIELD_DP) || has_field(values, PP_FIELD_CHUNKS);
        for (size_t k = 0; k < values->count && !joined; k++) {
            pp_err err = { 0 };
            changed = request;
            with_values(&changed, values, k);
            pp_status status = pp_plan_search(&changed, &choice, &err);
            ck_assert_msg(status == PP_INFEASIBLE || status == PP_USAGE, "%s without value %zu",
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

static double half(void *context)
{
    (void)context;
    return 0.5;
}

/* Whenever the time ends, what was found until then is the answer: remedies that fit, and effects
 * that are known, not known, or the same as without a budget. */
START_TEST(a_budget_ends_it)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.global_batch_size = 32;
    pp_explanation *whole = explain(&request);
    size_t unknown = 0;
    size_t remedies = 0;
    for (int64_t looks = 1; looks < 1 << 18; looks *= 8) {
        int64_t left = looks;
        request.stop = planning_late;
        request.spent = half;
        request.context = &left;
        pp_explanation *x = explain(&request);
        if (!x)
            continue; /* not even the nearest miss is known */
        ck_assert_uint_eq(x->effects, whole->effects);
        for (size_t i = 0; i < x->effects; i++) {
            unknown += x->effect[i].undecided;
            ck_assert(x->effect[i].undecided || x->effect[i].fits == whole->effect[i].fits);
            ck_assert_int_ge(x->effect[i].short_bytes, 0);
        }
        remedies = x->remedies;
        for (size_t i = 0; i < x->remedies; i++)
            ck_assert_int_eq(x->remedy[i].candidate.status, PP_CANDIDATE_OK);
        pp_explanation_free(&x);
    }
    ck_assert_uint_gt(unknown, 0);
    ck_assert_uint_gt(remedies, 0);
    pp_explanation_free(&whole);
}
END_TEST

/* The least counted budget leaves most effects open; a large one, none. */
START_TEST(a_counted_budget_ends_it)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.global_batch_size = 32;
    request.max_simulations = 1;
    pp_explanation *little = explain(&request);
    ck_assert(little->stopped);
    ck_assert(little->effect[little->effects - 1].undecided);
    request.max_simulations = 10000;
    pp_explanation *much = explain(&request);
    ck_assert(!much->stopped);
    for (size_t i = 0; i < much->effects; i++)
        ck_assert(!much->effect[i].undecided);
    ck_assert_uint_gt(much->remedies, 0);
    pp_explanation_free(&little);
    pp_explanation_free(&much);
}
END_TEST

START_TEST(what_fits_needs_no_words)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    ck_assert_ptr_null(explain(&request));
}
END_TEST

/* Not even 64 times as many GPUs suffice: there is no set, and the effects show how much is
 * missing. */
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
    tcase_add_test(tc, a_budget_ends_it);
    tcase_add_test(tc, a_counted_budget_ends_it);
    tcase_add_test(tc, what_fits_needs_no_words);
    tcase_add_test(tc, hopeless_is_said);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
