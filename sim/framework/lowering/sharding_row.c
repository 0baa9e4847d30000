/* PyTorch's passes _add_unshard_reshard and _add_reduce_grad over the compute ops of one rank. */
#include "sim/framework/lowering/sharding_row.h"

#include "sim/base/alloc.h"
#include "sim/framework/lowering/python_set.h"
#include "sim/framework/lowering/pytorch_settings.h"

#include <string.h>

enum {
    LOOK_AHEAD = 3
}; /* number of stages whose parameters are kept gathered; a pair may exceed it by one */
_Static_assert(LOOK_AHEAD + 1 <= PP_PYTHON_SET_MAX, "a pair may be one stage over");

static pp_status add(pp_sharding_row *row, pp_row_action a, pp_err *err)
{
    void *grown = row->action;
    pp_status status = pp_reserve(&grown, &row->capacity, row->count + 1, sizeof a, err);
    if (status)
        return status;
    row->action = grown;
    row->action[row->count++] = a;
    return PP_OK;
}

static bool contains(const uint16_t *list, size_t count, uint16_t stage)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == stage)
            return true;
    }
    return false;
}

/* From an op on, the first op of each of the next distinct stages, or PP_NO_SOURCE: the op itself
 * is the first one. */
typedef struct nearest {
    uint32_t op[LOOK_AHEAD];
} nearest;

/* Fills nearest_out: [end - begin], from the last op back: its stage moves to the front. To scan
 * from every op on takes as long as its stage and another one alternate. */
static void find_nearest(const pp_program *program, size_t begin, size_t end, nearest *nearest_out)
{
    nearest now;
    for (size_t k = 0; k < LOOK_AHEAD; k++)
        now.op[k] = PP_NO_SOURCE;
    for (size_t i = end; i-- > begin;) {
        uint32_t moved = (uint32_t)i;
        for (size_t k = 0; k < LOOK_AHEAD && moved != PP_NO_SOURCE; k++) {
            const uint32_t old = now.op[k];
            now.op[k] = moved;
            const bool same = old != PP_NO_SOURCE && program->op[old].stage == program->op[i].stage;
            moved = same ? PP_NO_SOURCE : old;
        }
        nearest_out[i - begin] = now;
    }
}

/* Lists the next distinct stages: `most` of them, or one more if the second half of a pair adds it.
 * out: [PP_PYTHON_SET_MAX]. */
static size_t look_ahead(const pp_program *program, const nearest *from, size_t most, uint16_t *out)
{
    size_t count = 0;
    for (; count < most && from->op[count] != PP_NO_SOURCE; count++)
        out[count] = program->op[from->op[count]].stage;
    if (count < most)
        return count;
    const pp_op *last = &program->op[from->op[count - 1]];
    if (last->paired && !contains(out, count, last[1].stage))
        out[count++] = last[1].stage;
    return count;
}

static pp_status add_mark(pp_sharding_row *row, pp_mark mark, uint16_t stage, pp_err *err)
{
    return add(row, (pp_row_action){ .stage = stage, .mark = (uint8_t)mark }, err);
}

/* The stages whose parameters are gathered: in the order of gathering, or in that of a Python set.
 */
typedef struct gathered {
    pp_python_set set;
    uint32_t stage[PP_PYTHON_SET_MAX]; /* [set.used] */
    bool in_order;
} gathered;

static size_t list_gathered(const gathered *active, uint32_t *out)
{
    if (!active->in_order)
        return pp_python_set_list(&active->set, out);
    memcpy(out, active->stage, sizeof active->stage);
    return active->set.used;
}

static void gather(gathered *active, uint16_t stage)
{
    active->stage[active->set.used] = stage;
    pp_python_set_add(&active->set, stage);
}

static void forget(gathered *active, uint32_t stage)
{
    size_t kept = 0;
    for (size_t k = 0; k < active->set.used; k++) {
        if (active->stage[k] != stage)
            active->stage[kept++] = active->stage[k];
    }
    pp_python_set_remove(&active->set, stage);
}

static bool is_same(const gathered *active, const uint16_t *wanted, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (!pp_python_set_has(&active->set, wanted[k]))
            return false;
    }
    return active->set.used == count;
}

/* Frees the parameters of stages that are not used soon, then gathers those that are, in the order
 * of use. first: how many of the wanted ones are gathered now. */
static pp_status slide(pp_sharding_row *row, gathered *active, const uint16_t *wanted, size_t count,
                       size_t first, pp_err *err)
{
    if (is_same(active, wanted, count))
        return PP_OK;
    uint32_t stage[PP_PYTHON_SET_MAX];
    size_t stages = list_gathered(active, stage);
    uint16_t kept[PP_PYTHON_SET_MAX];
    size_t kept_count = 0;
    pp_status status = PP_OK;
    for (size_t k = 0; k < stages && !status; k++) {
        if (contains(wanted, count, (uint16_t)stage[k])) {
            kept[kept_count++] = (uint16_t)stage[k];
        } else {
            forget(active, stage[k]);
            status = add_mark(row, PP_MARK_RESHARD, (uint16_t)stage[k], err);
        }
    }
    for (size_t k = 0; k < first && !status; k++) {
        if (contains(kept, kept_count, wanted[k]))
            continue;
        gather(active, wanted[k]);
        status = add_mark(row, PP_MARK_UNSHARD, wanted[k], err);
    }
    return status;
}

/* Adds the gradient reduction of a stage after its last weight gradient. */
static pp_status add_reductions(const pp_program *program, pp_sharding_rules rules,
                                pp_sharding_row *row, size_t i, size_t ops, pp_err *err)
{
    for (size_t k = i; k < i + ops; k++) {
        pp_op op = program->op[k];
        if ((op.kind != PP_OP_B && op.kind != PP_OP_W) ||
            ++rules.weight_gradients[op.stage] != program->microbatches)
            continue;
        pp_status status = add_mark(row, PP_MARK_REDUCE_GRAD, op.stage, err);
        if (!status && rules.waits)
            status = add_mark(row, PP_MARK_WAIT_REDUCE_GRAD, op.stage, err);
        if (status)
            return status;
    }
    return PP_OK;
}

/* The number of stages of a rank, at most LOOK_AHEAD. */
static size_t count_stages(const pp_program *program, uint32_t rank)
{
    uint16_t seen[LOOK_AHEAD];
    size_t count = 0;
    for (size_t i = program->rank_begin[rank];
         i < program->rank_begin[rank + 1] && count < LOOK_AHEAD; i++) {
        const uint16_t stage = program->op[i].stage;
        bool known = program->stage_rank[stage] != rank;
        for (size_t k = 0; k < count; k++)
            known = known || seen[k] == stage;
        if (!known)
            seen[count++] = stage;
    }
    return count;
}

/* Of how many stages a rank gathers the parameters ahead. */
static size_t gathers_ahead(int32_t lookahead, uint32_t rank)
{
    if (lookahead == PP_LOOKAHEAD_AUTO)
        return rank + 2 < LOOK_AHEAD ? rank + 2 : LOOK_AHEAD;
    return lookahead == PP_LOOKAHEAD_FULL ? LOOK_AHEAD : (size_t)lookahead;
}

pp_status pp_sharding_row_make(const pp_program *program, uint32_t rank, pp_sharding_rules rules,
                               pp_sharding_row *row, pp_err *err)
{
    const pp_op *op = program->op;
    const size_t begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
    size_t most = count_stages(program, rank);
    size_t gathers = gathers_ahead(rules.lookahead, rank);
    size_t ops_before = 0; /* of the previous action */
    gathered active = { .in_order = rules.waits };
    nearest *next PP_CLEANUP(pp_free_array) = pp_alloc_array(end - begin, sizeof *next);
    if (!next)
        return pp_err_nomem(err);
    find_nearest(program, begin, end, next);
    for (size_t i = begin; i < end;) {
        size_t ops = op[i].paired ? 2 : 1;
        pp_status status = PP_OK;
        /* after one op of the same stage, the next stages are the same, unless a pair has two */
        if (ops_before != 1 || op[i].stage != op[i - 1].stage || op[i].paired) {
            uint16_t wanted[PP_PYTHON_SET_MAX];
            const nearest *from = &next[i - begin];
            size_t count = look_ahead(program, from, most, wanted);
            if (count < most)
                most = count; /* one of them has run its last op */
            uint16_t ahead[PP_PYTHON_SET_MAX];
            size_t first = look_ahead(program, from, gathers < most ? gathers : most, ahead);
            status = slide(row, &active, wanted, count, first, err);
        }
        if (status ||
            (status = add(row, (pp_row_action){ .op = (uint32_t)i, .ops = (uint8_t)ops }, err)) ||
            (status = add_reductions(program, rules, row, i, ops, err)))
            return status;
        i += ops;
        ops_before = ops;
    }
    return slide(row, &active, NULL, 0, 0, err);
}
