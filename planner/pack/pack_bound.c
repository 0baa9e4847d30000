/* A lower bound on the step of any packing of a batch and any order of its ops, on one split,
 * partition and placement: the load of each rank at the lowest rate that any packing can reach, and
 * the path of the longest sequence. O(sequences * stages). Proof:
 * docs/explanation/planning-packing.md. */
#include "planner/pack/pack_bound.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define STEP 1.005 /* ratio of neighbouring points of the grid of tokens */

/* The least time of an op, whatever its microbatch: tokens * linear + squares * square. */
typedef struct floor_rate {
    double linear, square;
} floor_rate;

typedef struct floors {
    pp_costs *grid;  /* microbatches of `tokens`, all their sequences one token long */
    pp_costs *ends;  /* the shortest sequence, the longest one, the fullest microbatch of
                        sequences of one token, and of the longest ones */
    pp_costs *full;  /* the last of these alone: its ops overlap with the most of the end of step */
    int64_t *tokens; /* [count], ascending */
    uint32_t count;
    double square_step; /* difference in squares between the last two of `ends` */
} floors;

static void floors_free(floors *f)
{
    pp_costs_free(&f->grid);
    pp_costs_free(&f->ends);
    pp_costs_free(&f->full);
    free(f->tokens);
}

static pp_ns work_ns(const pp_costs *costs, uint32_t stage, uint32_t microbatch)
{
    size_t at = pp_cost_index(costs, stage, microbatch);
    pp_ns split = costs->i_ns[at] + costs->w_ns[at];
    return costs->f_ns[at] + (costs->b_ns[at] < split ? costs->b_ns[at] : split);
}

static pp_ns back_ns(const pp_costs *costs, uint32_t stage, uint32_t microbatch)
{
    size_t at = pp_cost_index(costs, stage, microbatch);
    return costs->b_ns[at] < costs->i_ns[at] ? costs->b_ns[at] : costs->i_ns[at];
}

static pp_status find_floors(const pp_pack_pipeline *pipeline, const int64_t *lengths, size_t count,
                             floors *f, pp_err *err)
{
    int64_t low = lengths[0];
    int64_t high = low;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        low = lengths[i] < low ? lengths[i] : low;
        high = lengths[i] > high ? lengths[i] : high;
        sum += lengths[i];
    }
    const int64_t most = sum < pipeline->capacity ? sum : pipeline->capacity;
    /* below 1 / (STEP - 1) tokens the points lie 1 apart */
    const size_t room =
        (size_t)(2 * log((double)most / (double)low) / log(STEP) + 1 / (STEP - 1)) + 16;
    f->tokens = pp_alloc_array(room, sizeof *f->tokens);
    pp_microbatch *probe = pp_alloc_array(room, sizeof *probe);
    if (!f->tokens || !probe) {
        free(probe);
        return pp_err_nomem(err);
    }
    for (int64_t t = low; f->count < room;) {
        f->tokens[f->count] = t;
        probe[f->count++] = (pp_microbatch){ .tokens = t, .square_sum = t };
        if (t >= most)
            break;
        const int64_t next = (int64_t)((double)t * STEP);
        t = next > t ? next : t + 1;
        t = t < most ? t : most;
    }
    pp_status status = pp_pack_costs(pipeline, probe, f->count, &f->grid, err);
    const pp_microbatch ends[] = { { .tokens = low, .square_sum = low * low },
                                   { .tokens = high, .square_sum = high * high },
                                   { .tokens = most, .square_sum = most },
                                   { .tokens = most, .square_sum = most * (high > 1 ? high : 2) } };
    f->square_step = (double)(ends[3].square_sum - ends[2].square_sum);
    if (!status)
        status = pp_pack_costs(pipeline, ends, 4, &f->ends, err);
    if (!status)
        status = pp_pack_costs(pipeline, &ends[3], 1, &f->full, err);
    free(probe);
    return status;
}

/* The sum of squares costs least in the fullest microbatch. Tokens between two points of the grid
 * cost at least what the lower point costs, divided by the tokens of the higher one. */
static floor_rate rate_of(const floors *f, uint32_t stage)
{
    floor_rate rate = { .linear = HUGE_VAL };
    rate.square =
        ((double)(work_ns(f->ends, stage, 3) - work_ns(f->ends, stage, 2)) - 4) / f->square_step;
    rate.square = rate.square > 0 ? rate.square : 0;
    for (uint32_t k = 0; k < f->count; k++) {
        const double tokens = (double)f->tokens[k + 1 < f->count ? k + 1 : k];
        const double ns = (double)work_ns(f->grid, stage, k) - 4 - rate.square * tokens;
        rate.linear = fmin(rate.linear, ns / tokens);
    }
    rate.linear = rate.linear > 0 ? rate.linear : 0;
    return rate;
}

/* The time that the shortest sequence takes to reach the stage and, with `back`, to return from it.
 * The return ends with a backward for the input, since nothing waits for the last op if it is a
 * W. */
static pp_ns reach_ns(const floors *f, uint32_t stage, bool back)
{
    pp_ns sum = 0;
    for (uint32_t s = 0; s < stage; s++) {
        size_t at = pp_cost_index(f->ends, s, 0);
        size_t next = pp_cost_index(f->ends, s + 1, 0);
        sum += f->ends->f_ns[at] + f->ends->send_f_ns[at];
        sum += back ? f->ends->send_b_ns[next] + back_ns(f->ends, s, 0) : 0;
    }
    return sum;
}

static pp_ns path_ns(const floors *f)
{
    pp_ns longest = 0;
    for (uint32_t s = 0; s < f->ends->stages; s++) {
        size_t at = pp_cost_index(f->ends, s, 1);
        longest += f->ends->f_ns[at] + back_ns(f->ends, s, 1);
        if (s + 1 < f->ends->stages)
            longest += f->ends->send_f_ns[at] + f->ends->send_b_ns[at + 1];
    }
    return longest;
}

pp_status pp_pack_find_bound(const pp_pack_pipeline *pipeline, const int64_t *lengths, size_t count,
                             pp_pack_bound *bound_out, pp_err *err)
{
    const uint32_t ranks = (uint32_t)pipeline->context->parallel.pp;
    floors f PP_CLEANUP(floors_free) = { .count = 0 };
    pp_pack_bound best = { .is_path = true };
    double tokens = 0;
    double squares = 0;
    pp_status status = find_floors(pipeline, lengths, count, &f, err);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        tokens += (double)lengths[i];
        squares += (double)lengths[i] * (double)lengths[i];
    }
    best.step_ns = path_ns(&f);
    for (uint32_t r = 0; r < ranks; r++) {
        double load = 0;
        pp_ns reach = INT64_MAX;
        for (uint32_t s = 0; s < f.ends->stages; s++) {
            if (pp_placement_rank(pipeline->context->placement, s, ranks) != r)
                continue;
            const floor_rate rate = rate_of(&f, s);
            load += (rate.linear * tokens + rate.square * squares) / pipeline->replicas;
            const pp_ns way = reach_ns(&f, s, !pipeline->split);
            reach = way < reach ? way : reach;
        }
        const pp_ns ns = (pp_ns)(load * (1 - 1e-9)) + reach;
        if (reach < INT64_MAX && ns > best.step_ns) {
            best.step_ns = ns;
            best.is_path = false;
            best.rank = r;
        }
    }
    best.step_ns += pp_bound_boundary(f.full, pipeline->step_sync);
    *bound_out = best;
    return PP_OK;
}

pp_status pp_packer_bound(const pp_packer *packer, const int64_t *lengths, size_t count,
                          pp_pack_bound *bound_out, pp_err *err)
{
    const pp_pack_pipeline pipeline = pp_packer_stages(packer);
    return pp_pack_find_bound(&pipeline, lengths, count, bound_out, err);
}
