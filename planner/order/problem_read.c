/* Reads problems of ordering. A file gives costs as coefficients of a microbatch's tokens and
 * squared lengths, so that it stays small; here they become the durations and bytes of every op, in
 * whole numbers, so that they are the same on every machine. O(ops). */
#include "planner/order/problem_read.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ONE ((int64_t)1 << 20)
#define COEFFICIENT_MAX ((int64_t)1 << 53)
#define RANKS_MAX 4096
#define STAGES_MAX 65535
#define MICROBATCHES_MAX (1 << 20)

/* The coefficients of one stage. */
typedef struct coefficients {
    int64_t ticks[3][3];  /* of F, B, W: constant, per 2^20 tokens, per 2^20 squares */
    int64_t act[2];       /* taken when F starts: constant, per token */
    int64_t hold[2];      /* the part of it that stays from B to W */
    int64_t transient[3]; /* per token, while F, B or W runs */
} coefficients;

typedef struct reading {
    int64_t ranks, stages, microbatches;
    uint32_t *stage_rank;
    int64_t *room;
    int64_t *tokens, *squares;
    coefficients *stage;
    int64_t latency, per_token; /* of a link, in 1/2^20 */
} reading;

static void reading_free(reading *r)
{
    free(r->stage_rank);
    free(r->room);
    free(r->tokens);
    free(r->squares);
    free(r->stage);
}

static pp_status read_ints(const pp_json_at *object, const char *key, size_t count, int64_t high,
                           int64_t *values, pp_err *err)
{
    pp_json_at list, item;
    size_t found;
    pp_status status = pp_json_get(object, key, &list, err);
    if (status || (status = pp_json_count(&list, &found, err)))
        return status;
    if (found != count)
        return pp_json_fail(&list, err, "has %zu numbers but needs %zu", found, count);
    for (size_t k = 0; k < count && !status; k++) {
        status = pp_json_item(&list, k, &item, err);
        if (!status)
            status = pp_json_read_int(&item, 0, high, &values[k], err);
    }
    return status;
}

static pp_status read_stage(const pp_json_at *at, coefficients *c, pp_err *err)
{
    static const char *const keys[] = { "f", "b", "w", "act", "whold", "transient", NULL };
    pp_status status = pp_json_only(at, keys, err);
    for (size_t k = 0; k < 3 && !status; k++)
        status = read_ints(at, keys[k], 3, COEFFICIENT_MAX, c->ticks[k], err);
    if (status || (status = read_ints(at, "act", 2, COEFFICIENT_MAX, c->act, err)) ||
        (status = read_ints(at, "whold", 2, COEFFICIENT_MAX, c->hold, err)))
        return status;
    return read_ints(at, "transient", 3, COEFFICIENT_MAX, c->transient, err);
}

static pp_status read_stages(const pp_json_at *root, reading *r, pp_err *err)
{
    pp_json_at list, item;
    size_t found;
    pp_status status = pp_json_get(root, "stages", &list, err);
    if (status || (status = pp_json_count(&list, &found, err)))
        return status;
    if (found != (size_t)r->stages)
        return pp_json_fail(&list, err, "has %zu stages, but p * v is %lld", found,
                            (long long)r->stages);
    for (size_t s = 0; s < found && !status; s++) {
        status = pp_json_item(&list, s, &item, err);
        if (!status)
            status = read_stage(&item, &r->stage[s], err);
    }
    return status;
}

static pp_status read_ranks(const pp_json_at *root, reading *r, pp_err *err)
{
    int64_t *rank PP_CLEANUP(pp_free_array) = pp_alloc_array((size_t)r->stages, sizeof *rank);
    if (!rank)
        return pp_err_nomem(err);
    pp_status status = read_ints(root, "rank_of", (size_t)r->stages, r->ranks - 1, rank, err);
    for (int64_t s = 0; s < r->stages && !status; s++)
        r->stage_rank[s] = (uint32_t)rank[s];
    return status;
}

static pp_status read_microbatches(const pp_json_at *root, reading *r, pp_err *err)
{
    static const char *const keys[] = { "tokens", "sumsq", NULL };
    pp_json_at at;
    size_t m = (size_t)r->microbatches;
    pp_status status = pp_json_get(root, "microbatches", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = read_ints(&at, "tokens", m, COEFFICIENT_MAX, r->tokens, err)))
        return status;
    return read_ints(&at, "sumsq", m, COEFFICIENT_MAX, r->squares, err);
}

static pp_status read_link(const pp_json_at *root, reading *r, pp_err *err)
{
    static const char *const keys[] = { "lat", "per_token_q20", NULL };
    pp_json_at at;
    pp_status status = pp_json_get(root, "link", &at, err);
    if (status || (status = pp_json_only(&at, keys, err)) ||
        (status = pp_json_get_int(&at, "lat", 0, PP_ORDER_PROBLEM_TICKS_MAX, &r->latency, err)))
        return status;
    return pp_json_get_int(&at, "per_token_q20", 0, COEFFICIENT_MAX, &r->per_token, err);
}

static pp_status read_sizes(const pp_json_at *root, reading *r, pp_err *err)
{
    int64_t chunks;
    pp_status status = pp_json_get_int(root, "p", 1, RANKS_MAX, &r->ranks, err);
    if (status || (status = pp_json_get_int(root, "v", 1, STAGES_MAX / r->ranks, &chunks, err)) ||
        (status = pp_json_get_int(root, "m", 1, MICROBATCHES_MAX, &r->microbatches, err)))
        return status;
    r->stages = r->ranks * chunks;
    size_t p = (size_t)r->ranks;
    size_t s = (size_t)r->stages;
    size_t m = (size_t)r->microbatches;
    if (s * m > PP_ORDER_PROBLEM_OPS_MAX / 3)
        return pp_json_fail(root, err, "has %zu ops, but at most %u can be ordered", 3 * s * m,
                            PP_ORDER_PROBLEM_OPS_MAX);
    r->stage_rank = pp_alloc_array(s, sizeof *r->stage_rank);
    r->stage = pp_alloc_array(s, sizeof *r->stage);
    r->room = pp_alloc_array(p, sizeof *r->room);
    r->tokens = pp_alloc_array(m, sizeof *r->tokens);
    r->squares = pp_alloc_array(m, sizeof *r->squares);
    bool taken = r->stage_rank && r->stage && r->room && r->tokens && r->squares;
    return taken ? PP_OK : pp_err_nomem(err);
}

/* a + (b x + c y + 1/2) / 2^20, rounded down; false beyond `high`. */
static bool evaluate(int64_t a, int64_t b, int64_t x, int64_t c, int64_t y, int64_t high,
                     int64_t *out)
{
    int64_t bx, cy, sum, whole;
    if (__builtin_mul_overflow(b, x, &bx) || __builtin_mul_overflow(c, y, &cy) ||
        __builtin_add_overflow(bx, cy, &sum) || __builtin_add_overflow(sum, ONE / 2, &sum) ||
        __builtin_add_overflow(a, sum >> 20, &whole) || whole > high)
        return false;
    *out = whole;
    return true;
}

static bool bytes(int64_t constant, int64_t per_token, int64_t tokens, int64_t *out)
{
    int64_t product;
    return !__builtin_mul_overflow(per_token, tokens, &product) &&
           !__builtin_add_overflow(constant, product, out) && *out <= PP_ORDER_PROBLEM_BYTES_MAX;
}

/* Fills in one stage of one microbatch. Returns false if a number becomes too large. */
static bool fill_cell(const reading *r, uint32_t s, uint32_t i, pp_order_problem *x)
{
    const coefficients *c = &r->stage[s];
    int64_t taken, kept, extra[3];
    if (!bytes(c->act[0], c->act[1], r->tokens[i], &taken) ||
        !bytes(c->hold[0], c->hold[1], r->tokens[i], &kept))
        return false;
    for (int kind = 0; kind < 3; kind++) {
        uint32_t op = pp_order_problem_op(x, (pp_task_kind)kind, s, i);
        pp_task *task = &x->task[op];
        bool remote =
            kind != PP_TASK_W && task->before < x->ops && x->task[task->before].rank != task->rank;
        if (!evaluate(c->ticks[kind][0], c->ticks[kind][1], r->tokens[i], c->ticks[kind][2],
                      r->squares[i], PP_ORDER_PROBLEM_TICKS_MAX, &task->ticks) ||
            !bytes(0, c->transient[kind], r->tokens[i], &extra[kind]) ||
            (remote && !evaluate(r->latency, r->per_token, r->tokens[i], 0, 0,
                                 PP_ORDER_PROBLEM_TICKS_MAX, &task->lag)))
            return false;
        const int64_t delta[] = { taken, kept - taken, -kept };
        x->memory[op] =
            (pp_task_memory){ extra[kind] + (kind == PP_TASK_F ? taken : 0), delta[kind] };
    }
    return true;
}

/* Sets the memory of every rank. One that is larger than everything that the rank can hold at once
 * is no limit, however large it is, and is reduced. */
static pp_status fill_rooms(const reading *r, const pp_json_at *root, pp_order_problem *x,
                            pp_err *err)
{
    for (uint32_t k = 0; k < x->ranks; k++) {
        int64_t most = 0;
        for (uint32_t op = 0; op < x->ops && most <= PP_ORDER_PROBLEM_BYTES_MAX; op++)
            if (x->task[op].rank == k) /* A, transients, and by how much G exceeds A */
                most +=
                    x->memory[op].need + (x->task[op].kind == PP_TASK_B && x->memory[op].delta > 0
                                              ? x->memory[op].delta
                                              : 0);
        x->room[k] =
            r->room[k] < PP_ORDER_PROBLEM_BYTES_MAX ? r->room[k] : PP_ORDER_PROBLEM_BYTES_MAX;
        if (r->room[k] > PP_ORDER_PROBLEM_BYTES_MAX && most > PP_ORDER_PROBLEM_BYTES_MAX)
            return pp_json_fail(root, err,
                                "cap/%" PRIu32 " is more than %" PRId64 "; count in larger units",
                                k, PP_ORDER_PROBLEM_BYTES_MAX);
    }
    return PP_OK;
}

static pp_status fill(const reading *r, const pp_json_at *root, pp_order_problem *x, pp_err *err)
{
    for (uint32_t i = 0; i < x->microbatches; i++)
        for (uint32_t s = 0; s < x->stages; s++)
            if (!fill_cell(r, s, i, x))
                return pp_json_fail(root, err,
                                    "stage %u takes too long or too much memory for microbatch %u; "
                                    "count in larger units",
                                    s, i);
    return fill_rooms(r, root, x, err);
}

pp_status pp_order_problem_read(const pp_json_at *root, pp_order_problem **problem_out, pp_err *err)
{
    static const char *const keys[] = { "name", "p", "v", "m", "placement", "rank_of", "stages",
                                        "microbatches", "link", "cap",
                                        /* for readers of the file only */
                                        "time_unit", "mem_unit", "model", "seed", "reference",
                                        NULL };
    char name[128];
    reading r PP_CLEANUP(reading_free) = { 0 };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_status status = pp_json_only(root, keys, err);
    if (status || (status = pp_json_get_name(root, "name", name, sizeof name, err)) ||
        (status = read_sizes(root, &r, err)) || (status = read_ranks(root, &r, err)) ||
        (status = read_stages(root, &r, err)) || (status = read_microbatches(root, &r, err)) ||
        (status = read_link(root, &r, err)) ||
        (status = read_ints(root, "cap", (size_t)r.ranks, INT64_MAX, r.room, err)) ||
        (status = pp_order_problem_new(name, (uint32_t)r.ranks, (uint32_t)r.stages,
                                       (uint32_t)r.microbatches, r.stage_rank, &x, err)) ||
        (status = fill(&r, root, x, err)))
        return status;
    *problem_out = x;
    x = NULL;
    return PP_OK;
}
