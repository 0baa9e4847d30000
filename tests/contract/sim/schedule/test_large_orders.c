/* Orders of 16 ranks and 64 microbatches, checked by the rules of the frameworks instead of their
 * rows. Units F = I = W = 1, B = 2, no communication time; sail-sg's memory (F=+1, I=0, W=-1),
 * under which its orders are made. */
#include "sim/order/order_check.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"

enum { P = 16, M = 64 };

typedef uint32_t live_rule(uint32_t rank, uint32_t v);

static uint32_t all(uint32_t rank, uint32_t v)
{
    (void)rank;
    return M * v;
}

static uint32_t warm_up(uint32_t rank, uint32_t v)
{
    (void)v;
    return P - rank;
}

static uint32_t eager(uint32_t rank, uint32_t v)
{
    (void)v;
    return 2 * (P - 1 - rank) + 1;
}

/* Interleaved 1F1B (Narayanan et al. 2021): w = 2(p - r - 1) + (v - 1)N forwards, then one more. */
static uint32_t interleaved(uint32_t rank, uint32_t v)
{
    return 2 * (P - 1 - rank) + (v - 1) * P + 1;
}

/* One more, since a forward runs beside the backward that would free memory for it. */
static uint32_t combined(uint32_t rank, uint32_t v)
{
    return interleaved(rank, v) + 1;
}

/* Qi 2024: the memory of 1F1B, p of one stage or 2p of two. */
static uint32_t one_step(uint32_t rank, uint32_t v)
{
    (void)rank;
    return P * v;
}

static uint32_t two_steps(uint32_t rank, uint32_t v)
{
    (void)rank;
    (void)v;
    return 2 * P;
}

static uint32_t all_but_one(uint32_t rank, uint32_t v)
{
    (void)rank;
    (void)v;
    return 2 * P - 1;
}

/* The V schedules: p + 2 of 2p chunks (half of 1F1B's and one), a third rounded up to 12. */
static uint32_t v_half(uint32_t rank, uint32_t v)
{
    (void)rank;
    (void)v;
    return 18;
}

static uint32_t v_min(uint32_t rank, uint32_t v)
{
    (void)rank;
    (void)v;
    return 12;
}

/* DeepSeek-AI: P + 1, where P counts stages. */
static uint32_t dual(uint32_t rank, uint32_t v)
{
    (void)rank;
    return P * v + 1;
}

/* makespan: 3mv of work plus the bubble of the schedule's closed form; 0: there is none. */
static const struct {
    const char *schedule;
    uint32_t v, makespan;
    live_rule *live;
} rows[] = {
    { "gpipe", 1, 3 * (M + P - 1), all },
    { "1f1b", 1, 3 * (M + P - 1), warm_up },
    { "eager-1f1b", 1, 3 * (M + P - 1), eager },
    { "interleaved", 2, 3 * (2 * M + P - 1), interleaved },
    { "interleaved", 4, 3 * (4 * M + P - 1), interleaved },
    { "combined-1f1b", 2, 3 * (2 * M + P - 1), combined },
    { "looped-bfs", 2, 3 * (2 * M + P - 1), all },
    { "interleaved-zb", 2, 399, one_step },
    { "zb-h1", 1, 3 * M + P - 1, one_step },
    { "zb-h2", 1, 3 * M + P - 1, all_but_one },
    { "zb-1p", 1, 3 * M + P - 1, one_step },
    { "zb-2p", 1, 3 * M + P - 1, two_steps },
    { "zbv", 2, 399, one_step },
    { "zbv-auto", 2, 399, one_step },
    { "v-half", 2, 0, v_half },
    { "v-min", 2, 0, v_min },
    { "1f1b-v", 2, 0, NULL },
    { "dualpipev", 2, 399, dual },
    { "dualpipe", 1, 3 * M + P / 2 - 1, dual },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static pp_order *build(const char *schedule, uint32_t v, uint32_t group)
{
    static const pp_memory_costs until_w = { .f = 1, .i = 0, .w = -1 };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = step_costs("F=1us,I=1us,W=1us,comm=1ns", P, v, M);
    const pp_schedule_params shape = { .ranks = P,
                                       .chunks = v,
                                       .microbatches = M,
                                       .group_size = group,
                                       .costs = costs,
                                       .memory = &until_w };
    return step_order_for(schedule, &shape);
}

START_TEST(orders_are_complete_and_keep_their_memory_and_time)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) =
        step_of(build(rows[_i].schedule, rows[_i].v, 0), "F=1ns,I=1ns,W=1ns,B=2ns,comm=0");
    STEP_OK(pp_order_check(s.order, rows[_i].schedule, &err), err);
    ck_assert_uint_eq(s.order->stages, P * rows[_i].v);
    if (rows[_i].makespan)
        ck_assert_int_eq(s.report->makespan_ns, rows[_i].makespan);
    for (uint32_t r = 0; r < P; r++) {
        ck_assert_int_eq(s.report->per_rank[r].busy_ns, 3 * M * rows[_i].v);
        if (rows[_i].live)
            ck_assert_uint_eq(s.report->per_rank[r].peak_live_activations,
                              rows[_i].live(r, rows[_i].v));
    }
}
END_TEST

START_TEST(every_schedule_of_the_table_is_tried)
{
    for (size_t k = 0; k < pp_schedule_count(); k++) {
        bool found = false;
        for (int i = 0; i < ROWS; i++)
            found |= strcmp(rows[i].schedule, pp_schedule_at(k)->name) == 0;
        ck_assert_msg(found, "%s has no row", pp_schedule_at(k)->name);
    }
}
END_TEST

/* Megatron's order with its default group p is PyTorch's (2.2); its overlap does not change it. */
START_TEST(equal_orders_of_two_frameworks_are_equal)
{
    for (uint32_t v = 2; v <= 4; v += 2) {
        pp_order *pytorch PP_CLEANUP(pp_order_free) = build("interleaved", v, 0);
        pp_order *megatron PP_CLEANUP(pp_order_free) = build("interleaved", v, P);
        pp_order *wide PP_CLEANUP(pp_order_free) = build("interleaved", v, 2 * P);
        ck_assert(pp_order_equal(pytorch, megatron));
        ck_assert(!pp_order_equal(pytorch, wide));
    }
}
END_TEST

/* Forwards and backwards of combined-1f1b are those of interleaved, each kind in the same order;
 * the warm-up has one forward more, and each later forward is paired with the backward after it. */
START_TEST(combined_forwards_are_paired)
{
    for (uint32_t v = 2; v <= 4; v++) {
        pp_order *apart PP_CLEANUP(pp_order_free) = build("interleaved", v, P);
        pp_order *pairs PP_CLEANUP(pp_order_free) = build("combined-1f1b", v, P);
        for (uint32_t r = 0; r < P; r++) {
            const pp_op *a = &apart->ops[apart->rank_begin[r]];
            const pp_op *b = &pairs->ops[pairs->rank_begin[r]];
            const size_t count = apart->rank_begin[r + 1] - apart->rank_begin[r];
            ck_assert_uint_eq(pairs->rank_begin[r + 1] - pairs->rank_begin[r], count);
            for (int kind = PP_OP_F; kind <= PP_OP_B; kind += PP_OP_B - PP_OP_F) {
                size_t i = 0, k = 0;
                for (; i < count && k < count; i++, k++) {
                    while (i < count && a[i].kind != kind)
                        i++;
                    while (k < count && b[k].kind != kind)
                        k++;
                    if (i < count && k < count)
                        ck_assert(a[i].stage == b[k].stage && a[i].microbatch == b[k].microbatch);
                }
            }
            size_t warm = 0;
            while (b[warm].kind == PP_OP_F && !b[warm].paired)
                warm++;
            ck_assert_uint_eq(warm, interleaved(r, v)); /* that is w + 1 */
            for (size_t k = warm; k < count; k++) {
                ck_assert_int_eq(b[k].paired, b[k].kind == PP_OP_F);
                if (b[k].kind == PP_OP_F)
                    ck_assert_int_eq(b[k + 1].kind, PP_OP_B);
            }
        }
    }
}
END_TEST

/* One direction of DualPipe is DualPipeV on half of the ranks (4.2): rank r of 8 and rank r of 16
 * do the same, phase by phase. */
START_TEST(dualpipe_is_two_halves_of_dualpipev)
{
    pp_order *two PP_CLEANUP(pp_order_free) = step_order("dualpipe", P, 1, M, 0);
    pp_order *one PP_CLEANUP(pp_order_free) = step_order("dualpipev", P / 2, 2, M / 2, 0);
    for (uint32_t r = 0; r < P; r++) {
        uint32_t place = r < P / 2 ? r : P - 1 - r;
        size_t count = two->rank_begin[r + 1] - two->rank_begin[r];
        ck_assert_uint_eq(count, one->rank_begin[place + 1] - one->rank_begin[place]);
        for (size_t k = 0; k < count; k++) {
            pp_op a = two->ops[two->rank_begin[r] + k];
            pp_op b = one->ops[one->rank_begin[place] + k];
            bool second = (a.microbatch >= M / 2) != (r >= P / 2);
            ck_assert_uint_eq(a.kind, b.kind);
            ck_assert_uint_eq(a.paired, b.paired);
            ck_assert_uint_eq(a.microbatch % (M / 2), b.microbatch);
            ck_assert_int_eq(second, b.stage >= P / 2);
        }
    }
}
END_TEST

/* Executors that take the order run it at this size, no faster than its dependencies. */
START_TEST(executors_finish_it)
{
    pp_err err = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = build(rows[_i].schedule, rows[_i].v, 0);
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        step_costs("F=1us,I=1us,W=1us,comm=100ns", P, rows[_i].v, M);
    pp_ns floor_ns = 0;
    int lowered = 0;
    for (size_t e = 0; e < pp_framework_count(); e++) {
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        err = (pp_err){ 0 };
        pp_status status = pp_framework_at(e)->lower(order, &program, &err);
        ck_assert_msg(status == PP_OK || status == PP_USAGE || strstr(err.text, "wrong tensor"),
                      "%s: %s", pp_framework_at(e)->name, err.text);
        if (status)
            continue;
        STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
        pp_ns makespan_ns = pp_timeline_makespan(timeline);
        floor_ns = lowered++ ? floor_ns : makespan_ns; /* ideal comes first */
        ck_assert_int_ge(makespan_ns, floor_ns);
    }
    ck_assert_int_ge(lowered, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("large_orders");
    TCase *tc = tcase_create("p=16, m=64");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, orders_are_complete_and_keep_their_memory_and_time, 0, ROWS);
    tcase_add_test(tc, every_schedule_of_the_table_is_tried);
    tcase_add_test(tc, equal_orders_of_two_frameworks_are_equal);
    tcase_add_test(tc, combined_forwards_are_paired);
    tcase_add_test(tc, dualpipe_is_two_halves_of_dualpipev);
    tcase_add_loop_test(tc, executors_finish_it, 0, ROWS);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
