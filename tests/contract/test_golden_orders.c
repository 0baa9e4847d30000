/* The generators emit what PyTorch and Megatron-LM run, token for token, and the numbers of those
 * orders are those of the reference evaluator (tests/data/golden/README.md). */
#include "tests/contract/step.h"

/* Of a file name such as megatron_interleaved_v2_N16_p8_m32. */
typedef struct origin {
    const char *schedule;
    uint32_t v, group;
} origin;

static uint32_t number_after(const char *name, const char *mark)
{
    const char *at = strstr(name, mark);
    return at ? (uint32_t)strtoul(at + strlen(mark), NULL, 10) : 0;
}

static origin origin_of(const char *name, uint32_t p)
{
    origin o = { .schedule = "1f1b", .v = 1 };
    if (strncmp(name, "pt_gpipe", 8) == 0)
        o.schedule = "gpipe";
    if (!strstr(name, "interleaved"))
        return o;
    o.schedule = "interleaved";
    o.v = number_after(name, "_v");
    o.group = number_after(name, "_N");
    if (o.group == 0 && strncmp(name, "megatron", 8) == 0)
        o.group = p; /* Megatron's default */
    return o;
}

static void check_numbers(const step *s, char *fields[])
{
    const pp_ns ms = 1000000;
    ck_assert_int_eq(s->report->makespan_ns, step_number(fields[6]) * ms);
    ck_assert_int_eq(s->report->span_ns, step_number(fields[10]) * ms);
    char *rest = fields[11];
    for (uint32_t r = 0; r < s->report->ranks; r++) {
        char *live = step_cut(&rest, '/');
        ck_assert_ptr_nonnull(live);
        ck_assert_uint_eq(s->report->per_rank[r].peak_live_activations, step_number(live));
        ck_assert_int_eq(s->report->per_rank[r].busy_ns, step_number(fields[7]) * ms);
    }
}

static void check_row(char *fields[])
{
    char path[128];
    char *text PP_CLEANUP(pp_free_text) = NULL;
    pp_order *golden PP_CLEANUP(pp_order_free) = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    uint32_t p = step_number(fields[3]);
    origin o = origin_of(fields[0], p);
    snprintf(path, sizeof path, "golden/%s.csv", fields[0]);
    text = step_data(path, &bytes);
    STEP_OK(pp_format_read(text, bytes, path, &golden, &err), err);
    pp_order *ours = step_order(o.schedule, p, o.v, step_number(fields[4]), o.group);
    ck_assert_msg(pp_order_equal(golden, ours), "%s differs from %s", path, o.schedule);
    ck_assert_uint_eq(ours->stages, step_number(fields[5]));
    step s PP_CLEANUP(step_free) = step_of(ours, "F=1ms,I=1ms,W=1ms,B=2ms,comm=0");
    check_numbers(&s, fields);
}

START_TEST(orders_and_their_numbers_equal_the_golden_ones)
{
    size_t bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = step_data("golden/metrics.csv", &bytes);
    char *rest = text;
    char *fields[14];
    int rows = 0;
    ck_assert_ptr_nonnull(step_cut(&rest, '\n'));
    for (char *line; (line = step_cut(&rest, '\n')); rows++) {
        ck_assert_uint_eq(step_fields(line, fields, 14), 14);
        check_row(fields);
    }
    ck_assert_int_eq(rows, 17);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_orders");
    TCase *tc = tcase_create("orders");
    tcase_add_test(tc, orders_and_their_numbers_equal_the_golden_ones);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
