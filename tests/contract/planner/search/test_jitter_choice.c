/* The choice under jitter: ranked by a percentile, with ties; the plan does what the choice
 * reports. */
#include "planner/robustness/jitter.h"
#include "planner/robustness/jitter_spec.h"
#include "sim/analysis/step_tail.h"
#include "sim/program/program_new.h"
#include "tests/support/planning.h"

static pp_jitter_spec spec_of(const char *text)
{
    pp_jitter_spec spec;
    pp_err err = { 0 };
    STEP_OK(pp_jitter_parse(text, &spec, &err), err);
    return spec;
}

static double ranked(const pp_candidate *c)
{
    return (double)c->ranked_ns * (double)pp_parallel_gpus(&c->parallel);
}

static const pp_candidate *best_of(const pp_search_result *choice, const char *schedule)
{
    const pp_candidate *best = NULL;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        if (c->ranked_ns && (!schedule || strcmp(c->schedule->name, schedule) == 0) &&
            (!best || ranked(c) < ranked(best)))
            best = c;
    }
    return best;
}

/* The result of `simulate --jitter` for the plan. */
static pp_jitter_result simulate_again(const pp_plan *plan, const pp_jitter_spec *spec)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs = NULL;
    pp_jitter_result result;
    pp_err err = { 0 };
    STEP_OK(pp_plan_simulate(plan, &program, &timeline, &costs, &report, &err), err);
    const pp_jitter_subject subject = { .program = program,
                                        .timeline = timeline,
                                        .costs = costs,
                                        .step_sync = plan->step_sync,
                                        .chained = !plan->step_sync &&
                                                   pp_step_tail_chained(plan->framework) };
    STEP_OK(pp_jitter_study(&subject, spec, plan->seed, 1, &result, &err), err);
    return result;
}

static const struct {
    const char *model;
    const pp_framework *framework;
    const char *spec;
    bool late, replicas;
} cases[] = {
    { "llama3-8b", NULL, "compute=0.05,comm=0.3,scenarios=400", false, false },
    { "llama3-8b", &pp_framework_torch, "compute=0.05,slow-rank=any:1.3,scenarios=60", true,
      false },
    { "gpt22b", NULL, "F=0.2,scenarios=300", false, true },
};

START_TEST(the_percentile_decides)
{
    planning p = planning_of(cases[_i].model, "h100-80g");
    const pp_jitter_spec spec = spec_of(cases[_i].spec);
    int64_t lengths[96];
    for (size_t k = 0; k < 96; k++)
        lengths[k] = 64 + (int64_t)(k * 7919 % 1900);
    pp_plan_request request = request_of(&p, 4);
    request.framework = cases[_i].framework;
    request.buffers.has_return_outputs =
        request.framework != NULL; /* off: torch keeps more outputs than fit */
    request.parallel.tp = 2;
    request.jitter = &spec;
    request.rank_by_p95 = cases[_i].late;
    request.seed = 3;
    if (cases[_i].replicas) {
        request.parallel.dp = 2;
        request.seq_length = 2048;
        request.lengths = lengths;
        request.length_count = 96;
    }
    pp_search_result *choice = choose(&request);
    const pp_candidate *chosen = &choice->candidate[0];
    const pp_candidate *best = best_of(choice, NULL);
    const pp_candidate *simple = best_of(choice, "1f1b");
    const pp_report *report = choice->plan->prediction;
    ck_assert(best && simple && choice->ranking.verdict);
    ck_assert_ptr_eq(chosen, simple->tie ? simple : best);
    ck_assert_int_eq(choice->ranking.verdict == PP_JITTER_SIMPLEST, simple->tie && simple != best);
    ck_assert_int_eq(chosen->ranked_ns, cases[_i].late ? chosen->p95_ns : chosen->p50_ns);
    pp_jitter_result again = simulate_again(choice->plan, &spec);
    ck_assert(report->robustness.has_jitter);
    ck_assert_int_eq(report->robustness.jitter.p50_ns, chosen->p50_ns);
    ck_assert_int_eq(again.p50_ns, chosen->p50_ns);
    ck_assert_int_eq(again.p95_ns, chosen->p95_ns);
    size_t studied = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        studied += c->ranked_ns > 0;
        ck_assert(!c->ranked_ns || (c->status == PP_CANDIDATE_OK && c->p50_ns <= c->p95_ns));
        ck_assert(!c->tie || ranked(c) <= ranked(best) * 1.2);
    }
    ck_assert_uint_ge(studied, 8);
    pp_search_result_free(&choice);
}
END_TEST

/* Nothing varies: the percentiles equal the step, and ties are within the measurable gain. */
START_TEST(without_spread_it_is_the_step)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    const pp_jitter_spec spec = spec_of("scenarios=3");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    pp_search_result *before = choose(&request);
    request.jitter = &spec;
    pp_search_result *choice = choose(&request);
    ck_assert_int_eq(choice->candidate[0].step_ns, before->candidate[0].step_ns);
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        if (!c->ranked_ns)
            continue;
        ck_assert_int_eq(c->p95_ns, c->step_ns);
        ck_assert(c->tie == (ranked(c) * PP_MEASURABLE_PART <=
                             ranked(&choice->candidate[0]) * (PP_MEASURABLE_PART + 1)));
    }
    pp_search_result_free(&choice);
    pp_search_result_free(&before);
}
END_TEST

/* Five scenarios show little if ops vary so much: 1f1b is the answer. */
START_TEST(no_measurable_gain_is_an_answer)
{
    planning p = planning_of("llama3-8b", "h200-141g");
    const pp_jitter_spec spec = spec_of("compute=2,scenarios=5");
    pp_plan_request request = request_of(&p, 2);
    request.parallel.tp = 2;
    request.global_batch_size = 256;
    request.micro_batch_size = 1;
    request.jitter = &spec;
    pp_search_result *choice = choose(&request);
    ck_assert_str_eq(choice->plan->schedule, "1f1b");
    ck_assert_int_eq(choice->ranking.verdict, PP_JITTER_SIMPLEST);
    ck_assert_str_eq(choice->ranking.simplest->name, "1f1b");
    pp_search_result_free(&choice);
}
END_TEST

/* The time of a request whose clock counts how often it is read. */
typedef struct reads {
    double now, end;
} reads;

static double spent(void *context)
{
    reads *r = context;
    return r->now++ / r->end;
}

static bool is_up(void *context)
{
    return spent(context) >= 1;
}

/* A time that ends among the scenarios leaves fewer of them; with even less, the answer says that
 * nothing was studied, and is the fastest plan. */
START_TEST(the_time_ends_the_studies)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    const pp_jitter_spec spec = spec_of("compute=0.1,scenarios=100000");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.framework = &pp_framework_megatron;
    request.switches.given.recompute = true;
    request.switches.value.recompute = PP_RECOMPUTE_SELECTIVE;
    request.schedule = pp_schedule_find("1f1b");
    request.jitter = &spec;
    request.budget_s = 1000;
    request.stop = is_up;
    request.spent = spent;
    request.threads = 1;
    reads few = { .end = _i ? 20 : 1000 };
    request.context = &few;
    pp_search_result *choice = choose(&request);
    ck_assert(choice->stopped);
    ck_assert_int_eq(choice->ranking.unstudied, _i);
    ck_assert_int_eq(choice->plan->prediction->robustness.has_jitter, !_i);
    if (!_i) {
        ck_assert_int_ge(choice->ranking.chosen.spec.scenarios, 20);
        ck_assert_int_lt(choice->ranking.chosen.spec.scenarios, 1000);
        ck_assert_int_eq(choice->ranking.scenarios, 100000);
    }
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(a_rank_that_is_not_there_is_refused)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    const pp_jitter_spec spec = spec_of("slow-rank=4:2");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.jitter = &spec;
    refuse(&request, PP_USAGE, "there is no rank 4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitter_choice");
    TCase *tc = tcase_create("jitter_choice");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, the_percentile_decides, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, without_spread_it_is_the_step);
    tcase_add_test(tc, no_measurable_gain_is_an_answer);
    tcase_add_loop_test(tc, the_time_ends_the_studies, 0, 2);
    tcase_add_test(tc, a_rank_that_is_not_there_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
