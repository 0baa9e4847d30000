/* Packings that plan finds are never worse than the lengths packed without a search; nothing is
 * lost, and the result is the same for any number of threads. */
#include "planner/study/padded_rows.h"
#include "tests/support/planning.h"
#include "tests/support/sample.h"

#include <stdlib.h>

enum { SEQUENCES = 48 };

static const bool all_packings[PP_PACKING_COUNT] = { true, true, true, true };

static void draw_lengths(int64_t *lengths)
{
    for (size_t k = 0; k < SEQUENCES; k++)
        lengths[k] = 64 + (int64_t)(k * 7919 % 61 * (k * 31 % 53));
}

static pp_plan_request request_with(const planning *p, int64_t pp, int64_t dp,
                                    const int64_t *lengths)
{
    pp_plan_request request = request_of(p, pp);
    request.parallel.tp = 2;
    request.parallel.dp = dp;
    request.seq_length = 4096;
    request.lengths = lengths;
    request.length_count = SEQUENCES;
    return request;
}

static double score(const pp_candidate *c)
{
    return (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
}

static int compare_lengths(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Every sequence occurs once, and every replica has the same number of microbatches, none empty. */
static void check_workload(const pp_workload *w, const int64_t *lengths, uint32_t dp)
{
    int64_t was[SEQUENCES];
    int64_t is[SEQUENCES];
    size_t count = 0;
    ck_assert_uint_eq(w->replicas, dp);
    for (size_t j = 0; j < (size_t)w->replicas * w->microbatches; j++) {
        ck_assert_uint_ge(w->microbatch[j].count, 1);
        for (size_t i = 0; i < w->microbatch[j].count; i++)
            is[count++] = w->lengths[w->microbatch[j].first + i];
    }
    ck_assert_uint_eq(count, SEQUENCES);
    memcpy(was, lengths, sizeof was);
    qsort(was, SEQUENCES, sizeof *was, compare_lengths);
    qsort(is, SEQUENCES, sizeof *is, compare_lengths);
    ck_assert_mem_eq(was, is, sizeof was);
}

START_TEST(a_packing_is_never_worse)
{
    static const struct {
        int64_t pp, dp;
        const char *schedule;
        const pp_framework *framework;
        pp_size_protocol_kind shapes;
        pp_orders orders;
    } rows[] = { { 2, 1, "1f1b", NULL, PP_SIZES_PLAN, PP_ORDERS_NAMED },
                 { 4, 2, "1f1b", NULL, PP_SIZES_PLAN, PP_ORDERS_NAMED },
                 { 4, 1, NULL, NULL, PP_SIZES_PLAN, PP_ORDERS_BETTER },
                 { 4, 2, NULL, NULL, PP_SIZES_PLAN, PP_ORDERS_BETTER },
                 { 4, 3, "interleaved", &pp_framework_ppsim, PP_SIZES_PLAN, PP_ORDERS_NAMED },
                 { 4, 2, "1f1b", &pp_framework_torch, PP_SIZES_PADDED, PP_ORDERS_NAMED },
                 { 8, 1, NULL, &pp_framework_torch, PP_SIZES_PADDED, PP_ORDERS_BETTER },
                 { 4, 2, "1f1b", &pp_framework_megatron, PP_SIZES_MESSAGE, PP_ORDERS_NAMED },
                 { 2, 3, "1f1b", NULL, PP_SIZES_PLAN, PP_ORDERS_NAMED } };
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    draw_lengths(lengths);
    pp_plan_request request = request_with(&p, rows[_i].pp, rows[_i].dp, lengths);
    request.schedule = rows[_i].schedule ? pp_schedule_find(rows[_i].schedule) : NULL;
    request.framework = rows[_i].framework;
    request.exchange.shapes.kind = rows[_i].shapes;
    request.orders = rows[_i].orders;
    pp_search_result *given = choose(&request);
    request.packings = all_packings;
    pp_search_result *packed = choose(&request);
    const double gain = 1 - score(&packed->candidate[0]) / score(&given->candidate[0]);
    ck_assert(gain >= 0);
    ck_assert_int_ne(packed->packing.verdict, PP_PACKING_NOT_ASKED);
    ck_assert_msg(rows[_i].pp < 4 || rows[_i].orders || gain > 0.01, "%.4f", gain);
    check_plan(packed->plan);
    check_workload(&packed->plan->workload, lengths, (uint32_t)rows[_i].dp);
    pp_search_result_free(&given);
    pp_search_result_free(&packed);
}
END_TEST

/* A single requested packing is taken whatever it gains. */
START_TEST(what_is_asked_for_is_taken)
{
    const bool equal[PP_PACKING_COUNT] = { [PP_PACKING_EQUAL] = true };
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    for (size_t k = 0; k < SEQUENCES; k++)
        lengths[k] = 4096; /* nothing to gain */
    pp_plan_request request = request_with(&p, 4, 2, lengths);
    request.packings = equal;
    pp_search_result *choice = choose(&request);
    ck_assert(choice->packing.verdict == PP_PACKING_TAKEN ||
              choice->packing.verdict == PP_PACKING_NO_GAIN);
    ck_assert_int_eq(choice->packing.method.packing, PP_PACKING_EQUAL);
    check_workload(&choice->plan->workload, lengths, 2);
    pp_search_result_free(&choice);
    request.packings = all_packings;
    choice = choose(&request);
    ck_assert_uint_eq(choice->plan->workload.first_fit_bins, SEQUENCES); /* first fit stays */
    pp_search_result_free(&choice);
}
END_TEST

typedef struct course {
    double gone; /* the part of the time that has passed */
    double step; /* by which it advances, see passes() */
    size_t misses;
} course;

/* A clock that advances whenever it is read. */
static double looks(void *context)
{
    course *c = context;
    return c->gone += 0.002;
}

static bool is_late(void *context)
{
    const course *c = context;
    return c->gone >= 1;
}

static void count_miss(void *context, const pp_report *nearest)
{
    course *c = context;
    ck_assert_int_gt(nearest->peak_memory_bytes, 0);
    c->misses++;
}

/* If first fit's full microbatches do not fit, lighter ones may. */
START_TEST(a_packing_fits_where_first_fit_does_not)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_err err = { 0 };
    draw_lengths(lengths);
    pp_plan_request request = request_with(&p, 4, 1, lengths);
    request.schedule = pp_schedule_find("1f1b");
    request.switches.given.recompute = true;
    pp_search_result *choice = choose(&request);
    request.memory_limit_bytes = choice->candidate[0].peak_bytes - (64 << 20);
    pp_search_result_free(&choice);
    request.no_advice = true;
    ck_assert_int_eq(pp_plan_search(&request, &choice, &err), PP_INFEASIBLE);
    course told = { .gone = 0 };
    request.packings = all_packings;
    request.stop = is_late;
    request.spent = looks;
    request.missed = count_miss;
    request.context = &told;
    choice = choose(&request);
    ck_assert_uint_eq(told.misses, 0);
    ck_assert_int_eq(choice->packing.verdict, PP_PACKING_ONLY);
    ck_assert(!choice->packing.grouped);
    check_plan(choice->plan);
    check_workload(&choice->plan->workload, lengths, 1);
    pp_search_result_free(&choice);
    told.gone = 0;
    request.memory_limit_bytes /= 64; /* here nothing fits */
    refuse(&request, PP_INFEASIBLE, "short by");
    ck_assert_uint_eq(told.misses, 1);
    told.gone = 0;
    request.gpus = 8;
    refuse(&request, PP_INFEASIBLE, "short by");
    ck_assert_uint_eq(told.misses, 2);
}
END_TEST

START_TEST(threads_do_not_matter)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    draw_lengths(lengths);
    pp_plan_request request = request_with(&p, 4, 2, lengths);
    request.orders = PP_ORDERS_BETTER;
    request.packings = all_packings;
    request.max_simulations = _i ? 400 : 0;
    check_threads(request, NULL);
}
END_TEST

/* When a budget ends, the best plan so far is the answer. */
START_TEST(the_budget_ends_it)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    draw_lengths(lengths);
    pp_plan_request request = request_with(&p, 4, 2, lengths);
    request.packings = all_packings;
    course now = { .gone = _i ? 1 : 0 };
    request.stop = is_late;
    request.spent = looks;
    request.context = &now;
    pp_search_result *choice = choose(&request);
    ck_assert(!_i || choice->packing.verdict == PP_PACKING_UNSEARCHED);
    check_workload(&choice->plan->workload, lengths, 2);
    pp_search_result_free(&choice);
}
END_TEST

/* One sequence per row takes as long as a plan of as many sequences of the longest length. */
START_TEST(padded_rows_are_sequences_of_the_longest_length)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_padded_rows rows;
    pp_err err = { 0 };
    draw_lengths(lengths);
    int64_t longest = 0;
    for (size_t k = 0; k < SEQUENCES; k++)
        longest = lengths[k] > longest ? lengths[k] : longest;
    pp_plan_request request = request_with(&p, 4, 2, lengths);
    request.schedule = pp_schedule_find("1f1b");
    request.micro_batch_size = 1;
    pp_search_result *packed = choose(&request);
    STEP_OK(pp_pad_rows(&request, &packed->candidate[0], lengths, SEQUENCES, &rows, &err), err);
    ck_assert_int_eq(rows.tokens, longest);
    request.lengths = NULL;
    request.length_count = 0;
    request.seq_length = longest;
    request.global_batch_size = SEQUENCES;
    request.switches.given.recompute = true;
    request.switches.value.recompute = packed->candidate[0].recompute;
    request.partition = packed->candidate[0].partition;
    pp_search_result *fixed = choose(&request);
    ck_assert_int_eq(rows.step_ns, fixed->candidate[0].step_ns);
    ck_assert_int_gt(rows.step_ns, packed->candidate[0].step_ns);
    pp_search_result_free(&fixed);
    pp_search_result_free(&packed);
}
END_TEST

/* A clock that advances by `step` whenever it is read. */
static double passes(void *context)
{
    course *c = context;
    return c->gone += c->step;
}

/* For one batch online: whatever the time, there is an order of the microbatches as they are given,
 * or packed. */
START_TEST(an_order_that_is_asked_for_comes_in_any_time)
{
    static const double steps[] = { 1, 0.3, 0.1, 0.03, 0.01, 0.003 };
    static const bool given[PP_PACKING_COUNT] = { [PP_PACKING_GIVEN] = true };
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    draw_lengths(lengths);
    for (int forced = 0; forced <= 1; forced++) {
        course now = { .step = steps[_i] };
        pp_plan_request request = request_with(&p, 4, 1, lengths);
        request.packings = forced ? given : all_packings;
        request.orders = PP_ORDERS_PLANNED;
        request.framework = &pp_framework_ppsim;
        request.stop = is_late;
        request.spent = passes;
        request.context = &now;
        pp_search_result *choice = choose(&request);
        ck_assert_str_eq(choice->plan->schedule, "planned");
        check_plan(choice->plan);
        check_workload(&choice->plan->workload, lengths, 1);
        pp_search_result_free(&choice);
    }
}
END_TEST

/* The smallest budget is enough for an answer, with packings as without them. What it does beyond
 * the simulations that it has are first steps of searches, and more of it gives no worse a step. */
START_TEST(a_small_budget_gives_first_fit)
{
    planning p = planning_of("gpt3.6b", "h100-80g");
    int64_t lengths[SEQUENCES];
    draw_lengths(lengths);
    pp_plan_request request = request_with(&p, 4, 2, lengths);
    request.parallel.tp = 1;
    request.switches.given.zero = true; /* 0: little memory is left */
    request.memory_limit_bytes = (int64_t)20 << 30;
    pp_ns last_ns = INT64_MAX;
    for (request.max_simulations = 1; request.max_simulations <= 8; request.max_simulations++) {
        request.packings = NULL;
        pp_search_result *choice = choose(&request);
        pp_search_result_free(&choice);
        request.packings = all_packings;
        choice = choose(&request);
        check_workload(&choice->plan->workload, lengths, 2);
        ck_assert(choice->stopped);
        ck_assert_uint_le(choice->simulated, 2 * request.max_simulations + 6);
        ck_assert_int_le(choice->candidate[0].step_ns, last_ns);
        last_ns = choice->candidate[0].step_ns;
        pp_search_result_free(&choice);
    }
}
END_TEST

/* If the split of GPUs takes all of the budget, packings are not searched, and the result records
 * that. */
START_TEST(splits_leave_no_budget)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[SEQUENCES];
    draw_lengths(lengths);
    pp_plan_request request = request_with(&p, 0, 0, lengths);
    request.parallel.tp = 0;
    request.gpus = 8;
    request.max_simulations = 3;
    pp_search_result *without = choose(&request);
    request.packings = all_packings;
    pp_search_result *with = choose(&request);
    ck_assert_uint_le(with->simulated, 2 * without->simulated); /* 1 iteration, then 2 */
    ck_assert_int_eq(with->packing.verdict, PP_PACKING_UNSEARCHED);
    check_workload(&with->plan->workload, lengths, (uint32_t)with->plan->parallel.dp);
    pp_search_result_free(&without);
    pp_search_result_free(&with);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packing");
    TCase *tc = tcase_create("packing");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_packing_is_never_worse, 0, 9);
    sample_add_test(tc, what_is_asked_for_is_taken, 2);
    sample_add_test(tc, a_packing_fits_where_first_fit_does_not, 2);
    tcase_add_loop_test(tc, threads_do_not_matter, 0, 2);
    tcase_add_loop_test(tc, the_budget_ends_it, 0, 2);
    sample_add_test(tc, a_small_budget_gives_first_fit, 2);
    tcase_add_test(tc, padded_rows_are_sequences_of_the_longest_length);
    tcase_add_loop_test(tc, an_order_that_is_asked_for_comes_in_any_time, 0, 6);
    sample_add_test(tc, splits_leave_no_budget, 2);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
