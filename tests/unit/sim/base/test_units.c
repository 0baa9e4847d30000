/* Durations, sizes, rates and whole numbers are read exactly and printed with four digits. */
#include "sim/base/units.h"

#include <check.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Expected values follow from SI and IEC 80000-13 prefixes alone. */
START_TEST(durations_are_exact_decimals)
{
    static const struct {
        const char *text;
        pp_ns ns;
    } cases[] = {
        { "18.522ms", 18522000 },
        { "12us", 12000 },
        { "3s", INT64_C(3000000000) },
        { "40ns", 40 },
        { "0", 0 },
        { "0ms", 0 },
        { "0.0s", 0 },
        { ".5us", 500 },
        { "1.s", 1000000000 },
        { "0.000000001s", 1 },
        { "1.500ns", -1 },
        { "2.000ns", 2 },
        { "0.1ns", -1 },
        { "9007199254740992ns", PP_NS_MAX },
        { "9007199254740993ns", -1 },
        { "9007199.254740992s", PP_NS_MAX },
        { "9007200s", -1 },
        { "99999999999999999999s", -1 },
        { "1", -1 },
        { "-1ms", -1 },
        { "+1ms", -1 },
        { " 1ms", -1 },
        { "1 ms", -1 },
        { "1ms ", -1 },
        { "1MS", -1 },
        { "ms", -1 },
        { ".ms", -1 },
        { "", -1 },
        { "1.2.3ms", -1 },
        { "1e3ms", -1 },
        { "nan", -1 },
        { "infs", -1 },
        { "0x10ms", -1 },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 33, "as often as main loops");
    pp_ns ns = -7;
    pp_err err = { 0 };
    pp_status status = pp_parse_duration(cases[_i].text, "--budget", &ns, &err);
    if (cases[_i].ns < 0) {
        ck_assert_msg(status == PP_INPUT, "%s gave %" PRId64, cases[_i].text, ns);
        ck_assert_str_eq(err.where, "--budget");
        ck_assert_int_eq(ns, -7);
        return;
    }
    ck_assert_msg(status == PP_OK, "%s: %s", cases[_i].text, err.text);
    ck_assert_int_eq(ns, cases[_i].ns);
}
END_TEST

/* Or rounded down to whole bytes. */
START_TEST(sizes_are_exact_in_si_and_binary_units)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        { "64MiB", INT64_C(64) << 20 },
        { "80GB", INT64_C(80000000000) },
        { "1B", 1 },
        { "0", 0 },
        { "1.5kB", 1500 },
        { "1.5KiB", 1536 },
        { "0.125MiB", 131072 },
        { "0.5GiB", INT64_C(1) << 29 },
        { "2TB", INT64_C(2000000000000) },
        { "8TiB", INT64_C(8) << 40 },
        { "8192TiB", PP_BYTES_MAX },
        { "8193TiB", -1 },
        { "1.5B", -1 },
        { "0.1KiB", 102 },
        { "0.3MiB", 314572 },
        { "75.9GiB", INT64_C(81497004441) },
        { "0.999999999999999999TB", INT64_C(999999999999) },
        { "8191.9TiB", INT64_C(9007089303578214) },
        { "8192.1TiB", -1 },
        { "0.0009kB", -1 },
        { "1KB", -1 },
        { "1Gb", -1 },
        { "1024", -1 },
        { "-1B", -1 },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 24, "as often as main loops");
    int64_t bytes = -7;
    pp_err err = { 0 };
    pp_status status = pp_parse_bytes(cases[_i].text, "x", &bytes, &err);
    if (cases[_i].bytes < 0) {
        ck_assert_msg(status == PP_INPUT, "%s gave %" PRId64, cases[_i].text, bytes);
        ck_assert_int_eq(bytes, -7);
        return;
    }
    ck_assert_msg(status == PP_OK, "%s: %s", cases[_i].text, err.text);
    ck_assert_int_eq(bytes, cases[_i].bytes);
}
END_TEST

START_TEST(rates_are_bytes_per_second_of_the_nearest_double)
{
    static const struct {
        const char *text;
        double rate;
    } cases[] = {
        { "50GB/s", 50e9 },
        { "800Gb/s", 100e9 },
        { "50.5GB/s", 50.5e9 },
        { "0.7GB/s", 0.7e9 },
        { "3.35TB/s", 3.35e12 },
        { "2.039TB/s", 2.039e12 },
        { "1kb/s", 125 },
        { "1b/s", -1 },
        { "0GB/s", -1 },
        { "0", -1 },
        { "5", -1 },
        { "-5GB/s", -1 },
        { "5GiB/s", -1 },
        { "5GB", -1 },
        { "", -1 },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 15, "as often as main loops");
    double rate = -7;
    pp_err err = { 0 };
    pp_status status = pp_parse_rate(cases[_i].text, "x", &rate, &err);
    ck_assert_int_eq(status, cases[_i].rate < 0 ? PP_INPUT : PP_OK);
    if (status == PP_OK)
        ck_assert_msg(rate == cases[_i].rate, "%s: %.17g", cases[_i].text, rate);
}
END_TEST

START_TEST(a_rate_too_small_for_a_double_is_not_zero)
{
    char text[420];
    double rate = 1;
    pp_err err = { 0 };
    memset(text, '0', sizeof text);
    text[1] = '.';
    snprintf(text + 400, 20, "1kb/s");
    ck_assert(pp_parse_rate(text, "x", &rate, &err) == PP_INPUT || rate > 0);
}
END_TEST

START_TEST(whole_numbers_have_nothing_after_them_and_stay_in_range)
{
    static const struct {
        const char *text;
        int64_t low, high, value;
        int good;
    } cases[] = {
        { "7", 1, 9, 7, 1 },
        { "1", 1, 9, 1, 1 },
        { "9", 1, 9, 9, 1 },
        { "10", 1, 9, 0, 0 },
        { "0", 1, 9, 0, 0 },
        { "-3", -5, 5, -3, 1 },
        { "007", 1, 9, 7, 1 },
        { "-", -5, 5, 0, 0 },
        { "", -5, 5, 0, 0 },
        { "7 ", 1, 9, 0, 0 },
        { "+7", 1, 9, 0, 0 },
        { "7.0", 1, 9, 0, 0 },
        { "--3", -5, 5, 0, 0 },
        { "99999999999999999999", 0, INT64_MAX, 0, 0 },
        { "9223372036854775808", 0, INT64_MAX, 0, 0 },
        { "9223372036854775807", 0, INT64_MAX, INT64_MAX, 1 },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 16, "as often as main loops");
    int64_t value = 77;
    pp_err err = { 0 };
    pp_status status =
        pp_parse_int(cases[_i].text, "--pp", cases[_i].low, cases[_i].high, &value, &err);
    ck_assert_msg(status == (cases[_i].good ? PP_OK : PP_INPUT), "%s", cases[_i].text);
    ck_assert_int_eq(value, cases[_i].good ? cases[_i].value : 77);
}
END_TEST

START_TEST(seconds_become_the_nearest_nanosecond)
{
    static const struct {
        double seconds;
        pp_ns ns;
    } cases[] = {
        { 0, 0 },
        { -0.0, 0 },
        { 1e-9, 1 },
        { 1.4e-9, 1 },
        { 1.6e-9, 2 },
        { 18.522e-3, 18522000 },
        { 9007199.0, INT64_C(9007199000000000) },
        { -1e-9, -1 },
        { 9007200, -1 },
        { NAN, -1 },
        { INFINITY, -1 },
        { -INFINITY, -1 },
        { DBL_MAX, -1 },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 13, "as often as main loops");
    pp_ns ns = -7;
    pp_err err = { 0 };
    pp_status status = pp_ns_from_seconds(cases[_i].seconds, "x", &ns, &err);
    ck_assert_int_eq(status, cases[_i].ns < 0 ? PP_INPUT : PP_OK);
    ck_assert_int_eq(ns, cases[_i].ns < 0 ? -7 : cases[_i].ns);
}
END_TEST

START_TEST(printed_quantities_have_four_significant_digits)
{
    static const struct {
        int64_t value;
        const char *duration, *bytes;
    } cases[] = {
        { 0, "0 ns", "0 B" },
        { 12, "12 ns", "12 B" },
        { 999, "999 ns", "999 B" },
        { 1024, "1.024 us", "1.000 KiB" },
        { 1536, "1.536 us", "1.500 KiB" },
        { 9999600, "10.00 ms", "9.536 MiB" },
        { 99996000, "100.0 ms", "95.36 MiB" },
        { 999999, "1.000 ms", "976.6 KiB" },
        { 999960000, "1.000 s", "953.6 MiB" },
        { 1048575, "1.049 ms", "1.000 MiB" },
        { INT64_C(13750000000), "13.75 s", "12.81 GiB" },
        { -1536, "-1.536 us", "-1.500 KiB" },
        { INT64_C(102370000000), "102.4 s", "95.34 GiB" },
        { INT64_C(5000000000000), "5000 s", "4.547 TiB" },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 14, "as often as main loops");
    char buffer[64];
    ck_assert_str_eq(pp_format_duration(buffer, sizeof buffer, cases[_i].value),
                     cases[_i].duration);
    ck_assert_str_eq(pp_format_bytes(buffer, sizeof buffer, cases[_i].value), cases[_i].bytes);
}
END_TEST

START_TEST(limits_are_printed_as_they_were_written)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        { INT64_C(80000000000), "80GB (74.51 GiB)" },
        { INT64_C(79500000000), "79.5GB (74.04 GiB)" },
        { INT64_C(133950000000), "133.95GB (124.8 GiB)" },
        { INT64_C(76) << 30, "76.00 GiB" },
        { INT64_C(81497004441), "75.90 GiB" },
        { 1000000, "976.6 KiB" },
        { 0, "0 B" },
    };
    char buffer[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_str_eq(pp_format_limit(buffer, sizeof buffer, cases[i].bytes), cases[i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *tc = tcase_create("units");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, durations_are_exact_decimals, 0, 33);
    tcase_add_loop_test(tc, sizes_are_exact_in_si_and_binary_units, 0, 24);
    tcase_add_loop_test(tc, rates_are_bytes_per_second_of_the_nearest_double, 0, 15);
    tcase_add_test(tc, a_rate_too_small_for_a_double_is_not_zero);
    tcase_add_loop_test(tc, whole_numbers_have_nothing_after_them_and_stay_in_range, 0, 16);
    tcase_add_loop_test(tc, seconds_become_the_nearest_nanosecond, 0, 13);
    tcase_add_loop_test(tc, printed_quantities_have_four_significant_digits, 0, 14);
    tcase_add_test(tc, limits_are_printed_as_they_were_written);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
