/* The interval of a step follows from the intervals of what was measured. */
#include "calib/profile/uncertainty.h"
#include "planner/study/plan_search.h"
#include "sim/plan/plan_read.h"
#include "sim/plan/plan_write.h"
#include "tests/support/profile_rig.h"
#include "tests/support/published.h"

#define T 1024

/* llama3-8b, planned by a profile alone: 1f1b, micro-batches of one sequence of T tokens. */
typedef struct planned {
    pp_profile *profile;
    pp_measured_profile *measured;
    pp_model model;
    pp_hardware hardware;
    pp_search_result *choice;
} planned;

static void planned_free(planned *p)
{
    pp_search_result_free(&p->choice);
    pp_measured_close(&p->measured);
    rig_free(&p->profile);
}

static void plan_with(const rig_class *classes, pp_hardware hardware, int64_t pp, planned *p)
{
    pp_err err = { 0 };
    *p = (planned){ .profile = rig_profile(classes),
                    .model = run_model("llama3-8b"),
                    .hardware = hardware };
    STEP_OK(pp_measured_open(p->profile, PP_PROFILE_ALL, 16, &p->measured, &err), err);
    p->hardware.measured = &p->measured->measured;
    const pp_plan_request request = { .model = &p->model,
                                      .hardware = &p->hardware,
                                      .parallel = { .pp = pp, .tp = 1, .vpp = 1 },
                                      .seq_length = T,
                                      .micro_batch_size = 1,
                                      .global_batch_size = 4,
                                      .threads = 1,
                                      .schedule = pp_schedule_find("1f1b"),
                                      .switches = { .stack = stack_named("every-schedule"),
                                                    .value = { .recompute = PP_RECOMPUTE_NONE },
                                                    .given = { .recompute = true } } };
    STEP_OK(pp_plan_search(&request, &p->choice, &err), err);
    const pp_ns step_ns = p->choice->plan->prediction->step_ns;
    pp_plan *plan = p->choice->plan;
    STEP_OK(pp_measured_describe(p->measured, &p->choice->context, NULL, plan, &err), err);
    STEP_OK(
        pp_measured_uncertainty(p->measured, &p->choice->context, plan, &plan->uncertainty, &err),
        err);
    ck_assert_int_eq(plan->uncertainty.step_ns, step_ns); /* with new costs, it is the same plan */
}

static void plan_for(double noise, int64_t pp, planned *p)
{
    pp_hardware unknown;
    const rig_class classes[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6, .noise = noise },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 2e-4, .b = 2e-6, .noise = noise },
        { .name = "thread_link",
          .variable = PP_VARIABLE_BYTES,
          .a = 1e-5,
          .b = 1e-10,
          .noise = noise,
          .link = true },
        { 0 },
    };
    pp_hardware_unknown("machine", &unknown);
    plan_with(classes, unknown, pp, p);
}

static pp_fit_value predicted(const planned *p, size_t entry)
{
    pp_err err = { 0 };
    pp_fit_value value;
    pp_sample at = pp_sample_of(NAN);
    const pp_profile_entry *e = &p->profile->entry[entry];
    at.at[PP_VARIABLE_TOKENS] = T;
    STEP_OK(pp_fit_predict(&e->choice.fit, &p->profile->samples.series[e->series[0]], &at, &value,
                           &err),
            err);
    return value;
}

/* One rank runs 4 F and 4 B of 2 x 16 layers. An error of a class shifts the step by the same
 * amount. */
START_TEST(classes_add_up_as_if_they_were_independent)
{
    planned p PP_CLEANUP(planned_free);
    plan_for(0.02, 1, &p);
    const pp_uncertainty *u = &p.choice->plan->uncertainty;
    double less = 0;
    double more = 0;
    ck_assert_uint_eq(u->count, 2); /* nothing is sent */
    for (size_t k = 0; k < 2; k++) {
        const pp_fit_value v = predicted(&p, k);
        const double down = 8e9 * (v.seconds - v.low_s), up = 8e9 * (v.high_s - v.seconds);
        const pp_uncertain_part *part = &u->part[k == 0]; /* the longer one first */
        ck_assert_str_eq(part->name, k ? "stage_b" : "stage_f");
        ck_assert_double_eq_tol((double)part->less_ns, down, 100);
        ck_assert_double_eq_tol((double)part->more_ns, up, 100);
        less += down * down;
        more += up * up;
    }
    ck_assert_double_eq_tol((double)(u->step_ns - u->step_low_ns), sqrt(less), 200);
    ck_assert_double_eq_tol((double)(u->step_high_ns - u->step_ns), sqrt(more), 200);
    ck_assert_int_gt(u->peak_low_bytes, 0);
    ck_assert_int_eq(u->peak_low_bytes, u->peak_high_bytes);
}
END_TEST

START_TEST(noisier_measurements_widen_the_interval)
{
    pp_ns width_ns[3];
    for (int k = 0; k < 3; k++) {
        planned p PP_CLEANUP(planned_free);
        plan_for(0.02 * k, 2, &p);
        const pp_uncertainty *u = &p.choice->plan->uncertainty;
        width_ns[k] = u->step_high_ns - u->step_low_ns;
        ck_assert_int_le(u->step_low_ns, u->step_ns);
        ck_assert_int_ge(u->step_high_ns, u->step_ns);
    }
    ck_assert_int_lt(width_ns[0], width_ns[1] / 100);
    ck_assert_double_gt((double)width_ns[2], 1.7 * (double)width_ns[1]);
}
END_TEST

/* Times that say nothing have intervals that end somewhere, so that there is a plan. */
START_TEST(noise_without_end_has_an_interval)
{
    planned p PP_CLEANUP(planned_free);
    pp_uncertainty u PP_CLEANUP(pp_uncertainty_free) = { 0 };
    pp_err err = { 0 };
    plan_for(0.02, 2, &p);
    for (size_t i = 0; i < p.profile->count; i++)
        p.profile->entry[i].choice.fit.spread = 60; /* of the logarithm */
    STEP_OK(pp_measured_uncertainty(p.measured, &p.choice->context, p.choice->plan, &u, &err), err);
    ck_assert_int_gt(u.step_high_ns, 10 * u.step_ns);
    for (size_t i = 0; i < p.profile->count; i++) {
        if (!p.profile->entry[i].link)
            ck_assert_double_le(predicted(&p, i).high_s, 1000.001 * predicted(&p, i).seconds);
    }
}
END_TEST

static pp_report *simulated(const pp_plan *plan)
{
    pp_err err = { 0 };
    pp_report *report = NULL;
    STEP_OK(pp_plan_simulate(plan, NULL, NULL, NULL, &report, &err), err);
    return report;
}

static pp_plan *through_a_file(pp_plan *plan)
{
    pp_err err = { 0 };
    pp_json_build build = { 0 };
    pp_plan *read = NULL;
    pp_report_free(&plan->prediction);
    plan->prediction = simulated(plan);
    pp_json *json PP_CLEANUP(pp_json_free) = pp_plan_write(plan, &build);
    STEP_OK(pp_plan_read(json, "plan.json", &read, &err), err);
    return read;
}

START_TEST(a_plan_keeps_its_interval_for_its_own_step)
{
    planned p PP_CLEANUP(planned_free);
    plan_for(0.02, 2, &p);
    pp_plan *plan = p.choice->plan;
    pp_plan *read PP_CLEANUP(pp_plan_free) = through_a_file(plan);
    pp_report *report PP_CLEANUP(pp_report_free) = simulated(read);
    const pp_uncertainty *a = &plan->uncertainty, *b = &report->uncertainty;
    ck_assert_int_eq(a->step_low_ns, b->step_low_ns);
    ck_assert_int_eq(a->step_high_ns, b->step_high_ns);
    ck_assert_int_eq(a->peak_low_bytes, b->peak_low_bytes);
    ck_assert_int_eq(a->peak_high_bytes, b->peak_high_bytes);
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        ck_assert_str_eq(a->part[i].name, b->part[i].name);
        ck_assert_int_eq(a->part[i].less_ns, b->part[i].less_ns);
        ck_assert_int_eq(a->part[i].more_ns, b->part[i].more_ns);
    }
    ck_assert_str_eq(read->profile_sha256, p.profile->sha256);
    ck_assert_uint_eq(read->profile_classes.count, 3);
    ck_assert_ptr_nonnull(strstr(read->profile_classes.note[1].value, "affine: a"));
    read->costs[0]->f_ns[0] += 1000; /* another step */
    pp_report *other PP_CLEANUP(pp_report_free) = simulated(read);
    ck_assert_int_ne(other->step_ns, report->step_ns);
    ck_assert_int_eq(other->uncertainty.step_ns, 0);
}
END_TEST

/* If only links are measured, a narrow interval does not cover compute, and the report contains a
 * remark. */
START_TEST(an_interval_of_links_alone_says_so)
{
    const rig_class classes[] = {
        { .name = "thread_link",
          .variable = PP_VARIABLE_BYTES,
          .a = 1e-5,
          .b = 1e-10,
          .noise = 0.02,
          .link = true },
        { 0 },
    };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    planned p PP_CLEANUP(planned_free);
    plan_with(classes, run_hardware("h100-80g"), 2, &p);
    ck_assert(p.choice->plan->uncertainty.links_only);
    pp_plan *read PP_CLEANUP(pp_plan_free) = through_a_file(p.choice->plan);
    pp_report *report PP_CLEANUP(pp_report_free) = simulated(read);
    ck_assert(report->uncertainty.links_only);
    pp_uncertainty_print(&report->uncertainty, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "links only, since compute is not measured: +"));

    planned both PP_CLEANUP(planned_free);
    plan_for(0.02, 2, &both);
    ck_assert(!both.choice->plan->uncertainty.links_only);
}
END_TEST

START_TEST(it_is_printed_with_its_largest_parts)
{
    pp_uncertain_part part[] = { { "stage_b", 1000, 2000 }, { "send_recv between nodes", 500, 0 } };
    const pp_uncertainty u = {
        .step_ns = 100000, .step_low_ns = 98882, .step_high_ns = 102000, .part = part, .count = 2
    };
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_uncertainty_print(&u, &text);
    ck_assert_str_eq(text.data, "+2.0/-1.1 %: stage_b 2.0, send_recv between nodes 0.5");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uncertainty");
    TCase *tc = tcase_create("uncertainty");
    tcase_add_test(tc, classes_add_up_as_if_they_were_independent);
    tcase_add_test(tc, noisier_measurements_widen_the_interval);
    tcase_add_test(tc, noise_without_end_has_an_interval);
    tcase_add_test(tc, a_plan_keeps_its_interval_for_its_own_step);
    tcase_add_test(tc, an_interval_of_links_alone_says_so);
    tcase_add_test(tc, it_is_printed_with_its_largest_parts);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
