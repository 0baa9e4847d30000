/* Balanced partitions, in two steps. Proofs: docs/explanation/planning-partition.md.
 *
 * First, the heaviest stage is made as light as possible by a binary search over its weight (the
 * parametric search for chains-on-chains partitioning, Pinar and Aykanat 2004). A cap can be met
 * exactly when left-packing meets it: each stage takes what fits, but leaves a unit for every later
 * one. If ranks differ in speed, all places where a stage can end are kept.
 *
 * Second, one of those partitions is chosen. With one stage per rank, dynamic programming over
 * (stage, first unit) finds the least sum of squared stage weights; with several, a local search
 * moves single units off the heaviest rank.
 *
 * A uniform partition counts layers instead, as partition_uniform of ColossalAI does
 * (colossalai/legacy/pipeline/utils.py).
 *
 * The first step takes O(log weight * stages * log units). The table of the second step has at most
 * stages * units entries, restricted to those that are reachable under the cap. If it would take
 * too long, which needs thousands of layers, the first partition stays; the local search ends
 * early. */
#include "planner/bound/partition.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MAX ((size_t)1 << 22) /* entries of the table of the second objective */
#define TRIES_MAX ((size_t)1 << 20) /* ends of stages tried for it: some 3 ms */
#define MOVES_MAX ((size_t)1 << 20) /* stages weighed by the local search: some 10 ms */
#define SCALE 20                    /* bits of a weight in that table: 2^16 squares fit 64 bits */

/* The units in order. Unless end stages may be empty, the embedding is part of the first unit, and
 * the loss of the last. */
typedef struct units {
    size_t n;
    uint32_t stages;
    pp_ns *prefix; /* [n + 1]: weight of the units before */
    pp_ns stage_ns;
    uint32_t ranks;
    pp_placement placement;
    const double *rank_speed; /* NULL: all are 1 */
    bool *ends;               /* scratch memory if ranks differ: [(stages + 1) * (n + 1)] */
} units;

/* How long stage s takes for `ns` of work at the speed of its rank. */
static pp_ns at_speed(const units *u, uint32_t s, pp_ns ns)
{
    if (!u->rank_speed)
        return ns;
    double takes = (double)ns / u->rank_speed[pp_placement_rank(u->placement, s, u->ranks)];
    return takes < (double)(INT64_MAX / 4) ? (pp_ns)(takes + 0.5) : INT64_MAX / 4;
}

static pp_ns weight(const units *u, uint32_t s, size_t from, size_t to)
{
    return at_speed(u, s, u->prefix[to] - u->prefix[from] + u->stage_ns);
}

static pp_ns unit_ns(const pp_unit_weights *w, bool empty_ends, size_t k)
{
    size_t layers = (size_t)w->layers;
    size_t n = layers + (size_t)w->mtp;
    if (empty_ends && (k == 0 || k == n + 1))
        return k == 0 ? w->embedding_ns : w->loss_ns;
    k -= empty_ends;
    pp_ns ns = k < layers ? w->layer_ns[k] : w->mtp_ns;
    if (!empty_ends && k == 0)
        ns += w->embedding_ns;
    if (!empty_ends && k == n - 1)
        ns += w->loss_ns;
    return ns;
}

static pp_status units_new(const pp_unit_weights *w, const pp_partition_params *split, units *u,
                           pp_err *err)
{
    u->n = (size_t)(w->layers + w->mtp) + (split->allow_empty_end_stages ? 2 : 0);
    u->stages = split->ranks * split->chunks;
    u->ranks = split->ranks;
    u->placement = split->placement;
    u->stage_ns = w->stage_ns;
    u->rank_speed = split->rank_speed;
    if (u->stages > u->n)
        return pp_err_set(err, PP_USAGE,
                          split->ranks <= u->n ? pp_err_name(err, PP_FIELD_CHUNKS)
                                               : pp_err_name(err, PP_FIELD_RANKS),
                          "%" PRIu32 " ranks x %" PRIu32
                          " chunks are more stages than the model has parts (%zu); choose pp x vpp "
                          "<= %zu, or allow empty stages with %s LAYOUT",
                          split->ranks, split->chunks, u->n, u->n,
                          pp_err_name(err, PP_FIELD_PARTITION));
    u->prefix = pp_alloc_array(u->n + 1, sizeof *u->prefix);
    if (split->rank_speed)
        u->ends = pp_alloc_array(((size_t)u->stages + 1) * (u->n + 1), sizeof *u->ends);
    if (!u->prefix || (split->rank_speed && !u->ends))
        return pp_err_nomem(err);
    for (size_t k = 0; k < u->n; k++) {
        pp_ns ns = unit_ns(w, split->allow_empty_end_stages, k);
        if (__builtin_add_overflow(u->prefix[k], ns, &u->prefix[k + 1]) ||
            u->prefix[k + 1] > INT64_MAX / 4)
            return pp_err_set(err, PP_INPUT, NULL, "the model's time does not fit 64 bits");
    }
    return PP_OK;
}

/* The furthest unit that stage s reaches from `from` with at most `cap`; `from` when it takes none.
 */
static size_t reach(const units *u, uint32_t s, size_t from, pp_ns cap)
{
    size_t low = from;
    size_t high = u->n;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (weight(u, s, from, middle) <= cap)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* If ranks differ, a stage may have to leave a unit for which only the next one is fast enough, so
 * all places where the first stages can end are kept. Then, from the end, each stage begins as late
 * as it can. */
static bool pack_unequal(const units *u, pp_ns cap, size_t *begin)
{
    const size_t row = u->n + 1;
    memset(u->ends, 0, ((size_t)u->stages + 1) * row * sizeof *u->ends);
    u->ends[0] = true;
    for (uint32_t s = 0; s < u->stages; s++) {
        const size_t last = u->n - (u->stages - 1 - s);
        size_t marked = 0; /* reach grows with `from` */
        for (size_t from = s; from < last; from++) {
            if (!u->ends[s * row + from])
                continue;
            size_t to = reach(u, s, from, cap);
            to = to < last ? to : last;
            marked = marked > from ? marked : from;
            while (marked < to)
                u->ends[(s + 1) * row + ++marked] = true;
        }
    }
    if (!u->ends[u->stages * row + u->n])
        return false;
    size_t at = u->n;
    for (uint32_t s = u->stages; begin && s-- > 0;) {
        begin[s + 1] = at;
        do
            at--;
        while (!u->ends[s * row + at] || weight(u, s, at, begin[s + 1]) > cap);
        begin[s] = at;
    }
    return true;
}

/* Left-packing: each stage takes what it can, but leaves a unit for every later one. */
static bool pack(const units *u, pp_ns cap, size_t *begin)
{
    size_t at = 0;
    if (u->ends)
        return pack_unequal(u, cap, begin);
    for (uint32_t s = 0; s < u->stages; s++) {
        size_t most = u->n - (u->stages - 1 - s);
        size_t to = reach(u, s, at, cap);
        if (begin)
            begin[s] = at;
        if (to == at)
            return false;
        at = to < most ? to : most;
    }
    if (begin)
        begin[u->stages] = at;
    return at == u->n;
}

/* The least cap that pack can meet. pack meets a cap exactly when some partition does. */
static pp_ns least_cap(const units *u)
{
    pp_ns low = 0;
    pp_ns high = 0;
    for (uint32_t s = 0; s < u->stages; s++)
        high = weight(u, s, 0, u->n) > high ? weight(u, s, 0, u->n) : high;
    while (low < high) {
        pp_ns middle = low + (high - low) / 2;
        if (pack(u, middle, NULL))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int64_t square(pp_ns ns, pp_ns cap)
{
    int64_t scaled = cap > 0 ? (int64_t)((double)ns / (double)cap * (double)(1 << SCALE)) : 0;
    return scaled * scaled;
}

/* The number of ends of stages that spread tries. The furthest end grows with `from`. */
static size_t count_tries(const units *u, pp_ns cap, const size_t *first, const size_t *last)
{
    size_t tries = 0;
    for (uint32_t s = 0; s < u->stages; s++) {
        size_t end = 0;
        for (size_t from = first[s]; from <= last[s]; from++) {
            const size_t begin = from + 1 > first[s + 1] ? from + 1 : first[s + 1];
            end = end > begin ? end : begin;
            while (end <= last[s + 1] && weight(u, s, from, end) <= cap)
                end++;
            tries += end - begin;
        }
    }
    return tries;
}

/* Finds the least sum of squares under `cap`, where stage s begins at first[s] to last[s]. These
 * ranges are the rows of the table; row s begins at offset[s]. */
static pp_status spread(const units *u, pp_ns cap, const size_t *first, const size_t *last,
                        size_t *begin, pp_err *err)
{
    size_t *offset PP_CLEANUP(pp_free_array) = pp_alloc_array(u->stages + 2, sizeof *offset);
    if (!offset)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s <= u->stages; s++)
        offset[s + 1] = offset[s] + (last[s] - first[s] + 1);
    if (offset[u->stages + 1] > TABLE_MAX || count_tries(u, cap, first, last) > TRIES_MAX)
        return PP_OK; /* begin stays as it was */
    pp_ns *table PP_CLEANUP(pp_free_array) = pp_alloc_array(offset[u->stages + 1], sizeof *table);
    size_t *next PP_CLEANUP(pp_free_array) = pp_alloc_array(offset[u->stages + 1], sizeof *next);
    if (!table || !next)
        return pp_err_nomem(err);
    for (uint32_t s = u->stages; s-- > 0;) {
        for (size_t from = first[s]; from <= last[s]; from++) {
            size_t row = offset[s] + from - first[s];
            table[row] = INT64_MAX;
            size_t to = from + 1 > first[s + 1] ? from + 1 : first[s + 1];
            for (; to <= last[s + 1] && weight(u, s, from, to) <= cap; to++) {
                int64_t rest = table[offset[s + 1] + to - first[s + 1]];
                if (rest == INT64_MAX)
                    continue;
                int64_t sum = rest + square(weight(u, s, from, to), cap);
                if (sum < table[row]) {
                    table[row] = sum;
                    next[row] = to;
                }
            }
        }
    }
    for (uint32_t s = 0; s < u->stages; s++)
        begin[s + 1] = next[offset[s] + begin[s] - first[s]];
    return PP_OK;
}

/* The left-packed partition gives the last place where each stage can begin, and its mirror image
 * gives the first one. */
static pp_status balance_stages(const units *u, pp_ns cap, size_t *begin, pp_err *err)
{
    size_t *first PP_CLEANUP(pp_free_array) = pp_alloc_array(u->stages + 1, sizeof *first);
    size_t *last PP_CLEANUP(pp_free_array) = pp_alloc_array(u->stages + 1, sizeof *last);
    if (!first || !last)
        return pp_err_nomem(err);
    (void)pack(u, cap, begin);
    memcpy(last, begin, ((size_t)u->stages + 1) * sizeof *last);
    first[u->stages] = u->n;
    for (uint32_t s = u->stages; s-- > 0;) {
        size_t at = first[s + 1];
        while (at > s && weight(u, s, at - 1, first[s + 1]) <= cap)
            at--;
        first[s] = at;
    }
    first[0] = 0;
    for (uint32_t s = 1; u->ends && s < u->stages; s++) {
        first[s] = s;
        last[s] = u->n - (u->stages - s);
    }
    return spread(u, cap, first, last, begin, err);
}

/* A rank that is almost without room is given work that takes as long as can be counted
 * (`at_speed`); several such stages take no longer. */
static void add_weight(pp_ns ns, pp_ns *sum)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = INT64_MAX;
}

static void rank_weights(const units *u, const size_t *begin, pp_ns *rank_ns)
{
    memset(rank_ns, 0, u->ranks * sizeof *rank_ns);
    for (uint32_t s = 0; s < u->stages; s++)
        add_weight(weight(u, s, begin[s], begin[s + 1]),
                   &rank_ns[pp_placement_rank(u->placement, s, u->ranks)]);
}

typedef struct score {
    pp_ns heaviest;
    double squares;
} score;

static score score_ranks(const units *u, const pp_ns *rank_ns)
{
    score sum = { 0 };
    for (uint32_t r = 0; r < u->ranks; r++) {
        sum.heaviest = rank_ns[r] > sum.heaviest ? rank_ns[r] : sum.heaviest;
        sum.squares += (double)rank_ns[r] * (double)rank_ns[r];
    }
    return sum;
}

static bool better(score a, score b)
{
    /* The margin keeps rounding errors from looking like progress. */
    return a.heaviest < b.heaviest ||
           (a.heaviest == b.heaviest && a.squares < b.squares * (1 - 1e-9));
}

/* Moves a unit from stage `from` to stage `to`; the stages between them shift. Returns false when
 * that is not legal. */
static bool move_unit(const units *u, pp_ns cap, uint32_t from, uint32_t to, size_t *begin)
{
    if (from == to || begin[from + 1] - begin[from] < 2)
        return false;
    for (uint32_t s = from + 1; s <= to; s++)
        begin[s]--;
    for (uint32_t s = to + 1; s <= from; s++)
        begin[s]++;
    uint32_t low = from < to ? from : to;
    uint32_t high = from < to ? to : from;
    for (uint32_t s = low; s <= high; s++) {
        if (weight(u, s, begin[s], begin[s + 1]) > cap)
            return false;
    }
    return true;
}

/* Moves single units off the heaviest ranks as long as that helps. */
static pp_status balance_ranks(const units *u, pp_ns cap, size_t *begin, pp_err *err)
{
    size_t bytes = ((size_t)u->stages + 1) * sizeof *begin;
    size_t *trial PP_CLEANUP(pp_free_array) = pp_alloc_array(1, bytes);
    pp_ns *rank_ns PP_CLEANUP(pp_free_array) = pp_alloc_array(u->ranks, sizeof *rank_ns);
    if (!trial || !rank_ns)
        return pp_err_nomem(err);
    rank_weights(u, begin, rank_ns);
    score now = score_ranks(u, rank_ns);
    size_t weighed = 0;
    for (uint32_t round = 0, moved = 1; moved && round < 4 * u->stages; round++) {
        moved = 0;
        for (uint32_t from = 0; from < u->stages && !moved; from++) {
            rank_weights(u, begin, rank_ns);
            if (rank_ns[pp_placement_rank(u->placement, from, u->ranks)] < now.heaviest)
                continue;
            for (uint32_t to = u->stages; to-- > 0 && !moved && weighed < MOVES_MAX;) {
                weighed += u->stages;
                memcpy(trial, begin, bytes);
                if (!move_unit(u, cap, from, to, trial))
                    continue;
                rank_weights(u, trial, rank_ns);
                score then = score_ranks(u, rank_ns);
                if (better(then, now)) {
                    memcpy(begin, trial, bytes);
                    now = then;
                    moved = 1;
                }
            }
        }
    }
    return PP_OK;
}

/* Makes a stage of the units [from, to). */
static pp_stage make_stage(const pp_unit_weights *w, bool empty_ends, const units *u, size_t from,
                           size_t to)
{
    int64_t skip = empty_ends ? 1 : 0;
    int64_t low = (int64_t)from - skip;
    int64_t high = (int64_t)to - skip;
    int64_t end = w->layers + w->mtp;
    low = low < 0 ? 0 : low;
    high = high > end ? end : high;
    int64_t first = low < w->layers ? low : w->layers;
    int64_t last = high < w->layers ? high : w->layers;
    return (pp_stage){
        .first_layer = first,
        .layers = last - first,
        .mtp = (high > w->layers ? high - w->layers : 0) - (low > w->layers ? low - w->layers : 0),
        .embedding = from == 0,
        .loss = to == u->n,
    };
}

static void units_free(units *u)
{
    free(u->prefix);
    free(u->ends);
}

pp_status pp_partition_balance(const pp_unit_weights *weights, const pp_partition_params *split,
                               pp_stage **stages_out, pp_err *err)
{
    units u PP_CLEANUP(units_free) = { 0 };
    pp_status status = units_new(weights, split, &u, err);
    if (status)
        return status;
    size_t *begin PP_CLEANUP(pp_free_array) = pp_alloc_array((size_t)u.stages + 1, sizeof *begin);
    if (!begin)
        return pp_err_nomem(err);
    pp_ns cap = least_cap(&u);
    status = balance_stages(&u, cap, begin, err);
    if (!status && split->chunks > 1)
        status = balance_ranks(&u, cap, begin, err);
    if (status)
        return status;
    pp_stage *stages = pp_alloc_array(u.stages, sizeof *stages);
    if (!stages)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < u.stages; s++)
        stages[s] = make_stage(weights, split->allow_empty_end_stages, &u, begin[s], begin[s + 1]);
    *stages_out = stages;
    return PP_OK;
}

pp_status pp_partition_uniform(int64_t layers, int64_t mtp, uint32_t ranks, uint32_t chunks,
                               pp_stage **stages_out, pp_err *err)
{
    const int64_t count = (int64_t)ranks * chunks;
    if (count > layers)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_PARTITION),
            "uniform puts a layer on every stage, but %" PRId64 " layers are fewer than %" PRId64
            " ranks x %" PRId64 " chunks; choose pp x vpp <= %" PRId64 ", or use %s auto",
            layers, (int64_t)ranks, (int64_t)chunks, layers, pp_err_name(err, PP_FIELD_PARTITION));
    if (layers % chunks != 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_PARTITION),
                          "uniform needs as many layers in every chunk, but %" PRId64
                          " chunks per rank do not divide %" PRId64
                          " layers; give another %s, or use %s auto",
                          (int64_t)chunks, layers, pp_err_name(err, PP_FIELD_CHUNKS),
                          pp_err_name(err, PP_FIELD_PARTITION));
    pp_stage *stages = pp_alloc_array((size_t)count, sizeof *stages);
    if (!stages)
        return pp_err_nomem(err);
    const int64_t each = layers / chunks / ranks;
    const int64_t shorter =
        ranks - layers / chunks % ranks; /* the stages of a chunk without more */
    int64_t next = 0;
    for (int64_t s = 0; s < count; s++) {
        const int64_t here = each + (s % ranks >= shorter ? 1 : 0);
        stages[s] = (pp_stage){ .first_layer = next,
                                .layers = here,
                                .mtp = s == count - 1 ? mtp : 0,
                                .embedding = s == 0,
                                .loss = s == count - 1 };
        next += here;
    }
    *stages_out = stages;
    return PP_OK;
}

static pp_ns time_of(const pp_unit_weights *weights, const pp_stage *stage)
{
    pp_ns sum = weights->stage_ns + weights->mtp_ns * stage->mtp;
    for (int64_t k = 0; k < stage->layers; k++)
        sum += weights->layer_ns[stage->first_layer + k];
    return sum + (stage->embedding ? weights->embedding_ns : 0) +
           (stage->loss ? weights->loss_ns : 0);
}

pp_status pp_partition_heaviest(const pp_unit_weights *weights, const pp_partition_params *split,
                                const pp_stage *stages, pp_ns *stage_ns_out, pp_ns *rank_ns_out,
                                pp_err *err)
{
    pp_ns *rank_ns PP_CLEANUP(pp_free_array) = pp_alloc_array(split->ranks, sizeof *rank_ns);
    if (!rank_ns)
        return pp_err_nomem(err);
    pp_ns stage_ns = 0;
    pp_ns heaviest = 0;
    for (uint32_t s = 0; s < split->ranks * split->chunks; s++) {
        uint32_t rank = pp_placement_rank(split->placement, s, split->ranks);
        const units u = { .ranks = split->ranks,
                          .placement = split->placement,
                          .rank_speed = split->rank_speed };
        pp_ns ns = at_speed(&u, s, time_of(weights, &stages[s]));
        add_weight(ns, &rank_ns[rank]);
        stage_ns = ns > stage_ns ? ns : stage_ns;
        heaviest = rank_ns[rank] > heaviest ? rank_ns[rank] : heaviest;
    }
    *stage_ns_out = stage_ns;
    *rank_ns_out = heaviest;
    return PP_OK;
}
