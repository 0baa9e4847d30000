/* The generators emit what PyTorch, Megatron-LM and sail-sg run, token for token, and the numbers
 * of those orders are those of the reference evaluator (tests/data/golden/README.md). */
#include "tests/support/step.h"

/* What a file name such as megatron_interleaved_v2_N16_p8_m32 states. */
typedef struct origin {
    const char *prefix;
    const char *schedule;
    uint32_t v; /* 0: the name states it */
    bool sail;  /* made for the costs and the memory of tests/data/golden/README.md */
} origin;

static const origin origins[] = {
    { "pt_gpipe_", "gpipe", 1, false },
    { "pt_1f1b_", "1f1b", 1, false },
    { "pt_interleaved_1f1b_", "interleaved", 0, false },
    { "pt_looped_bfs_", "looped-bfs", 0, false },
    { "pt_interleaved_zb1p_", "interleaved-zb", 0, false },
    { "pt_zbv_", "zbv", 2, false },
    { "pt_dualpipev_", "dualpipev", 2, false },
    { "megatron_1f1b_", "1f1b", 1, false },
    { "megatron_interleaved_", "interleaved", 0, false },
    { "sail_zb1p_", "zb-1p", 1, true },
    { "sail_zb2p_", "zb-2p", 1, true },
    { "sail_zbv_", "zbv-auto", 2, true },
    { "sail_vhalf_", "v-half", 2, true },
    { "sail_vmin_", "v-min", 2, true },
    { "sail_1f1b_v_", "1f1b-v", 2, true },
};

static uint32_t number_after(const char *name, const char *mark)
{
    const char *at = strstr(name, mark);
    return at ? (uint32_t)strtoul(at + strlen(mark), NULL, 10) : 0;
}

static const origin *origin_of(const char *name)
{
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        if (strncmp(name, origins[i].prefix, strlen(origins[i].prefix)) == 0)
            return &origins[i];
    }
    ck_abort_msg("%s: which schedule is that?", name);
    return NULL;
}

static pp_order *build(const char *name, const origin *from, uint32_t p, uint32_t m)
{
    const pp_memory_costs until_w = { .f = 1, .i = 0, .w = -1 };
    pp_schedule_params shape = { .ranks = p,
                                 .microbatches = m,
                                 .group_size = number_after(name, "_N") };
    shape.chunks = from->v ? from->v : number_after(name, "_v");
    if (shape.group_size == 0 && strncmp(name, "megatron_i", 10) == 0)
        shape.group_size = p; /* Megatron's default */
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        step_costs("F=1ms,I=1ms,W=1ms,comm=1us", p, shape.chunks, m);
    if (from->sail) {
        shape.costs = costs;
        shape.memory = &until_w;
    }
    return step_order_for(from->schedule, &shape);
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
    const origin *from = origin_of(fields[0]);
    snprintf(path, sizeof path, "golden/%s.csv", fields[0]);
    text = step_data(path, &bytes);
    STEP_OK(pp_format_read(text, bytes, path, &golden, &err), err);
    pp_order *ours = build(fields[0], from, step_number(fields[3]), step_number(fields[4]));
    ck_assert_msg(pp_order_equal(golden, ours), "%s differs from %s", path, from->schedule);
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
    ck_assert_int_eq(rows, 37);
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
