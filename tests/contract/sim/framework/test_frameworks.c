/* Properties of every entry of sim/executors.def, for any schedule. */
#include "sim/base/text.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"

static const uint32_t ranks_tried[] = { 1, 2, 3, 4, 8 };
static const uint32_t microbatches_tried[] = { 1, 2, 4, 9, 16 };
static const uint32_t chunks_tried[] = { 1, 2, 3 };
static const uint32_t groups_tried[] = { 0, 4, 8, 12 };

typedef void lowered_check(const pp_framework *framework, const char *name, const pp_order *order,
                           pp_program *program);

/* Activations and gradients on one directed edge, received in another order than sent. Megatron
 * refuses interleaving without overlap at p = 2; PyTorch's defer_pp_recv does not detect it. */
static bool is_swapped(const pp_framework *framework, const pp_order *order, const char *reason)
{
    bool both = order->stages > order->ranks;
    return both && strstr(reason, "wrong tensor") &&
           ((order->ranks == 2 && strcmp(framework->name, "megatron") == 0) ||
            strcmp(framework->name, "torch-defer-recv") == 0);
}

/* Returns false if it is refused with a message. */
static bool try_order(const pp_framework *framework, const char *name, const pp_order *order,
                      lowered_check *check)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    pp_status status = framework->lower(order, &program, &err);
    if (status == PP_USAGE || (status == PP_INFEASIBLE && is_swapped(framework, order, err.text))) {
        ck_assert_msg(strlen(err.text) > 20, "%s: no reason", framework->name);
        return false;
    }
    ck_assert_msg(status == PP_OK, "%s on %s p=%u S=%u m=%u: %s", framework->name, name,
                  order->ranks, order->stages, order->microbatches, err.text);
    check(framework, name, order, program);
    return true;
}

static size_t over_groups(const pp_framework *framework, const pp_schedule *schedule,
                          pp_schedule_params shape, lowered_check *check)
{
    size_t lowered = 0;
    size_t groups = schedule->grouped ? sizeof groups_tried / sizeof groups_tried[0] : 1;
    for (size_t g = 0; g < groups; g++) {
        pp_order *order PP_CLEANUP(pp_order_free) = NULL;
        pp_err err = { 0 };
        shape.group_size = groups_tried[g];
        if (pp_schedule_build(schedule, &shape, &order, &err))
            continue;
        lowered += try_order(framework, schedule->name, order, check);
        pp_order *forwards PP_CLEANUP(pp_order_free) = NULL; /* an evaluation */
        STEP_OK(pp_order_drop_backward(order, &forwards, &err), err);
        try_order(framework, schedule->name, forwards, check);
    }
    return lowered;
}

static void over_all(const pp_framework *framework, lowered_check *check)
{
    size_t lowered = 0;
    size_t tried = 0;
    for (size_t s = 0; s < pp_schedule_count(); s++) {
        for (size_t i = 0; i < sizeof ranks_tried / sizeof ranks_tried[0]; i++) {
            for (size_t j = 0; j < sizeof microbatches_tried / sizeof microbatches_tried[0]; j++) {
                for (size_t k = 0; k < sizeof chunks_tried / sizeof chunks_tried[0]; k++) {
                    const pp_schedule_params shape = { .ranks = ranks_tried[i],
                                                       .chunks = chunks_tried[k],
                                                       .microbatches = microbatches_tried[j] };
                    if (!sample_skips(tried++, 2, 4))
                        lowered += over_groups(framework, pp_schedule_at(s), shape, check);
                }
            }
        }
    }
    ck_assert_msg(lowered > (sample_stride(2, 4) > 1 ? 0 : 10),
                  "%s accepts almost none of the shapes", framework->name);
}

/* Each compute op runs once, in the order of its rank; each group is posted once and waited for
 * after that. */
static void steps_are_complete(const pp_program *program)
{
    const pp_comm *comm = program->comm;
    uint8_t *posted = calloc(comm->group_count + 1, 1);
    ck_assert_ptr_nonnull(posted);
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t op = program->rank_begin[r];
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++) {
            pp_comm_step at = comm->step[s];
            if (at.kind == PP_COMM_STEP_RUN)
                ck_assert_uint_eq(at.index, op++);
            if (at.kind != PP_COMM_STEP_POST && at.kind != PP_COMM_STEP_WAIT)
                continue;
            ck_assert_uint_eq(comm->group[at.index].rank, r);
            ck_assert_uint_eq(posted[at.index], at.kind == PP_COMM_STEP_WAIT);
            posted[at.index] = 1;
        }
        ck_assert_uint_eq(op, program->rank_begin[r + 1]);
    }
    for (size_t g = 0; g < comm->group_count; g++)
        ck_assert_uint_eq(posted[g], comm->group[g].count > 0);
    free(posted);
}

/* Each transfer meets one of the same tensor, and each input from another rank is received. */
static void transfers_are_complete(const pp_program *program)
{
    const pp_comm *comm = program->comm;
    size_t inputs = 0;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        ck_assert_uint_lt(own->match, comm->transfer_count);
        const pp_transfer *other = &comm->transfer[own->match];
        ck_assert_uint_eq(other->match, t);
        ck_assert_uint_eq(other->peer, own->rank);
        ck_assert_uint_eq(other->rank, own->peer);
        ck_assert_uint_ne(own->rank, own->peer);
        ck_assert_uint_eq(other->microbatch, own->microbatch);
    }
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        bool crosses = source != PP_NO_SOURCE && pp_program_rank(program, program->op[source]) !=
                                                     pp_program_rank(program, program->op[i]);
        ck_assert_uint_eq(comm->needs[i] != PP_NO_SOURCE, crosses);
        inputs += crosses;
    }
    ck_assert_uint_eq(comm->transfer_count, 2 * inputs);
}

static void is_complete(const pp_framework *framework, const char *name, const pp_order *order,
                        pp_program *program)
{
    (void)framework;
    (void)name;
    ck_assert_uint_eq(program->count, order->rank_begin[order->ranks]);
    ck_assert_mem_eq(program->op, order->ops, program->count * sizeof *program->op);
    if (!program->comm)
        return;
    steps_are_complete(program);
    transfers_are_complete(program);
}

START_TEST(lowering_is_complete)
{
    over_all(pp_framework_at((size_t)_i), is_complete);
}
END_TEST

static void is_repeatable(const pp_framework *framework, const char *name, const pp_order *order,
                          pp_program *program)
{
    pp_program *again PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(framework->lower(order, &again, &err), err);
    const pp_comm *a = program->comm;
    const pp_comm *b = again->comm;
    if (!a)
        return;
    ck_assert_msg(a->step_count == b->step_count && a->transfer_count == b->transfer_count,
                  "%s on %s", framework->name, name);
    for (size_t s = 0; s < a->step_count; s++) {
        ck_assert_uint_eq(a->step[s].kind, b->step[s].kind);
        ck_assert_uint_eq(a->step[s].index, b->step[s].index);
    }
    for (size_t t = 0; t < a->transfer_count; t++) {
        ck_assert_uint_eq(a->transfer[t].group, b->transfer[t].group);
        ck_assert_uint_eq(a->transfer[t].match, b->transfer[t].match);
    }
}

START_TEST(equal_orders_give_equal_programs)
{
    over_all(pp_framework_at((size_t)_i), is_repeatable);
}
END_TEST

static void is_conserved(const pp_framework *framework, const char *name, const pp_order *order,
                         pp_program *program)
{
    pp_err err = { 0 };
    pp_order *copy = NULL;
    step s PP_CLEANUP(step_free) = { .order = copy };
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    s.costs = step_costs("F=1ms,I=1.1ms,W=0.8ms,comm=0.3ms", order->ranks,
                         order->stages / order->ranks, order->microbatches);
    STEP_OK(lower_with("ideal", order, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    ck_assert_msg(pp_simulate(program, s.costs, &timeline, &err) == PP_OK,
                  "%s on %s p=%u S=%u m=%u: %s", framework->name, name, order->ranks, order->stages,
                  order->microbatches, err.text);
    STEP_OK(pp_report_build(name, framework, program, timeline, s.costs, true, &report, &err), err);
    ck_assert_msg(report->makespan_ns >= pp_timeline_makespan(s.timeline),
                  "%s on %s p=%u S=%u m=%u: faster than its dependencies", framework->name, name,
                  order->ranks, order->stages, order->microbatches);
    for (uint32_t r = 0; r < order->ranks; r++) {
        pp_ns sum = report->per_rank[r].busy_ns;
        for (int k = 0; k < PP_IDLE_COUNT; k++) {
            ck_assert_int_ge(report->per_rank[r].idle_ns[k], 0);
            sum += report->per_rank[r].idle_ns[k];
        }
        ck_assert_int_eq(sum, report->makespan_ns);
    }
}

START_TEST(programs_run_no_faster_than_their_dependencies_and_time_is_conserved)
{
    over_all(pp_framework_at((size_t)_i), is_conserved);
}
END_TEST

/* A collective of two ranks needs both of them, buffers or not. */
START_TEST(collectives_are_never_eager)
{
    static const char *const names[] = { "deepspeed", "neuronx" };
    pp_ns makespan[2];
    for (int k = 0; k < 2; k++) {
        pp_err err = { 0 };
        step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 4, 1, 8, 0) };
        s.costs = step_costs("F=1ms,I=1ms,W=1ms,comm=0.1ms", 4, 1, 8);
        STEP_OK(lower_with(names[k], s.order, &s.program, &err), err);
        s.program->comm->semantics =
            (pp_comm_semantics){ .mode = PP_COMM_EAGER, .eager_bytes = 1024 };
        STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
        makespan[k] = pp_timeline_makespan(s.timeline);
    }
    ck_assert_int_lt(makespan[0], makespan[1]);
}
END_TEST

/* Beyond 64 ranks, whose bits fill more than one word, PyTorch's rows are complete: without latency
 * they take as long as dependencies alone. */
START_TEST(torch_lowers_many_ranks)
{
    static const char *const names[] = { "1f1b", "gpipe", "zb-h1" };
    step s = step_of(step_order(names[_i], 130, 1, 5, 0), "F=1us,I=1us,W=1us,comm=0");
    const pp_ns ideal_ns = s.report->makespan_ns;
    pp_timeline *timeline = NULL;
    pp_program *program = NULL;
    pp_err err = { 0 };
    STEP_OK(lower_with("torch", s.order, &program, &err), err);
    STEP_OK(pp_simulate(program, s.costs, &timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(timeline), ideal_ns);
    pp_timeline_free(&timeline);
    pp_program_free(&program);
    step_free(&s);
}
END_TEST

int main(void)
{
    int count = (int)pp_framework_count();
    Suite *suite = suite_create("executors");
    TCase *tc = tcase_create("table");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, lowering_is_complete, 0, count);
    tcase_add_loop_test(tc, equal_orders_give_equal_programs, 0, count);
    tcase_add_loop_test(tc, programs_run_no_faster_than_their_dependencies_and_time_is_conserved, 0,
                        count);
    tcase_add_test(tc, collectives_are_never_eager);
    tcase_add_loop_test(tc, torch_lowers_many_ranks, 0, 3);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
