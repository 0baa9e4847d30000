/* Bounds and search against the best of all orders, on instances small enough to try them all. Then
 * the guarantees of the search: the same bytes with any number of threads, and an answer at any
 * time. */
#include "planner/order/movable_order.h"
#include "planner/order/search.h"
#include "sim/base/alloc.h"
#include "tests/support/sample.h"
#include "tests/support/step.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MOST = 18, ORDERS_MOST = 2000 };

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* Small instances of every kind: equal or unequal microbatches, tight or wide memory, lags or none,
 * one or two stages per rank, zero times and zero memory, more memory left after B than before. */
static pp_order_problem *draw_instance(uint64_t seed)
{
    static const uint32_t shapes[][3] = { { 1, 1, 3 }, { 2, 1, 2 }, { 2, 1, 3 },
                                          { 3, 1, 2 }, { 2, 2, 1 }, { 1, 1, 1 } };
    static const uint32_t loop[] = { 0, 1, 2 };
    static const uint32_t fold[] = { 0, 1, 1, 0 };
    uint64_t rng = seed * 977 + 5;
    const uint32_t *shape = shapes[seed % 6];
    bool equal = draw(&rng, 2);
    bool zeros = draw(&rng, 4) == 0;
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_order_problem_new("tiny", shape[0], shape[0] * shape[1], shape[2],
                                          shape[1] > 1 ? fold : loop, &x, &err),
                     PP_OK);
    int64_t largest = 0;
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *task = &x->task[op];
        const pp_task *like = &x->task[op % (3 * x->stages)];
        bool remote = task->kind != PP_TASK_W && task->before < x->ops &&
                      x->task[task->before].rank != task->rank;
        task->ticks =
            equal && task->microbatch ? like->ticks : (int64_t)draw(&rng, 9) + (zeros ? 0 : 1);
        if (zeros && seed * 2654435761 >> (op % (3 * x->stages)) & 1)
            task->ticks = 0; /* this kind takes no time on this stage */
        task->lag = remote ? (equal && task->microbatch ? like->lag : (int64_t)draw(&rng, 4)) : 0;
    }
    for (uint32_t k = 0; k < x->ops / 3; k++) {
        uint32_t s = k % x->stages;
        uint32_t i = k / x->stages;
        uint64_t own = equal ? s + 1 : k + 1;
        uint64_t memory = seed * 31 + own;
        int64_t taken = (int64_t)draw(&memory, 8) + 1;
        int64_t kept = (int64_t)draw(&memory, (uint64_t)taken + 6); /* may be more than was taken */
        int64_t extra = (int64_t)draw(&memory, 3);
        x->memory[pp_order_problem_op(x, PP_TASK_F, s, i)] = (pp_task_memory){ taken, taken };
        x->memory[pp_order_problem_op(x, PP_TASK_B, s, i)] =
            (pp_task_memory){ extra, kept - taken };
        x->memory[pp_order_problem_op(x, PP_TASK_W, s, i)] = (pp_task_memory){ 0, -kept };
        largest = taken + extra + 2 > largest ? taken + extra + 2 : largest;
        largest = kept > largest ? kept : largest;
    }
    for (uint32_t r = 0; r < x->ranks; r++)
        x->room[r] = largest * shape[1] + (int64_t)draw(&rng, 12);
    return x;
}

/* All orders of one rank that fit. */
typedef struct orders {
    uint32_t order[ORDERS_MOST][OPS_MOST];
    uint32_t count, ops;
} orders;

static void extend(const pp_order_problem *x, uint32_t rank, uint32_t *order, uint32_t done,
                   uint64_t used, int64_t held, orders *out)
{
    if (done == out->ops) {
        ck_assert_uint_lt(out->count, ORDERS_MOST);
        memcpy(out->order[out->count++], order, done * sizeof *order);
        return;
    }
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *task = &x->task[op];
        uint32_t f = pp_order_problem_op(x, PP_TASK_F, task->stage, task->microbatch);
        uint32_t b = pp_order_problem_op(x, PP_TASK_B, task->stage, task->microbatch);
        bool ready = task->kind == PP_TASK_F || used >> (task->kind == PP_TASK_B ? f : b) & 1;
        if (task->rank != rank || used >> op & 1 || !ready ||
            held + x->memory[op].need > x->room[rank])
            continue;
        order[done] = op;
        extend(x, rank, order, done + 1, used | 1ull << op, held + x->memory[op].delta, out);
    }
}

/* The makespan of one order per rank; INT64_MAX when they wait in a cycle. */
static int64_t run_orders(const pp_order_problem *x, const orders *rank, const uint32_t *choice)
{
    int64_t end[OPS_MOST + 1];
    int64_t now[3] = { 0 };
    uint32_t next[3] = { 0 };
    uint32_t done = 0;
    int64_t makespan = 0;
    for (uint32_t op = 0; op < x->ops; op++)
        end[op] = -1;
    end[x->ops] = 0;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t r = 0; r < x->ranks; r++) {
            if (next[r] == rank[r].ops)
                continue;
            uint32_t op = rank[r].order[choice[r]][next[r]];
            const pp_task *task = &x->task[op];
            if (end[task->before] < 0)
                continue;
            int64_t start = end[task->before] + task->lag;
            now[r] = end[op] = (start > now[r] ? start : now[r]) + task->ticks;
            makespan = now[r] > makespan ? now[r] : makespan;
            next[r]++;
            done++;
            any = true;
        }
    }
    return done == x->ops ? makespan : INT64_MAX;
}

static int64_t best_of_all(const pp_order_problem *x)
{
    orders *rank = pp_alloc_array(3, sizeof *rank);
    int64_t best = INT64_MAX;
    for (uint32_t r = 0; r < x->ranks; r++) {
        uint32_t order[OPS_MOST];
        rank[r].ops = x->ops / x->ranks;
        extend(x, r, order, 0, 0, 0, &rank[r]);
    }
    for (uint32_t r = x->ranks; r < 3; r++)
        rank[r].count = 1;
    for (uint32_t a = 0; a < rank[0].count; a++)
        for (uint32_t b = 0; b < rank[1].count; b++)
            for (uint32_t c = 0; c < rank[2].count; c++) {
                const uint32_t choice[] = { a, b, c };
                int64_t now = run_orders(x, rank, choice);
                best = now < best ? now : best;
            }
    free(rank);
    return best;
}

START_TEST(no_bound_is_above_the_best_of_all_orders)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_instance((uint64_t)_i);
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    int64_t best = best_of_all(x);
    const pp_order_search_options budget = { .iterations = 3000, .seed = 1 };
    ck_assert_int_eq(pp_order_bounds_find(x, &limits, &err), PP_OK);
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++)
        ck_assert_msg(limits.part[k] <= best, "%s says %lld, an order takes %lld",
                      pp_order_bound_key((pp_order_bound_part)k), (long long)limits.part[k],
                      (long long)best);
    pp_status status = pp_order_search(x, limits.ticks, &budget, &found, &err);
    ck_assert_int_eq(status, best == INT64_MAX ? PP_INFEASIBLE : PP_OK);
    if (found)
        ck_assert_int_eq(found->makespan, best);
}
END_TEST

/* A long microbatch and a short one on three ranks. Without transfers the short one delays the
 * other, wherever the two pass, and only one bound knows that; if those of the long one take as
 * long as the short one's ops, it need not. */
START_TEST(a_short_one_delays_a_long_one)
{
    static const struct {
        int64_t lag, best, next; /* next: the largest of the other bounds */
    } given[] = { { 0, 63, 60 }, { 2, 71, 68 }, { 30, 180, 180 } };
    const uint32_t ranks[] = { 0, 1, 2 };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_order_problem_new("two", 3, 3, 2, ranks, &x, &err), PP_OK);
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *task = &x->task[op];
        task->ticks = task->kind == PP_TASK_W ? 0 : task->microbatch ? 3 : 10;
        if (task->before < x->ops && x->task[task->before].rank != task->rank)
            task->lag = task->microbatch ? 0 : given[_i].lag;
    }
    ck_assert_int_eq(pp_order_bounds_find(x, &limits, &err), PP_OK);
    ck_assert_int_eq(best_of_all(x), given[_i].best);
    ck_assert_int_eq(limits.ticks, given[_i].best);
    limits.part[PP_ORDER_BOUND_AHEAD] = 0;
    for (int k = 0; k < PP_ORDER_BOUND_COUNT; k++)
        ck_assert_int_le(limits.part[k], given[_i].next);
}
END_TEST

/* Ops that take no time can wait for each other in a circle without anything being late: times
 * alone then look like an order to a proof, which is none. */
START_TEST(a_circle_of_no_time_is_no_order)
{
    static const int64_t f[] = { 6, 0, 0, 0, 2, 0, 0, 0 }, b[] = { 20, 1, 1, 0, 20, 0, 1, 0 };
    static const int64_t w[] = { 2, 0, 0, 0, 1, 0, 0, 0 }, lag[] = { 10, 1, 1, 0, 10, 0, 1, 0 };
    const uint32_t ranks[] = { 0, 1 };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_movable_order *movable PP_CLEANUP(pp_movable_order_free) = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    const pp_order_search_options budget = { .iterations = 2000, .seed = (uint64_t)_i };
    ck_assert_int_eq(pp_order_problem_new("circle", 2, 2, 8, ranks, &x, &err), PP_OK);
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *task = &x->task[op];
        const uint32_t j = task->microbatch;
        const int64_t ticks[] = { f[j], b[j], w[j] }, delta[] = { 1, -1, 0 };
        task->ticks = ticks[task->kind];
        if (task->before < x->ops && x->task[task->before].rank != task->rank)
            task->lag = lag[j];
        x->memory[op] = (pp_task_memory){ task->kind == PP_TASK_F, delta[task->kind] };
    }
    x->room[0] = x->room[1] = 2;
    ck_assert_int_eq(pp_order_bounds_find(x, &limits, &err), PP_OK);
    ck_assert_int_eq(pp_order_search(x, limits.ticks, &budget, &found, &err), PP_OK);
    ck_assert_int_eq(pp_movable_order_new(x, &movable, &err), PP_OK);
    ck_assert(pp_movable_order_set(movable, found->ops));
    ck_assert_int_eq(movable->makespan, found->makespan);
    ck_assert_int_eq(found->makespan, 92);
}
END_TEST

/* Unequal microbatches on four ranks: nothing can be proved, so all phases run. */
static pp_order_problem *uneven(uint32_t microbatches)
{
    uint32_t ranks[] = { 0, 1, 2, 3, 3, 2, 1, 0 };
    uint64_t rng = 7;
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_order_problem_new("uneven", 4, 8, microbatches, ranks, &x, &err), PP_OK);
    for (uint32_t i = 0; i < microbatches; i++) {
        int64_t size = (int64_t)draw(&rng, 100) + 10;
        for (uint32_t at = 0; at < 24; at++) {
            const int64_t delta[] = { size, -size / 2, size / 2 - size };
            uint32_t op = i * 24 + at;
            uint32_t kind = x->task[op].kind;
            x->task[op].ticks = size * (kind == PP_TASK_B ? 3 : 2);
            x->memory[op] = (pp_task_memory){ kind == PP_TASK_F ? size : size / 10, delta[kind] };
        }
    }
    for (uint32_t r = 0; r < 4; r++)
        x->room[r] = 500;
    return x;
}

START_TEST(threads_do_not_change_the_result)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = uneven(12);
    pp_found_order *one PP_CLEANUP(pp_found_order_free) = NULL;
    pp_found_order *many PP_CLEANUP(pp_found_order_free) = NULL;
    pp_order_bounds limits;
    pp_err err = { 0 };
    pp_movable_order *movable PP_CLEANUP(pp_movable_order_free) = NULL;
    pp_order_search_options budget = { .iterations = 2000, .runners = 5, .seed = 3 };
    ck_assert_int_eq(pp_order_bounds_find(x, &limits, &err), PP_OK);
    ck_assert_int_eq(pp_order_search(x, limits.ticks, &budget, &one, &err), PP_OK);
    budget.threads = (uint32_t)_i;
    ck_assert_int_eq(pp_order_search(x, limits.ticks, &budget, &many, &err), PP_OK);
    ck_assert_int_eq(one->makespan, many->makespan);
    ck_assert_mem_eq(one->ops, many->ops, x->ops * sizeof *one->ops);
    ck_assert_int_ge(one->makespan, limits.ticks);
    /* the runners-up are longer, one after the other, and have the makespans that are told */
    ck_assert_uint_eq(one->runners, 5);
    ck_assert_uint_eq(many->runners, 5);
    ck_assert_mem_eq(one->runner_ops, many->runner_ops, 5 * x->ops * sizeof *one->ops);
    ck_assert_int_eq(pp_movable_order_new(x, &movable, &err), PP_OK);
    for (uint32_t k = 0; k < one->runners; k++) {
        ck_assert_int_gt(one->runner[k], k ? one->runner[k - 1] : one->makespan);
        ck_assert(pp_movable_order_set(movable, one->runner_ops + (size_t)k * x->ops));
        ck_assert_int_eq(movable->makespan, one->runner[k]);
    }
}
END_TEST

static double over(void *context)
{
    (void)context;
    return 1;
}

/* A search that is stopped before it begins still has an order that fits, and reports that it ended
 * early. */
START_TEST(an_interrupt_leaves_an_order)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = uneven(12);
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_err err = { 0 };
    const pp_order_search_options budget = { .iterations = _i ? 1000000 : 0, .spent = over };
    ck_assert_msg(pp_order_search(x, 0, &budget, &found, &err) == PP_OK, "%s", err.text);
    ck_assert(!found->proved);
    ck_assert_int_eq(found->ended_early, _i);
}
END_TEST

/* A clock that a policy advances by `step`, until the search is over at the 20th look. */
typedef struct fake_clock {
    double step;
    int looks;
} fake_clock;

static double look(void *context)
{
    fake_clock *clock = context;
    const int looks = __atomic_add_fetch(&clock->looks, 1, __ATOMIC_RELAXED);
    return looks < 20 ? looks * clock->step : 1;
}

/* An order that runs one microbatch after the other. [x->ops] */
static uint32_t *one_by_one(const pp_order_problem *x)
{
    uint32_t *ops = calloc(x->ops, sizeof *ops), at = 0;
    ck_assert_ptr_nonnull(ops);
    for (uint32_t i = 0; i < x->microbatches; i++) {
        for (uint32_t s = 0; s < x->stages; s++)
            ops[at++] = pp_order_problem_op(x, PP_TASK_F, s, i);
        for (uint32_t s = x->stages; s-- > 0;) {
            ops[at++] = pp_order_problem_op(x, PP_TASK_B, s, i);
            ops[at++] = pp_order_problem_op(x, PP_TASK_W, s, i);
        }
    }
    return ops;
}

/* There are twice or four times as many chains if each has time for 15,000 policies, also where a
 * policy at once beats the order to begin with, but not if none does. */
START_TEST(much_time_has_more_chains)
{
    static const struct {
        uint32_t microbatches, threads;
        int64_t iterations;
        double policies; /* that one thread has time for */
        uint32_t chains;
    } cases[] = { { 12, 1, 0, 239000, 8 },  { 12, 1, 0, 241000, 16 }, { 12, 1, 0, 479000, 16 },
                  { 12, 1, 0, 481000, 32 }, { 12, 1, 0, 1e9, 32 },    { 12, 2, 0, 119000, 8 },
                  { 12, 2, 0, 241000, 32 }, { 12, 1, 10000, 1e9, 8 }, { 41, 1, 0, 1e9, 32 },
                  { 42, 1, 0, 1e9, 8 },     { 83, 1, 0, 1e9, 8 },     { 84, 1, 0, 1e9, 4 },
                  { 84, 1, 100, 1e9, 8 },   { 167, 1, 100, 1e9, 4 } };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = uneven(cases[_i].microbatches);
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_order_search_options budget = { .iterations = cases[_i].iterations,
                                       .spent = look,
                                       .threads = cases[_i].threads };
    fake_clock clock = { 1 / cases[_i].policies, 0 };
    pp_err err = { 0 };
    budget.context = &clock;
    ck_assert_msg(pp_order_search(x, 0, &budget, &found, &err) == PP_OK, "%s", err.text);
    ck_assert_uint_eq(found->chains, cases[_i].chains);
    uint32_t *slow = one_by_one(x);
    for (int good = 0; good < 2; good++) {
        pp_found_order *next PP_CLEANUP(pp_found_order_free) = NULL;
        budget.start = good ? found->ops : slow;
        clock.looks = 0;
        ck_assert_msg(pp_order_search(x, 0, &budget, &next, &err) == PP_OK, "%s", err.text);
        ck_assert_uint_eq(next->chains, good && cases[_i].chains > 8 ? 8 : cases[_i].chains);
        if (good)
            ck_assert_int_le(next->makespan, found->makespan);
    }
    free(slow);
}
END_TEST

START_TEST(too_large_a_microbatch_is_named)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = uneven(12);
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_err err = { 0 };
    const pp_order_search_options budget = { .iterations = 10 };
    x->memory[pp_order_problem_op(x, PP_TASK_F, 1, 5)].need = 501;
    ck_assert_int_eq(pp_order_search(x, 0, &budget, &found, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "microbatch 5 ") && strstr(err.text, "rank 1"), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order_search");
    TCase *tc = tcase_create("order_search");
    tcase_set_timeout(tc, 60);
    // Without sanitizers all 336 instances, with them every eighth.
    const int instances = 336 / (int)sample_stride(1, 8);
    tcase_add_loop_test(tc, no_bound_is_above_the_best_of_all_orders, 0, instances);
    tcase_add_loop_test(tc, a_short_one_delays_a_long_one, 0, 3);
    tcase_add_loop_test(tc, a_circle_of_no_time_is_no_order, 76, 80);
    tcase_add_loop_test(tc, threads_do_not_change_the_result, 2, 6);
    tcase_add_loop_test(tc, an_interrupt_leaves_an_order, 0, 2);
    tcase_add_loop_test(tc, much_time_has_more_chains, 0, 14);
    tcase_add_test(tc, too_large_a_microbatch_is_named);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
