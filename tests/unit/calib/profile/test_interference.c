/* A profile's interference has the same effect on the engine as --overlap-slowdown. */
#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"
#include "calib/profile/profile_write.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static pp_sharing parsed(const char *text)
{
    pp_sharing sharing = { .ranks_per_nic = 4, .latency_ns = 7 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_slowdown_parse(text, &sharing, &err), PP_OK);
    return sharing;
}

static void expect_same(const pp_sharing *found, const pp_sharing *wanted)
{
    ck_assert_double_eq(found->compute_slowdown, wanted->compute_slowdown);
    ck_assert_double_eq(found->comm_slowdown, wanted->comm_slowdown);
    ck_assert_int_eq(found->ranks_per_nic, wanted->ranks_per_nic);
    ck_assert_int_eq(found->latency_ns, wanted->latency_ns);
}

/* compute, comm: as measured; given: what the user requested; NULL: nothing. */
static const struct {
    double compute, comm;
    const char *given, *wanted;
    bool set;
} cases[] = {
    { 1.25, 1.5, NULL, "compute=1.25,comm=1.5", true },
    { 1.25, (double)NAN, NULL, "compute=1.25", true },
    { (double)NAN, 1.5, NULL, "comm=1.5", true },
    { (double)NAN, (double)NAN, NULL, NULL, false },
    { 1, 1, NULL, NULL, false },
    { 1.25, 1.5, "compute=1.1", "compute=1.1,comm=1.5", true },
    { 1.25, 1.5, "compute=1,comm=1", "compute=1,comm=1", false },
    { 1e9, (double)INFINITY, NULL, "compute=100,comm=100", true },
};

START_TEST(measured_factors_fill_what_was_not_given)
{
    const pp_interference measured = { cases[_i].compute, cases[_i].comm, 3 };
    const pp_sharing nothing = { .ranks_per_nic = 4, .latency_ns = 7 };
    pp_sharing sharing = cases[_i].given ? parsed(cases[_i].given) : nothing;
    const pp_sharing wanted = cases[_i].wanted ? parsed(cases[_i].wanted) : nothing;
    ck_assert(pp_interference_share(&measured, &sharing) == cases[_i].set);
    expect_same(&sharing, &wanted);
}
END_TEST

static void add_one(pp_samples *samples, const char *name, bool link, double seconds)
{
    const pp_sample sample = pp_sample_of(seconds);
    pp_series *series = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_samples_add_series(samples, name, &series, &err), PP_OK);
    series->link = link;
    ck_assert_int_eq(pp_series_add(series, &sample, &err), PP_OK);
}

/* Probe, file, engine. */
START_TEST(a_profile_carries_them_from_the_probe)
{
    pp_samples samples = { 0 };
    pp_profile *made PP_CLEANUP(pp_profile_free) = NULL;
    pp_profile *read PP_CLEANUP(pp_profile_free) = NULL;
    pp_sharing sharing = { .ranks_per_nic = 4, .latency_ns = 7 };
    const pp_sharing wanted = parsed("compute=1.25,comm=1.5");
    pp_err err = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    add_one(&samples, "compute_alone", false, 4e-3);
    add_one(&samples, "compute_beside_link", false, 5e-3);
    add_one(&samples, "link_alone", true, 2e-3);
    add_one(&samples, "link_beside_compute", true, 3e-3);
    ck_assert_int_eq(pp_profile_make(&samples, NULL, NULL, NULL, &made, &err), PP_OK);
    ck_assert_int_eq(pp_profile_write(made, &text, &bytes, &err), PP_OK);
    ck_assert_msg(pp_profile_parse(text, bytes, "x", &read, &err) == PP_OK, "%s: %s", err.where,
                  err.text);
    free(text);
    ck_assert(pp_interference_share(&read->interference, &sharing));
    expect_same(&sharing, &wanted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharing of a profile");
    TCase *tc = tcase_create("factors");
    tcase_add_loop_test(tc, measured_factors_fill_what_was_not_given, 0,
                        (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(tc, a_profile_carries_them_from_the_probe);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
