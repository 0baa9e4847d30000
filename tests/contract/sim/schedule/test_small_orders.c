/* Schedules that no framework prints as orders, written down from their definitions, and numbers of
 * zbv-auto with unequal durations. */
#include "tests/support/step.h"

/* Zhuang 2022: 2 (p - 1 - r) warm-up forwards. Qi 2024, figures 2 and 3: ZB-H1, ZB-H2. */
static const struct {
    const char *name;
    uint32_t p, m;
    const char *rows;
} small[] = {
    { "eager-1f1b", 3, 4,
      "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n"
      "1F0,1F1,1F2,1B0,1F3,1B1,1B2,1B3\n"
      "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n" },
    { "eager-1f1b", 3, 2, "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1\n" },
    { "zb-h1", 3, 4,
      "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
      "1F0,1F1,1I0,1F2,1I1,1W0,1F3,1I2,1W1,1I3,1W2,1W3\n"
      "2F0,2I0,2F1,2I1,2F2,2I2,2W0,2F3,2I3,2W1,2W2,2W3\n" },
    { "zb-h1", 4, 2,
      "0F0,0F1,0I0,0W0,0I1,0W1\n"
      "1F0,1F1,1I0,1W0,1I1,1W1\n"
      "2F0,2F1,2I0,2I1,2W0,2W1\n"
      "3F0,3I0,3F1,3I1,3W0,3W1\n" },
    { "zb-h2", 2, 5,
      "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0F4,0I2,0W2,0I3,0W3,0I4,0W4\n"
      "1F0,1I0,1F1,1I1,1F2,1I2,1W0,1F3,1I3,1W1,1F4,1I4,1W2,1W3,1W4\n" },
    /* found by another program, written from the description of the algorithm alone */
    { "v-half", 3, 3,
      "0F0,0F1,0F2,5F0,5I0,5W0,5F1,5I1,5W1,"
      "0I0,0W0,5F2,5I2,0I1,5W2,0W1,0I2,0W2\n"
      "1F0,1F1,4F0,4F1,4I0,4W0,1F2,4I1,1I0,"
      "4W1,1W0,4F2,1I1,4I2,4W2,1W1,1I2,1W2\n"
      "2F0,3F0,2F1,3F1,3I0,3W0,2I0,2W0,2F2,"
      "3F2,3I1,2I1,3W1,2W1,3I2,2I2,3W2,2W2\n" },
};

enum { SMALL = sizeof small / sizeof small[0] };

START_TEST(small_orders_are_those_of_the_definition)
{
    pp_err err = { 0 };
    pp_order *wanted PP_CLEANUP(pp_order_free) = NULL;
    STEP_OK(pp_format_read(small[_i].rows, strlen(small[_i].rows), "rows", &wanted, &err), err);
    pp_order *ours PP_CLEANUP(pp_order_free) = step_order(
        small[_i].name, small[_i].p, pp_schedule_find(small[_i].name)->chunks, small[_i].m, 0);
    ck_assert_msg(pp_order_equal(wanted, ours), "%s p=%u m=%u", small[_i].name, small[_i].p,
                  small[_i].m);
}
END_TEST

/* At F = I = W with memory held until W, the heuristic finds ZB-H1 (sail-sg prints it so). */
START_TEST(zb_1p_is_zb_h1_at_equal_durations)
{
    const pp_memory_costs until_w = { .f = 1, .i = 0, .w = -1 };
    const pp_schedule_params shape = {
        .ranks = (uint32_t)_i, .chunks = 1, .microbatches = 4 * (uint32_t)_i, .memory = &until_w
    };
    pp_order *a PP_CLEANUP(pp_order_free) = step_order_for("zb-h1", &shape);
    pp_order *b PP_CLEANUP(pp_order_free) = step_order_for("zb-1p", &shape);
    ck_assert(pp_order_equal(a, b));
}
END_TEST

/* Spans found by another program, written from the description of the algorithm alone; in each row
 * a different variant wins. */
START_TEST(zbv_auto_chooses_its_variant_by_the_durations)
{
    static const struct {
        uint32_t p, m;
        const char *costs;
        pp_ns span_ns;
    } rows[] = {
        { 7, 19, "F=14ns,I=11ns,W=15ns,comm=3ns", 1602 },
        { 8, 9, "F=3ns,I=19ns,W=10ns,comm=3ns", 812 },
        { 4, 2, "F=15ns,I=12ns,W=6ns,comm=3ns", 288 },
        { 4, 3, "F=4ns,I=17ns,W=15ns,comm=3ns", 293 },
        { 8, 10, "F=9ns,I=16ns,W=12ns,comm=3ns", 907 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        pp_schedule_params shape = { .ranks = rows[k].p, .chunks = 2, .microbatches = rows[k].m };
        pp_costs *costs PP_CLEANUP(pp_costs_free) =
            step_costs(rows[k].costs, shape.ranks, 2, shape.microbatches);
        shape.costs = costs;
        step s PP_CLEANUP(step_free) = step_of(step_order_for("zbv-auto", &shape), rows[k].costs);
        ck_assert_int_eq(s.report->span_ns, rows[k].span_ns);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("small_orders");
    TCase *tc = tcase_create("orders");
    tcase_add_loop_test(tc, small_orders_are_those_of_the_definition, 0, SMALL);
    tcase_add_loop_test(tc, zb_1p_is_zb_h1_at_equal_durations, 1, 10);
    tcase_add_test(tc, zbv_auto_chooses_its_variant_by_the_durations);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
