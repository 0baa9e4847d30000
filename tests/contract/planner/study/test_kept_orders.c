/* Plans whose numbers alone are wanted, and whose orders and programs are kept from plans before
 * them, as in a sweep: the numbers are those of plans that are made alone. */
#include "planner/candidate/kept_orders.h"
#include "sim/framework/registry.h"
#include "tests/support/planning.h"
#include "tests/support/sample.h"

typedef struct asked {
    const char *framework;
    int64_t dp, tp, sequences, limit_gib; /* 0: no limit */
    int zero;
    pp_size_protocol_kind shapes;
    int64_t lookahead;
    int64_t tensors; /* per boundary; 0: 1 */
    bool pooled;     /* receive buffers per stage, as in no framework here */
} asked;

/* Neighbours differ in one setting, which the orders do not depend on; some fit nothing. */
static const asked table[] = {
    { .framework = "ppsim", .dp = 1, .tp = 4, .sequences = 32 },
    { .framework = "ppsim", .dp = 1, .tp = 8, .sequences = 32 },
    { .framework = "ppsim", .dp = 1, .tp = 8, .sequences = 32, .limit_gib = 30 },
    { .framework = "ppsim", .dp = 1, .tp = 8, .sequences = 32, .limit_gib = 10 },
    { .framework = "ppsim", .dp = 4, .tp = 8, .sequences = 128, .zero = 1 },
    { .framework = "ppsim", .dp = 4, .tp = 8, .sequences = 128, .zero = 3 },
    { .framework = "torch-2.15", .dp = 4, .tp = 8, .sequences = 128, .zero = 1 },
    { .framework = "torch-2.15", .dp = 4, .tp = 8, .sequences = 128, .zero = 3 },
    { .framework = "torch-2.15", .dp = 4, .tp = 8, .sequences = 128, .zero = 3, .lookahead = 1 },
    { .framework = "torch", .dp = 4, .tp = 8, .sequences = 128, .zero = 1 },
    { .framework = "megatron", .dp = 4, .tp = 8, .sequences = 128, .zero = 1 },
    { .framework = "megatron", .dp = 4, .tp = 8, .sequences = 128, .shapes = PP_SIZES_PADDED },
    { .framework = "megatron", .dp = 4, .tp = 8, .sequences = 128, .shapes = PP_SIZES_MESSAGE },
    { .framework = "torch", .dp = 1, .tp = 8, .sequences = 32, .pooled = true },
    { .framework = "torch", .dp = 1, .tp = 8, .sequences = 32 },
    { .framework = "ppsim", .dp = 1, .tp = 8, .sequences = 32, .tensors = 2 },
    { .framework = "ppsim", .dp = 1, .tp = 8, .sequences = 32, .tensors = 3, .pooled = true },
    { .framework = "zero-bubble", .dp = 1, .tp = 8, .sequences = 32 },
    { .framework = "zero-bubble", .dp = 1, .tp = 4, .sequences = 32 },
    { .framework = "ideal", .dp = 1, .tp = 4, .sequences = 32 },
};

static void set(const asked *a, const pp_schedule *schedule, pp_plan_request *request)
{
    pp_err err = { 0 };
    request->parallel.dp = a->dp;
    request->parallel.tp = a->tp;
    request->global_batch_size = a->sequences;
    request->memory_limit_bytes = a->limit_gib << 30;
    request->schedule = schedule;
    request->switches.given.zero = true;
    request->switches.value.zero = a->zero;
    request->exchange.shapes.kind = a->shapes;
    request->exchange.tensors = a->tensors;
    request->buffers.has_recv = a->pooled;
    request->buffers.recv = a->pooled ? PP_RECV_PER_STAGE : PP_RECV_ON_POST;
    request->exchange.pytorch.unshard_lookahead = (int32_t)a->lookahead;
    request->given_sharding.unshard_lookahead = a->lookahead != 0;
    STEP_OK(pp_framework_get(a->framework, &request->framework, &err), err);
}

static void compare(const pp_report *numbers, const pp_report *whole)
{
    ck_assert_int_eq(numbers->step_ns, whole->step_ns);
    ck_assert_int_eq(numbers->makespan_ns, whole->makespan_ns);
    ck_assert_int_eq(numbers->lower_bound_ns, whole->lower_bound_ns);
    ck_assert_int_eq(numbers->memory_limit_bytes, whole->memory_limit_bytes);
    ck_assert_int_eq(numbers->peak_memory_bytes, whole->peak_memory_bytes);
    ck_assert_uint_eq(numbers->peak_memory_rank, whole->peak_memory_rank);
    ck_assert_double_eq(numbers->bubble_fraction, whole->bubble_fraction);
    ck_assert_double_eq(numbers->bubble_rate, whole->bubble_rate);
    ck_assert_double_eq(numbers->tokens_per_s, whole->tokens_per_s);
    ck_assert_double_eq(numbers->model_flops_utilization, whole->model_flops_utilization);
    ck_assert_uint_eq(numbers->ranks, whole->ranks);
    for (uint32_t r = 0; r < whole->ranks; r++) {
        const pp_rank_report *a = &numbers->per_rank[r], *b = &whole->per_rank[r];
        ck_assert_int_eq(a->busy_ns, b->busy_ns);
        ck_assert_mem_eq(a->idle_ns, b->idle_ns, sizeof a->idle_ns);
        if (a->memory.total_bytes || r == whole->peak_memory_rank) { /* it may have the peak */
            ck_assert_mem_eq(a->memory.bytes, b->memory.bytes, sizeof a->memory.bytes);
            ck_assert_int_eq(a->memory.at_ns, b->memory.at_ns);
        }
    }
}

/* alone: a request without kept orders. Returns true if there is a plan. */
static bool try_both(const pp_plan_request *alone, pp_kept_orders *kept)
{
    pp_plan_request request = *alone;
    pp_search_result *whole PP_CLEANUP(pp_search_result_free) = NULL;
    pp_search_result *numbers PP_CLEANUP(pp_search_result_free) = NULL;
    pp_err expected = { 0 }, err = { 0 };
    request.kept = kept;
    request.numbers_only = true;
    const pp_status status = pp_plan_search(alone, &whole, &expected);
    ck_assert_int_eq(pp_plan_search(&request, &numbers, &err), status);
    ck_assert_str_eq(err.text, expected.text);
    if (status)
        return false;
    ck_assert_str_eq(numbers->plan->schedule, whole->plan->schedule);
    ck_assert_uint_eq(numbers->count, whole->count);
    for (size_t i = 0; i < whole->count; i++) {
        ck_assert_int_eq(numbers->candidate[i].step_ns, whole->candidate[i].step_ns);
        ck_assert_int_eq(numbers->candidate[i].peak_bytes, whole->candidate[i].peak_bytes);
    }
    compare(numbers->plan->prediction, whole->plan->prediction);
    return true;
}

START_TEST(numbers_are_those_of_plans_made_alone)
{
    static const char *const schedules[] = { "1f1b", "interleaved", "zb-h1", "zbv" };
    planning p = planning_of("llama3-70b", "h200-141g");
    pp_kept_orders *kept PP_CLEANUP(pp_kept_orders_free) = NULL;
    pp_err err = { 0 };
    uint32_t planned = 0;
    STEP_OK(pp_kept_orders_new(&kept, &err), err);
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
        const pp_schedule *schedule = NULL;
        STEP_OK(pp_schedule_get(schedules[k], &schedule, &err), err);
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            if (sample_skips(k + i, 2, 4))
                continue;
            pp_plan_request request = request_of(&p, 4);
            set(&table[i], schedule, &request);
            planned += try_both(&request, kept);
        }
    }
    ck_assert_uint_gt(planned, 5);
}
END_TEST

/* Nothing is lent that has given way: more orders than are kept, and larger ones. */
START_TEST(kept_orders_give_way)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_kept_orders *kept PP_CLEANUP(pp_kept_orders_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_kept_orders_new(&kept, &err), err);
    for (int64_t n = 8; n < 30; n++) {
        pp_plan_request request = request_of(&p, 4);
        request.parallel.tp = 2;
        request.global_batch_size = n % 7 == 0 ? 2048 * n : n;
        request.micro_batch_size = 1;
        STEP_OK(pp_framework_get("ppsim", &request.framework, &err), err);
        STEP_OK(pp_schedule_get("1f1b", &request.schedule, &err), err);
        ck_assert(try_both(&request, kept));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept_orders");
    TCase *tc = tcase_create("kept_orders");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, numbers_are_those_of_plans_made_alone);
    tcase_add_test(tc, kept_orders_give_way);
    return step_run(suite);
}
