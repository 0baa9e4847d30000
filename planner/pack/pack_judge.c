/* Judges packings by simulating the pipeline that a search has chosen, with the replicas that the
 * packing makes. The cost is one simulation per replica. */
#include "planner/pack/pack_judge.h"

#include "planner/candidate/evaluate.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void pp_packer_close(pp_packer **packer)
{
    if (!*packer)
        return;
    pp_search_close(&(*packer)->search);
    free(*packer);
    *packer = NULL;
}

const pp_candidate *pp_packer_pipeline(const pp_packer *packer)
{
    return &packer->candidate;
}

int64_t pp_packer_capacity(const pp_packer *packer)
{
    return packer->capacity;
}

int64_t pp_packer_memory_limit(const pp_packer *packer)
{
    return packer->search.problem->memory_limit_bytes;
}

static const pp_setup *setup_of(const pp_packer *packer)
{
    return &packer->search.pool.setup[packer->candidate.setup];
}

pp_pack_pipeline pp_packer_stages(const pp_packer *packer)
{
    const pp_setup *setup = setup_of(packer);
    return (pp_pack_pipeline){ .context = &setup->context,
                               .stages = setup->stages,
                               .split = packer->candidate.schedule->splits_backward,
                               .step_sync = !packer->request.no_step_sync,
                               .replicas = packer->replicas,
                               .capacity = packer->capacity };
}

static uint32_t stages_of(const pp_cost_context *context)
{
    return (uint32_t)(context->parallel.pp * context->parallel.vpp);
}

pp_status pp_pack_costs(const pp_pack_pipeline *pipeline, const pp_microbatch *microbatch,
                        uint32_t count, pp_costs **costs_out, pp_err *err)
{
    pp_microbatch *own = pp_alloc_array(count, sizeof *own);
    if (!own)
        return pp_err_nomem(err);
    memcpy(own, microbatch, count * sizeof *own);
    const pp_workload workload = { .replicas = 1, .microbatches = count, .microbatch = own };
    pp_status status =
        pp_cost_model_tables(pipeline->context, pipeline->stages, stages_of(pipeline->context),
                             &workload, 0, costs_out, err);
    free(own);
    return status;
}

static double heaviest_s(const pp_costs *costs, uint32_t microbatch, uint32_t *stage)
{
    double most = 0;
    for (uint32_t s = 0; s < costs->stages; s++) {
        size_t at = pp_cost_index(costs, s, microbatch);
        double ns = (double)(costs->f_ns[at] + costs->b_ns[at]);
        if (ns > most) {
            most = ns;
            *stage = s;
        }
    }
    return most;
}

/* Finds the slopes of the heaviest stage around a full microbatch of a few sequences. */
static pp_status find_weights(pp_packer *packer, pp_err *err)
{
    const int64_t t = packer->capacity > 2 ? packer->capacity : 2;
    const int64_t half = t / 2;
    const int64_t low = half * (half / 8 + 1);
    const int64_t high = half * (half / 2 + 1);
    const pp_microbatch probe[] = { { .tokens = half, .square_sum = low },
                                    { .tokens = half, .square_sum = high },
                                    { .tokens = t, .square_sum = high } };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    uint32_t s = 0;
    double ns[3];
    const pp_pack_pipeline pipeline = pp_packer_stages(packer);
    pp_status status = pp_pack_costs(&pipeline, probe, 3, &costs, err);
    if (status)
        return status;
    heaviest_s(costs, 2, &s);
    for (uint32_t j = 0; j < 3; j++) {
        size_t at = pp_cost_index(costs, s, j);
        ns[j] = (double)(costs->f_ns[at] + costs->b_ns[at]);
    }
    packer->weights.linear = (ns[2] - ns[1]) / (double)(t - half);
    packer->weights.square = high > low ? (ns[1] - ns[0]) / (double)(high - low) : 0;
    if (!(packer->weights.linear > 0))
        packer->weights.linear = 1;
    if (!(packer->weights.square > 0))
        packer->weights.square = 0;
    return PP_OK;
}

pp_status pp_packer_new(pp_search *search, const pp_plan_request *request, size_t candidate,
                        bool tight, pp_packer **packer_out, pp_err *err)
{
    pp_packer *packer PP_CLEANUP(pp_packer_close) = pp_alloc_array(1, sizeof *packer);
    if (!packer) {
        pp_search_close(search);
        return pp_err_nomem(err);
    }
    packer->search = *search;
    *search = (pp_search){ 0 };
    packer->request = *request;
    pp_status status = pp_search_continue(&packer->search, &packer->request, err);
    if (status)
        return status;
    packer->tight = tight;
    packer->candidate = packer->search.pool.candidate[candidate];
    packer->index = candidate;
    packer->data = setup_of(packer)->data;
    packer->replicas = (uint32_t)packer->search.problem->parallel.dp;
    packer->multiple_of =
        packer->candidate.schedule->grouped ? (uint32_t)packer->candidate.parallel.pp : 1;
    packer->capacity = packer->search.problem->seq_length * packer->candidate.micro_batch_size;
    status = find_weights(packer, err);
    if (status)
        return status;
    *packer_out = packer;
    packer = NULL;
    return PP_OK;
}

/* Padding makes microbatches as long as the longest of all replicas. */
static int64_t longest_of(const pp_grouping *grouping, const int64_t *lengths)
{
    int64_t longest = 0;
    for (size_t b = 0; b < (size_t)grouping->replicas * grouping->microbatches; b++) {
        const int64_t tokens = pp_grouping_bin(grouping, lengths, b).tokens;
        longest = tokens > longest ? tokens : longest;
    }
    return longest;
}

pp_status pp_packer_set_data(pp_packer *packer, const int64_t *lengths, const pp_grouping *grouping,
                             uint32_t replica, uint32_t count, pp_err *err)
{
    const uint32_t m = grouping->microbatches;
    const size_t first_bin = (size_t)replica * m;
    const size_t bins = (size_t)count * m;
    const size_t begin = first_bin ? grouping->end[first_bin - 1] : 0;
    const size_t sequences = grouping->end[first_bin + bins - 1] - begin;
    pp_data *data = &packer->search.pool.data[packer->data];
    pp_workload made PP_CLEANUP(pp_workload_free) = {
        .replicas = count,
        .microbatches = m,
        .microbatch = pp_alloc_array(bins, sizeof *made.microbatch),
        .lengths = pp_alloc_array(sequences, sizeof *made.lengths),
        .length_count = sequences,
    };
    if (!made.microbatch || !made.lengths)
        return pp_err_nomem(err);
    size_t next = 0;
    for (size_t j = 0; j < bins; j++) {
        pp_microbatch *into = &made.microbatch[j];
        *into = pp_grouping_bin(grouping, lengths, first_bin + j);
        into->first = next;
        for (size_t i = 0; i < into->count; i++, next++)
            made.lengths[next] = lengths[grouping->sequence[begin + next]];
    }
    pp_workload_free(&data->workload);
    pp_workload_free(&data->real);
    if (packer->request.exchange.shapes.kind < PP_SIZES_PADDED) {
        data->workload = made;
        made = (pp_workload){ 0 };
        return PP_OK;
    }
    pp_size_protocol shapes = packer->request.exchange.shapes;
    if (shapes.kind != PP_SIZES_BUCKET && !shapes.tokens)
        shapes.tokens = longest_of(grouping, lengths);
    pp_status status = pp_workload_pad(&shapes, &made, &data->workload, &data->shapes, err);
    if (status)
        return status;
    data->real = made;
    made = (pp_workload){ 0 };
    return PP_OK;
}

pp_status pp_pack_judge_replica(pp_packer *packer, const int64_t *lengths,
                                const pp_grouping *grouping, uint32_t replica,
                                pp_pack_verdict *verdict_out, pp_err *err)
{
    pp_candidate *c = &packer->candidate;
    pp_status status = pp_packer_set_data(packer, lengths, grouping, replica, 1, err);
    if (status)
        return status;
    c->microbatches = grouping->microbatches;
    c->group_size = packer->request.group_size;
    c->step_ns = 0;
    c->legal = true;
    if ((status = pp_candidate_simulate(&packer->search, c, err)))
        return status;
    packer->simulated++;
    packer->ops += 3 * (int64_t)c->microbatches * stages_of(&setup_of(packer)->context);
    *verdict_out = (pp_pack_verdict){ .step_ns = c->legal ? c->step_ns : 0,
                                      .mean_step_ns = c->legal ? c->step_ns : 0,
                                      .bubble_fraction = c->bubble_fraction,
                                      .peak_bytes = c->peak_bytes,
                                      .short_bytes = c->legal ? c->short_bytes : INT64_MAX,
                                      .reason = c->reason };
    return PP_OK;
}

pp_status pp_pack_judge(pp_packer *packer, const int64_t *lengths, const pp_grouping *grouping,
                        pp_pack_verdict *verdict_out, pp_err *err)
{
    pp_pack_verdict all = { 0 };
    pp_ns sum_ns = 0;
    for (uint32_t r = 0; r < grouping->replicas; r++) {
        pp_pack_verdict one;
        pp_status status = pp_pack_judge_replica(packer, lengths, grouping, r, &one, err);
        if (status)
            return status;
        sum_ns += one.step_ns;
        if (one.step_ns > all.step_ns) {
            all.step_ns = one.step_ns;
            all.bubble_fraction = one.bubble_fraction;
        }
        all.peak_bytes = one.peak_bytes > all.peak_bytes ? one.peak_bytes : all.peak_bytes;
        if (one.short_bytes > all.short_bytes) {
            all.short_bytes = one.short_bytes;
            all.reason = one.reason;
        }
    }
    all.mean_step_ns = sum_ns / grouping->replicas;
    *verdict_out = all;
    return PP_OK;
}
