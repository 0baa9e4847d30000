/* Makespans that independent evaluators found (longest path), exact in nanoseconds: closed forms,
 * unequal stages, microbatches of unequal length (tests/data/README.md). */
#include "tests/contract/step.h"

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

/* The index-th of "a/b/c", or its only one. */
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

int main(void)
{
    Suite *suite = suite_create("crosscheck");
    TCase *tc = tcase_create("rows");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, makespans_equal_those_of_other_evaluators);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
