/* Weights of units, taken from the cost model with the mean tokens and squared lengths of a
 * microbatch. Layers of one kind weigh the same, so each kind is computed once: O(layers). */
#include "planner/bound/unit_weights.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>

void pp_unit_weights_free(pp_unit_weights *w)
{
    free(w->layer_ns);
}

/* spared_ns_out: of it, what a pair hides and a fused backward saves. */
static pp_status unit_ns(const pp_cost_context *context, pp_unit_kind kind, int64_t layer,
                         const pp_microbatch *average, pp_ns *ns_out, pp_ns *spared_ns_out,
                         pp_err *err)
{
    pp_unit_cost cost;
    pp_status status =
        pp_cost_unit(context, kind, layer, average->tokens, average->square_sum, &cost, err);
    if (!status)
        status = pp_ns_from_seconds(fmax(0, cost.hidden_s) + fmax(0, cost.saved_s),
                                    context->model->name, spared_ns_out, err);
    return status ? status
                  : pp_ns_from_seconds(fmax(0, cost.f_s + cost.i_s + cost.w_s),
                                       context->model->name, ns_out, err);
}

static pp_microbatch average_of(const pp_workload *workload)
{
    size_t count = (size_t)workload->replicas * workload->microbatches;
    double tokens = 0;
    double squares = 0;
    for (size_t j = 0; j < count; j++) {
        tokens += (double)workload->microbatch[j].tokens;
        squares += (double)workload->microbatch[j].square_sum;
    }
    return (pp_microbatch){ .tokens = (int64_t)(tokens / (double)count + 0.5),
                            .square_sum = (int64_t)(squares / (double)count + 0.5) };
}

pp_status pp_unit_weights_of(const pp_cost_context *context, const pp_workload *workload,
                             pp_unit_weights *w, pp_err *err)
{
    const pp_model *model = context->model;
    pp_microbatch average = average_of(workload);
    pp_ns kind_ns[PP_LAYER_KINDS], spared_ns[PP_LAYER_KINDS], spared = 0;
    for (int kind = 0; kind < PP_LAYER_KINDS; kind++)
        kind_ns[kind] = -1;
    *w = (pp_unit_weights){ .layers = model->layers, .mtp = model->mtp_layers };
    w->layer_ns = pp_alloc_array((size_t)model->layers, sizeof *w->layer_ns);
    if (!w->layer_ns)
        return pp_err_nomem(err);
    pp_status status =
        unit_ns(context, PP_UNIT_EMBEDDING, 0, &average, &w->embedding_ns, &spared, err);
    if (!status)
        status = unit_ns(context, PP_UNIT_LOSS, 0, &average, &w->loss_ns, &spared, err);
    if (!status && model->mtp_layers)
        status = unit_ns(context, PP_UNIT_MTP, 0, &average, &w->mtp_ns, &spared, err);
    w->spared_ns = status ? 0 : model->mtp_layers * spared;
    for (int64_t k = 0; k < model->layers && !status; k++) {
        const int kind = pp_layer_kind(context, k);
        pp_ns *ns = &kind_ns[kind];
        if (*ns < 0)
            status = unit_ns(context, PP_UNIT_LAYER, k, &average, ns, &spared_ns[kind], err);
        w->layer_ns[k] = *ns;
        w->spared_ns += status ? 0 : spared_ns[kind];
    }
    return status;
}

double pp_unit_weights_least_score(const pp_cost_context *context, const pp_unit_weights *w,
                                   uint32_t microbatches)
{
    double sum = (double)w->embedding_ns + (double)w->loss_ns + (double)w->mtp * (double)w->mtp_ns;
    for (int64_t k = 0; k < w->layers; k++)
        sum += (double)w->layer_ns[k];
    sum -= (double)w->spared_ns;
    /* A share of the work takes its nominal time divided by the speed of its rank. */
    double speeds = 0;
    for (uint32_t r = 0; r < (uint32_t)context->parallel.pp; r++)
        speeds += pp_rank_overrides_speed(context->overrides, r);
    double step = sum * (double)microbatches / speeds;
    return 0.9999 * step * (double)pp_parallel_gpus(&context->parallel); /* units are rounded */
}
