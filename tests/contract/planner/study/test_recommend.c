/* The recommended plan: it ties with the fastest, leaves the headroom if any plan that ties does,
 * and nothing that ties is measurably steadier. */
#include "planner/search/choice.h"
#include "tests/support/planning.h"

#include <inttypes.h>

#define TIE 0.01

static const struct {
    const char *model;
    int64_t pp, tp, dp, batch;
    const pp_framework *framework;
} cases[] = {
    { "llama3-70b", 8, 8, 1, 64, NULL },
    { "llama3-8b", 4, 2, 1, 32, NULL },
    { "llama3-70b", 8, 4, 2, 64, NULL }, /* what leaves the headroom is 2 % slower */
    { "gpt22b", 8, 0, 1, 64, &pp_framework_ppsim },
    { "llama3-8b", 4, 2, 1, 32, &pp_framework_torch },
    { "mixtral-8x7b", 4, 2, 8, 128, NULL },
};

static pp_plan_request case_request(const planning *p, int i)
{
    pp_plan_request request = request_of(p, cases[i].pp);
    request.parallel.tp = cases[i].tp;
    request.parallel.dp = cases[i].dp;
    request.parallel.ep = p->model.experts ? cases[i].dp : 1;
    request.global_batch_size = cases[i].batch;
    request.framework = cases[i].framework;
    request.buffers.has_return_outputs = request.framework == &pp_framework_torch;
    request.orders = PP_ORDERS_BETTER;
    return request;
}

static double score(const pp_candidate *c)
{
    return (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
}

/* Whether every rank of the plan leaves the headroom. */
static bool is_roomy(const pp_search_result *choice, const pp_plan_request *request)
{
    const pp_report *r = choice->plan->prediction;
    return r->peak_memory_bytes <= choice->plan->memory_limit_bytes - request->headroom_bytes;
}

START_TEST(it_is_what_the_rule_says)
{
    planning p = planning_of(cases[_i].model, "h100-80g");
    pp_plan_request request = case_request(&p, _i);
    pp_search_result *fastest = choose(&request);
    ck_assert(!(fastest->recommendation.tie > 0));
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    pp_search_result *choice = choose(&request);
    const pp_candidate *taken = &choice->candidate[0];
    const pp_recommendation *r = &choice->recommendation;
    const double least = score(&r->fastest);
    ck_assert(score(taken) <= least * (1 + TIE));
    /* what --fastest would take is among the candidates, so the rule can only improve on it */
    ck_assert(least <= score(&fastest->candidate[0]) * (1 + 1e-12));
    ck_assert_int_eq(taken->roomy, is_roomy(choice, &request));
    ck_assert(r->ties >= 1);
    for (size_t i = 0; i < choice->count; i++) {
        const pp_candidate *c = &choice->candidate[i];
        if (c->status != PP_CANDIDATE_OK)
            continue;
        ck_assert(score(c) >= least);
        if (!pp_is_within_tie(c, least, TIE))
            continue;
        ck_assert(taken->roomy || !c->roomy);
        if (c->roomy == taken->roomy && c->p95_ns && taken->p95_ns)
            ck_assert((double)taken->p95_ns <= (double)c->p95_ns * (1 + PP_STEADY_PART) + 1);
    }
    ck_assert_int_eq(r->reason, pp_choice_why(taken, &r->fastest));
    pp_search_result_free(&choice);
    pp_search_result_free(&fastest);
}
END_TEST

/* If it needs the headroom, a search within the smaller limit finds nothing that ties. */
START_TEST(the_headroom_is_used_only_if_it_pays)
{
    planning p = planning_of(cases[_i].model, "h100-80g");
    pp_plan_request request = case_request(&p, _i);
    pp_err err = { 0 };
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    pp_search_result *choice = choose(&request);
    pp_search_result *less = NULL;
    request.tie = 0;
    request.memory_limit_bytes = choice->plan->memory_limit_bytes - request.headroom_bytes;
    const pp_status status = pp_plan_search(&request, &less, &err);
    if (status)
        ck_assert_int_eq(status, PP_INFEASIBLE);
    if (!status && !choice->candidate[0].roomy)
        ck_assert_double_gt(score(&less->candidate[0]) / score(&choice->recommendation.fastest),
                            1 + TIE);
    if (!status && choice->candidate[0].roomy) /* nothing is far better there, either */
        ck_assert(score(&choice->candidate[0]) <= score(&less->candidate[0]) * (1 + TIE));
    pp_search_result_free(&less);
    pp_search_result_free(&choice);
}
END_TEST

/* How many smaller limits are asked for, each a tenth less than the one before. */
enum { LIMITS = 6 };

/* With less memory nothing is found that is measurably faster and needs less, unless it is less
 * steady or less simple: these are what plans that tie are chosen by. */
START_TEST(no_smaller_limit_has_a_better_plan)
{
    static const struct {
        const char *model, *hardware;
        pp_parallel parallel;
        int64_t batch, seq_length;
    } jobs[] = {
        { "llama3-8b", "h100-80g", { .pp = 4, .tp = 2, .dp = 2 }, 64, 8192 }, /* the tutorial's */
        { "llama2-7b", "a100-80g", { .pp = 4, .tp = 1, .dp = 2 }, 64, 4096 },
        { "mixtral-8x7b", "h100-80g", { .pp = 4, .tp = 1, .dp = 8, .ep = 8 }, 128, 4096 },
        { "llama3-70b", "h100-80g", { .pp = 8, .tp = 8, .dp = 1 }, 64, 8192 },
        { "gpt175b", "a100-80g", { .pp = 16, .tp = 8, .dp = 1 }, 128, 2048 }, /* less steady */
    };
    planning p = planning_of(jobs[_i].model, jobs[_i].hardware);
    pp_plan_request request = request_of(&p, 0);
    request.parallel = jobs[_i].parallel;
    request.global_batch_size = jobs[_i].batch;
    request.seq_length = jobs[_i].seq_length;
    request.framework = &pp_framework_ppsim;
    request.orders = PP_ORDERS_BETTER;
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    pp_search_result *choice = choose(&request);
    const pp_candidate *taken = &choice->candidate[0];
    request.headroom_bytes = 0;
    request.memory_limit_bytes = taken->peak_bytes;
    for (int k = 0; k < LIMITS; k++) {
        pp_search_result *less = NULL;
        pp_err err = { 0 };
        request.memory_limit_bytes -= request.memory_limit_bytes / 10;
        if (pp_plan_search(&request, &less, &err))
            break; /* nothing fits */
        const pp_candidate *c = &less->candidate[0];
        const bool better = score(c) * (1 + 1.0 / PP_MEASURABLE_PART) < score(taken);
        const bool steady =
            !taken->p95_ns || (double)c->p95_ns <= (double)taken->p95_ns * (1 + PP_STEADY_PART);
        ck_assert_msg(!better || !steady || pp_compare_simplicity(c, taken) > 0,
                      "%" PRId64 " ns within %" PRId64 " bytes, %" PRId64 " ns recommended",
                      c->step_ns, request.memory_limit_bytes, taken->step_ns);
        pp_search_result_free(&less);
    }
    pp_search_result_free(&choice);
}
END_TEST

/* Neither threads nor a second run change it. */
START_TEST(it_repeats)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = case_request(&p, 1);
    char *text[3];
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    for (uint32_t k = 0; k < 3; k++) {
        request.threads = 1 + k;
        pp_search_result *choice = choose(&request);
        text[k] = plan_text(choice->plan);
        ck_assert_str_eq(text[k], text[0]);
        pp_search_result_free(&choice);
    }
    for (uint32_t k = 0; k < 3; k++)
        free(text[k]);
}
END_TEST

/* A GPU of which nothing may be left free but what no plan leaves: the fastest, and it says so. */
START_TEST(no_plan_leaves_too_much)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = case_request(&p, 1);
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10 * 9;
    pp_search_result *choice = choose(&request);
    ck_assert(!choice->candidate[0].roomy);
    ck_assert_int_eq(choice->recommendation.roomy.status, PP_CANDIDATE_NOT_SIMULATED);
    pp_search_result_free(&choice);
}
END_TEST

/* A batch that is not given is one micro-batch per GPU, for the first fit, too. */
START_TEST(the_default_batch_is_that_of_the_gpus)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    request.gpus = 64;
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    pp_search_result *usual = choose(&request);
    ck_assert_int_eq(usual->plan->global_batch_size, 64);
    request.micro_batch_size = usual->plan->micro_batch_size;
    request.global_batch_size = 64;
    pp_search_result *given = choose(&request);
    ck_assert(!usual->stopped && !given->stopped);
    ck_assert(score(&usual->candidate[0]) <= score(&given->candidate[0]) * (1 + TIE));
    pp_search_result_free(&given);
    pp_search_result_free(&usual);
}
END_TEST

/* Of splits of GPUs, too; and what has no pipeline has a simulated step, or does not fit. */
START_TEST(splits_are_taken_by_the_rule)
{
    static const struct {
        const char *model;
        int64_t gpus, seq_length, batch;
    } jobs[] = { { "llama3-8b", 16, 4096, 0 },
                 { "gpt22b", 32, 2048, 128 },
                 { "mixtral-8x7b", 16, 4096, 32 } };
    planning p = planning_of(jobs[_i].model, "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    request.gpus = jobs[_i].gpus;
    request.seq_length = jobs[_i].seq_length;
    request.global_batch_size = jobs[_i].batch;
    request.orders = PP_ORDERS_BETTER;
    request.threads = 2;
    pp_search_result *fastest = choose(&request);
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    pp_search_result *choice = choose(&request);
    const pp_candidate *taken = &choice->candidate[0];
    const pp_candidate *least = &choice->recommendation.fastest;
    size_t alone = 0;
    ck_assert(!choice->stopped && !fastest->stopped);
    ck_assert(score(least) <= score(&fastest->candidate[0]));
    ck_assert(score(taken) <= score(least) * (1 + TIE));
    ck_assert_int_eq(choice->recommendation.reason, pp_choice_why(taken, least));
    for (size_t i = 0; i < choice->splits; i++) {
        const pp_candidate *c = &choice->split[i];
        alone += c->parallel.pp == 1;
        ck_assert(c->parallel.pp > 1 || c->step_ns || c->status == PP_CANDIDATE_INFEASIBLE);
        if (i && c->status == PP_CANDIDATE_OK && c->p95_ns &&
            pp_is_within_tie(c, score(least), TIE)) {
            const pp_candidate *pair[] = { taken, c };
            ck_assert_uint_eq(pp_choose(pair, 2, score(least), TIE), 0);
        }
    }
    ck_assert_uint_gt(alone, 0);
    pp_search_result_free(&choice);
    pp_search_result_free(&fastest);
}
END_TEST

/* Jitter decides among the plans that leave the headroom. */
START_TEST(jitter_keeps_the_headroom)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = case_request(&p, 1);
    const pp_jitter_spec spec = { .sigma = { 0.02, 0.02, 0.02, 0.02 }, .scenarios = 64 };
    request.tie = TIE;
    request.headroom_bytes = p.hardware.memory_bytes / 10;
    request.jitter = &spec;
    pp_search_result *choice = choose(&request);
    ck_assert(choice->ranking.verdict != PP_JITTER_NOT_RANKED);
    ck_assert(choice->candidate[0].roomy);
    pp_search_result_free(&choice);
}
END_TEST

/* Nothing leaves more headroom than there is memory, and the plan is made all the same. */
START_TEST(headroom_may_exceed_the_limit)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    request.parallel.tp = 2;
    request.tie = 0.01;
    request.memory_limit_bytes = (int64_t)30 << 30;
    request.headroom_bytes = (int64_t)40 << 30;
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = choose(&request);
    ck_assert_int_le(choice->candidate[0].peak_bytes, request.memory_limit_bytes);
    ck_assert(!choice->candidate[0].roomy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recommend");
    TCase *tc = tcase_create("recommend");
    const int count = (int)(sizeof cases / sizeof *cases);
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, it_is_what_the_rule_says, 0, count);
    tcase_add_loop_test(tc, the_headroom_is_used_only_if_it_pays, 0, count);
    tcase_add_test(tc, the_default_batch_is_that_of_the_gpus);
    tcase_add_loop_test(tc, splits_are_taken_by_the_rule, 0, 3);
    for (int i = 0; i < 5; i++) {
        if (sample_takes_test(5))
            tcase_add_loop_test(tc, no_smaller_limit_has_a_better_plan, i, i + 1);
    }
    sample_add_test(tc, it_repeats, 2);
    tcase_add_test(tc, no_plan_leaves_too_much);
    tcase_add_test(tc, headroom_may_exceed_the_limit);
    sample_add_test(tc, jitter_keeps_the_headroom, 2);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
