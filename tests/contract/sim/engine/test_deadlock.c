/* Which ways of issuing the same transfers hang when nothing is buffered, with one queue per rank
 * or one per peer and direction. The expected results are those of another rendezvous model (see
 * tests/data/golden/README.md). */
#include "sim/analysis/repair.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"

typedef enum rule {
    AS_LOWERED,
    PARITY,      /* even ranks: send_next, recv_prev, send_prev, recv_next; odd: receives first */
    ONE_ORDER,   /* all ranks in the order of even ones */
    SENDS_FIRST, /* all ranks */
    RECVS_FIRST,
} rule;

typedef enum verdict { OK, HANGS, WRONG_TENSOR } verdict;

/* Position of a transfer among those that its rank issues together. */
static int place(const pp_transfer *t, rule by)
{
    static const int even[] = {
        [PP_SEND_F] = 0, [PP_RECV_F] = 1, [PP_SEND_B] = 2, [PP_RECV_B] = 3
    };
    static const int odd[] = { [PP_RECV_F] = 0, [PP_SEND_F] = 1, [PP_RECV_B] = 2, [PP_SEND_B] = 3 };
    bool sends = pp_transfer_sends((pp_transfer_kind)t->kind);
    switch (by) {
    case AS_LOWERED:
        break;
    case PARITY:
        return t->rank % 2 ? odd[t->kind] : even[t->kind];
    case ONE_ORDER:
        return even[t->kind];
    case SENDS_FIRST:
        return sends ? even[t->kind] : 4 + even[t->kind];
    case RECVS_FIRST:
        return sends ? 4 + even[t->kind] : even[t->kind];
    }
    return 0;
}

/* The same transfers, each in a group of its own. */
typedef struct splitting {
    const pp_program *from;
    pp_comm_builder *builder;
    uint32_t *group; /* [transfers]: its own group */
    rule by;
    bool blocking; /* each waited for before the next is issued */
} splitting;

/* Issues the posts of steps s up to end. */
static void issue(const splitting *p, size_t s, size_t end)
{
    const pp_comm *comm = p->from->comm;
    for (int turn = 0; turn < 8; turn++) {
        for (size_t k = s; k < end; k++) {
            const pp_group *group = &comm->group[comm->step[k].index];
            for (uint32_t t = group->first; t < group->first + group->count; t++) {
                const pp_transfer *own = &comm->transfer[t];
                if (place(own, p->by) != turn)
                    continue;
                p->group[t] = pp_comm_open(p->builder, own->rank);
                pp_comm_add(p->builder, p->group[t], (pp_transfer_kind)own->kind, own->stage,
                            own->microbatch);
                pp_comm_post(p->builder, p->group[t]);
                if (p->blocking)
                    pp_comm_wait(p->builder, p->group[t]);
            }
        }
    }
}

static void split_rank(const splitting *p, uint32_t rank)
{
    const pp_comm *comm = p->from->comm;
    size_t end = comm->step_begin[rank + 1];
    for (size_t s = comm->step_begin[rank]; s < end;) {
        pp_comm_step at = comm->step[s];
        if (at.kind == PP_COMM_STEP_POST) {
            size_t last = s;
            while (last < end && comm->step[last].kind == PP_COMM_STEP_POST)
                last++;
            issue(p, s, last);
            s = last;
            continue;
        }
        const pp_group *group = &comm->group[at.index];
        if (at.kind == PP_COMM_STEP_RUN)
            pp_comm_run(p->builder, rank, at.index);
        for (uint32_t t = 0; at.kind == PP_COMM_STEP_WAIT && t < group->count; t++)
            pp_comm_wait(p->builder, p->group[group->first + t]);
        s++;
    }
}

static void end_building(pp_comm_builder *builder, pp_program **program, pp_err *err)
{
    pp_status status = pp_comm_finish(builder, false, *program, err);
    pp_comm_builder_free(&builder);
    if (status)
        pp_program_free(program);
}

/* NULL: the transfers do not pair up. */
static pp_program *split(const pp_order *order, const pp_program *from, rule by, bool blocking,
                         pp_err *err)
{
    pp_program *program = NULL;
    pp_err own = { 0 };
    splitting p = { .from = from, .by = by, .blocking = blocking };
    STEP_OK(pp_program_from_order(order, &program, &own), own);
    STEP_OK(pp_comm_builder_new(program, &p.builder, &own), own);
    p.group = calloc(from->comm->transfer_count + 1, sizeof *p.group);
    ck_assert_ptr_nonnull(p.group);
    for (uint32_t r = 0; r < program->ranks; r++)
        split_rank(&p, r);
    free(p.group);
    end_building(p.builder, &program, err);
    return program;
}

static pp_program *lowered(const pp_order *order, const char *framework, rule by, bool blocking,
                           pp_err *err)
{
    pp_program *program = NULL;
    pp_err own = { 0 };
    STEP_OK(lower_with(framework, order, &program, &own), own);
    if (by != AS_LOWERED) {
        pp_program *apart = split(order, program, by, blocking, err);
        pp_program_free(&program);
        program = apart;
    }
    return program;
}

static bool crosses(const pp_program *program, size_t a, size_t b)
{
    return pp_program_rank(program, program->op[a]) != pp_program_rank(program, program->op[b]);
}

/* Returns true if the result of op i is needed on another rank. */
static bool is_sent(const pp_program *program, size_t i)
{
    for (size_t k = 0; k < program->count; k++) {
        if (program->source[k] == i)
            return crosses(program, i, k);
    }
    return false;
}

static void add_transfer(pp_comm_builder *b, uint32_t group, pp_op op, bool sends)
{
    bool forward = op.kind == PP_OP_F;
    pp_comm_add(b, group,
                sends     ? forward ? PP_SEND_F : PP_SEND_B
                : forward ? PP_RECV_F
                          : PP_RECV_B,
                op.stage, op.microbatch);
}

/* The next op at or after i of its rank whose input comes from another rank; the rank's end. */
static size_t next_input(const pp_program *program, uint32_t rank, size_t i)
{
    for (; i < program->rank_begin[rank + 1]; i++) {
        if (program->source[i] != PP_NO_SOURCE && crosses(program, program->source[i], i))
            break;
    }
    return i;
}

static void naive_rank(pp_comm_builder *b, const pp_program *program, uint32_t r, bool fused)
{
    size_t end = program->rank_begin[r + 1];
    size_t input = next_input(program, r, program->rank_begin[r]); /* not issued yet */
    for (size_t i = program->rank_begin[r]; i < end; i++) {
        uint32_t group = pp_comm_open(b, r);
        if (i == input) {
            add_transfer(b, group, program->op[i], false);
            input = next_input(program, r, i + 1);
        }
        pp_comm_post(b, group);
        pp_comm_run(b, r, (uint32_t)i);
        if (!is_sent(program, i))
            continue;
        group = pp_comm_open(b, r);
        add_transfer(b, group, program->op[i], true);
        if (fused && input < end) {
            add_transfer(b, group, program->op[input], false);
            input = next_input(program, r, input + 1);
        }
        pp_comm_post(b, group);
    }
}

/* A receive right before its consumer, a send right after its producer. fused: a send and the next
 * receive of its rank are one group. */
static pp_program *naive(const pp_order *order, bool fused, pp_err *err)
{
    pp_program *program = NULL;
    pp_comm_builder *b = NULL;
    pp_err own = { 0 };
    STEP_OK(pp_program_from_order(order, &program, &own), own);
    STEP_OK(pp_comm_builder_new(program, &b, &own), own);
    for (uint32_t r = 0; r < program->ranks; r++)
        naive_rank(b, program, r, fused);
    end_building(b, &program, err);
    return program;
}

/* Frees the program; NULL: its transfers did not pair up. */
static verdict judge(pp_program *program, pp_lanes lanes, const pp_err *built, pp_err *err)
{
    pp_program *own PP_CLEANUP(pp_program_free) = program;
    if (!own) {
        ck_assert_msg(strstr(built->text, "wrong tensor") != NULL, "%s", built->text);
        return WRONG_TENSOR;
    }
    step s PP_CLEANUP(step_free) = { .costs =
                                         step_costs("F=3ms,I=3ms,W=2ms,comm=0.7ms", own->ranks,
                                                    own->stages / own->ranks, own->microbatches) };
    own->comm->semantics = (pp_comm_semantics){ .mode = PP_COMM_RENDEZVOUS, .lanes = lanes };
    pp_status status = pp_simulate(own, s.costs, &s.timeline, err);
    ck_assert(status == PP_OK || status == PP_INFEASIBLE);
    return status ? HANGS : OK;
}

static const struct {
    const char *framework, *schedule;
    uint32_t p, v, m, group;
    rule by;
    bool blocking;
    verdict single, per_peer;
} cells[] = {
    /* as the frameworks issue them */
    { "megatron", "1f1b", 4, 1, 8, 0, AS_LOWERED, false, OK, OK },
    { "megatron", "interleaved", 4, 2, 8, 4, AS_LOWERED, false, OK, OK },
    { "megatron", "interleaved", 4, 2, 8, 8, AS_LOWERED, false, OK, OK },
    { "megatron", "interleaved", 4, 4, 16, 4, AS_LOWERED, false, OK, OK },
    { "megatron", "interleaved", 4, 4, 16, 8, AS_LOWERED, false, OK, OK },
    { "megatron", "interleaved", 8, 4, 32, 32, AS_LOWERED, false, OK, OK },
    { "megatron", "combined-1f1b", 4, 2, 8, 4, AS_LOWERED, false, OK, OK },
    { "megatron", "combined-1f1b", 4, 4, 16, 8, AS_LOWERED, false, OK, OK },
    { "dualpipe", "dualpipev", 4, 2, 8, 0, AS_LOWERED, false, OK, OK },
    { "dualpipe", "dualpipev", 16, 2, 40, 0, AS_LOWERED, false, OK, OK },
    { "deepspeed", "1f1b", 4, 1, 8, 0, AS_LOWERED, false, OK, OK },
    { "deepspeed", "1f1b", 8, 1, 32, 0, AS_LOWERED, false, OK, OK },
    { "neuronx", "1f1b", 8, 1, 32, 0, AS_LOWERED, false, OK, OK },
    { "neuronx", "interleaved", 4, 2, 8, 0, AS_LOWERED, false, OK, OK },
    { "neuronx", "interleaved", 8, 4, 32, 0, AS_LOWERED, false, OK, OK },
    { "zero-bubble", "zbv-auto", 4, 2, 8, 0, AS_LOWERED, false, OK, OK },
    { "zero-bubble", "zbv-auto", 8, 2, 32, 0, AS_LOWERED, false, OK, OK },
    { "megatron-overlap", "interleaved", 4, 2, 8, 0, AS_LOWERED, false, OK, OK },
    { "megatron-overlap", "interleaved", 2, 2, 8, 0, AS_LOWERED, false, OK, OK },
    { "megatron-overlap", "combined-1f1b", 4, 2, 8, 0, AS_LOWERED, false, OK, OK },
    { "megatron-overlap", "combined-1f1b", 2, 3, 8, 0, AS_LOWERED, false, OK, OK },
    { "megatron-overlap-flush", "interleaved", 2, 2, 8, 0, AS_LOWERED, false, HANGS, OK },
    { "megatron-overlap-flush", "interleaved", 4, 2, 8, 0, AS_LOWERED, false, HANGS, OK },
    /* Megatron's transfers issued one by one, then waited for together */
    { "megatron", "1f1b", 4, 1, 8, 0, PARITY, false, OK, OK },
    { "megatron", "interleaved", 4, 2, 8, 0, PARITY, false, OK, OK },
    { "megatron", "1f1b", 4, 1, 8, 0, ONE_ORDER, false, OK, OK },
    { "megatron", "interleaved", 4, 2, 8, 0, ONE_ORDER, false, HANGS, OK },
    { "megatron-overlap", "interleaved", 4, 2, 8, 0, ONE_ORDER, false, HANGS, OK },
    { "megatron", "1f1b", 4, 1, 8, 0, SENDS_FIRST, false, HANGS, OK },
    { "megatron", "1f1b", 4, 1, 8, 0, RECVS_FIRST, false, HANGS, OK },
    { "megatron", "interleaved", 4, 2, 8, 0, SENDS_FIRST, false, HANGS, OK },
    { "megatron", "interleaved", 4, 2, 8, 0, RECVS_FIRST, false, HANGS, OK },
    { "megatron-overlap", "interleaved", 4, 2, 8, 0, SENDS_FIRST, false, HANGS, OK },
    { "megatron-overlap", "interleaved", 4, 2, 8, 0, RECVS_FIRST, false, HANGS, OK },
    { "megatron-overlap-flush", "interleaved", 4, 2, 8, 0, ONE_ORDER, false, HANGS, OK },
    { "megatron-overlap-flush", "interleaved", 4, 2, 8, 0, SENDS_FIRST, false, HANGS, OK },
    { "megatron-overlap-flush", "interleaved", 4, 2, 8, 0, RECVS_FIRST, false, HANGS, OK },
    /* each waited for before the next is issued */
    { "megatron", "1f1b", 4, 1, 8, 0, SENDS_FIRST, true, HANGS, HANGS },
    { "megatron", "1f1b", 4, 1, 8, 0, RECVS_FIRST, true, HANGS, HANGS },
    { "megatron", "1f1b", 4, 1, 8, 0, PARITY, true, OK, OK },
    /* by hand */
    { "naive", "gpipe", 4, 1, 8, 0, AS_LOWERED, false, OK, OK },
    { "naive", "looped-bfs", 4, 2, 8, 0, AS_LOWERED, false, HANGS, OK },
    { "naive", "1f1b", 4, 1, 8, 0, AS_LOWERED, false, HANGS, OK },
    { "naive", "interleaved", 4, 2, 8, 0, AS_LOWERED, false, HANGS, OK },
    { "naive", "interleaved-zb", 4, 2, 8, 0, AS_LOWERED, false, HANGS, OK },
    { "naive", "zbv", 4, 2, 8, 0, AS_LOWERED, false, WRONG_TENSOR, WRONG_TENSOR },
    { "naive", "dualpipev", 4, 2, 8, 0, AS_LOWERED, false, WRONG_TENSOR, WRONG_TENSOR },
    { "fused", "gpipe", 4, 1, 8, 0, AS_LOWERED, false, HANGS, HANGS },
    { "fused", "looped-bfs", 4, 2, 8, 0, AS_LOWERED, false, HANGS, HANGS },
    { "fused", "1f1b", 4, 1, 8, 0, AS_LOWERED, false, HANGS, HANGS },
    { "fused", "interleaved", 4, 2, 8, 0, AS_LOWERED, false, HANGS, HANGS },
    { "fused", "interleaved-zb", 4, 2, 8, 0, AS_LOWERED, false, HANGS, HANGS },
    { "fused", "zbv", 4, 2, 8, 0, AS_LOWERED, false, WRONG_TENSOR, WRONG_TENSOR },
    { "fused", "dualpipev", 4, 2, 8, 0, AS_LOWERED, false, WRONG_TENSOR, WRONG_TENSOR },
};

enum { CELLS = sizeof cells / sizeof cells[0] };

static pp_program *program_of(const pp_order *order, int i, pp_err *built)
{
    const char *framework = cells[i].framework;
    bool fused = strcmp(framework, "fused") == 0;
    return fused || strcmp(framework, "naive") == 0
               ? naive(order, fused, built)
               : lowered(order, framework, cells[i].by, cells[i].blocking, built);
}

static pp_order *order_of(int i)
{
    return step_order(cells[i].schedule, cells[i].p, cells[i].v, cells[i].m, cells[i].group);
}

START_TEST(verdicts_are_those_of_the_table)
{
    static const pp_lanes lanes[] = { PP_LANES_SINGLE, PP_LANES_PER_PEER };
    const char *framework = cells[_i].framework;
    pp_order *order PP_CLEANUP(pp_order_free) = order_of(_i);
    for (int k = 0; k < 2; k++) {
        verdict wanted = k ? cells[_i].per_peer : cells[_i].single;
        pp_err built = { 0 };
        pp_err err = { 0 };
        pp_program *program = program_of(order, _i, &built);
        verdict got = judge(program, lanes[k], &built, &err);
        ck_assert_msg(got == wanted, "cell %d, %s on %s, lanes %d: %d, not %d: %s", _i, framework,
                      cells[_i].schedule, k, got, wanted, err.text);
    }
}
END_TEST

/* The i-th send of each pair of ranks meets the i-th receive, and it is the same tensor. */
static void check_delivery(const pp_comm *comm)
{
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        const pp_transfer *other = &comm->transfer[own->match];
        bool sends = pp_transfer_sends((pp_transfer_kind)own->kind);
        bool forward = own->kind == PP_SEND_F || own->kind == PP_RECV_F;
        ck_assert_uint_eq(other->match, t);
        ck_assert_uint_eq(own->microbatch, other->microbatch);
        ck_assert(sends != pp_transfer_sends((pp_transfer_kind)other->kind));
        ck_assert(forward == (other->kind == PP_SEND_F || other->kind == PP_RECV_F));
        ck_assert_int_eq((int)other->stage - (int)own->stage, forward == sends ? 1 : -1);
    }
}

/* Every suggested repair works; only fused groups have none. */
START_TEST(repairs_of_the_table_work)
{
    static const pp_lanes lanes[] = { PP_LANES_SINGLE, PP_LANES_PER_PEER };
    pp_order *order PP_CLEANUP(pp_order_free) = order_of(_i);
    for (int k = 0; k < 2; k++) {
        pp_err err = { 0 };
        pp_repair repair = { 0 };
        if ((k ? cells[_i].per_peer : cells[_i].single) != HANGS)
            continue;
        pp_program *program PP_CLEANUP(pp_program_free) = program_of(order, _i, &err);
        pp_costs *costs PP_CLEANUP(pp_costs_free) =
            step_costs("F=3ms,I=3ms,W=2ms,comm=0.7ms", cells[_i].p, cells[_i].v, cells[_i].m);
        program->comm->semantics = (pp_comm_semantics){ .lanes = lanes[k] };
        STEP_OK(pp_repair_find(program, costs, false, &repair, &err), err);
        ck_assert(repair.kind != PP_REPAIR_NONE || strcmp(cells[_i].framework, "fused") == 0);
        ck_assert_msg((repair.kind == PP_REPAIR_PARITY) == cells[_i].blocking,
                      "even and odd ranks must differ where each op is waited for");
        ck_assert_uint_le(repair.tried, 202);
        if (repair.kind == PP_REPAIR_NONE)
            continue;
        pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        STEP_OK(pp_repair_apply(program, &repair, false, &copy, &err), err);
        STEP_OK(pp_simulate(&copy.program, costs, &timeline, &err), err);
        check_delivery(&copy.comm);
    }
}
END_TEST

/* All orders of tests/data/golden through PyTorch's passes, one queue per rank. */
START_TEST(pytorch_passes_never_hang)
{
    size_t bytes = 0;
    char *list PP_CLEANUP(pp_free_text) = step_data("golden/metrics.csv", &bytes);
    char *rest = list;
    char *fields[14];
    ck_assert_ptr_nonnull(next_line(&rest));
    for (char *line; (line = next_line(&rest));) {
        pp_err err = { 0 };
        ck_assert_uint_eq(step_fields(line, fields, 14), 14);
        pp_order *order PP_CLEANUP(pp_order_free) = golden_order(fields[0]);
        pp_program *program = lowered(order, "torch", AS_LOWERED, false, &err);
        ck_assert_str_eq(fields[12], "ok");
        ck_assert_msg(judge(program, PP_LANES_SINGLE, &err, &err) == OK, "%s: %s", fields[0],
                      err.text);
    }
}
END_TEST

/* Interleaving on two ranks in batches: both neighbours are the same rank, so that activations and
 * gradients are swapped. */
START_TEST(two_ranks_in_batches_swap_their_tensors)
{
    pp_err err = { 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 2, 2, 4, 0);
    ck_assert_int_eq(lower_with("megatron", order, &program, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "wrong tensor") != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hangs");
    TCase *tc = tcase_create("verdicts");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, verdicts_are_those_of_the_table, 0, CELLS);
    tcase_add_loop_test(tc, repairs_of_the_table_work, 0, CELLS);
    tcase_add_test(tc, pytorch_passes_never_hang);
    tcase_add_test(tc, two_ranks_in_batches_swap_their_tensors);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
