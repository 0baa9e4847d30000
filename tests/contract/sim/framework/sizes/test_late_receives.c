/* Executor ppsim with late receives (sim/framework/sizes/late_receives.c), over all schedules:
 * nothing hangs, and a step takes as long as the comment of that file states. Durations and sizes
 * differ from microbatch to microbatch. */
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/pairs.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"
#include "tests/support/semantics.h"

#define RANKS_MAX 8
#define NONE UINT32_MAX

static const uint32_t microbatches_tried[] = { 1, 2, 3, 4, 8, 12 };

/* A random number of [1, most]. */
static pp_ns some(uint64_t *seed, pp_ns most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 1 + (pp_ns)((*seed >> 33) % (uint64_t)most);
}

/* send_ns: the longest transfer; ops take up to 100. One size in two is that of the microbatch
 * before. */
static pp_costs *some_costs(const pp_order *order, pp_ns send_ns)
{
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    uint64_t seed = order->ranks + 10 * order->microbatches;
    uint32_t m = order->microbatches;
    STEP_OK(pp_costs_new(order->ranks, order->stages, m, m, &costs, &err), err);
    costs->has_memory = true;
    for (uint32_t j = 0; j < m; j++) {
        costs->class_of[j] = j;
        bool same = j > 0 && some(&seed, 2) == 1;
        for (uint32_t s = 0; s < order->stages; s++) {
            size_t at = pp_cost_index(costs, s, j);
            costs->f_ns[at] = some(&seed, 100);
            costs->i_ns[at] = some(&seed, 100);
            costs->w_ns[at] = some(&seed, 100);
            costs->b_ns[at] = costs->i_ns[at] + costs->w_ns[at];
            costs->pair_ns[at] = 300;
            costs->send_f_ns[at] = s + 1 < order->stages ? some(&seed, send_ns) : 0;
            costs->send_b_ns[at] = s > 0 ? some(&seed, send_ns) : 0;
            costs->message_bytes[at] =
                same ? costs->message_bytes[at - order->stages] : 100 + (int64_t)j;
        }
    }
    return costs;
}

static bool crosses(const pp_program *program, size_t i)
{
    uint32_t source = program->source[i];
    return source != PP_NO_SOURCE && pp_program_rank(program, program->op[source]) !=
                                         pp_program_rank(program, program->op[i]);
}

static pp_ns travels_ns(const pp_costs *costs, pp_op op)
{
    return op.kind == PP_OP_F
               ? costs->send_f_ns[pp_cost_index(costs, op.stage - 1u, op.microbatch)]
               : costs->send_b_ns[pp_cost_index(costs, op.stage + 1u, op.microbatch)];
}

typedef struct bounds {
    pp_ns most_ns;
    pp_ns least_ns;
    bool alone; /* every op fetches one tensor, which is an activation */
} bounds;

/* charge: [ops], what each op has to fetch: its input, and everything that was sent before it on
 * its edge and not fetched by an earlier op. handshake_ns: for an activation. */
static bool charge_ops(const pp_program *program, const pp_costs *costs, pp_ns handshake_ns,
                       pp_ns *charge)
{
    uint32_t front[RANKS_MAX][RANKS_MAX];
    uint32_t last[RANKS_MAX][RANKS_MAX];
    uint32_t *consumer = malloc(program->count * sizeof *consumer);
    uint32_t *after = malloc(program->count * sizeof *after);
    bool alone = true;
    ck_assert(consumer && after);
    memset(front, 0xff, sizeof front);
    memset(consumer, 0xff, program->count * sizeof *consumer);
    memset(after, 0xff, program->count * sizeof *after);
    for (size_t i = 0; i < program->count; i++) {
        if (crosses(program, i))
            consumer[program->source[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < program->count; i++) { /* rank by rank, in the order of its sends */
        uint32_t to = consumer[i];
        if (to == NONE)
            continue;
        uint32_t *edge = &front[pp_program_rank(program, program->op[i])]
                               [pp_program_rank(program, program->op[to])];
        uint32_t *end = &last[pp_program_rank(program, program->op[i])]
                             [pp_program_rank(program, program->op[to])];
        *(*edge == NONE ? edge : &after[*end]) = to;
        *end = to;
    }
    bool *fetched = calloc(program->count, sizeof *fetched);
    ck_assert_ptr_nonnull(fetched);
    for (size_t i = 0; i < program->count; i++) {
        charge[i] = 0;
        if (!crosses(program, i))
            continue;
        uint32_t *edge = &front[pp_program_rank(program, program->op[program->source[i]])]
                               [pp_program_rank(program, program->op[i])];
        size_t count = 0;
        for (; !fetched[i]; *edge = after[*edge], count++) {
            pp_op op = program->op[*edge];
            charge[i] += travels_ns(costs, op) + (op.kind == PP_OP_F ? handshake_ns : 0);
            fetched[*edge] = true;
        }
        alone = alone && count == 1 && program->op[i].kind == PP_OP_F;
    }
    free(consumer);
    free(after);
    free(fetched);
    return alone;
}

/* Bounds with dependencies only and `charge` before each op. least: each op fetches its own tensor
 * alone, which may already be under way if it is a gradient or was fetched for another op. */
static bounds bounds_of(const pp_program *program, const pp_costs *costs, pp_ns handshake_ns)
{
    pp_ns *charge = malloc(program->count * sizeof *charge);
    pp_ns *most = malloc(program->count * sizeof *most);
    pp_ns *least = malloc(program->count * sizeof *least);
    const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    bounds b = { 0 };
    ck_assert(charge && most && least);
    b.alone = charge_ops(program, costs, handshake_ns, charge);
    for (size_t k = 0; k < program->count; k++) {
        uint32_t i = program->topological_order[k];
        pp_op op = program->op[i];
        uint32_t source = program->source[i];
        pp_ns takes_ns = table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
        bool first = i == program->rank_begin[pp_program_rank(program, op)];
        pp_ns rank_ns[2] = { first ? 0 : most[i - 1], first ? 0 : least[i - 1] };
        pp_ns made_ns[2] = { source == PP_NO_SOURCE ? 0 : most[source],
                             source == PP_NO_SOURCE ? 0 : least[source] };
        pp_ns own_ns = crosses(program, i) ? travels_ns(costs, op) : 0;
        bool late = op.kind == PP_OP_F && charge[i] > 0;
        if (!late)
            made_ns[1] += own_ns;
        most[i] = (rank_ns[0] > made_ns[0] ? rank_ns[0] : made_ns[0]) + charge[i] + takes_ns;
        least[i] =
            (rank_ns[1] > made_ns[1] ? rank_ns[1] : made_ns[1]) + (late ? own_ns : 0) + takes_ns;
        b.most_ns = most[i] > b.most_ns ? most[i] : b.most_ns;
        b.least_ns = least[i] > b.least_ns ? least[i] : b.least_ns;
    }
    free(charge);
    free(most);
    free(least);
    return b;
}

/* The first of the neighbouring stages on one rank that end with `stage`. */
static uint32_t lowest(const pp_program *program, uint32_t stage)
{
    while (stage > 0 && program->stage_rank[stage - 1] == program->stage_rank[stage])
        stage--;
    return stage;
}

/* With a message before every activation, an activation's buffer is allocated after the read, and a
 * gradient's after that of the activation whose size it has. */
static void buffers_follow_their_sizes(const pp_program *program)
{
    const pp_comm *comm = program->comm;
    size_t m = program->microbatches;
    bool *read = calloc(program->stages * m, sizeof *read);
    ck_assert_ptr_nonnull(read);
    for (size_t s = 0; s < comm->step_count; s++) {
        pp_comm_step at = comm->step[s];
        if (at.kind != PP_COMM_STEP_POST && at.kind != PP_COMM_STEP_READ)
            continue;
        const pp_transfer *t = &comm->transfer[comm->group[at.index].first];
        if (at.kind == PP_COMM_STEP_READ) {
            ck_assert_int_eq(t->kind, PP_RECV_FS);
            ck_assert_int_eq(comm->step[s - 1].kind, PP_COMM_STEP_WAIT);
            ck_assert_uint_eq(comm->step[s - 1].index, at.index);
            read[t->stage * m + t->microbatch] = true;
        } else if (t->kind == PP_RECV_F) {
            ck_assert(read[t->stage * m + t->microbatch]);
        } else if (t->kind == PP_RECV_B && lowest(program, t->stage) > 0) {
            ck_assert(read[lowest(program, t->stage) * m + t->microbatch]);
        }
    }
    free(read);
}

typedef struct way {
    const char *shapes, *comm;
    pp_ns message_ns, read_ns;
} way;

/* The makespan; -1 when it cannot finish. */
static pp_ns run(const pp_order *order, const pp_costs *costs, const way *w)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    const pp_framework *framework = NULL;
    pp_exchange_options exchange = { .shape_message_ns = w->message_ns,
                                     .host.read_ns = w->read_ns };
    pp_err err = { 0 };
    STEP_OK(pp_framework_get("ppsim", &framework, &err), err);
    STEP_OK(pp_size_protocol_parse(w->shapes, &exchange.shapes, &err), err);
    STEP_OK(pp_framework_lower(framework, order, costs, NULL, &program, &err), err);
    STEP_OK(pp_exchange_lower(framework, &exchange, costs, program, &err), err);
    ck_assert_int_eq(program->comm->semantics.lanes, PP_LANES_PER_PEER);
    if (exchange.shapes.kind == PP_SIZES_MESSAGE)
        buffers_follow_their_sizes(program);
    STEP_OK(parse_semantics(w->comm, "", &program->comm->semantics, &err), err);
    pp_status status = pp_simulate(program, costs, &timeline, &err);
    ck_assert_msg(!status || (costs->has_pairs && status == PP_INFEASIBLE), "%s %s: %s", w->shapes,
                  w->comm, err.text);
    return status ? -1 : pp_timeline_makespan(timeline);
}

/* Half of the sizes are buffered, and either no message is or all are. */
static const char *const comms[] = { "rendezvous", "eager:106B", "eager:1MB" };

static void keeps_its_bounds(const char *name, const pp_order *order, pp_costs *costs)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_program_from_order(order, &program, &err), err);
    const bounds b = bounds_of(program, costs, 0);
    const bounds shaken = bounds_of(program, costs, 5 + 7);
    for (size_t c = 0; c < sizeof comms / sizeof comms[0]; c++) {
        const way plan = { "plan", comms[c], 0, 0 };
        const way message = { "message", comms[c], 0, 0 };
        const way cached = { "cached", comms[c], 0, 0 };
        const way costly = { "message", comms[c], 5, 7 };
        pp_ns plan_ns = run(order, costs, &plan);
        pp_ns message_ns = run(order, costs, &message);
        pp_ns cached_ns = run(order, costs, &cached);
        pp_ns costly_ns = run(order, costs, &costly);
        ck_assert_msg(plan_ns <= cached_ns && cached_ns <= message_ns && message_ns <= b.most_ns &&
                          message_ns <= costly_ns && costly_ns <= shaken.most_ns,
                      "%s p=%u S=%u m=%u %s: plan %ld, cached %ld, message %ld of %ld, %ld of %ld",
                      name, order->ranks, order->stages, order->microbatches, comms[c],
                      (long)plan_ns, (long)cached_ns, (long)message_ns, (long)b.most_ns,
                      (long)costly_ns, (long)shaken.most_ns);
        if (c == 0) {
            ck_assert_int_ge(message_ns, b.least_ns);
            ck_assert(!b.alone || message_ns == b.most_ns);
        }
    }
}

/* Pairs with a duration of their own finish if they do so with all sizes known. */
static void pairs_finish_as_planned(const pp_order *order, pp_costs *costs)
{
    costs->has_pairs = true;
    for (size_t c = 0; c < 2; c++) {
        const way plan = { "plan", comms[c], 0, 0 };
        const way message = { "message", comms[c], 0, 0 };
        const way cached = { "cached", comms[c], 0, 0 };
        bool finishes = run(order, costs, &plan) >= 0;
        ck_assert_int_eq(run(order, costs, &message) >= 0, finishes);
        ck_assert_int_eq(run(order, costs, &cached) >= 0, finishes);
    }
    costs->has_pairs = false;
}

static void check_order(const char *name, const pp_order *order, pp_ns send_ns)
{
    if (order->mirrored_from != order->microbatches) /* bidirectional: framework ppsim refuses it */
        return;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = some_costs(order, send_ns);
    keeps_its_bounds(name, order, costs);
    pairs_finish_as_planned(order, costs);
}

/* Transfers much shorter than ops, and longer. */
START_TEST(no_schedule_hangs_and_all_keep_their_bounds)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    size_t fits = 0;
    for (uint32_t p = 2; p <= RANKS_MAX; p++) {
        for (size_t k = 0; k < 6 * 3; k++) {
            const pp_schedule_params shape = { .ranks = p,
                                               .chunks = (uint32_t)(k % 3 + 1),
                                               .microbatches = microbatches_tried[k / 3] };
            pp_order *order PP_CLEANUP(pp_order_free) = NULL;
            pp_order *forwards PP_CLEANUP(pp_order_free) = NULL;
            pp_err err = { 0 };
            if (pp_schedule_build(schedule, &shape, &order, &err) || sample_skips(fits++, 2, 3))
                continue;
            STEP_OK(pp_order_drop_backward(order, &forwards, &err), err);
            for (pp_ns send_ns = 10; send_ns <= 1000; send_ns *= 100) {
                check_order(schedule->name, order, send_ns);
                check_order(schedule->name, forwards, send_ns);
            }
        }
    }
    ck_assert_uint_gt(fits, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("late_receives");
    TCase *tc = tcase_create("late receives");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, no_schedule_hangs_and_all_keep_their_bounds, 0,
                        (int)pp_schedule_count());
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
