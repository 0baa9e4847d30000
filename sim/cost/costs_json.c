/* Reads and writes the object "ppsim.costs". A table that is the same for all stages or
 * microbatches is written as a scalar or a list, and read back as such. */
#include "sim/cost/costs_json.h"

#include "sim/base/alloc.h"
#include "sim/job/sharing.h"
#include "sim/job/workload.h"
#include "sim/order/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    const char *key;
    size_t column; /* offset of the pointer in pp_costs */
    int64_t limit;
    int hole; /* the stage whose entry is always 0: -1 none, 0 first, 1 last */
} table;

#define COLUMN(name) offsetof(pp_costs, name)

static const table times[] = {
    { "forward_ns", COLUMN(f_ns), PP_NS_MAX, -1 },
    { "input_ns", COLUMN(i_ns), PP_NS_MAX, -1 },
    { "weight_ns", COLUMN(w_ns), PP_NS_MAX, -1 },
    { "backward_ns", COLUMN(b_ns), PP_NS_MAX, -1 },
    { "send_forward_ns", COLUMN(send_f_ns), PP_NS_MAX, 1 },
    { "send_backward_ns", COLUMN(send_b_ns), PP_NS_MAX, 0 },
};
static const table pairs = { "pair_ns", COLUMN(pair_ns), PP_NS_MAX, -1 };
static const table again = { "again_ns", COLUMN(again_ns), PP_NS_MAX, -1 };
static const table late_memory[] = {
    { "weight_gradient_bytes", COLUMN(weight_gradient_bytes), PP_BYTES_MAX, -1 },
    { "again_bytes", COLUMN(again_bytes), PP_BYTES_MAX, -1 },
};
static const table hidden = { "hidden_ns", COLUMN(hidden_ns), PP_NS_MAX, -1 };
static const table memory_tables[] = {
    { "activation_bytes", COLUMN(activation_bytes), PP_BYTES_MAX, -1 },
    { "stash_bytes", COLUMN(stash_bytes), PP_BYTES_MAX, -1 },
    { "recompute_bytes", COLUMN(recompute_bytes), PP_BYTES_MAX, -1 },
    { "logits_bytes", COLUMN(logits_bytes), PP_BYTES_MAX, -1 },
    { "temporary_bytes", COLUMN(temporary_bytes), PP_BYTES_MAX, -1 },
    { "output_bytes", COLUMN(output_bytes), PP_BYTES_MAX, -1 },
    { "message_bytes", COLUMN(message_bytes), PP_BYTES_MAX, -1 },
};
static const table memory_ranks[] = {
    { "parameter_bytes", COLUMN(parameter_bytes), PP_BYTES_MAX, -1 },
    { "gradient_bytes", COLUMN(gradient_bytes), PP_BYTES_MAX, -1 },
    { "optimizer_bytes", COLUMN(optimizer_bytes), PP_BYTES_MAX, -1 },
    { "workspace_bytes", COLUMN(workspace_bytes), PP_BYTES_MAX, -1 },
    { "comm_library_bytes", COLUMN(comm_library_bytes), PP_BYTES_MAX, -1 },
};
static const table limits = { "limit_bytes", COLUMN(limit_bytes), PP_BYTES_MAX, -1 };
static const table sharding[] = {
    { "unshard_ns", COLUMN(unshard_ns), PP_NS_MAX, -1 },
    { "unshard_copy_ns", COLUMN(unshard_copy_ns), PP_NS_MAX, -1 },
    { "reduce_grad_ns", COLUMN(reduce_grad_ns), PP_NS_MAX, -1 },
};
static const table regathering[] = {
    { "regather_ns", COLUMN(regather_ns), PP_NS_MAX, -1 },
    { "regather_first_ns", COLUMN(regather_first_ns), PP_NS_MAX, -1 },
    { "regather_last_ns", COLUMN(regather_last_ns), PP_NS_MAX, -1 },
};
static const table reduce_last = { "reduce_last_ns", COLUMN(reduce_last_ns), PP_NS_MAX, -1 };
static const table sharding_memory[] = {
    { "gathered_bytes", COLUMN(gathered_bytes), PP_BYTES_MAX, -1 },
    { "whole_gradient_bytes", COLUMN(whole_gradient_bytes), PP_BYTES_MAX, -1 },
    { "gradient_shard_bytes", COLUMN(gradient_shard_bytes), PP_BYTES_MAX, -1 },
};
static const table regathering_memory[] = {
    { "kept_bytes", COLUMN(kept_bytes), PP_BYTES_MAX, -1 },
    { "passing_bytes", COLUMN(passing_bytes), PP_BYTES_MAX, -1 },
};
static const table step_ranks[] = {
    { "grad_sync_ns", COLUMN(grad_sync_ns), PP_NS_MAX, -1 },
    { "tied_ns", COLUMN(tied_ns), PP_NS_MAX, -1 },
    { "optimizer_ns", COLUMN(optimizer_ns), PP_NS_MAX, -1 },
};
static const struct {
    const char *key;
    size_t field;
} step_doubles[] = {
    { "model_flops", COLUMN(model_flops) },
    { "peak_flops_per_s", COLUMN(peak_flops_per_s) },
    { "tokens", COLUMN(tokens) },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t *column_of(const pp_costs *costs, const table *t)
{
    int64_t *column;
    memcpy(&column, (const char *)costs + t->column, sizeof column);
    return column;
}

static bool is_hole(const table *t, uint32_t stage, uint32_t stages)
{
    return t->hole >= 0 && stage == (t->hole ? stages - 1 : 0);
}

/* The first pass of reading: microbatches whose values are equal so far share a class. Classes are
 * numbered in the order of their first microbatch. */
typedef struct fold {
    uint32_t stages, microbatches, classes;
    uint32_t *class_of;
    struct slot {
        int64_t value;
        uint32_t old_class, new_class, stamp;
    } * slots;
    size_t slot_mask;
    uint32_t stamp;
} fold;

static void fold_free(fold *f)
{
    free(f->class_of);
    free(f->slots);
}

static pp_status fold_new(uint32_t stages, uint32_t microbatches, fold *f, pp_err *err)
{
    *f = (fold){ .stages = stages, .microbatches = microbatches, .classes = 1 };
    f->class_of = pp_alloc_array(microbatches, sizeof *f->class_of);
    return f->class_of ? PP_OK : pp_err_nomem(err);
}

/* Allocates what only files with lists by microbatch need. */
static pp_status fold_start(fold *f, pp_err *err)
{
    size_t slots = 4;
    f->stamp++;
    if (f->slots)
        return PP_OK;
    while (slots < 2 * (size_t)f->microbatches)
        slots *= 2;
    f->slots = pp_alloc_array(slots, sizeof *f->slots);
    f->slot_mask = slots - 1;
    return f->slots ? PP_OK : pp_err_nomem(err);
}

static uint32_t fold_class(fold *f, uint32_t old_class, int64_t value, uint32_t next)
{
    uint64_t hash = ((uint64_t)value ^ ((uint64_t)old_class << 40)) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = (size_t)(hash >> 20) & f->slot_mask;; i = (i + 1) & f->slot_mask) {
        struct slot *slot = &f->slots[i];
        if (slot->stamp != f->stamp) {
            *slot = (struct slot){ value, old_class, next, f->stamp };
            return next;
        }
        if (slot->value == value && slot->old_class == old_class)
            return slot->new_class;
    }
}

/* Splits classes by the values of one stage and checks every value. */
static pp_status fold_column(fold *f, const pp_json_at *at, const table *t, pp_err *err)
{
    uint32_t next = 0;
    pp_status status = fold_start(f, err);
    for (uint32_t j = 0; j < f->microbatches && !status; j++) {
        pp_json_at item;
        int64_t value = 0;
        status = pp_json_item(at, j, &item, err);
        if (!status)
            status = pp_json_read_int(&item, 0, t->limit, &value, err);
        if (status)
            return status;
        f->class_of[j] = fold_class(f, f->class_of[j], value, next);
        next += f->class_of[j] == next;
    }
    if (!status)
        f->classes = next;
    return status;
}

static pp_status check_length(const pp_json_at *at, size_t expected, const char *what, pp_err *err)
{
    size_t count = 0;
    pp_status status = pp_json_count(at, &count, err);
    if (!status && count != expected)
        return pp_json_fail(at, err,
                            "has %zu entries; give a single number or one per %s, that is %zu",
                            count, what, expected);
    return status;
}

/* Splits classes by the values of a table; an absent one splits none. */
static pp_status fold_table(fold *f, const pp_json_at *object, const table *t, pp_err *err)
{
    if (!pp_json_has(object, t->key))
        return PP_OK;
    pp_json_at at;
    pp_status status = pp_json_get(object, t->key, &at, err);
    if (status || pp_json_kind_at(&at) != PP_JSON_ARRAY)
        return status;
    status = check_length(&at, f->stages, "stage", err);
    for (uint32_t s = 0; s < f->stages && !status; s++) {
        pp_json_at stage;
        status = pp_json_item(&at, s, &stage, err);
        if (status || pp_json_kind_at(&stage) != PP_JSON_ARRAY)
            continue;
        status = check_length(&stage, f->microbatches, "microbatch", err);
        if (!status)
            status = fold_column(f, &stage, t, err);
    }
    return status;
}

/* The second pass of reading: stores the values of one stage by class. */
static pp_status fill_stage(const pp_json_at *at, const table *t, uint32_t stage, pp_costs *costs,
                            pp_err *err)
{
    int64_t *column = column_of(costs, t);
    const bool list = pp_json_kind_at(at) == PP_JSON_ARRAY;
    const uint32_t count = list ? costs->microbatches : costs->classes;
    const bool hole = is_hole(t, stage, costs->stages);
    for (uint32_t j = 0; j < count; j++) {
        pp_json_at item = *at;
        int64_t value = 0;
        pp_status status = list ? pp_json_item(at, j, &item, err) : PP_OK;
        if (!status)
            status = pp_json_read_int(&item, 0, t->limit, &value, err);
        if (status)
            return status;
        if (hole && value)
            return pp_json_fail(&item, err, "must be 0: the %s stage sends nothing that way",
                                t->hole ? "last" : "first");
        column[list ? pp_cost_index(costs, stage, j) : (size_t)j * costs->stages + stage] = value;
    }
    return PP_OK;
}

static pp_status fill_scalar(const pp_json_at *at, const table *t, pp_costs *costs, pp_err *err)
{
    int64_t *column = column_of(costs, t);
    int64_t value = 0;
    pp_status status = pp_json_read_int(at, 0, t->limit, &value, err);
    if (status)
        return status;
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t i = 0; i < cells; i++)
        column[i] = is_hole(t, (uint32_t)(i % costs->stages), costs->stages) ? 0 : value;
    return PP_OK;
}

static pp_status fill_table(const pp_json_at *object, const char *key, const table *t,
                            pp_costs *costs, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(object, key, &at, err);
    if (status)
        return status;
    if (pp_json_kind_at(&at) != PP_JSON_ARRAY)
        return fill_scalar(&at, t, costs, err);
    for (uint32_t s = 0; s < costs->stages && !status; s++) {
        pp_json_at stage;
        status = pp_json_item(&at, s, &stage, err);
        if (!status)
            status = fill_stage(&stage, t, s, costs, err);
    }
    return status;
}

/* Reads a number, or a list of `count`, each for one of `what`. */
static pp_status fill_list(const pp_json_at *object, const table *t, uint32_t count,
                           const char *what, pp_costs *costs, pp_err *err)
{
    if (!pp_json_has(object, t->key))
        return PP_OK;
    int64_t *column = column_of(costs, t);
    pp_json_at at;
    pp_status status = pp_json_get(object, t->key, &at, err);
    if (status)
        return status;
    const bool list = pp_json_kind_at(&at) == PP_JSON_ARRAY;
    if (list)
        status = check_length(&at, count, what, err);
    for (uint32_t k = 0; k < count && !status; k++) {
        pp_json_at item = at;
        if (list)
            status = pp_json_item(&at, k, &item, err);
        if (!status)
            status = pp_json_read_int(&item, 0, t->limit, &column[k], err);
    }
    return status;
}

static pp_status fill_ranks(const pp_json_at *object, const table *t, pp_costs *costs, pp_err *err)
{
    return fill_list(object, t, costs->ranks, "rank", costs, err);
}

/* Without them, what is gathered and what is not reduced yet would take no memory. */
static pp_status check_sharding_memory(const pp_json_at *root, bool regathers, pp_err *err)
{
    static const char *const keys[] = { "gathered_bytes", "whole_gradient_bytes", "passing_bytes" };
    pp_json_at memory;
    if (!pp_json_has(root, "memory"))
        return PP_OK;
    pp_status status = pp_json_get(root, "memory", &memory, err);
    for (size_t i = 0; i < (regathers ? 3 : 2) && !status; i++) {
        if (!pp_json_has(&memory, keys[i]))
            return pp_json_fail(&memory, err,
                                "lacks \"%s\" of sharded parameters, a number or one per stage; "
                                "plan again, or give it",
                                keys[i]);
    }
    return status;
}

static pp_status fill_sharding(const pp_json_at *root, pp_costs *costs, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; i < COUNT(sharding) && !status; i++) {
        costs->sharded |= pp_json_has(root, sharding[i].key);
        status = fill_list(root, &sharding[i], costs->stages, "stage", costs, err);
    }
    costs->shards_ops = pp_json_has(root, reduce_last.key);
    if (!status)
        status = fill_list(root, &reduce_last, costs->stages, "stage", costs, err);
    for (size_t i = 0; i < COUNT(regathering) && !status; i++) {
        costs->regathers |= !costs->shards_ops && pp_json_has(root, regathering[i].key);
        status = fill_list(root, &regathering[i], costs->stages, "stage", costs, err);
    }
    costs->sharded |= costs->regathers || costs->shards_ops;
    if (!status && costs->regathers && !pp_json_has(root, "regather_ns"))
        return pp_json_fail(root, err,
                            "lacks \"regather_ns\", of which \"regather_first_ns\" and "
                            "\"regather_last_ns\" are parts");
    if (!status && costs->sharded)
        status = check_sharding_memory(root, costs->regathers, err);
    if (!status && pp_json_has(root, "unshard_slowdown"))
        status = pp_json_get_double(root, "unshard_slowdown", 1, PP_SLOWDOWN_MAX,
                                    &costs->unshard_slowdown, err);
    if (!status && pp_json_has(root, "gather_slowdown"))
        status = pp_json_get_double(root, "gather_slowdown", 1, PP_SLOWDOWN_MAX,
                                    &costs->gather_slowdown, err);
    return status;
}

/* Reads I and W, or B alone, or all three. */
static pp_status fill_backward(const pp_json_at *at, pp_costs *costs, pp_err *err)
{
    const bool has_i = pp_json_has(at, "input_ns"), has_w = pp_json_has(at, "weight_ns");
    const bool has_b = pp_json_has(at, "backward_ns");
    if (has_i != has_w || (!has_i && !has_b))
        return pp_json_fail(at, err, "needs \"input_ns\" and \"weight_ns\", or \"backward_ns\"");
    pp_status status = PP_OK;
    if (has_i)
        status = fill_table(at, "input_ns", &times[1], costs, err);
    if (has_w && !status)
        status = fill_table(at, "weight_ns", &times[2], costs, err);
    if (has_b && !status)
        status = fill_table(at, "backward_ns", &times[3], costs, err);
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t i = 0; i < cells && !status; i++) {
        if (!has_i) {
            costs->i_ns[i] = costs->b_ns[i] / 2;
            costs->w_ns[i] = costs->b_ns[i] - costs->i_ns[i];
        } else if (!has_b) {
            costs->b_ns[i] = costs->i_ns[i] + costs->w_ns[i];
        }
        if (costs->b_ns[i] > PP_NS_MAX)
            return pp_json_fail(at, err, "input_ns + weight_ns is too long");
    }
    return status;
}

/* Reads durations of pairs. Only the schedule knows the backward of a pair; pp_pairs_check checks
 * the duration against it. */
static pp_status fill_pairs(const pp_json_at *at, pp_costs *costs, pp_err *err)
{
    pp_json_at given;
    pp_status status = pp_json_get(at, pairs.key, &given, err);
    if (status || (status = fill_table(at, pairs.key, &pairs, costs, err)))
        return status;
    costs->has_pairs = true;
    for (uint32_t j = 0; j < costs->microbatches; j++) {
        for (uint32_t s = 0; s < costs->stages; s++) {
            const size_t cell = pp_cost_index(costs, s, j);
            if (costs->pair_ns[cell] < costs->f_ns[cell])
                return pp_json_fail(&given, err,
                                    "stage %u microbatch %u: an overlapped pair of %lld ns is "
                                    "shorter than its forward, %lld ns",
                                    s, j, (long long)costs->pair_ns[cell],
                                    (long long)costs->f_ns[cell]);
        }
    }
    return PP_OK;
}

/* Reads what pairs hide, which is no more than either half. */
static pp_status fill_hidden(const pp_json_at *at, pp_costs *costs, pp_err *err)
{
    pp_json_at given;
    pp_status status = pp_json_get(at, hidden.key, &given, err);
    if (!status && costs->has_pairs)
        return pp_json_fail(&given, err,
                            "is not needed beside pair_ns, which says all; give one of them");
    if (status || (status = fill_table(at, hidden.key, &hidden, costs, err)))
        return status;
    costs->has_hidden = true;
    for (uint32_t j = 0; j < costs->microbatches; j++) {
        for (uint32_t s = 0; s < costs->stages; s++) {
            const size_t cell = pp_cost_index(costs, s, j);
            const pp_ns shorter_ns =
                costs->f_ns[cell] < costs->b_ns[cell] ? costs->f_ns[cell] : costs->b_ns[cell];
            if (costs->hidden_ns[cell] > shorter_ns)
                return pp_json_fail(&given, err,
                                    "stage %u microbatch %u: an overlapped pair hides %lld ns, "
                                    "more than its shorter half takes, %lld ns",
                                    s, j, (long long)costs->hidden_ns[cell], (long long)shorter_ns);
        }
    }
    return PP_OK;
}

static pp_status fill_sends(const pp_json_at *at, pp_costs *costs, pp_err *err)
{
    pp_json_at comm;
    if (pp_json_has(at, "comm_ns")) {
        pp_status status = pp_json_get(at, "comm_ns", &comm, err);
        if (status)
            return status;
        if (pp_json_kind_at(&comm) == PP_JSON_ARRAY)
            return pp_json_fail(&comm, err,
                                "is one number for all edges in both directions; give lists as "
                                "send_forward_ns (stage to the next, last one 0) and "
                                "send_backward_ns (stage to the one before, first one 0)");
    }
    for (size_t i = 4; i < COUNT(times); i++) {
        const char *key = pp_json_has(at, "comm_ns") ? "comm_ns" : times[i].key;
        if (key != times[i].key && pp_json_has(at, times[i].key))
            return pp_json_fail(at, err, "has both \"comm_ns\" and \"%s\"; give only one",
                                times[i].key);
        pp_status status =
            pp_json_has(at, key) ? fill_table(at, key, &times[i], costs, err) : PP_OK;
        if (status)
            return status;
    }
    return PP_OK;
}

static pp_status fill_memory(const pp_json_at *root, pp_costs *costs, pp_err *err)
{
    pp_json_at at;
    pp_status status = pp_json_get(root, "memory", &at, err);
    for (size_t i = 0; i < COUNT(memory_tables) && !status; i++) {
        if (i == 0 || pp_json_has(&at, memory_tables[i].key))
            status = fill_table(&at, memory_tables[i].key, &memory_tables[i], costs, err);
    }
    for (size_t i = 0; i < COUNT(late_memory) && !status; i++) {
        if (pp_json_has(&at, late_memory[i].key))
            status = fill_table(&at, late_memory[i].key, &late_memory[i], costs, err);
    }
    for (size_t i = 0; i < COUNT(memory_ranks) && !status; i++)
        status = fill_ranks(&at, &memory_ranks[i], costs, err);
    if (!status)
        status = fill_ranks(&at, &limits, costs, err);
    for (size_t i = 0; i < COUNT(sharding_memory) && !status; i++)
        status = fill_list(&at, &sharding_memory[i], costs->stages, "stage", costs, err);
    for (size_t i = 0; i < COUNT(regathering_memory) && !status; i++)
        status = fill_list(&at, &regathering_memory[i], costs->stages, "stage", costs, err);
    costs->has_memory = true;
    return status;
}

static pp_status fill_step(const pp_json_at *root, pp_costs *costs, pp_err *err)
{
    static const char *const keys[] = { "grad_sync_ns", "tied_ns",     "optimizer_ns",
                                        "fixed_ns",     "model_flops", "peak_flops_per_s",
                                        "tokens",       NULL };
    pp_json_at at;
    pp_status status = pp_json_get(root, "step", &at, err);
    if (!status)
        status = pp_json_only(&at, keys, err);
    for (size_t i = 0; i < COUNT(step_ranks) && !status; i++)
        status = fill_ranks(&at, &step_ranks[i], costs, err);
    if (!status && pp_json_has(&at, "fixed_ns"))
        status = pp_json_get_int(&at, "fixed_ns", 0, PP_NS_MAX, &costs->fixed_ns, err);
    for (size_t i = 0; i < COUNT(step_doubles) && !status; i++) {
        if (pp_json_has(&at, step_doubles[i].key))
            status =
                pp_json_get_double(&at, step_doubles[i].key, 0, 1e40,
                                   (double *)(void *)((char *)costs + step_doubles[i].field), err);
    }
    return status;
}

static pp_status check_keys(const pp_json_at *at, pp_err *err)
{
    static const char *const keys[] = { "format",
                                        "version",
                                        "ranks",
                                        "stages",
                                        "microbatches",
                                        "forward_ns",
                                        "input_ns",
                                        "weight_ns",
                                        "backward_ns",
                                        "pair_ns",
                                        "hidden_ns",
                                        "again_ns",
                                        "comm_ns",
                                        "send_forward_ns",
                                        "send_backward_ns",
                                        "memory",
                                        "step",
                                        "unshard_ns",
                                        "reduce_grad_ns",
                                        "unshard_slowdown",
                                        "gather_slowdown",
                                        "unshard_copy_ns",
                                        "regather_ns",
                                        "regather_first_ns",
                                        "regather_last_ns",
                                        "reduce_last_ns",
                                        NULL };
    static const char *const memory_keys[] = {
        "activation_bytes", "stash_bytes",           "recompute_bytes",
        "logits_bytes",     "temporary_bytes",       "output_bytes",
        "message_bytes",    "parameter_bytes",       "gradient_bytes",
        "optimizer_bytes",  "workspace_bytes",       "comm_library_bytes",
        "limit_bytes",      "weight_gradient_bytes", "again_bytes",
        "gathered_bytes",   "whole_gradient_bytes",  "gradient_shard_bytes",
        "kept_bytes",       "passing_bytes",         NULL
    };
    pp_status status = pp_json_only(at, keys, err);
    if (!status && (!at->parent || pp_json_has(at, "format")))
        status = pp_json_check_format(at, "ppsim.costs", 1, err);
    if (!status && pp_json_has(at, "memory")) {
        pp_json_at memory;
        status = pp_json_get(at, "memory", &memory, err);
        if (!status)
            status = pp_json_only(&memory, memory_keys, err);
    }
    return status;
}

static pp_status check_counts(const pp_json_at *at, uint32_t ranks, uint32_t stages,
                              uint32_t microbatches, pp_err *err)
{
    const struct {
        const char *key;
        uint32_t count, limit;
    } counts[] = {
        { "ranks", ranks, PP_RANKS_MAX },
        { "stages", stages, PP_STAGES_MAX },
        { "microbatches", microbatches, (uint32_t)PP_MICROBATCHES_MAX },
    };
    for (size_t i = 0; i < COUNT(counts); i++) {
        if (!pp_json_has(at, counts[i].key))
            continue;
        int64_t value = 0;
        pp_json_at place;
        pp_status status = pp_json_get(at, counts[i].key, &place, err);
        if (!status)
            status = pp_json_read_int(&place, 1, counts[i].limit, &value, err);
        if (status)
            return status;
        if (value != (int64_t)counts[i].count)
            return pp_json_fail(&place, err, "the costs are for %lld %s, but the schedule has %u",
                                (long long)value, counts[i].key, counts[i].count);
    }
    return PP_OK;
}

static pp_status fold_all(fold *f, const pp_json_at *at, pp_err *err)
{
    static const table comm = { "comm_ns", 0, PP_NS_MAX, -1 };
    pp_status status = fold_table(f, at, &comm, err);
    for (size_t i = 0; i < COUNT(times) && !status; i++)
        status = fold_table(f, at, &times[i], err);
    if (!status)
        status = fold_table(f, at, &pairs, err);
    if (!status)
        status = fold_table(f, at, &again, err);
    if (status || !pp_json_has(at, "memory"))
        return status;
    pp_json_at memory;
    status = pp_json_get(at, "memory", &memory, err);
    for (size_t i = 0; i < COUNT(memory_tables) && !status; i++)
        status = fold_table(f, &memory, &memory_tables[i], err);
    for (size_t i = 0; i < COUNT(late_memory) && !status; i++)
        status = fold_table(f, &memory, &late_memory[i], err);
    return status;
}

/* Reads what W computes again. Older files do not say how much of it is held until W ends, and
 * meant one layer at a time. */
static pp_status fill_late(const pp_json_at *at, pp_costs *costs, pp_err *err)
{
    pp_json_at memory;
    const char *alone = NULL;
    pp_status status = pp_json_has(at, "memory") ? pp_json_get(at, "memory", &memory, err) : PP_OK;
    const bool has_memory = !status && pp_json_has(at, "memory");
    for (size_t i = 0; has_memory && i < COUNT(late_memory); i++) {
        if (pp_json_has(&memory, late_memory[i].key))
            alone = late_memory[i].key;
    }
    if (!status && !pp_json_has(at, again.key))
        return !alone ? PP_OK
                      : pp_json_fail(at, err,
                                     "has \"%s\", which holds beside \"again_ns\"; give both "
                                     "(again_ns may be 0)",
                                     alone);
    if (!status)
        status = fill_table(at, again.key, &again, costs, err);
    if (!status && has_memory && !pp_json_has(&memory, late_memory[1].key)) {
        for (size_t i = 0; i < (size_t)costs->classes * costs->stages; i++)
            costs->again_bytes[i] = costs->again_ns[i] ? costs->recompute_bytes[i] : 0;
    }
    return status ? status : pp_costs_add_late(costs, err);
}

pp_status pp_costs_read(const pp_json_at *at, uint32_t ranks, uint32_t stages,
                        uint32_t microbatches, pp_costs **costs_out, pp_err *err)
{
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    fold f PP_CLEANUP(fold_free) = { 0 };
    pp_status status = check_keys(at, err);
    if (!status)
        status = check_counts(at, ranks, stages, microbatches, err);
    if (!status)
        status = fold_new(stages, microbatches, &f, err);
    if (!status)
        status = fold_all(&f, at, err);
    if (!status)
        status = pp_costs_new(ranks, stages, microbatches, f.classes, &costs, err);
    if (status)
        return status;
    memcpy(costs->class_of, f.class_of, microbatches * sizeof *f.class_of);
    status = fill_table(at, times[0].key, &times[0], costs, err);
    if (!status)
        status = fill_backward(at, costs, err);
    if (!status && pp_json_has(at, pairs.key))
        status = fill_pairs(at, costs, err);
    if (!status && pp_json_has(at, hidden.key))
        status = fill_hidden(at, costs, err);
    if (!status)
        status = fill_sends(at, costs, err);
    if (!status && pp_json_has(at, "memory"))
        status = fill_memory(at, costs, err);
    if (!status && pp_json_has(at, "step"))
        status = fill_step(at, costs, err);
    if (!status)
        status = fill_sharding(at, costs, err);
    if (!status)
        status = fill_late(at, costs, err);
    if (status)
        return status;
    *costs_out = costs;
    costs = NULL;
    return PP_OK;
}

/* A table is written in its shortest form: a number, a list by stage, or lists by stage and
 * microbatch. */
static bool equal_over_classes(const pp_costs *costs, const int64_t *column)
{
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t i = costs->stages; i < cells; i++) {
        if (column[i] != column[i % costs->stages])
            return false;
    }
    return true;
}

static bool equal_over_stages(const pp_costs *costs, const table *t, const int64_t *column,
                              int64_t *value_out)
{
    const uint32_t start = costs->stages > 1 && is_hole(t, 0, costs->stages);
    *value_out = column[start];
    for (uint32_t s = 0; s < costs->stages; s++) {
        const int64_t expected = is_hole(t, s, costs->stages) ? 0 : column[start];
        if (column[s] != expected)
            return false;
    }
    return true;
}

static void write_table(pp_json_build *build, pp_json *object, const pp_costs *costs,
                        const table *t)
{
    const int64_t *column = column_of(costs, t);
    const bool by_stage = equal_over_classes(costs, column);
    int64_t value = 0;
    if (by_stage && equal_over_stages(costs, t, column, &value)) {
        pp_json_put_int(build, object, t->key, value);
        return;
    }
    pp_json *stages = pp_json_new_array(build);
    for (uint32_t s = 0; s < costs->stages; s++) {
        if (by_stage) {
            pp_json_add_int(build, stages, column[s]);
            continue;
        }
        pp_json *microbatches = pp_json_new_array(build);
        for (uint32_t j = 0; j < costs->microbatches; j++)
            pp_json_add_int(build, microbatches, column[pp_cost_index(costs, s, j)]);
        pp_json_add(build, stages, microbatches);
    }
    pp_json_put(build, object, t->key, stages);
}

/* Writes a number if all are equal, or else a list. */
static void write_list(pp_json_build *build, pp_json *object, const pp_costs *costs, const table *t,
                       uint32_t count)
{
    const int64_t *column = column_of(costs, t);
    bool equal = true;
    for (uint32_t k = 1; k < count; k++)
        equal = equal && column[k] == column[0];
    if (equal) {
        pp_json_put_int(build, object, t->key, column[0]);
        return;
    }
    pp_json *list = pp_json_new_array(build);
    for (uint32_t k = 0; k < count; k++)
        pp_json_add_int(build, list, column[k]);
    pp_json_put(build, object, t->key, list);
}

static void write_ranks(pp_json_build *build, pp_json *object, const pp_costs *costs,
                        const table *t)
{
    write_list(build, object, costs, t, costs->ranks);
}

static bool backward_is_sum(const pp_costs *costs)
{
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t i = 0; i < cells; i++) {
        if (costs->b_ns[i] != costs->i_ns[i] + costs->w_ns[i])
            return false;
    }
    return true;
}

pp_json *pp_costs_write(const pp_costs *costs, pp_json_build *build)
{
    pp_json *root = pp_json_new_object(build);
    pp_json_put_text(build, root, "format", "ppsim.costs");
    pp_json_put_int(build, root, "version", 1);
    pp_json_put_int(build, root, "ranks", costs->ranks);
    pp_json_put_int(build, root, "stages", costs->stages);
    pp_json_put_int(build, root, "microbatches", costs->microbatches);
    for (size_t i = 0; i < COUNT(times); i++) {
        if (times[i].column != COLUMN(b_ns) || !backward_is_sum(costs))
            write_table(build, root, costs, &times[i]);
    }
    if (costs->late)
        write_table(build, root, costs, &again);
    if (costs->has_pairs || costs->has_hidden)
        write_table(build, root, costs, costs->has_pairs ? &pairs : &hidden);
    for (size_t i = 0; costs->sharded && i < COUNT(sharding); i++)
        write_list(build, root, costs, &sharding[i], costs->stages);
    for (size_t i = 0; (costs->regathers || costs->shards_ops) && i < COUNT(regathering); i++)
        write_list(build, root, costs, &regathering[i], costs->stages);
    if (costs->shards_ops)
        write_list(build, root, costs, &reduce_last, costs->stages);
    if (costs->sharded && costs->unshard_slowdown > 1)
        pp_json_put_double(build, root, "unshard_slowdown", costs->unshard_slowdown);
    if (costs->sharded && costs->gather_slowdown > 1)
        pp_json_put_double(build, root, "gather_slowdown", costs->gather_slowdown);
    if (costs->has_memory) {
        pp_json *memory = pp_json_new_object(build);
        for (size_t i = 0; i < COUNT(memory_tables); i++)
            write_table(build, memory, costs, &memory_tables[i]);
        for (size_t i = 0; costs->late && i < COUNT(late_memory); i++)
            write_table(build, memory, costs, &late_memory[i]);
        for (size_t i = 0; i < COUNT(memory_ranks); i++)
            write_ranks(build, memory, costs, &memory_ranks[i]);
        for (size_t i = 0; costs->sharded && i < COUNT(sharding_memory); i++)
            write_list(build, memory, costs, &sharding_memory[i], costs->stages);
        for (size_t i = 0; costs->regathers && i < COUNT(regathering_memory); i++)
            write_list(build, memory, costs, &regathering_memory[i], costs->stages);
        uint32_t own = 0;
        while (own < costs->ranks && !costs->limit_bytes[own])
            own++;
        if (own < costs->ranks)
            write_ranks(build, memory, costs, &limits);
        pp_json_put(build, root, "memory", memory);
    }
    pp_json *step = pp_json_new_object(build);
    for (size_t i = 0; i < COUNT(step_ranks); i++)
        write_ranks(build, step, costs, &step_ranks[i]);
    pp_json_put_int(build, step, "fixed_ns", costs->fixed_ns);
    for (size_t i = 0; i < COUNT(step_doubles); i++) {
        double value;
        memcpy(&value, (const char *)costs + step_doubles[i].field, sizeof value);
        pp_json_put_double(build, step, step_doubles[i].key, value);
    }
    pp_json_put(build, root, "step", step);
    return root;
}
