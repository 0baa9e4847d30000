/* Properties of every entry of sim/schedules.def. */
#include "planner/bound/bound.h"
#include "sim/order/order_check.h"
#include "tests/support/step.h"

static const uint32_t ranks_tried[] = { 1, 2, 3, 4, 5, 8 };
static const uint32_t microbatches_tried[] = { 1, 2, 3, 4, 6, 8, 9, 16, 21 };
static const uint32_t chunks_tried[] = { 1, 2, 3, 4 };

typedef void (*shape_check)(const pp_schedule *schedule, const pp_schedule_params *shape,
                            pp_order *order);

/* Runs `check` on every shape that the schedule accepts; a refusal must be a usage error with a
 * message. `check` frees the order. */
static void over_shapes(const pp_schedule *schedule, shape_check check)
{
    size_t built = 0;
    for (size_t i = 0; i < sizeof ranks_tried / sizeof ranks_tried[0]; i++) {
        for (size_t j = 0; j < sizeof microbatches_tried / sizeof microbatches_tried[0]; j++) {
            for (size_t k = 0; k < sizeof chunks_tried / sizeof chunks_tried[0]; k++) {
                const pp_schedule_params shape = { .ranks = ranks_tried[i],
                                                   .chunks = chunks_tried[k],
                                                   .microbatches = microbatches_tried[j] };
                pp_order *order = NULL;
                pp_err err = { 0 };
                pp_status status = pp_schedule_build(schedule, &shape, &order, &err);
                if (status) {
                    ck_assert_int_eq(status, PP_USAGE);
                    ck_assert_msg(strlen(err.text) > 20, "%s: no reason", schedule->name);
                    continue;
                }
                built++;
                check(schedule, &shape, order);
            }
        }
    }
    ck_assert_msg(built > 0, "%s accepts none of the shapes", schedule->name);
}

static void is_complete(const pp_schedule *schedule, const pp_schedule_params *shape,
                        pp_order *order)
{
    pp_err err = { 0 };
    ck_assert_msg(pp_order_check(order, schedule->name, &err) == PP_OK, "p=%u v=%u m=%u %s: %s",
                  shape->ranks, shape->chunks, shape->microbatches, err.where, err.text);
    ck_assert_uint_eq(order->stages, shape->ranks * shape->chunks);
    for (uint32_t s = 0; s < order->stages; s++)
        ck_assert_uint_eq(order->stage_rank[s],
                          pp_placement_rank(schedule->placement, s, order->ranks));
    pp_order_free(&order);
}

START_TEST(orders_are_complete_and_valid)
{
    over_shapes(pp_schedule_at((size_t)_i), is_complete);
}
END_TEST

/* What sim/cost/step.c takes as the stage whose gradients are reduced at the end of the step. */
static void ends_with_its_first_stage(const pp_schedule *schedule, const pp_schedule_params *shape,
                                      pp_order *order)
{
    for (uint32_t r = 0; r < order->ranks; r++) {
        uint32_t first = 0;
        while (order->stage_rank[first] != r)
            first++;
        ck_assert_msg(order->ops[order->rank_begin[r + 1] - 1].stage == first,
                      "%s p=%u v=%u m=%u: rank %u", schedule->name, shape->ranks, shape->chunks,
                      shape->microbatches, r);
    }
    pp_order_free(&order);
}

START_TEST(every_rank_ends_with_its_first_stage)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    if (!schedule->simulate_only) /* stages on two ranks */
        over_shapes(schedule, ends_with_its_first_stage);
}
END_TEST

static void is_repeatable(const pp_schedule *schedule, const pp_schedule_params *shape,
                          pp_order *order)
{
    pp_order *again = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_schedule_build(schedule, shape, &again, &err), err);
    ck_assert(pp_order_equal(order, again));
    pp_order_free(&again);
    pp_order_free(&order);
}

START_TEST(equal_input_gives_equal_orders)
{
    over_shapes(pp_schedule_at((size_t)_i), is_repeatable);
}
END_TEST

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(pp_ns *table, size_t count, uint32_t limit, uint32_t *state)
{
    for (size_t i = 0; i < count; i++)
        table[i] = next_random(state) % limit;
}

/* Different costs for every stage and microbatch. */
static pp_costs *random_costs(const pp_order *order, uint32_t seed)
{
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    uint32_t m = order->microbatches;
    size_t n = (size_t)order->stages * m;
    STEP_OK(pp_costs_new(order->ranks, order->stages, m, m, &costs, &err), err);
    costs->has_memory = true;
    fill(costs->f_ns, n, 1000, &seed);
    fill(costs->i_ns, n, 1000, &seed);
    fill(costs->w_ns, n, 700, &seed);
    fill(costs->send_f_ns, n, 50, &seed);
    fill(costs->send_b_ns, n, 50, &seed);
    fill(costs->activation_bytes, n, 1 << 20, &seed);
    fill(costs->recompute_bytes, n, 1 << 18, &seed);
    fill(costs->logits_bytes, n, 1 << 10, &seed);
    fill(costs->parameter_bytes, order->ranks, 1 << 24, &seed);
    for (uint32_t j = 0; j < m; j++)
        costs->class_of[j] = j;
    for (size_t i = 0; i < n; i++) {
        costs->b_ns[i] = costs->i_ns[i] + costs->w_ns[i];
        costs->stash_bytes[i] = costs->activation_bytes[i] / 2;
    }
    return costs;
}

static void is_for_any_costs(const pp_schedule *schedule, const pp_schedule_params *shape,
                             pp_order *order)
{
    pp_err err = { 0 };
    pp_schedule_params with_costs = *shape;
    step s PP_CLEANUP(step_free) = { .costs = random_costs(order, shape->microbatches + 3) };
    pp_order_free(&order);
    with_costs.costs = s.costs;
    s.order = step_order_for(schedule->name, &with_costs);
    STEP_OK(pp_order_check(s.order, schedule->name, &err), err);
    step_simulate(&s);
}

/* Stages and microbatches may all differ. */
START_TEST(orders_for_any_costs_are_complete_and_run)
{
    over_shapes(pp_schedule_at((size_t)_i), is_for_any_costs);
}
END_TEST

static void does_as_it_says(const pp_schedule *schedule, const pp_schedule_params *shape,
                            pp_order *order)
{
    pp_schedule_params with_costs = *shape;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = random_costs(order, shape->microbatches + 5);
    with_costs.costs = costs;
    pp_order *again = step_order_for(schedule->name, &with_costs);
    if (!schedule->uses_costs)
        ck_assert_msg(pp_order_equal(order, again), "%s p=%u v=%u m=%u", schedule->name,
                      shape->ranks, shape->chunks, shape->microbatches);
    pp_order_free(&again);
    pp_order_free(&order);
}

/* A search makes the orders of these schedules once (planner/candidate/evaluate.c). */
START_TEST(orders_depend_on_costs_only_if_they_say_so)
{
    over_shapes(pp_schedule_at((size_t)_i), does_as_it_says);
}
END_TEST

static void is_conserved(const pp_schedule *schedule, const pp_schedule_params *shape,
                         pp_order *order)
{
    (void)schedule;
    pp_err err = { 0 };
    step s = { .order = order, .costs = random_costs(order, shape->microbatches * 7 + 1) };
    step_simulate(&s);
    pp_bound bound;
    STEP_OK(pp_bound_order(s.costs, order, 0, &bound, &err), err);
    ck_assert_int_le(bound.ns, s.report->makespan_ns);
    for (uint32_t r = 0; r < order->ranks; r++) {
        const pp_rank_report *rank = &s.report->per_rank[r];
        pp_ns sum = rank->busy_ns;
        for (int c = 0; c < PP_IDLE_COUNT; c++) {
            ck_assert_int_ge(rank->idle_ns[c], 0);
            sum += rank->idle_ns[c];
        }
        ck_assert_int_eq(sum, s.report->makespan_ns);
        int64_t bytes = 0;
        for (int c = 0; c < PP_MEMORY_COUNT; c++) {
            ck_assert_int_ge(rank->memory.bytes[c], 0);
            bytes += rank->memory.bytes[c];
        }
        ck_assert_int_eq(bytes, rank->memory.total_bytes);
    }
    step_free(&s);
}

/* Busy and idle time sum to the makespan, components to the peak, on every rank; nothing ends
 * before its bound. */
START_TEST(time_and_memory_are_conserved)
{
    over_shapes(pp_schedule_at((size_t)_i), is_conserved);
}
END_TEST

typedef struct last_memory {
    int64_t bytes[PP_MEMORY_COUNT];
    pp_ns at_ns;
} last_memory;

static void keep_last(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    last_memory *last = context;
    ck_assert_int_ge(at_ns, last->at_ns);
    last->at_ns = at_ns;
    memcpy(last->bytes, bytes, sizeof last->bytes);
}

static void gives_back(const pp_schedule *schedule, const pp_schedule_params *shape,
                       pp_order *order)
{
    (void)schedule;
    pp_err err = { 0 };
    step s = { .order = order, .costs = random_costs(order, shape->ranks) };
    step_simulate(&s);
    for (uint32_t r = 0; r < order->ranks; r++) {
        last_memory last = { .at_ns = 0 };
        pp_memory_peak peak;
        STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, r, keep_last, &last, &peak, &err),
                err);
        for (int c = 0; c < PP_MEMORY_COUNT; c++) {
            int64_t kept = c == PP_MEMORY_PARAMETERS ? s.costs->parameter_bytes[r] : 0;
            ck_assert_int_eq(last.bytes[c], kept);
        }
    }
    step_free(&s);
}

/* After the step, only parameters, gradients and optimizer state remain. */
START_TEST(memory_of_a_step_is_given_back)
{
    over_shapes(pp_schedule_at((size_t)_i), gives_back);
}
END_TEST

START_TEST(names_are_unique_and_described)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    ck_assert_ptr_eq(pp_schedule_find(schedule->name), schedule);
    ck_assert_uint_gt(strlen(schedule->summary), 10);
    for (const char *c = schedule->name; *c; c++)
        ck_assert_msg(strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *c), "%s", schedule->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedules");
    TCase *tc = tcase_create("every schedule");
    int count = (int)pp_schedule_count();
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, orders_are_complete_and_valid, 0, count);
    tcase_add_loop_test(tc, every_rank_ends_with_its_first_stage, 0, count);
    tcase_add_loop_test(tc, equal_input_gives_equal_orders, 0, count);
    tcase_add_loop_test(tc, orders_for_any_costs_are_complete_and_run, 0, count);
    tcase_add_loop_test(tc, orders_depend_on_costs_only_if_they_say_so, 0, count);
    tcase_add_loop_test(tc, time_and_memory_are_conserved, 0, count);
    tcase_add_loop_test(tc, memory_of_a_step_is_given_back, 0, count);
    tcase_add_loop_test(tc, names_are_unique_and_described, 0, count);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
