/* Orders that are changed by random moves and exchanges: ends, tails and memory stay those of the
 * same order made anew, and what does not fit is refused. A change is made if, and only if, the
 * order made anew with it ends in time. Ranks have two stages, and microbatches take different
 * memory. */
#include "planner/order/movable_order.h"
#include "sim/base/random.h"
#include "tests/support/step.h"

#include <string.h>

enum { RANKS = 3, STAGES = 6, MICROBATCHES = 5, OPS = 3 * STAGES * MICROBATCHES };
enum { SEEDS = 60, CHANGES = 600 };

static pp_order_problem *draw_problem(pp_rng *rng)
{
    static const uint32_t fold[STAGES] = { 0, 1, 2, 2, 1, 0 };
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_problem_new("drawn", RANKS, STAGES, MICROBATCHES, fold, &x, &err), err);
    for (uint32_t op = 0; op < x->ops; op++) {
        pp_task *task = &x->task[op];
        bool remote = task->before < x->ops && x->task[task->before].rank != task->rank;
        task->ticks = 1 + pp_rng_below(rng, 20);
        task->lag = remote ? pp_rng_below(rng, 5) : 0;
    }
    int64_t largest = 0;
    for (uint32_t i = 0; i < MICROBATCHES; i++) {
        for (uint32_t s = 0; s < STAGES; s++) {
            int64_t taken = 1 + pp_rng_below(rng, 9);
            int64_t kept = pp_rng_below(rng, (uint32_t)taken + 3); /* may be more than was taken */
            int64_t extra = pp_rng_below(rng, 3);
            x->memory[pp_order_problem_op(x, PP_TASK_F, s, i)] = (pp_task_memory){ taken, taken };
            x->memory[pp_order_problem_op(x, PP_TASK_B, s, i)] =
                (pp_task_memory){ extra, kept - taken };
            x->memory[pp_order_problem_op(x, PP_TASK_W, s, i)] = (pp_task_memory){ 0, -kept };
            largest = taken + extra + 2 > largest ? taken + extra + 2 : largest;
        }
    }
    for (uint32_t r = 0; r < RANKS; r++)
        x->room[r] = 2 * largest + pp_rng_below(rng, 8);
    return x;
}

/* One microbatch after the other. */
static void begin(const pp_order_problem *x, uint32_t *ops)
{
    uint32_t k = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t op = 0; op < x->ops; op++)
            if (x->task[op].rank == r)
                ops[k++] = op;
}

START_TEST(changes_keep_what_the_order_made_anew_has)
{
    uint32_t exchanged = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pp_rng rng = { seed + 1 };
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(&rng);
        pp_movable_order *changed PP_CLEANUP(pp_movable_order_free) = NULL;
        pp_movable_order *anew PP_CLEANUP(pp_movable_order_free) = NULL;
        uint32_t ops[OPS];
        pp_err err = { 0 };
        STEP_OK(pp_movable_order_new(x, &changed, &err), err);
        STEP_OK(pp_movable_order_new(x, &anew, &err), err);
        begin(x, ops);
        ck_assert(pp_movable_order_set(changed, ops));
        for (int k = 0; k < CHANGES; k++) {
            if (pp_rng_below(&rng, 4) == 0) {
                const uint32_t i = pp_rng_below(&rng, MICROBATCHES);
                const uint32_t j = (i + 1 + pp_rng_below(&rng, MICROBATCHES - 1)) % MICROBATCHES;
                exchanged += pp_movable_order_exchange(changed, i, j, INT64_MAX / 4);
            } else {
                uint32_t r = pp_rng_below(&rng, RANKS);
                uint32_t places = changed->begin[r + 1] - 1 - changed->begin[r];
                uint32_t from = changed->begin[r] + pp_rng_below(&rng, places);
                uint32_t to = changed->begin[r] + pp_rng_below(&rng, places);
                if (from == to || !pp_movable_order_move(changed, from, to, INT64_MAX / 4))
                    continue;
            }
            pp_movable_order_get(changed, ops);
            ck_assert_msg(pp_movable_order_set(anew, ops), "seed %d, change %d", (int)seed, k);
            ck_assert_int_eq(changed->makespan, anew->makespan);
            ck_assert_mem_eq(changed->end, anew->end, sizeof *anew->end * x->ops);
            ck_assert_mem_eq(changed->tail, anew->tail, sizeof *anew->tail * x->ops);
            for (uint32_t op = 0; op < x->ops; op++)
                ck_assert_int_eq(changed->held[changed->place[op]], anew->held[anew->place[op]]);
        }
    }
    ck_assert_uint_gt(exchanged, SEEDS);
}
END_TEST

/* The places of movable orders count the "no op" between ranks, those of `ops` do not. */
static void move_in(uint32_t *ops, uint32_t from, uint32_t to)
{
    const uint32_t moved = ops[from];
    const uint32_t by = from < to ? 1 : UINT32_MAX;
    for (uint32_t at = from; at != to; at += by)
        ops[at] = ops[at + by];
    ops[to] = moved;
}

/* Every op of one microbatch in the place of the other's. */
static void exchange_in(const pp_order_problem *x, uint32_t *ops, uint32_t i, uint32_t j)
{
    const uint32_t chain = 3 * STAGES;
    for (uint32_t k = 0; k < x->ops; k++) {
        const uint32_t other = ops[k] / chain == i ? j : ops[k] / chain == j ? i : ops[k] / chain;
        ops[k] = other * chain + ops[k] % chain;
    }
}

START_TEST(a_change_is_made_if_it_ends_in_time)
{
    uint32_t made[2] = { 0 }, late[2] = { 0 }, refused[2] = { 0 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pp_rng rng = { seed + 1 };
        pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(&rng);
        pp_movable_order *order PP_CLEANUP(pp_movable_order_free) = NULL;
        pp_movable_order *anew PP_CLEANUP(pp_movable_order_free) = NULL;
        uint32_t ops[OPS], moved[OPS];
        pp_err err = { 0 };
        STEP_OK(pp_movable_order_new(x, &order, &err), err);
        STEP_OK(pp_movable_order_new(x, &anew, &err), err);
        for (uint32_t r = 0; r < RANKS && seed % 2; r++)
            x->room[r] = 1000; /* more than all take */
        begin(x, ops);
        ck_assert(pp_movable_order_set(order, ops));
        for (int k = 0; k < CHANGES; k++) {
            const int64_t limit = order->makespan + pp_rng_below(&rng, k % 2 ? 2 : 20);
            const bool exchanges = pp_rng_below(&rng, 4) == 0;
            const uint32_t r = pp_rng_below(&rng, RANKS);
            const uint32_t first = order->begin[r], places = order->begin[r + 1] - 1 - first;
            const uint32_t from =
                exchanges ? pp_rng_below(&rng, MICROBATCHES) : first + pp_rng_below(&rng, places);
            const uint32_t to =
                exchanges ? pp_rng_below(&rng, MICROBATCHES) : from + pp_rng_below(&rng, 17) - 8;
            if (from == to || (!exchanges && (to < first || to >= first + places)))
                continue;
            pp_movable_order_get(order, moved);
            if (exchanges)
                exchange_in(x, moved, from, to);
            else
                move_in(moved, from - r - 1, to - r - 1);
            const bool possible = pp_movable_order_set(anew, moved);
            const bool in_time = possible && anew->makespan <= limit;
            const bool done = exchanges ? pp_movable_order_exchange(order, from, to, limit)
                                        : pp_movable_order_move(order, from, to, limit);
            ck_assert_msg(done == in_time, "seed %d, change %d", (int)seed, k);
            made[exchanges] += in_time;
            late[exchanges] += possible && !in_time;
            refused[exchanges] += !possible;
            if (in_time)
                memcpy(ops, moved, sizeof ops);
            ck_assert(pp_movable_order_set(anew, ops));
            ck_assert_int_eq(order->makespan, anew->makespan);
            ck_assert_mem_eq(order->end, anew->end, sizeof *anew->end * x->ops);
            ck_assert_mem_eq(order->tail, anew->tail, sizeof *anew->tail * x->ops);
            for (uint32_t op = 0; op < x->ops; op++)
                ck_assert_int_eq(order->held[order->place[op]], anew->held[anew->place[op]]);
        }
    }
    for (int k = 0; k < 2; k++) {
        ck_assert_uint_gt(made[k], (k ? 1 : 20) * SEEDS);
        ck_assert_uint_gt(late[k], 20 * SEEDS);
        ck_assert_uint_gt(refused[k], SEEDS);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("movable_order");
    TCase *tc = tcase_create("movable_order");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, changes_keep_what_the_order_made_anew_has);
    tcase_add_test(tc, a_change_is_made_if_it_ends_in_time);
    return step_run(suite);
}
