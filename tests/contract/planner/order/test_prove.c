/* Proofs end at the optimum: compared with optima that an integer program proved, and with an
 * oracle that tries every order. */
#include "planner/order/problem_read.h"
#include "planner/order/prove.h"
#include "planner/order/search.h"
#include "sim/base/alloc.h"
#include "sim/base/random.h"
#include "tests/support/step.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ORACLE_OPS = 24, DRAWN = 120, BATCH = 15, REPLAY_OPS = 128 };

/* --- the oracle: adds ops one by one, none starting before the last one; leaves no order out
 * ----- */

typedef struct oracle {
    const pp_order_problem *x;
    bool done[ORACLE_OPS];
    int64_t end[ORACLE_OPS], free_at[ORACLE_OPS], held[ORACLE_OPS], best;
} oracle;

static void try_all(oracle *o, uint32_t depth, int64_t last)
{
    const pp_order_problem *x = o->x;
    int64_t latest = 0;
    for (uint32_t r = 0; r < x->ranks; r++)
        latest = o->free_at[r] > latest ? o->free_at[r] : latest;
    if (latest >= o->best)
        return;
    if (depth == x->ops)
        o->best = latest;
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *t = &x->task[op];
        const bool chained = t->before < x->ops;
        if (o->done[op] || (chained && !o->done[t->before]) ||
            o->held[t->rank] + x->memory[op].need > x->room[t->rank])
            continue;
        const int64_t before = o->free_at[t->rank];
        int64_t start = before;
        if (chained && o->end[t->before] + t->lag > start)
            start = o->end[t->before] + t->lag;
        if (start < last)
            continue;
        o->done[op] = true;
        o->free_at[t->rank] = o->end[op] = start + t->ticks;
        o->held[t->rank] += x->memory[op].delta;
        try_all(o, depth + 1, start);
        o->held[t->rank] -= x->memory[op].delta;
        o->free_at[t->rank] = before;
        o->done[op] = false;
    }
}

/* --- the comparison
 * ------------------------------------------------------------------------------ */

/* 2 ranks and up to 3 microbatches, or 3 ranks and 2; any times; at least the memory that one
 * microbatch needs. */
static pp_order_problem *draw(uint64_t seed)
{
    uint64_t state = seed;
    static const struct {
        uint32_t ranks, stages, m, stage_rank[4];
    } shapes[] = { { 2, 2, 2, { 0, 1 } },       { 2, 2, 3, { 0, 1 } },
                   { 3, 3, 2, { 0, 1, 2 } },    { 2, 4, 1, { 0, 1, 1, 0 } },
                   { 2, 4, 2, { 0, 1, 1, 0 } }, { 2, 4, 2, { 0, 1, 0, 1 } } };
    const uint32_t shape = (uint32_t)(pp_random_next(&state) % (sizeof shapes / sizeof shapes[0]));
    const uint32_t ranks = shapes[shape].ranks, stages = shapes[shape].stages;
    const uint32_t m = shapes[shape].m;
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    int64_t room = 0;
    ck_assert_msg(pp_order_problem_new("drawn", ranks, stages, m, shapes[shape].stage_rank, &x,
                                       &err) == PP_OK,
                  "%s", err.text);
    for (uint32_t j = 0; j < m; j++) {
        const int64_t size = 1 + (int64_t)(pp_random_next(&state) % 9);
        const int64_t need[3] = { 4 * size, size, 0 }, delta[3] = { 4 * size, -3 * size, -size };
        for (uint32_t k = 0; k < 3 * stages; k++) {
            const uint32_t op = pp_order_problem_op(x, (pp_task_kind)(k / stages), k % stages, j);
            pp_task *t = &x->task[op];
            t->ticks = (int64_t)(pp_random_next(&state) % 20);
            t->lag = t->kind != PP_TASK_W && t->before < x->ops
                         ? (int64_t)(pp_random_next(&state) % 5)
                         : 0;
            x->memory[op] = (pp_task_memory){ need[t->kind], delta[t->kind] };
        }
        room = 5 * size * (int64_t)(stages / ranks) > room ? 5 * size * (int64_t)(stages / ranks)
                                                           : room;
    }
    for (uint32_t r = 0; r < ranks; r++)
        x->room[r] = room + (int64_t)(pp_random_next(&state) % 40);
    return x;
}

START_TEST(no_order_is_shorter)
{
    for (uint64_t seed = (uint64_t)_i * BATCH; seed < ((uint64_t)_i + 1) * BATCH; seed++) {
        if (sample_skips(seed, 2, 4))
            continue;
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw(seed);
        pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
        oracle o = { .x = x, .best = INT64_MAX };
        const pp_order_search_options budget = { .iterations = 2000, .threads = 2 };
        pp_order_bounds limits;
        pp_err err = { 0 };
        ck_assert_msg(pp_order_bounds_find(x, &limits, &err) == PP_OK, "%s", err.text);
        ck_assert_msg(pp_order_search(x, limits.ticks, &budget, &found, &err) == PP_OK, "%s",
                      err.text);
        try_all(&o, 0, 0);
        ck_assert_msg(found->makespan == o.best, "seed %d: %" PRId64 ", not %" PRId64, (int)seed,
                      found->makespan, o.best);
        ck_assert_msg(found->proved, "seed %d is not proved", (int)seed);
        ck_assert_int_le(limits.ticks, o.best);
    }
}
END_TEST

static const struct {
    const char *name;
    int64_t optimum; /* by cbc, 0.4 to 66 s */
} given[] = { { "s01_u_p2_m4", 130 },
              { "s02_u_p3_m4_c2", 156 },
              { "s03_u_p4_m4_fbw", 167 },
              { "s04_var_p2_m5", 1063003 },
              { "s05_var_p3_m4", 892507 } };

static pp_order_problem *load(const char *name)
{
    char path[256];
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    snprintf(path, sizeof path, PPSIM_SOURCE_DIR "/tests/data/instances/%s.json", name);
    ck_assert_msg(pp_json_load(path, &json, &err) == PP_OK, "%s", err.text);
    const pp_json_at root = pp_json_root(json, path);
    ck_assert_msg(pp_order_problem_read(&root, &x, &err) == PP_OK, "%s", err.text);
    return x;
}

static int64_t sum_of_ticks(const pp_order_problem *x)
{
    int64_t sum = 0;
    for (uint32_t op = 0; op < x->ops; op++)
        sum += x->task[op].ticks + x->task[op].lag;
    return sum;
}

/* All ops, rank after rank: no order that runs, only what is guessed first. */
static uint32_t *any_order(const pp_order_problem *x)
{
    uint32_t *ops = pp_alloc_array(x->ops, sizeof *ops), count = 0;
    ck_assert_ptr_nonnull(ops);
    for (uint32_t r = 0; r < x->ranks; r++) {
        for (uint32_t op = 0; op < x->ops; op++) {
            if (x->task[op].rank == r)
                ops[count++] = op;
        }
    }
    return ops;
}

/* The makespan of an order: ops that have their input, again and again. */
static int64_t replay(const pp_order_problem *x, const uint32_t *ops)
{
    int64_t end[REPLAY_OPS], free_at[REPLAY_OPS] = { 0 }, held[REPLAY_OPS] = { 0 };
    bool done[REPLAY_OPS] = { false };
    int64_t makespan = 0;
    ck_assert_uint_le(x->ops, REPLAY_OPS);
    for (uint32_t left = x->ops, before = left + 1; left > 0;) {
        ck_assert_uint_lt(left, before); /* else ops wait for each other */
        before = left;
        for (uint32_t k = 0, waits = x->ranks; k < x->ops; k++) {
            const uint32_t op = ops[k];
            const pp_task *t = &x->task[op];
            if (done[op] || t->rank == waits)
                continue;
            if (t->before < x->ops && !done[t->before]) {
                waits = t->rank; /* and all behind it */
                continue;
            }
            ck_assert_int_le(held[t->rank] + x->memory[op].need, x->room[t->rank]);
            int64_t start = free_at[t->rank];
            if (t->before < x->ops && end[t->before] + t->lag > start)
                start = end[t->before] + t->lag;
            end[op] = free_at[t->rank] = start + t->ticks;
            makespan = end[op] > makespan ? end[op] : makespan;
            held[t->rank] += x->memory[op].delta;
            done[op] = true;
            left--;
        }
    }
    return makespan;
}

START_TEST(optima_of_an_integer_program)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = load(given[_i].name);
    uint32_t *ops PP_CLEANUP(pp_free_array) = any_order(x);
    const pp_prove_budget budget = { .work = 1000000000 };
    pp_err err = { 0 };
    pp_proved known = { .makespan = given[_i].optimum, .ops = ops };
    ck_assert_int_eq(pp_prove_shortest(x, &budget, &known, &err), PP_OK);
    ck_assert_int_eq(known.bound, given[_i].optimum); /* nothing shorter */
    ck_assert_int_eq(known.makespan, given[_i].optimum);
    known = (pp_proved){ .makespan = sum_of_ticks(x) + 1, .ops = ops };
    ck_assert_int_eq(pp_prove_shortest(x, &budget, &known, &err), PP_OK);
    ck_assert_int_eq(known.bound, given[_i].optimum);
    ck_assert_int_eq(known.makespan, given[_i].optimum);
    ck_assert_int_eq(replay(x, ops), given[_i].optimum);
    known = (pp_proved){ .makespan = sum_of_ticks(x) + 1, .ops = ops };
    ck_assert_int_eq(pp_prove_bound(x, &budget, &known, &err), PP_OK); /* by halving */
    ck_assert_int_eq(known.bound, given[_i].optimum);
    ck_assert_int_eq(known.makespan, given[_i].optimum);
}
END_TEST

/* Rooms that are too low by what is not known: a shorter order may exist that does not fit. */
START_TEST(low_rooms_prove_nothing)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = load("s04_var_p2_m5");
    uint32_t *ops PP_CLEANUP(pp_free_array) = any_order(x);
    const pp_prove_budget budget = { .work = 1000000000 };
    pp_err err = { 0 };
    pp_proved known = { .makespan = sum_of_ticks(x) + 1, .ops = ops };
    x->rooms_are_low = true;
    ck_assert_int_eq(pp_prove_shortest(x, &budget, &known, &err), PP_OK);
    ck_assert_int_eq(pp_prove_bound(x, &budget, &known, &err), PP_OK);
    ck_assert_int_eq(known.makespan, 1063003);
    ck_assert_int_eq(known.bound, 0);
}
END_TEST

static double at_once(void *context)
{
    (void)context;
    return 1;
}

START_TEST(a_budget_ends_it)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = load("s06_var_p4_m6");
    const pp_prove_budget budgets[] = { { .work = 1000 },
                                        { .spent = at_once },
                                        { .work = INT64_MAX, .spent = at_once } };
    for (int k = 0; k < 3; k++) {
        uint32_t *ops PP_CLEANUP(pp_free_array) = any_order(x);
        pp_err err = { 0 };
        pp_proved known = { .bound = 3491535, .makespan = 4134967, .ops = ops };
        ck_assert_int_eq(pp_prove_shortest(x, &budgets[k], &known, &err), PP_OK);
        ck_assert_int_eq(known.bound, 3491535);
        ck_assert_int_eq(known.makespan, 4134967);
        ck_assert_int_eq(pp_prove_bound(x, &budgets[k], &known, &err), PP_OK);
        ck_assert_int_lt(known.bound, 4134967);
    }
}
END_TEST

/* 72 ops: more than can be tried one by one. CP-SAT has 4196531 and the bound 3491535 after 60 s.
 */
START_TEST(a_search_proves)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = load("s06_var_p4_m6");
    const pp_order_search_options budget = { .iterations = 2000, .threads = 2 };
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_order_bounds_find(x, &limits, &err), PP_OK);
    ck_assert_int_eq(pp_order_search(x, limits.ticks, &budget, &found, &err), PP_OK);
    ck_assert(found->proved);
    ck_assert_int_eq(found->makespan, 4134967);
    ck_assert_int_eq(found->bound, 4134967);
    ck_assert_int_eq(replay(x, found->ops), 4134967);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prove");
    TCase *tc = tcase_create("prove");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, optima_of_an_integer_program, 0, (int)(sizeof given / sizeof given[0]));
    tcase_add_loop_test(tc, no_order_is_shorter, 0, DRAWN / BATCH);
    tcase_add_test(tc, low_rooms_prove_nothing);
    tcase_add_test(tc, a_budget_ends_it);
    tcase_add_test(tc, a_search_proves);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
