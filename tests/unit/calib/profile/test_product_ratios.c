/* Ratios of products (calib/profile/product_ratios.h) compare the same product in the same pass. */
#include "calib/profile/product_ratios.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void add(pp_samples *samples, const char *class_name, double m, double taken, uint32_t pass,
                double seconds)
{
    pp_err err = { 0 };
    pp_series *series = NULL;
    for (size_t i = 0; i < samples->count; i++) {
        if (strcmp(samples->series[i].class_name, class_name) == 0)
            series = &samples->series[i];
    }
    if (!series)
        ck_assert_int_eq(pp_samples_add_series(samples, class_name, &series, &err), PP_OK);
    pp_sample sample = pp_sample_of(seconds);
    sample.at[PP_VARIABLE_ROWS] = m;
    sample.at[PP_VARIABLE_COLUMNS] = sample.at[PP_VARIABLE_DEPTH] = 64;
    if (taken > 0)
        sample.at[PP_VARIABLE_CHANNELS] = taken;
    sample.pass = pass;
    ck_assert_int_eq(pp_series_add(series, &sample, &err), PP_OK);
}

START_TEST(ratios_are_medians_of_equal_products)
{
    pp_samples samples = { 0 };
    pp_product_ratio ratio[PP_PRODUCT_RATIOS_MAX];
    for (uint32_t pass = 0; pass < 3; pass++) {
        add(&samples, "product_alone", 128, 0, pass, 1 + pass);
        add(&samples, "product_alone", 256, 0, pass, 10 + pass);
        add(&samples, "product_fewer_sms", 128, 8, pass, 1.5 * (1 + pass));
        add(&samples, "product_fewer_sms", 256, 8, pass, 1.5 * (10 + pass));
        add(&samples, "product_fewer_sms", 128, 4, pass, (1.1 + 0.1 * pass) * (1 + pass));
        add(&samples, "product_beside_self_send", 256, 2, pass, 3 * (10 + pass));
        add(&samples, "product_burst", 128, 0, pass, 2);
    }
    add(&samples, "product_sustained", 999, 0, 0, 5); /* no counterpart */
    ck_assert_uint_eq(pp_product_ratios(&samples, ratio), 3);
    ck_assert_str_eq(ratio[0].class_name, "product_fewer_sms");
    ck_assert_double_eq(ratio[0].taken, 4);
    ck_assert_double_eq_tol(ratio[0].ratio, 1.2, 1e-12);
    ck_assert_double_eq(ratio[1].taken, 8);
    ck_assert_double_eq_tol(ratio[1].ratio, 1.5, 1e-12);
    ck_assert_str_eq(ratio[2].class_name, "product_beside_self_send");
    ck_assert_double_eq(ratio[2].taken, 2);
    ck_assert_double_eq_tol(ratio[2].ratio, 3, 1e-12);
    ck_assert(pp_product_class("product_alone") && !pp_product_class("gemm_fwd qkv"));
    pp_samples_free(&samples);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("product ratios");
    TCase *tc = tcase_create("product ratios");
    tcase_add_test(tc, ratios_are_medians_of_equal_products);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
