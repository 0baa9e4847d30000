/* Budgets of iterations: more of them find nothing worse, whatever the seed, and threads change
 * nothing. Without a budget time changes nothing, either. */
#include "planner/candidate/budget.h"

#include "planner/search/limit.h"
#include "planner/search/search.h"
#include "planner/search/space.h"
#include "planner/study/budget_slice.h"
#include "planner/study/pack_pipeline.h"
#include "sim/schedule/registry.h"
#include "tests/support/planning.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { SEQUENCES = 96 };

static const struct {
    const char *model;
    int64_t pp, gpus;
    bool lengths;
} jobs[] = {
    { "llama3-8b", 4, 0, false },
    { "gpt1.7b", 4, 0, true },
    { "llama3-8b", 0, 8, false },
};

enum { JOBS = sizeof jobs / sizeof *jobs };

/* The fastest plan is asked for, as with --fastest. */
static pp_plan_request request_for(const planning *p, int job, int64_t *lengths)
{
    pp_plan_request request = request_of(p, jobs[job].pp);
    request.gpus = jobs[job].gpus;
    request.parallel.tp = jobs[job].gpus ? 0 : 2;
    request.orders = PP_ORDERS_BETTER;
    request.threads = 1;
    for (size_t k = 0; k < SEQUENCES; k++)
        lengths[k] = 100 + (int64_t)(k * 7919 % 1900);
    if (jobs[job].lengths) {
        request.lengths = lengths;
        request.length_count = SEQUENCES;
        request.seq_length = 2048;
    }
    return request;
}

START_TEST(more_iterations_find_nothing_worse)
{
    static const uint64_t budgets[] = { 1, 3, 10, 30, 100, 300 };
    planning p = planning_of(jobs[_i].model, "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_plan_request request = request_for(&p, _i, lengths);
    for (request.seed = 0; request.seed < 2; request.seed++) {
        double last = HUGE_VAL;
        double first = 0;
        for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
            request.max_simulations = budgets[k];
            pp_search_result *choice = choose(&request);
            const pp_candidate *c = &choice->candidate[0];
            const double score = pp_candidate_score(c, c->step_ns);
            ck_assert_msg(score <= last, "seed %d, %d iterations: %g after %g", (int)request.seed,
                          (int)budgets[k], score, last);
            first = k ? first : score;
            last = score;
            pp_search_result_free(&choice);
        }
        ck_assert(last < first);
    }
}
END_TEST

/* A free order is searched last, in the splits that came out best: with more iterations these may
 * be others. */
START_TEST(orders_of_splits_get_no_worse)
{
    static const uint64_t budgets[] = { 1, 3, 10, 30, 50 };
    planning p = planning_of("gpt175b", "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    double last = HUGE_VAL;
    request.gpus = 256;
    request.orders = PP_ORDERS_PLANNED;
    request.threads = 2;
    for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        request.max_simulations = budgets[k];
        pp_search_result *choice = choose(&request);
        const double score =
            pp_candidate_score(&choice->candidate[0], choice->candidate[0].step_ns);
        ck_assert_msg(score <= last, "%d iterations: %g after %g", (int)budgets[k], score, last);
        ck_assert_str_eq(choice->plan->schedule, "planned");
        last = score;
        pp_search_result_free(&choice);
    }
}
END_TEST

enum { MANY = 16384 };

static pp_plan_request many_sequences(const planning *p, int64_t lengths[MANY])
{
    pp_plan_request request = request_of(p, 4);
    uint64_t state = 1;
    for (size_t k = 0; k < MANY; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        lengths[k] = 1 + (int64_t)(state >> 33) % 2047;
    }
    request.parallel.tp = 1;
    request.parallel.dp = 4;
    request.lengths = lengths;
    request.length_count = MANY;
    request.seq_length = 2048;
    return request;
}

/* Bounds of many sequences take as long as simulations, and count like these. */
START_TEST(bounds_count_as_iterations)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[MANY];
    pp_plan_request request = many_sequences(&p, lengths);
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_err err = { 0 };
    size_t best;
    request.parallel.tp = 0;
    request.max_simulations = 5;
    STEP_OK(pp_search_solve(&search, &request, &best, &err), err);
    ck_assert_uint_ne(best, SIZE_MAX);
    ck_assert(search.progress.unseen);
    ck_assert(search.progress.bounding > 4e5); /* two iterations, and two fifths of five */
    ck_assert(search.progress.bounding < 4e5 + 3 * MANY);
    ck_assert_uint_eq(pp_budget_bounding(search.progress.bounding), 2);
    ck_assert_uint_eq(search.progress.simulated, 5);
    size_t simulated = 0;
    for (size_t i = 0; i < search.pool.count; i++)
        simulated += search.pool.candidate[i].step_ns > 0;
    ck_assert_uint_ge(simulated, 1);
    ck_assert_uint_le(simulated + 2, 5);
    for (size_t i = 0; i < search.pool.setup_count; i++) { /* of two replicas, or of one */
        const pp_setup *setup = &search.pool.setup[i];
        ck_assert_uint_le(setup->classes, setup->unseen ? 0 : MANY / 2);
    }
}
END_TEST

/* Orders that split the backward and others share costs, and have bounds of their own. */
START_TEST(twins_share_costs)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[MANY];
    pp_plan_request request = many_sequences(&p, lengths);
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_err err = { 0 };
    double each = 0;
    size_t twins = 0;
    request.length_count = 2048;
    request.micro_batch_size = 1;
    STEP_OK(pp_search_open(&search, &request, &err), err);
    STEP_OK(pp_search_enumerate(&search, &err), err);
    for (size_t i = 0; i < search.pool.setup_count; i++) {
        const pp_setup *setup = &search.pool.setup[i];
        const pp_bound bound = setup->bound;
        const pp_ns least_ns = setup->least_step_ns;
        pp_setup again = *setup;
        twins += setup->split;
        STEP_OK(pp_search_bound_again(search.problem, &search.pool, &again, &err), err);
        ck_assert_int_eq(again.least_step_ns, least_ns);
        ck_assert_int_eq(again.bound.ns, bound.ns);
        ck_assert_int_eq(again.bound.part, bound.part);
        ck_assert(again.bound.fits == bound.fits);
        each += pp_budget_bound_effort(
            setup->classes, (double)(again.context.parallel.pp * again.context.parallel.vpp));
    }
    ck_assert_uint_gt(twins, 0);
    ck_assert_msg(search.progress.bounding < 0.75 * each, "%g of %g", search.progress.bounding,
                  each);
}
END_TEST

/* A model of so many layers that its partitions take longer than simulations. */
static pp_plan_request deep_model(planning *p, int64_t pp)
{
    pp_plan_request request = request_of(p, pp);
    p->model.layers = 4000;
    request.global_batch_size = 64;
    request.no_advice = true;
    return request;
}

START_TEST(partitions_count_as_iterations)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_err err = { 0 };
    pp_plan_request request = deep_model(&p, 64);
    request.max_simulations = 1;
    STEP_OK(pp_search_open(&search, &request, &err), err);
    STEP_OK(pp_search_enumerate(&search, &err), err);
    ck_assert(search.progress.unseen);
    ck_assert(search.progress.bounding > 2.4e5);
    ck_assert(search.progress.bounding < 2.5e5);
}
END_TEST

/* What is not counted in the search of one split is counted in those of many. */
START_TEST(partitions_of_all_splits_count_together)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = deep_model(&p, 0);
    request.gpus = 64;
    request.micro_batch_size = 1; /* too few partitions of a split to count in its search */
    request.max_simulations = 2;
    request.threads = 1;
    refuse(&request, PP_UNDECIDED, "splits of the GPUs were not looked at");
}
END_TEST

/* Splits are bounded by points, of which lengths have no bound: nothing is made of all of them. */
START_TEST(splits_with_lengths_are_not_bounded)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[MANY];
    const pp_plan_request request = many_sequences(&p, lengths);
    pp_search search PP_CLEANUP(pp_search_close) = { .problem = NULL };
    pp_err err = { 0 };
    STEP_OK(pp_search_open(&search, &request, &err), err);
    search.space.points_only = true;
    STEP_OK(pp_search_enumerate(&search, &err), err);
    ck_assert_uint_gt(search.space.legal_points, 0);
    ck_assert_uint_eq(search.pool.setup_count, 0);
    ck_assert(!(search.progress.bounding > 0));
}
END_TEST

static bool never(void *context)
{
    return *(double *)context >= 1;
}

static double part_spent(void *context)
{
    return *(double *)context;
}

/* The pipeline is chosen in the first part of the time. If nothing fits, why is found in the rest.
 */
START_TEST(a_batch_that_cannot_fit_is_explained)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[MANY];
    double spent = 0.1;
    pp_plan_request request = many_sequences(&p, lengths);
    pp_packer *packer PP_CLEANUP(pp_packer_close) = NULL;
    pp_packed *packed = NULL;
    pp_budget_slice slice;
    pp_err err = { 0 };
    request.length_count = 64;
    request.parallel.dp = 1;
    request.micro_batch_size = 1;
    request.schedule = &pp_schedule_one_f_one_b;
    request.memory_limit_bytes = (int64_t)10 << 30;
    request.stop = never;
    request.spent = part_spent;
    request.context = &spent;
    pp_plan_request opening = request;
    pp_budget_slice_cut(&slice, &request, 0, 0.3, &opening);
    const pp_pack_task task = { .lengths = lengths,
                                .count = request.length_count,
                                .packings = { [PP_PACKING_FIRST_FIT] = true } };
    STEP_OK(pp_packer_open(&opening, &packer, &err), err);
    spent = 0.4;
    ck_assert_int_eq(pp_pack_advised(packer, &request, &task, &packed, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "nothing fits") != NULL, "%s", err.text);
    ck_assert_ptr_null(packed);
}
END_TEST

static bool count_looks(void *context)
{
    ++*(int *)context;
    return false;
}

/* What finds nothing that fits is not searched twice for advice that nobody wants, and without an
 * iteration for packings there are none. */
START_TEST(nothing_is_searched_beyond_the_iterations)
{
    static const bool all[PP_PACKING_COUNT] = { true, true, true, true };
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[MANY];
    int looks[2] = { 0 };
    pp_plan_request request = many_sequences(&p, lengths);
    request.length_count = SEQUENCES;
    request.memory_limit_bytes = (int64_t)10 << 30;
    request.no_advice = true;
    request.max_simulations = 1;
    request.stop = count_looks;
    for (int k = 0; k < 2; k++) {
        request.context = &looks[k];
        request.packings = k ? all : NULL;
        refuse(&request, PP_INFEASIBLE, "nothing fits");
    }
    ck_assert_int_gt(looks[0], 0);
    ck_assert_int_lt(looks[1], 2 * looks[0]);
}
END_TEST

/* Packings end with their iterations also if none of them fits. */
START_TEST(packings_that_do_not_fit_end)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    int64_t lengths[MANY];
    pp_plan_request request = many_sequences(&p, lengths);
    pp_packer *packer PP_CLEANUP(pp_packer_close) = NULL;
    pp_packed *packed = NULL;
    pp_err err = { 0 };
    request.length_count = SEQUENCES;
    request.parallel.dp = 1;
    request.micro_batch_size = 1;
    request.schedule = &pp_schedule_one_f_one_b;
    request.memory_limit_bytes = (int64_t)10 << 30;
    request.no_advice = true;
    const pp_pack_task task = { .lengths = lengths,
                                .count = SEQUENCES,
                                .ops_most = 1,
                                .packings = { [PP_PACKING_EQUAL] = true } };
    STEP_OK(pp_packer_open(&request, &packer, &err), err);
    ck_assert_int_eq(pp_pack_advised(packer, &request, &task, &packed, &err), PP_UNDECIDED);
    ck_assert_int_eq(packer->simulated, 2); /* first fit, and the first of those asked for */
}
END_TEST

START_TEST(threads_change_nothing)
{
    planning p = planning_of(jobs[_i % JOBS].model, "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_plan_request request = request_for(&p, _i % JOBS, lengths);
    request.max_simulations = _i < JOBS ? 0 : 60;
    request.tie = 0.01; /* the recommended plan */
    request.headroom_bytes = (int64_t)8 << 30;
    check_threads(request, NULL);
}
END_TEST

/* Moves are drawn in the same order, however many there may be. */
START_TEST(more_moves_pack_no_worse)
{
    static const int64_t budgets[] = { 1, 3, 10, 30, 100, 300 };
    static const pp_packing packings[] = { PP_PACKING_FIRST_FIT, PP_PACKING_EQUAL,
                                           PP_PACKING_GIVEN };
    planning p = planning_of("gpt3.6b", "h100-80g");
    int64_t lengths[MANY];
    pp_plan_request request = many_sequences(&p, lengths);
    request.length_count = SEQUENCES;
    request.parallel.dp = 2;
    request.micro_batch_size = 1;
    request.schedule = &pp_schedule_one_f_one_b;
    for (request.seed = 0; request.seed < 2; request.seed++) {
        pp_ns first = 0;
        pp_ns last = INT64_MAX;
        for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
            pp_packer *packer PP_CLEANUP(pp_packer_close) = NULL;
            pp_packed *packed PP_CLEANUP(pp_packed_free) = NULL;
            pp_pack_task task = { .lengths = lengths,
                                  .count = request.length_count,
                                  .iterations = budgets[k],
                                  .seed = request.seed };
            pp_err err = { 0 };
            task.packings[packings[_i]] = true;
            request.max_simulations = (uint64_t)budgets[k];
            STEP_OK(pp_packer_open(&request, &packer, &err), err);
            STEP_OK(pp_pack_advised(packer, &request, &task, &packed, &err), err);
            const pp_ns step_ns = packed->row[packed->best].step_ns;
            ck_assert_msg(step_ns <= last, "%d moves: %lld ns after %lld", (int)budgets[k],
                          (long long)step_ns, (long long)last);
            first = k ? first : step_ns;
            last = step_ns;
        }
        ck_assert_int_lt(last, first);
    }
}
END_TEST

/* The number of GPUs of the change that would fit, as the message names it; 0: it names none. */
static long advised_gpus(const char *text)
{
    const char *at = strstr(text, "tried that fits: ");
    at = at ? strchr(at, '(') : NULL;
    return at ? strtol(at + 1, NULL, 10) : 0;
}

/* What does not fit: the answer does not become undecided again, nor the advice worse. */
START_TEST(more_iterations_advise_no_worse)
{
    static const uint64_t budgets[] = { 1, 3, 10, 30, 100, 300, 0 };
    static const int64_t limits_gib[] = { 10, 20, 30 };
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 4);
    pp_status last = PP_UNDECIDED;
    long gpus = LONG_MAX;
    request.parallel.tp = 1;
    request.memory_limit_bytes = limits_gib[_i] << 30;
    for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        pp_search_result *choice = NULL;
        pp_err err = { 0 };
        request.max_simulations = budgets[k];
        const pp_status status = pp_plan_search(&request, &choice, &err);
        ck_assert(status == PP_UNDECIDED || status == PP_INFEASIBLE);
        ck_assert_msg(status == PP_INFEASIBLE || last == PP_UNDECIDED, "%d: %s", (int)budgets[k],
                      err.text);
        const long now = advised_gpus(err.text);
        ck_assert_msg(now ? now <= gpus : gpus == LONG_MAX, "%d: %s", (int)budgets[k], err.text);
        gpus = now ? now : gpus;
        last = status;
    }
    ck_assert_int_eq(last, PP_INFEASIBLE);
    ck_assert_int_lt(gpus, LONG_MAX);
}
END_TEST

/* A clock that its looks advance: the time is up after `most` of them. */
typedef struct looks {
    double count, most;
} looks;

static double part_of_looks(void *context)
{
    looks *l = context;
    return ++l->count / l->most;
}

static bool looks_are_up(void *context)
{
    return part_of_looks(context) >= 1;
}

/* Whatever is asked for besides, nothing long is simulated without a look at the clock: neither
 * packings nor blocks of 64 scenarios of jitter. */
START_TEST(every_phase_looks_at_the_clock)
{
    static const double budgets[] = { 30, 100, 300, 1000 };
    static const bool equal[PP_PACKING_COUNT] = { [PP_PACKING_EQUAL] = true };
    static const pp_jitter_spec jitter = { .sigma = { [PP_OP_F] = 0.03 }, .scenarios = 100000 };
    planning p = planning_of("gpt1.7b", "h100-80g");
    int64_t lengths[SEQUENCES];
    pp_plan_request request = request_for(&p, 1, lengths);
    request.parallel.tp = 8;
    request.free.framework = true;
    request.packings = _i == 0 ? equal : NULL;
    request.jitter = _i == 1 ? &jitter : NULL;
    request.stop = looks_are_up;
    request.spent = part_of_looks;
    for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
        looks clock = { .most = budgets[k] };
        request.context = &clock;
        pp_search_result *choice = choose(&request);
        const double scenarios = (double)choice->ranking.chosen.spec.scenarios;
        ck_assert_msg((double)choice->simulated < clock.count, "%g looks: %d simulations",
                      budgets[k], (int)choice->simulated);
        ck_assert_msg(scenarios < 64 * clock.count, "%g looks: %g scenarios", budgets[k],
                      scenarios);
        pp_search_result_free(&choice);
    }
}
END_TEST

static double any_time(void *context)
{
    double *part = context;
    *part = *part > 0.9 ? 0 : *part + 0.31; /* a clock that is turned back, too */
    return *part;
}

static void tell_slowly(void *context, const pp_candidate *better)
{
    const struct timespec nap = { .tv_nsec = 3000000 };
    (void)context;
    (void)better;
    nanosleep(&nap, NULL);
}

static void *keep_busy(void *context)
{
    const atomic_bool *ends = context;
    while (!atomic_load(ends))
        ;
    return NULL;
}

enum { LOOPS = 4 };

/* Without a budget neither a clock nor what else the machine does matters, whatever the threads. */
START_TEST(without_a_budget_time_does_not_matter)
{
    planning p = planning_of(jobs[_i].model, "h100-80g");
    int64_t lengths[SEQUENCES];
    double part = 0;
    pthread_t loop[LOOPS];
    atomic_bool ends = false;
    pp_plan_request request = request_for(&p, _i, lengths);
    request.tie = 0.01;
    request.headroom_bytes = (int64_t)8 << 30;
    pp_search_result *calm = choose(&request);
    char *text = plan_text(calm->plan);
    for (int k = 0; k < LOOPS; k++)
        ck_assert_int_eq(pthread_create(&loop[k], NULL, keep_busy, &ends), 0);
    request.spent = any_time;
    request.found = tell_slowly;
    request.context = &part;
    for (request.threads = 1; request.threads <= 4; request.threads *= 2) {
        pp_search_result *choice = choose(&request);
        char *now = plan_text(choice->plan);
        ck_assert(strcmp(now, text) == 0); /* too long for a message */
        free(now);
        pp_search_result_free(&choice);
    }
    atomic_store(&ends, true);
    for (int k = 0; k < LOOPS; k++)
        pthread_join(loop[k], NULL);
    free(text);
    pp_search_result_free(&calm);
}
END_TEST

START_TEST(a_begun_million_of_ops_is_an_iteration)
{
    const pp_plan_request request = { .max_simulations = 2 };
    ck_assert_uint_eq(pp_budget_iterations(12), 1);
    ck_assert_uint_eq(pp_budget_iterations(2e6), 2);
    ck_assert_uint_eq(pp_budget_iterations(2.5e6), 3);
    ck_assert(pp_budget_affords(&request, 1.9e6));
    ck_assert(!pp_budget_affords(&request, 2.1e6));
    ck_assert(pp_budget_bounds(&request, 2.7e5)); /* two, and two fifths of the budget */
    ck_assert(!pp_budget_bounds(&request, 2.9e5));
    ck_assert(pp_budget_bound_effort(1000, 10) > pp_budget_bound_effort(1000, 4));
    ck_assert_uint_eq(pp_budget_bounding(2.9e5), 0);
    ck_assert_uint_eq(pp_budget_bounding(4.1e5), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget");
    TCase *tc = tcase_create("budget");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, more_iterations_find_nothing_worse, 0, JOBS);
    tcase_add_test(tc, orders_of_splits_get_no_worse);
    tcase_add_test(tc, bounds_count_as_iterations);
    tcase_add_test(tc, twins_share_costs);
    tcase_add_test(tc, partitions_count_as_iterations);
    tcase_add_test(tc, partitions_of_all_splits_count_together);
    tcase_add_test(tc, nothing_is_searched_beyond_the_iterations);
    tcase_add_test(tc, packings_that_do_not_fit_end);
    tcase_add_test(tc, splits_with_lengths_are_not_bounded);
    tcase_add_test(tc, a_batch_that_cannot_fit_is_explained);
    tcase_add_loop_test(tc, every_phase_looks_at_the_clock, 0, 2);
    tcase_add_loop_test(tc, more_moves_pack_no_worse, 0, 3);
    tcase_add_loop_test(tc, more_iterations_advise_no_worse, 0, 3);
    tcase_add_loop_test(tc, without_a_budget_time_does_not_matter, 0, JOBS);
    tcase_add_loop_test(tc, threads_change_nothing, 0, 2 * JOBS);
    tcase_add_test(tc, a_begun_million_of_ops_is_an_iteration);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
