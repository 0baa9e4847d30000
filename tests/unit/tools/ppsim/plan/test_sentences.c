/* The sentences and the lines of CSV that are made from a search's values. */
#include "sim/framework/registry.h"
#include "tests/support/planning.h"
#include "tools/ppsim/plan/assumptions.h"
#include "tools/ppsim/plan/sentences.h"

static const pp_memory_shortage shortage = { .rank = 3,
                                             .bytes = 2254857830,
                                             .component = PP_MEMORY_ACTIVATIONS };

static const struct {
    pp_candidate candidate;
    const char *words;
} reasons[] = {
    { { .step_ns = 1 }, NULL },
    { { .reason = { .kind = PP_REASON_REFUSED, .refusal = "no \"order\"" } }, "no \"order\"" },
    { { .reason = { .kind = PP_REASON_MEMORY, .shortage = { .bytes = 1 << 30, .alone = true } } },
      "rank 0 short by 1.000 GiB, largest: parameters, even with a single microbatch" },
    { { .reason.kind = PP_REASON_UNSEEN }, "the budget ended first" },
    { { .least_step_ns = 2000000000, .reason.kind = PP_REASON_BUDGET },
      "the budget ended first; takes at least 2.000 s" },
    { { .least_step_ns = 2000000000,
        .bound = PP_BOUND_AREA,
        .bound_rank = 7,
        .reason = { .kind = PP_REASON_SLOWER, .best_step_ns = 1000000000, .other_gpus = true } },
      "takes at least 2.000 s on another number of GPUs (memory area of rank 7), the best 1.000 "
      "s" },
    { { .least_step_ns = 2000000000,
        .bound = PP_BOUND_PATH,
        .reason = { .kind = PP_REASON_SLOWER, .best_step_ns = 1000000000 } },
      "takes at least 2.000 s (path), the best 1.000 s" },
    { { .reason.kind = PP_REASON_SPLIT_SLOWER }, "cannot be faster (bound)" },
    { { .reason = { .kind = PP_REASON_ORDER_GAP,
                    .gap = 0.0125,
                    .order_bound = PP_ORDER_BOUND_DFF } },
      "1.25 % above the bound of any order (dff)" },
    { { .reason = { .kind = PP_REASON_ORDER_GAP, .order_bound = PP_ORDER_BOUND_PROOF } },
      "no order is faster: shorter ones were refuted" },
    { { .reason = { .kind = PP_REASON_STEP_GAP, .gap = 0.5 } },
      "50.00 % above the bound of the step" },
};

START_TEST(a_reason_is_said)
{
    pp_text text = { 0 };
    pp_reason_say(&reasons[_i].candidate, &text);
    if (reasons[_i].words)
        ck_assert_str_eq(text.data, reasons[_i].words);
    else
        ck_assert_uint_eq(text.bytes, 0);
    pp_text_free(&text);
}
END_TEST

/* Quotes are doubled, and every line has as many columns as the header. */
START_TEST(a_candidate_is_one_line_of_csv)
{
    pp_candidate c = reasons[1].candidate;
    pp_text text = { 0 };
    size_t lines = 0;
    size_t commas[2] = { 0 };
    c.schedule = pp_schedule_find("1f1b");
    pp_candidate_csv(NULL, &text);
    pp_candidate_csv(&c, &text);
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == '\n')
            lines++;
        else if (lines < 2)
            commas[lines] += text.data[i] == ',';
    }
    ck_assert_uint_eq(lines, 2);
    ck_assert_uint_eq(commas[0], commas[1]);
    ck_assert_ptr_nonnull(strstr(text.data, ",\"no \"\"order\"\"\"\n"));
    pp_text_free(&text);
}
END_TEST

static const struct {
    pp_free_orders_outcome outcome;
    const char *words;
} orders[] = {
    { { .verdict = PP_FREE_ORDERS_UNSEARCHED }, "not searched: the budget was used up" },
    { { .verdict = PP_FREE_ORDERS_UNUSABLE,
        .reason = { .kind = PP_REASON_MEMORY, .shortage = { .bytes = 1 << 30 } } },
      "executor ideal runs none of those found within the memory: rank 0 short by 1.000 GiB, "
      "largest: parameters" },
    { { .verdict = PP_FREE_ORDERS_ONLY,
        .reason = { .kind = PP_REASON_ORDER_GAP, .order_bound = PP_ORDER_BOUND_PROOF } },
      "taken, as no named schedule fits; no order is faster, shorter ones were refuted" },
};

START_TEST(free_orders_are_said)
{
    pp_plan plan = { .framework = &pp_framework_ideal };
    const pp_search_result result = { .plan = &plan, .orders = orders[_i].outcome };
    pp_text text = { 0 };
    pp_free_orders_say(&result, &text);
    ck_assert_str_eq(text.data, orders[_i].words);
    pp_text_free(&text);
}
END_TEST

START_TEST(gains_of_free_orders_are_said)
{
    const pp_schedule *named = pp_schedule_find("1f1b");
    pp_search_result result = {
        .orders = { .verdict = PP_FREE_ORDERS_NO_GAIN,
                    .named = named,
                    .gain = -0.0005,
                    .reason = { .kind = PP_REASON_STEP_GAP } },
    };
    pp_text text = { 0 };
    pp_free_orders_say(&result, &text);
    ck_assert_str_eq(text.data,
                     "no measurable gain: the best free order found is 0.05 % slower than 1f1b, "
                     "the best named schedule; 0.00 % above the lower bound of the step");
    pp_text_free(&text);
}
END_TEST

/* Values are listed by what is known of them, and -0.00 is never printed. */
START_TEST(settings_are_said)
{
    pp_setting_value values[] = {
        { .framework = &pp_framework_megatron, .step_ns = 2000000000 },
        { .framework = &pp_framework_ideal, .standing = PP_SETTING_NOT_KNOWN },
        { .framework = &pp_framework_ideal, .standing = PP_SETTING_RATED, .more = -1e-6 },
        { .framework = &pp_framework_ideal, .step_ns = 2001000000, .more = 0.0005, .tie = true },
    };
    pp_search_result result = { .setting[PP_SETTING_FRAMEWORK] = { values, 4, false } };
    pp_text text = { 0 };
    pp_setting_say(&result, PP_SETTING_FRAMEWORK, &text);
    ck_assert_str_eq(text.data,
                     "megatron, 2.000 s; ideal 2.001 s (+0.05 %, a tie); not searched, by a "
                     "named schedule: ideal +0.00 %; not known (budget): ideal");
    pp_text_free(&text);
    result.setting[PP_SETTING_FRAMEWORK].count = 1;
    pp_setting_say(&result, PP_SETTING_FRAMEWORK, &text);
    ck_assert_str_eq(text.data, "megatron, 2.000 s; there is no other");
    pp_text_free(&text);
}
END_TEST

/* Another plan is never "-0.77 % slower". */
START_TEST(slower_plans_are_said)
{
    static const struct {
        double more;
        const char *words;
    } cases[] = {
        { 0.0287, "up to 2.87 % slower" },
        { -0.0077, "0.77 % faster" },
        { 1e-6, "as fast" },
        { -1e-6, "as fast" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pp_text text = { 0 };
        pp_slower_say(cases[i].more, &text);
        ck_assert_str_eq(text.data, cases[i].words);
        pp_text_free(&text);
    }
}
END_TEST

START_TEST(target_costs_are_said)
{
    const pp_target_limits limits = { .name = "megatron" };
    pp_target_cost cost = { .target = &limits };
    const struct {
        double more;
        const char *schedule, *words;
    } cases[] = {
        { 0.5, NULL, "megatron" },
        { 1e-6, "zbv", "megatron; its limits make no measurable difference" },
        { 0.0842, "zbv",
          "megatron; its limits make the step 8.42 % longer than without them (zbv, 1.858 s)" },
        { -0.0842, "zbv",
          "megatron; its limits make the step 8.42 % shorter than without them (zbv, 1.858 s)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pp_text text = { 0 };
        cost.more = cases[i].more;
        cost.schedule = cases[i].schedule ? pp_schedule_find(cases[i].schedule) : NULL;
        cost.step_ns = 1858000000;
        pp_target_say(&cost, &text);
        ck_assert_str_eq(text.data, cases[i].words);
        pp_text_free(&text);
    }
}
END_TEST

START_TEST(a_shortage_is_said)
{
    const pp_reason reason = pp_reason_short(shortage);
    char words[PP_REASON_BYTES];
    ck_assert_str_eq(pp_misfit_print(&reason, words, sizeof words),
                     "rank 3 short by 2.100 GiB, the step adds mostly activations");
}
END_TEST

/* The note for `key`; NULL if there is none. */
static const char *noted(const pp_notes *notes, const char *key)
{
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->note[i].key, key) == 0)
            return notes->note[i].value;
    }
    return NULL;
}

static pp_search_result *choose_and_note(const pp_plan_request *request, const pp_notes *own)
{
    pp_search_result *choice = choose(request);
    pp_err err = { 0 };
    STEP_OK(pp_plan_note_assumptions(choice, own, &err), err);
    return choice;
}

START_TEST(only_what_was_not_given_is_noted)
{
    static const char *const keys[] = { "tensor parallel",  "sequence length", "global batch size",
                                        "micro-batch size", "memory limit",    "step sync",
                                        "context parallel", "data parallel" };
    const pp_notes none = { 0 };
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    pp_search_result *choice = choose_and_note(&request, &none);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg(noted(&choice->plan->assumptions, keys[i]) != NULL, "%s", keys[i]);
    ck_assert_ptr_nonnull(
        strstr(noted(&choice->plan->assumptions, "memory limit"), "fragmentation"));
    pp_search_result_free(&choice);
    request.parallel = (pp_parallel){ .pp = 8, .tp = 2, .cp = 1, .dp = 1, .ep = 1 };
    request.seq_length = 1024;
    request.global_batch_size = 32;
    request.micro_batch_size = 1;
    request.memory_limit_bytes = (int64_t)70 << 30;
    request.no_step_sync = true;
    choice = choose_and_note(&request, &none);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg(!noted(&choice->plan->assumptions, keys[i]), "%s", keys[i]);
    ck_assert(!choice->per_gpu);
    pp_search_result_free(&choice);
}
END_TEST

/* The caller's notes come first, then those about the search, then those about the simulation. */
START_TEST(assumptions_come_before_other_notes)
{
    pp_notes own PP_CLEANUP(pp_notes_free) = { 0 };
    pp_err err = { 0 };
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    request.no_step_sync = true;
    STEP_OK(pp_notes_add(&own, &err, "model", "made up"), err);
    pp_search_result *choice = choose(&request);
    const pp_notes *said = &choice->plan->assumptions;
    const pp_notes *predicted = &choice->plan->prediction->assumptions;
    STEP_OK(pp_notes_add(&choice->plan->prediction->assumptions, &err, "period", "last"), err);
    STEP_OK(pp_plan_note_assumptions(choice, &own, &err), err);
    ck_assert_str_eq(said->note[0].key, "model");
    ck_assert_str_eq(said->note[1].key, "tensor parallel");
    ck_assert_uint_eq(predicted->count, said->count + 1);
    for (size_t i = 0; i < said->count; i++)
        ck_assert_str_eq(predicted->note[i].value, said->note[i].value);
    ck_assert_str_eq(predicted->note[said->count].value, "last");
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(packed_lengths_are_noted)
{
    const pp_notes none = { 0 };
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[240];
    char bins[64];
    for (size_t k = 0; k < 240; k++)
        lengths[k] = 100 + (int64_t)(k * 7919 % 4000);
    pp_plan_request request = request_of(&p, 4);
    request.parallel.dp = 2;
    request.lengths = lengths;
    request.length_count = 240;
    request.seq_length = 4096;
    pp_search_result *choice = choose_and_note(&request, &none);
    const char *packing = noted(&choice->plan->assumptions, "packing");
    ck_assert_ptr_nonnull(packing);
    snprintf(bins, sizeof bins, "tokens: %zu bins", choice->plan->workload.first_fit_bins);
    ck_assert_msg(strstr(packing, bins) != NULL, "%s", packing);
    pp_search_result_free(&choice);
    request.schedule = pp_schedule_find("interleaved");
    request.parallel.vpp = 2;
    request.micro_batch_size = 1;
    request.length_count = 205;
    choice = choose_and_note(&request, &none);
    packing = noted(&choice->plan->assumptions, "packing");
    snprintf(bins, sizeof bins, "until there are %zu", choice->plan->workload.bins);
    ck_assert_msg(strstr(packing, bins) && strstr(packing, "a multiple of pp 4"), "%s", packing);
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(a_group_size_is_noted)
{
    const pp_notes none = { 0 };
    planning p = planning_of("gpt22b", "h100-80g");
    pp_plan_request request = request_of(&p, 8);
    request.schedule = pp_schedule_find("interleaved");
    request.global_batch_size = 17;
    request.micro_batch_size = 1;
    pp_search_result *choice = choose_and_note(&request, &none);
    ck_assert_str_eq(noted(&choice->plan->assumptions, "microbatch group size"),
                     "9, the smallest that is legal here");
    pp_search_result_free(&choice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sentences");
    TCase *tc = tcase_create("sentences");
    tcase_add_loop_test(tc, a_reason_is_said, 0, (int)(sizeof reasons / sizeof *reasons));
    tcase_add_loop_test(tc, free_orders_are_said, 0, (int)(sizeof orders / sizeof *orders));
    tcase_add_test(tc, a_candidate_is_one_line_of_csv);
    tcase_add_test(tc, gains_of_free_orders_are_said);
    tcase_add_test(tc, settings_are_said);
    tcase_add_test(tc, slower_plans_are_said);
    tcase_add_test(tc, target_costs_are_said);
    tcase_add_test(tc, a_shortage_is_said);
    tcase_add_test(tc, only_what_was_not_given_is_noted);
    tcase_add_test(tc, assumptions_come_before_other_notes);
    tcase_add_test(tc, packed_lengths_are_noted);
    tcase_add_test(tc, a_group_size_is_noted);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
