/* The imbalance of ranks, from tokens of experts that are counted by hand. */
#include "sim/job/expert_tokens.h"
#include "tests/support/step.h"

#include <string.h>

static pp_status parse(const char *text, pp_expert_tokens *tokens_out, pp_err *err)
{
    return pp_expert_tokens_parse(text, strlen(text), "t.json", 0, tokens_out, err);
}

/* Of 4 experts, 2 ranks have two each and 4 ranks one each. The second microbatch has two layers.
 */
START_TEST(the_busiest_rank_has_so_much_more_than_the_mean)
{
    pp_expert_tokens t PP_CLEANUP(pp_expert_tokens_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(parse("[[4, 2, 1, 1], [[3, 1, 0, 0], [0, 1, 0, 7]]]", &t, &err), err);
    ck_assert_uint_eq(t.microbatches, 2);
    ck_assert_int_eq(t.experts, 4);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 0, 1), 1);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 0, 2), 6.0 / 4);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 0, 4), 4.0 / 2);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 1, 2), (4.0 / 2 + 7.0 / 4) / 2);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 1, 4), (3.0 + 7.0 / 2) / 2);
    /* a step of more microbatches begins again */
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 2, 4), 2);
    ck_assert_double_eq(pp_expert_tokens_mean(&t, 4), (2 + 3.25) / 2);
    ck_assert_double_eq(pp_expert_tokens_mean(&t, 1), 1);
}
END_TEST

/* Of 2 tokens in the mean, 3 and 4 are over a capacity of 1.25, which is 3 when rounded up. */
START_TEST(an_expert_drops_what_exceeds_its_capacity)
{
    const char *text = "[[4, 2, 1, 1], [5, 3, 0, 0]]";
    pp_expert_tokens t PP_CLEANUP(pp_expert_tokens_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_expert_tokens_parse(text, strlen(text), "t.json", 1.25, &t, &err), err);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 0, 2), 5.0 / 4);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 0, 4), 3.0 / 2);
    ck_assert_double_eq(pp_expert_tokens_imbalance(&t, 1, 2), 6.0 / 4);
    ck_assert_double_eq(t.kept, (7.0 / 8 + 6.0 / 8) / 2);
    pp_expert_tokens_free(&t);
    STEP_OK(pp_expert_tokens_parse(text, strlen(text), "t.json", 0, &t, &err), err);
    ck_assert_double_eq(t.kept, 1);
    pp_expert_tokens_free(&t);
    /* shares of 10 microbatches have no exact sum */
    const char *ten =
        "[[4, 2], [1, 1], [4, 2], [1, 1], [4, 2], [1, 1], [4, 2], [1, 1], [4, 2], [1, 2]]";
    STEP_OK(pp_expert_tokens_parse(ten, strlen(ten), "t.json", 4, &t, &err), err);
    ck_assert_double_eq(t.kept, 1);
}
END_TEST

static const struct {
    const char *text, *where, *words;
} bad[] = {
    { "", "t.json:1:0", "not valid JSON" },
    { "{}", "t.json#", "array" },
    { "[]", "t.json#", "has no microbatches" },
    { "[[]]", "t.json#/0", "has no counts of tokens" },
    { "[[[]]]", "t.json#", "of 0 experts" },
    { "[[1, 2], [1]]", "t.json#/1", "of 1 experts, but the first of the file has 2" },
    { "[[[1, 2], [1, 2, 3]]]", "t.json#/0/1", "of 3 experts" },
    { "[[1, 2], [[1, 2], 3]]", "t.json#/1/1", "array" },
    { "[[1, 2], [1, [2]]]", "t.json#/1/1", "whole number" },
    { "[[1, 2], [1, -2]]", "t.json#/1/1", "from 0 to" },
    { "[[1, 2], [1, 2.5]]", "t.json#/1/1", "whole number" },
    { "[[1, 2], [0, 0]]", "t.json#/1", "no expert has a token" },
};

START_TEST(bad_files_are_refused_with_their_place)
{
    pp_expert_tokens t = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(parse(bad[_i].text, &t, &err), PP_INPUT);
    ck_assert_str_eq(err.where, bad[_i].where);
    ck_assert_msg(strstr(err.text, bad[_i].words) != NULL, "%s: %s", err.where, err.text);
    ck_assert_ptr_null(t.imbalance);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expert_tokens");
    TCase *tc = tcase_create("tokens");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_busiest_rank_has_so_much_more_than_the_mean);
    tcase_add_test(tc, an_expert_drops_what_exceeds_its_capacity);
    tcase_add_loop_test(tc, bad_files_are_refused_with_their_place, 0, sizeof bad / sizeof bad[0]);
    return step_run(suite);
}
