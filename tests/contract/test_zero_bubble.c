/* Qi 2024 (Zero Bubble Pipeline Parallelism), table 5 from the profiled times of table 9: bubble
 * rates of 1F1B, whose backward is one op of I + W. */
#include "tests/contract/step.h"

enum { MODEL, RANKS, MICROBATCHES, F, I, W, COMM, RATE, FIELDS };

static void check_row(char *fields[])
{
    char costs[128];
    char rate[16];
    snprintf(costs, sizeof costs, "F=%s,I=%s,W=%s,comm=%s", fields[F], fields[I], fields[W],
             fields[COMM]);
    pp_order *order =
        step_order("1f1b", step_number(fields[RANKS]), 1, step_number(fields[MICROBATCHES]), 0);
    step s PP_CLEANUP(step_free) = step_of(order, costs);
    snprintf(rate, sizeof rate, "%.4f", s.report->bubble_rate);
    ck_assert_msg(strcmp(rate, fields[RATE]) == 0, "%s m=%s: %s, published %s", fields[MODEL],
                  fields[MICROBATCHES], rate, fields[RATE]);
}

START_TEST(bubble_rates_of_1f1b_equal_the_published_ones)
{
    size_t bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = step_data("zero_bubble.csv", &bytes);
    char *rest = text;
    char *fields[FIELDS];
    int rows = 0;
    ck_assert_ptr_nonnull(step_cut(&rest, '\n'));
    for (char *line; (line = step_cut(&rest, '\n')); rows++) {
        ck_assert_uint_eq(step_fields(line, fields, FIELDS), FIELDS);
        check_row(fields);
    }
    ck_assert_int_eq(rows, 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("zero_bubble");
    TCase *tc = tcase_create("1f1b");
    tcase_add_test(tc, bubble_rates_of_1f1b_equal_the_published_ones);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
