/* The sensitivity of a step to a duration is its finite difference. */
#include "planner/robustness/sensitivity.h"
#include "sim/program/program_new.h"
#include "tests/support/step.h"

#include <inttypes.h>

static pp_sensitivity *study(const step *s, bool step_sync)
{
    const pp_jitter_subject subject = {
        .program = s->program, .timeline = s->timeline, .costs = s->costs, .step_sync = step_sync
    };
    pp_sensitivity *sensitivity = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_sensitivity_study(&subject, &sensitivity, &err), err);
    return sensitivity;
}

static const pp_sensitivity_row *row_of(const pp_sensitivity *sensitivity, bool is_link,
                                        uint32_t first)
{
    for (size_t i = 0; i < sensitivity->count; i++) {
        const pp_sensitivity_row *row = &sensitivity->row[i];
        if (row->is_link == is_link && row->first == first)
            return row;
    }
    ck_abort_msg("no %s %" PRIu32, is_link ? "link" : "stage", first);
    return NULL;
}

static pp_ns step_time(const step *s, bool step_sync)
{
    pp_report *report = NULL;
    pp_timeline *timeline = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_simulate(s->program, s->costs, &timeline, &err), err);
    STEP_OK(pp_report_build("x", NULL, s->program, timeline, s->costs, step_sync, &report, &err),
            err);
    pp_ns step_ns = report->step_ns;
    pp_report_free(&report);
    pp_timeline_free(&timeline);
    return step_ns;
}

static void add(const step *s, bool is_link, uint32_t first, uint32_t second, pp_ns change)
{
    pp_costs *c = s->costs;
    const uint32_t *rank = s->program->stage_rank;
    ck_assert_uint_eq(c->classes, 1);
    for (uint32_t stage = 0; stage < c->stages; stage++) {
        if (!is_link && stage == first) {
            c->f_ns[stage] += change;
            c->i_ns[stage] += change;
            c->w_ns[stage] += change;
            c->b_ns[stage] += change;
        }
        if (!is_link || stage + 1 == c->stages)
            continue;
        uint32_t a = rank[stage];
        uint32_t b = rank[stage + 1];
        if ((a == first && b == second) || (a == second && b == first)) {
            c->send_f_ns[stage] += change;
            c->send_b_ns[stage + 1] += change;
        }
    }
}

/* On every schedule, with unequal stages and with equal ones (full of ties), with and without a
 * step tail, the reported value is what the engine does when each op takes 1 ns longer. Stage times
 * are far enough apart that 1 ns per op makes no other path the longest. */
static void compare(const step *s, bool step_sync)
{
    pp_sensitivity *sensitivity = study(s, step_sync);
    const pp_ns plain = step_time(s, step_sync);
    pp_ns path_ns = 0;
    ck_assert_uint_ge(sensitivity->count, s->program->stages);
    for (size_t i = 0; i < sensitivity->count; i++) {
        const pp_sensitivity_row *row = &sensitivity->row[i];
        /* one cost table cannot change a link that dualpipe uses in both directions */
        if (!row->is_link || s->program->mirrored_from == s->program->microbatches) {
            add(s, row->is_link, row->first, row->second, 1);
            ck_assert_int_eq(step_time(s, step_sync) - plain, row->growth);
            add(s, row->is_link, row->first, row->second, -1);
        }
        ck_assert_int_le(row->path_count, row->growth);
        path_ns += row->path_ns;
        ck_assert(i == 0 || row->growth <= row[-1].growth);
    }
    ck_assert_int_eq(path_ns, sensitivity->path_end_ns);
    if (s->program->comm)
        ck_assert(!sensitivity->has_path);
    else
        ck_assert(sensitivity->has_path);
    pp_sensitivity_free(&sensitivity);
}

static step unequal(const pp_schedule *schedule, bool equal)
{
    pp_err err = { 0 };
    const uint32_t chunks = schedule->chunks ? schedule->chunks : 2;
    pp_schedule_params shape = { .ranks = 4, .chunks = chunks, .microbatches = 8 };
    step s = { .costs = step_costs("F=10us,I=10us,W=10us,comm=1us", 4, chunks, 8) };
    shape.costs = s.costs;
    STEP_OK(pp_schedule_build(schedule, &shape, &s.order, &err), err);
    for (uint32_t stage = 0; !equal && stage < s.costs->stages; stage++) {
        pp_ns more = 1000 * (pp_ns)(stage * 7919 % 13) + 100 * (pp_ns)stage;
        s.costs->f_ns[stage] += more;
        s.costs->i_ns[stage] += 2 * more;
        s.costs->b_ns[stage] += 2 * more;
        s.costs->send_f_ns[stage] += more / 10;
    }
    step_simulate(&s);
    return s;
}

START_TEST(it_is_the_finite_difference)
{
    for (int equal = 0; equal < 2; equal++) {
        step s = unequal(pp_schedule_at((size_t)_i), equal != 0);
        compare(&s, true);
        for (int r = 0; r < 4; r++) {
            s.costs->grad_sync_ns[r] = 3000 * (4 - r);
            s.costs->optimizer_ns[r] = 2000;
        }
        s.costs->tied_ns[0] = s.costs->tied_ns[3] = 5000;
        compare(&s, true);
        compare(&s, false);
        step_free(&s);
    }
}
END_TEST

/* GPipe, equal stages, free links: (m + p - 1)(f + b). One more ns on stage s: all m forwards and m
 * backwards of it can lie on a critical path, 2 m. */
START_TEST(a_stage_counts_all_of_its_microbatches)
{
    step s = step_of(step_order("gpipe", 4, 1, 8, 0), "F=1000ns,B=2000ns,comm=0");
    pp_sensitivity *sensitivity = study(&s, true);
    for (uint32_t stage = 0; stage < 4; stage++)
        ck_assert_int_eq(row_of(sensitivity, false, stage)->growth, 16);
    for (uint32_t link = 0; link < 3; link++)
        ck_assert_int_eq(row_of(sensitivity, true, link)->growth, 2);
    ck_assert_int_eq(sensitivity->path_end_ns, (8 + 3) * 3000);
    pp_sensitivity_free(&sensitivity);
    step_free(&s);
}
END_TEST

/* A bottleneck far above the rest: all of its ops are on the path, which passes the other ranks
 * once and each link once in each direction. There is no tie, so the one path has the same
 * numbers. */
START_TEST(a_bottleneck_takes_all)
{
    step s = { .order = step_order("1f1b", 4, 1, 8, 0) };
    s.costs = step_costs("F=1000ns,B=2000ns,comm=10ns", 4, 1, 8);
    s.costs->f_ns[3] = 10000;
    s.costs->b_ns[3] = 20000;
    step_simulate(&s);
    pp_sensitivity *sensitivity = study(&s, true);
    ck_assert_uint_eq(sensitivity->row[0].first, 3);
    ck_assert_int_eq(sensitivity->row[0].growth, 16);
    ck_assert_int_eq(sensitivity->row[0].path_ns, 8 * 30000);
    for (uint32_t k = 0; k < 3; k++) {
        ck_assert_int_eq(row_of(sensitivity, false, k)->growth, 2);
        ck_assert_int_eq(row_of(sensitivity, false, k)->path_ns, 3000);
        ck_assert_int_eq(row_of(sensitivity, true, k)->growth, 2);
        ck_assert_int_eq(row_of(sensitivity, true, k)->path_count, 2);
        ck_assert_int_eq(row_of(sensitivity, true, k)->path_ns, 20);
    }
    ck_assert_int_eq(sensitivity->path_end_ns, s.report->makespan_ns);
    pp_sensitivity_free(&sensitivity);
    step_free(&s);
}
END_TEST

/* Executors that communicate: by running the engine. */
START_TEST(executors_are_measured)
{
    static const char *const names[] = { "torch", "megatron", "deepspeed" };
    step s = unequal(pp_schedule_find("1f1b"), false);
    step other = s;
    const pp_framework *framework = NULL;
    pp_err err = { 0 };
    other.timeline = NULL;
    STEP_OK(pp_framework_get(names[_i], &framework, &err), err);
    STEP_OK(framework->lower(s.order, &other.program, &err), err);
    STEP_OK(pp_simulate(other.program, s.costs, &other.timeline, &err), err);
    compare(&other, true);
    pp_sensitivity *sensitivity = study(&other, true);
    ck_assert_int_gt(sensitivity->row[0].growth, 8);
    ck_assert_int_gt(row_of(sensitivity, true, 0)->growth, 0);
    pp_sensitivity_free(&sensitivity);
    pp_timeline_free(&other.timeline);
    pp_program_free(&other.program);
    step_free(&s);
}
END_TEST

/* A pair that takes exactly as long as its backward grows with it, even if only the backward
 * belongs to the stage in question. */
START_TEST(a_pair_grows_with_the_backward_of_another_stage)
{
    static const char rows[] = "0F0,1F0,(0F1;1B0)OVERLAP_F_B,1F1,1B1,0B0,0B1\n";
    step s = { .costs = step_costs("F=1us,B=2us,FB=2us,comm=0", 1, 2, 2) };
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, sizeof rows - 1, "rows", &s.order, &err), err);
    step_simulate(&s);
    ck_assert_int_eq(s.report->makespan_ns, 11000);
    pp_sensitivity *sensitivity = study(&s, true);
    ck_assert_int_eq(row_of(sensitivity, false, 0)->growth, 4); /* F0, the pair, B0, B1 */
    ck_assert_int_eq(row_of(sensitivity, false, 1)->growth, 4); /* F0, the pair, F1, B1 */
    pp_sensitivity_free(&sensitivity);
    step_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sensitivity");
    TCase *tc = tcase_create("sensitivity");
    tcase_add_loop_test(tc, it_is_the_finite_difference, 0, (int)pp_schedule_count());
    tcase_add_test(tc, a_stage_counts_all_of_its_microbatches);
    tcase_add_test(tc, a_bottleneck_takes_all);
    tcase_add_test(tc, a_pair_grows_with_the_backward_of_another_stage);
    tcase_add_loop_test(tc, executors_are_measured, 0, 3);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
