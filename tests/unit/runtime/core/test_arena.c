/* No two tensors that are live at the same time overlap. This is derived from the program alone, by
 * what precedes what in the steps of the ranks and the messages between them, not from the arena's
 * rule. */
#include "runtime/core/arena.h"
#include "sim/base/alloc.h"
#include "sim/plan/plan.h"
#include "sim/program/program_new.h"
#include "tests/support/step.h"

static void give_bytes(pp_costs *costs)
{
    costs->has_memory = true;
    for (size_t k = 0; k < (size_t)costs->classes * costs->stages; k++) {
        uint32_t s = (uint32_t)(k % costs->stages);
        costs->message_bytes[k] = s + 1 < costs->stages ? 64 + 64 * (s % 3) : 0;
        costs->stash_bytes[k] = 128;
        costs->activation_bytes[k] = 1024;
        costs->temporary_bytes[k] = 192;
        costs->recompute_bytes[k] = 64;
        costs->logits_bytes[k] = s + 1 == costs->stages ? 256 : 0;
    }
}

/* seen[i][r]: the number of steps of rank r that are certainly over when op i begins. */
typedef struct order_of_events {
    const pp_program *program;
    const pp_program_index *cells;
    uint32_t *seen;
} order_of_events;

static uint32_t *seen_at(const order_of_events *o, size_t i)
{
    return &o->seen[i * o->program->ranks];
}

static void follow(const order_of_events *o)
{
    const pp_program *p = o->program;
    for (bool changed = true; changed;) { /* until the fixed point is reached */
        changed = false;
        for (size_t i = 0; i < p->count; i++) {
            uint32_t r = pp_program_rank(p, p->op[i]);
            uint32_t *own = seen_at(o, i);
            uint32_t source = p->source[i];
            const uint32_t *known[2] = { i > p->rank_begin[r] ? seen_at(o, i - 1) : NULL,
                                         source != PP_NO_SOURCE ? seen_at(o, source) : NULL };
            for (int k = 0; k < 2; k++) {
                for (uint32_t q = 0; known[k] && q < p->ranks; q++) {
                    if (known[k][q] > own[q]) {
                        own[q] = known[k][q];
                        changed = true;
                    }
                }
            }
            uint32_t maker = source != PP_NO_SOURCE ? pp_program_rank(p, p->op[source]) : r;
            uint32_t made = source != PP_NO_SOURCE ? o->cells->position[source] + 1 : 0;
            if (made > own[maker]) {
                own[maker] = made;
                changed = true;
            }
            if (o->cells->position[i] > own[r]) {
                own[r] = o->cells->position[i];
                changed = true;
            }
        }
    }
}

typedef struct life {
    size_t place, bytes;
    uint32_t first, last;
    size_t op;
    char what;
} life;

typedef struct lives {
    life life[4096];
    size_t count;
} lives;

static void live(lives *l, size_t op, char what, size_t place, int64_t bytes, uint32_t first,
                 uint32_t last)
{
    if (bytes <= 0)
        return;
    ck_assert_msg(place != PP_NOWHERE, "op %zu has no place for %c", op, what);
    ck_assert_uint_lt(l->count, 4096);
    l->life[l->count++] = (life){ place, (size_t)bytes, first, last, op, what };
}

/* The first position of the rank at which `consumer`, on another rank, is known to have begun. */
static uint32_t known_from(const order_of_events *o, uint32_t rank, uint32_t consumer)
{
    const pp_program *p = o->program;
    uint32_t peer = pp_program_rank(p, p->op[consumer]);
    for (size_t i = p->rank_begin[rank]; i < p->rank_begin[rank + 1]; i++) {
        if (seen_at(o, i)[peer] > o->cells->position[consumer])
            return o->cells->position[i];
    }
    return UINT32_MAX;
}

static void collect(const order_of_events *o, const pp_costs *costs, const pp_arena *a, size_t i,
                    lives *l)
{
    const pp_program *p = o->program;
    const pp_program_index *c = o->cells;
    pp_op op = p->op[i];
    pp_tensor_bytes bytes = pp_tensor_bytes_of(p, costs, op);
    const pp_op_places *own = pp_arena_at(a, i);
    uint32_t at = c->position[i];
    uint32_t backward = pp_program_index_get(c, PP_PASS_BACKWARD, op.stage, op.microbatch);
    uint32_t weight = pp_program_index_get(c, PP_PASS_WEIGHT, op.stage, op.microbatch);
    uint32_t until = op.kind == PP_OP_F && backward != PP_NO_SOURCE ? c->position[backward] : at;
    uint32_t stash = weight != PP_NO_SOURCE ? c->position[weight] : until;
    if (op.kind == PP_OP_W)
        return;
    uint32_t source = p->source[i];
    uint32_t from = at;
    for (size_t t = 0; t < p->comm->transfer_count; t++) { /* the first post of any part */
        const pp_transfer *own_t = &p->comm->transfer[t];
        bool mine = own_t->kind == (op.kind == PP_OP_F ? PP_RECV_F : PP_RECV_B) &&
                    own_t->stage == op.stage && own_t->microbatch == op.microbatch;
        from = mine && c->posted[t] < from ? c->posted[t] : from;
    }
    if (source != PP_NO_SOURCE) {
        if (pp_program_rank(p, p->op[source]) == a->rank) {
            from = c->position[source];
            ck_assert_uint_eq(pp_arena_at(a, source)->out, own->in);
        }
        live(l, i, 'i', own->in, bytes.in, from, until);
    }
    live(l, i, 's', own->saved, bytes.saved, at, until);
    live(l, i, 'l', own->logits, bytes.logits, at, until);
    live(l, i, 't', own->stash, bytes.stash, at, stash);
    live(l, i, 'x', own->scratch, bytes.scratch, at, at);
    uint32_t consumer = c->consumer[i];
    if (consumer == PP_NO_SOURCE || pp_program_rank(p, p->op[consumer]) == a->rank)
        return;
    uint32_t known = known_from(o, a->rank, consumer);
    ck_assert_msg(own->out_until == UINT32_MAX || own->out_until + 1 >= known ||
                      known == UINT32_MAX,
                  "op %zu: given up at %u, known to be received at %u", i, own->out_until, known);
    live(l, i, 'o', own->out, bytes.out, at, known == UINT32_MAX ? known : known - 1);
}

static void check_rank(const order_of_events *o, const pp_costs *costs, uint32_t rank,
                       const char *name)
{
    static lives l;
    pp_arena arena PP_CLEANUP(pp_arena_free) = { 0 };
    pp_err err = { 0 };
    l.count = 0;
    STEP_OK(pp_arena_plan(o->cells, costs, rank, -1, &arena, &err), err);
    for (size_t i = o->program->rank_begin[rank]; i < o->program->rank_begin[rank + 1]; i++)
        collect(o, costs, &arena, i, &l);
    for (size_t a = 0; a < l.count; a++) {
        const life *x = &l.life[a];
        ck_assert_uint_le(x->place + x->bytes, arena.bytes);
        ck_assert_uint_eq(x->place % PP_ARENA_ALIGN, 0);
        for (size_t b = 0; b < a; b++) {
            const life *y = &l.life[b];
            bool together = x->first <= y->last && y->first <= x->last;
            bool apart = x->place + x->bytes <= y->place || y->place + y->bytes <= x->place;
            ck_assert_msg(!together || apart,
                          "%s p=%u rank %u: %c of op %zu [%u, %u] and %c of op %zu [%u, %u]", name,
                          o->program->ranks, rank, x->what, x->op, x->first, x->last, y->what,
                          y->op, y->first, y->last);
        }
    }
}

typedef struct variant {
    const char *shapes;
    uint32_t tensors;
    bool forward_only;
} variant;

static const variant variants[] = {
    { "plan", 1, false },    { "plan", 3, false },   { "message", 1, false },
    { "message", 2, false }, { "cached", 1, false }, { "plan", 1, true },
};

static void check(const pp_schedule *schedule, uint32_t p, uint32_t m, const variant *v)
{
    uint32_t chunks = schedule->chunks ? schedule->chunks : 2;
    const pp_schedule_params shape = { .ranks = p, .chunks = chunks, .microbatches = m };
    pp_err err = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_order *kept PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_program_index cells PP_CLEANUP(pp_program_index_free) = { 0 };
    if (schedule->simulate_only || pp_schedule_build(schedule, &shape, &order, &err))
        return;
    if (v->forward_only) {
        if (pp_order_drop_backward(order, &kept, &err))
            return;
        pp_order_free(&order);
        order = kept;
        kept = NULL;
    }
    pp_costs *costs PP_CLEANUP(pp_costs_free) =
        step_costs("F=20us,I=20us,W=10us,comm=5us", p, chunks, m);
    give_bytes(costs);
    STEP_OK(pp_plan_new(&plan, &err), err);
    plan->framework = &pp_framework_ppsim;
    STEP_OK(pp_size_protocol_parse(v->shapes, &plan->sizes, &err), err);
    plan->tensors = v->tensors;
    STEP_OK(pp_plan_lower(plan, order, costs, &program, &err), err);
    STEP_OK(pp_program_index_new(program, &cells, &err), err);
    order_of_events o = { .program = program, .cells = &cells };
    o.seen = pp_alloc_array(program->count, program->ranks * sizeof *o.seen);
    ck_assert_ptr_nonnull(o.seen);
    follow(&o);
    for (uint32_t r = 0; r < p; r++)
        check_rank(&o, costs, r, schedule->name);
    free(o.seen);
}

START_TEST(what_is_alive_at_once_lies_apart)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    for (uint32_t p = 2; p <= 6; p++)
        check(schedule, p, 2 * p, &variants[0]);
    check(schedule, 3, 3, &variants[0]);
    check(schedule, 4, 12, &variants[0]);
    for (size_t v = 1; v < sizeof variants / sizeof variants[0]; v++) {
        check(schedule, 2, 4, &variants[v]);
        check(schedule, 4, 8, &variants[v]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tc = tcase_create("arena");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, what_is_alive_at_once_lies_apart, 0, (int)pp_schedule_count());
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
