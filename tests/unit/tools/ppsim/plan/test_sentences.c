/* The sentences and the lines of CSV that are made of a search's values. */
#include "sim/framework/registry.h"
#include "tests/support/planning.h"
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
      "rank 0 short by 1.000 GiB, parameters, with one microbatch alone" },
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
    { { .reason.kind = PP_REASON_ALL_ORDERS }, "no order is faster: all were looked at" },
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
      "none that executor ideal runs within the memory: rank 0 short by 1.000 GiB, parameters" },
    { { .verdict = PP_FREE_ORDERS_ONLY, .reason.kind = PP_REASON_ALL_ORDERS },
      "found where no named schedule fits; no order is faster: all were looked at" },
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
                     "no measurable gain: the best one found is 0.05 % slower than 1f1b, "
                     "the best named schedule; 0.00 % above the bound of the step");
    pp_text_free(&text);
}
END_TEST

/* Values are listed by what is known of them, and -0.00 is never said. */
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

START_TEST(a_shortage_is_said)
{
    const pp_reason reason = pp_reason_short(shortage);
    char words[PP_REASON_BYTES];
    ck_assert_str_eq(pp_misfit_print(&reason, words, sizeof words),
                     "rank 3 short by 2.100 GiB, activations");
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
    tcase_add_test(tc, a_shortage_is_said);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
