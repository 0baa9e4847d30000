/* Makespans that independent evaluators found (longest path), exact in nanoseconds: closed forms,
 * unequal stages, microbatches of unequal length (tests/data/README.md). */
#include "sim/schedule/builders/zero_bubble.h"
#include "tests/support/step.h"

#include <math.h>

enum {
    CASE,
    SCHEDULE,
    RANKS,
    MICROBATCHES,
    CHUNKS,
    FORWARD,
    BACKWARD,
    COMM,
    MULTIPLE,
    MAKESPAN,
    BUBBLE,
    PEAK,
    SOURCE,
    FIELDS
};

/* The index-th part of "a/b/c", or the only part if there is one. */
static const char *pick(const char *list, uint32_t index, char *buffer, size_t size)
{
    for (; index > 0 && strchr(list, '/'); index--)
        list = strchr(list, '/') + 1;
    snprintf(buffer, size, "%.*s", (int)strcspn(list, "/"), list);
    return buffer;
}

/* A multiple with one decimal, in tenths. */
static pp_ns tenths(const char *text)
{
    char with_unit[40];
    snprintf(with_unit, sizeof with_unit, "%sus", text);
    return step_duration(with_unit) / 100;
}

/* One class per entry of the list of multiples. */
static pp_costs *read_costs(char *fields[], const pp_order *order)
{
    char piece[32];
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    uint32_t classes = 1;
    for (const char *c = fields[MULTIPLE]; *c; c++)
        classes += *c == '/';
    STEP_OK(pp_costs_new(order->ranks, order->stages, order->microbatches, classes, &costs, &err),
            err);
    costs->has_memory = true;
    for (uint32_t j = 0; j < order->microbatches; j++)
        costs->class_of[j] = classes > 1 ? j : 0;
    for (uint32_t row = 0; row < classes; row++) {
        pp_ns multiple = tenths(pick(fields[MULTIPLE], row, piece, sizeof piece));
        for (uint32_t s = 0; s < order->stages; s++) {
            size_t i = (size_t)row * order->stages + s;
            uint32_t rank = order->stage_rank[s];
            pp_ns f = step_duration(pick(fields[FORWARD], rank, piece, sizeof piece));
            pp_ns b = step_duration(pick(fields[BACKWARD], rank, piece, sizeof piece));
            costs->f_ns[i] = f * multiple / 10;
            costs->b_ns[i] = b * multiple / 10;
            costs->send_f_ns[i] = s + 1 < order->stages ? step_duration(fields[COMM]) : 0;
            costs->send_b_ns[i] = s > 0 ? step_duration(fields[COMM]) : 0;
            costs->activation_bytes[i] = multiple; /* in tenths of a microbatch */
        }
    }
    return costs;
}

static void check_row(char *fields[])
{
    char piece[32];
    step s PP_CLEANUP(step_free) = {
        .order = step_order(fields[SCHEDULE], step_number(fields[RANKS]),
                            step_number(fields[CHUNKS]), step_number(fields[MICROBATCHES]), 0),
    };
    s.costs = read_costs(fields, s.order);
    step_simulate(&s);
    ck_assert_msg(s.report->makespan_ns == step_duration(fields[MAKESPAN]),
                  "%s p=%s m=%s comm=%s: %lld ns, not %s (%s)", fields[CASE], fields[RANKS],
                  fields[MICROBATCHES], fields[COMM], (long long)s.report->makespan_ns,
                  fields[MAKESPAN], fields[SOURCE]);
    if (*fields[BUBBLE])
        ck_assert_double_eq_tol(s.report->bubble_fraction, strtod(fields[BUBBLE], NULL), 5.1e-7);
    for (uint32_t r = 0; *fields[PEAK] && r < s.report->ranks; r++)
        ck_assert_int_eq(s.report->per_rank[r].memory.total_bytes,
                         tenths(pick(fields[PEAK], r, piece, sizeof piece)));
}

START_TEST(makespans_equal_those_of_other_evaluators)
{
    size_t bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = step_data("crosscheck.csv", &bytes);
    char *rest = text;
    char *fields[FIELDS];
    int rows = 0;
    ck_assert_ptr_nonnull(step_cut(&rest, '\n'));
    for (char *line; (line = step_cut(&rest, '\n')); rows++) {
        ck_assert_uint_eq(step_fields(line, fields, FIELDS), FIELDS);
        check_row(fields);
    }
    ck_assert_int_eq(rows, 42);
}
END_TEST

enum {
    O_SCHEDULE,
    O_RANKS,
    O_MICROBATCHES,
    O_CHUNKS,
    O_LIMIT,
    O_COMM,
    O_MAKESPAN,
    O_BUBBLE,
    O_PEAK,
    O_SOURCE,
    O_FIELDS
};

/* Most (stage, microbatch) pairs of a rank between F and I. */
static uint32_t peak_in_flight(const pp_order *order, uint32_t rank)
{
    uint32_t live = 0;
    uint32_t peak = 0;
    for (size_t i = order->rank_begin[rank]; i < order->rank_begin[rank + 1]; i++) {
        if (order->ops[i].kind == PP_OP_F && ++live > peak)
            peak = live;
        else if (order->ops[i].kind == PP_OP_I)
            live--;
    }
    return peak;
}

static void check_order(char *fields[])
{
    char text[64];
    char piece[32];
    pp_err err = { 0 };
    pp_order *order = NULL;
    pp_schedule_params shape = { .ranks = step_number(fields[O_RANKS]),
                                 .chunks = step_number(fields[O_CHUNKS]),
                                 .microbatches = step_number(fields[O_MICROBATCHES]) };
    snprintf(text, sizeof text, "F=1ms,I=1ms,W=1ms,comm=%s", fields[O_COMM]);
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        step_costs(text, shape.ranks, shape.chunks, shape.microbatches);
    shape.costs = costs;
    if (*fields[O_LIMIT])
        STEP_OK(pp_schedule_zb_build(&shape, step_number(fields[O_LIMIT]), &order, &err), err);
    else
        order = step_order_for(fields[O_SCHEDULE], &shape);
    step s PP_CLEANUP(step_free) = step_of(order, text);
    ck_assert_msg(s.report->makespan_ns == step_duration(fields[O_MAKESPAN]),
                  "%s p=%s m=%s limit=%s comm=%s: %lld ns, not %s", fields[O_SCHEDULE],
                  fields[O_RANKS], fields[O_MICROBATCHES], fields[O_LIMIT], fields[O_COMM],
                  (long long)s.report->makespan_ns, fields[O_MAKESPAN]);
    if (*fields[O_BUBBLE])
        ck_assert_double_eq_tol(s.report->bubble_fraction, strtod(fields[O_BUBBLE], NULL), 5.1e-7);
    const uint32_t told = shape.ranks < 8 ? shape.ranks : 8;
    for (uint32_t r = 0; *fields[O_PEAK] && r < told; r++)
        ck_assert_uint_eq(peak_in_flight(order, r),
                          step_number(pick(fields[O_PEAK], r, piece, sizeof piece)));
}

START_TEST(orders_take_as_long_as_those_of_other_generators)
{
    size_t bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = step_data("crosscheck_orders.csv", &bytes);
    char *rest = text;
    char *fields[O_FIELDS];
    int rows = 0;
    ck_assert_ptr_nonnull(step_cut(&rest, '\n'));
    for (char *line; (line = step_cut(&rest, '\n')); rows++) {
        ck_assert_uint_eq(step_fields(line, fields, O_FIELDS), O_FIELDS);
        check_order(fields);
    }
    ck_assert_int_eq(rows, 55);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crosscheck");
    TCase *tc = tcase_create("rows");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, makespans_equal_those_of_other_evaluators);
    tcase_add_test(tc, orders_take_as_long_as_those_of_other_generators);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
