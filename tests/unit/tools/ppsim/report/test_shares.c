/* Shares of a step's time sum to 100.0 % whatever the parts are. */
#include "tools/ppsim/report/shares.h"

#include "sim/base/random.h"
#include "tests/support/step.h"

START_TEST(shares_sum_to_the_whole)
{
    uint64_t random = 7;
    for (int k = 0; k < 2000; k++) {
        pp_why why = { .has_collectives = true };
        int sum = 0;
        for (int c = 0; c < PP_WHY_COUNT; c++) {
            const pp_ns most_ns = (pp_ns)1 << pp_random_next(&random) % 40;
            why.mean_ns[c] = (pp_ns)(pp_random_next(&random) % (uint64_t)most_ns);
        }
        why.exchange_mean_ns[PP_EXCHANGE_EP] = why.mean_ns[PP_WHY_COLLECTIVES];
        const pp_shares shares = pp_shares_of(&why);
        for (int s = 0; s < PP_SHARES; s++) {
            ck_assert_int_ge(shares.tenths[s], 0);
            sum += shares.tenths[s];
        }
        ck_assert_int_eq(sum, 1000);
    }
}
END_TEST

/* Exchange is half of this step. That over cp is hidden behind compute, which is printed, too. */
START_TEST(exchange_is_not_compute)
{
    pp_why why = { .has_collectives = true,
                   .mean_ns = { [PP_WHY_COMPUTE] = 300,
                                [PP_WHY_COLLECTIVES] = 450,
                                [PP_WHY_P2P] = 50,
                                [PP_WHY_WARM_UP] = 100,
                                [PP_WHY_HOST] = 40,
                                [PP_WHY_OPTIMIZER] = 60 },
                   .exchange_mean_ns = { [PP_EXCHANGE_TP] = 200, [PP_EXCHANGE_EP] = 250 } };
    const pp_parallel parallel = { .pp = 4, .tp = 2, .cp = 2, .dp = 2, .ep = 4, .vpp = 1 };
    const pp_shares shares = pp_shares_of(&why);
    pp_text text = { 0 };
    pp_shares_print(&shares, &parallel, false, &text);
    ck_assert_str_eq(text.data,
                     "30.0 % compute, 50.0 % exchange (tp 20.0, cp 0.0, ep 25.0, pp 5.0), "
                     "10.0 % bubble, 4.0 % host, 6.0 % end of step");
    pp_text_free(&text);
}
END_TEST

START_TEST(what_is_not_known_apart_is_named_together)
{
    pp_why why = { .mean_ns = { [PP_WHY_COMPUTE] = 900, [PP_WHY_WARM_UP] = 100 } };
    const pp_parallel parallel = { .pp = 2, .tp = 2, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 };
    const pp_shares shares = pp_shares_of(&why);
    pp_text text = { 0 };
    pp_shares_print(&shares, &parallel, true, &text);
    ck_assert_str_eq(text.data, "90.0 % compute with its tp exchange, 10.0 % bubble");
    pp_text_free(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shares");
    TCase *tc = tcase_create("shares");
    tcase_add_test(tc, shares_sum_to_the_whole);
    tcase_add_test(tc, exchange_is_not_compute);
    tcase_add_test(tc, what_is_not_known_apart_is_named_together);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
