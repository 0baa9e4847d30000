/* Sums the units of every stage (embedding, layers, multi-token prediction, loss) into the
 * tables of costs, one column per class of equal microbatches, so that time and memory grow with
 * classes x stages and not with the number of microbatches. Formulas:
 * docs/explanation/cost-model.md. */
#include "sim/cost/cost_model.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/minmax.h"
#include "sim/base/text.h"
#include "sim/cost/classes.h"
#include "sim/cost/context_exchange.h"
#include "sim/cost/ends.h"
#include "sim/cost/gpu_batch.h"
#include "sim/cost/kernel.h"
#include "sim/cost/layer.h"
#include "sim/cost/stage_memory.h"
#include "sim/cost/step.h"
#include "sim/cost/transfer.h"
#include "sim/cost/unit_cache.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1, 2, 4, 8": divisors of `value` up to 64. */
static const char *print_divisors(int64_t value, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int64_t d = 1; d <= 64 && d <= value && used < size; d++) {
        if (value % d != 0)
            continue;
        const int n = snprintf(buffer + used, size - used, "%s%" PRId64, used ? ", " : "", d);
        used += n < 0 ? 0 : (size_t)n;
    }
    return buffer;
}

static pp_status check_divides(const char *option, int64_t degree, const char *what, int64_t count,
                               pp_err *err)
{
    char legal[200];
    if (count <= 0 || count % degree == 0)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, option,
                      "%" PRId64 " does not divide the %" PRId64 " %s; possible values: %s", degree,
                      count, what, print_divisors(count, legal, sizeof legal));
}

static pp_status check_tensor_parallel(const pp_cost_context *context, pp_err *err)
{
    const pp_model *m = context->model;
    const int64_t tp = context->parallel.tp;
    const struct {
        const char *what;
        int64_t count;
    } parts[] = {
        { "attention heads", m->heads },
        { "columns of the MLP", m->ffn },
        { "columns of the shared experts", m->experts > 0 ? m->shared_ffn : 0 },
        { "of the hidden size", m->hidden },
        { "heads of the scan", m->scan_heads },
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        pp_status status =
            check_divides(pp_err_name(err, PP_FIELD_TP), tp, parts[i].what, parts[i].count, err);
        if (status)
            return status;
    }
    if (m->attention == PP_ATTENTION_GQA && m->kv_heads % tp != 0 && tp % m->kv_heads != 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_TP),
                          "%" PRId64 " is neither a divisor nor a multiple of "
                          "the %" PRId64 " key/value heads",
                          tp, m->kv_heads);
    if (m->scan_heads && m->scan_groups % tp != 0 && tp % m->scan_groups != 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_TP),
                          "%" PRId64 " is neither a divisor nor a multiple of "
                          "the %" PRId64 " groups of the scan",
                          tp, m->scan_groups);
    return PP_OK;
}

static pp_status check_expert_parallel(const pp_cost_context *context, pp_err *err)
{
    const pp_parallel *par = &context->parallel;
    const pp_model *m = context->model;
    const char *ep = pp_err_name(err, PP_FIELD_EP), *etp = pp_err_name(err, PP_FIELD_ETP);
    const int64_t stage = par->tp * par->cp * par->dp;
    if (m->experts <= 0 && (par->ep > 1 || par->etp))
        return pp_err_set(
            err, PP_USAGE, par->ep > 1 ? ep : etp, "is %" PRId64 ", but %s has no experts; %s",
            par->ep > 1 ? par->ep : par->etp, m->name, par->ep > 1 ? "use 1" : "leave it out");
    if (m->experts <= 0)
        return PP_OK;
    pp_status status =
        check_divides(par->etp ? etp : pp_err_name(err, PP_FIELD_TP), pp_parallel_etp(par),
                      "columns of an expert", m->expert_ffn, err);
    if (!status && par->etp)
        status = check_divides(etp, par->etp, "GPUs of tp x cp x dp", stage, err);
    if (!status)
        status = check_divides(ep, par->ep, "experts", m->experts, err);
    const int64_t gpus = pp_parallel_expert_gpus(par);
    if (!status && gpus % par->ep == 0 && par->etp && par->etp != par->tp && par->tp > 1 &&
        !context->switches.sequence_parallel)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SEQUENCE_PARALLEL),
                          "is off, but etp %" PRId64 " beside tp %" PRId64
                          " needs it: without it each rank of a tensor-parallel group has all "
                          "tokens",
                          par->etp, par->tp);
    if (status || gpus % par->ep == 0)
        return status;
    if (!par->etp && stage % par->ep == 0)
        return pp_err_set(err, PP_USAGE, ep,
                          "%" PRId64 " does not divide the %" PRId64
                          " GPUs of dp x cp; with %s 1, experts are not divided by tp, and %s "
                          "divides the %" PRId64
                          " GPUs of tp x cp x dp (Megatron-Core: the GPUs are a multiple of etp x "
                          "ep x pp)",
                          par->ep, gpus, etp, ep, stage);
    return check_divides(ep, par->ep, par->etp ? "GPUs of tp x cp x dp / etp" : "GPUs of dp x cp",
                         gpus, err);
}

static pp_status check_context_parallel(const pp_cost_context *context, pp_err *err)
{
    const pp_parallel *par = &context->parallel;
    if (par->cp > 1 && context->model->scan_heads > 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_CP),
                          "is %" PRId64 ", but some layers of %s scan the sequence, and what their "
                          "ranks would exchange is not modelled; use 1",
                          par->cp, context->model->name);
    if (context->switches.cp_comm != PP_CP_COMM_ALL_TO_ALL ||
        pp_context_divides_heads(context, par->cp))
        return PP_OK;
    const int64_t heads = context->model->heads;
    const int64_t kv =
        context->model->attention == PP_ATTENTION_MLA ? heads : context->model->kv_heads;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_CP_COMM),
                      "all-to-all divides the heads of a GPU, but with %s %" PRId64 " these are "
                      "%" PRId64 " for queries and %" PRId64 " for keys and values, which %" PRId64
                      " ranks cannot share equally; give ring, all-gather or hierarchical, or "
                      "another %s",
                      pp_err_name(err, PP_FIELD_TP), par->tp, heads / par->tp,
                      kv < par->tp ? 1 : kv / par->tp, par->cp, pp_err_name(err, PP_FIELD_CP));
}

/* Whether the GPU computes in the format of the run. */
static pp_status check_precision(const pp_cost_context *context, pp_err *err)
{
    const pp_recipe *recipe = pp_recipe_of(context->switches.precision);
    pp_text known PP_CLEANUP(pp_text_free) = { 0 };
    if (!recipe->format || context->hardware->low[recipe->format].peak_ratio > 0)
        return PP_OK;
    for (int k = 0; k < PP_PRECISIONS; k++) {
        const pp_recipe *other = pp_recipe_of((pp_precision)k);
        if (!other->format || context->hardware->low[other->format].peak_ratio > 0)
            pp_text_add(&known, "%s%s", known.data ? ", " : "", other->name);
    }
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_PRECISION),
                      "the hardware file of %s has no curve for GEMMs in %s; possible "
                      "values: %s",
                      context->hardware->name, recipe->name, known.data ? known.data : "bf16");
}

/* Like _get_post_forward_mesh_info of torch/distributed/fsdp/_fully_shard, for both groups. */
static pp_status check_reshard(const pp_cost_context *context, pp_err *err)
{
    const pp_parallel *par = &context->parallel;
    const int64_t kept = context->switches.reshard_after_forward;
    const int64_t copies = context->switches.dp_replicate > 1 ? context->switches.dp_replicate : 1;
    const int64_t dense = par->dp * par->cp / copies;
    const int64_t expert =
        context->model->experts > 0 ? pp_parallel_expert_gpus(par) / par->ep / copies : dense;
    if (kept == PP_RESHARD_NEVER)
        return PP_OK;
    if (context->switches.zero != 3)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
                          "frees gathered parameters, and needs %s 3",
                          pp_err_name(err, PP_FIELD_ZERO));
    if (kept > 0 && (dense % kept != 0 || kept == dense || expert % kept != 0))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
                          "must divide the %" PRId64 " GPUs that share %s, and be fewer than the "
                          "%" PRId64 " that share all, not %" PRId64 "; give always, or a divisor",
                          dense % kept != 0 ? dense : expert,
                          dense % kept != 0 || expert == dense ? "a copy of the parameters"
                                                               : "the same experts",
                          dense, kept);
    return PP_OK;
}

pp_status pp_cost_context_check(const pp_cost_context *context, pp_err *err)
{
    const pp_parallel *par = &context->parallel;
    const struct {
        const char *option;
        int64_t value;
    } degrees[] = {
        { pp_err_name(err, PP_FIELD_RANKS), par->pp },
        { pp_err_name(err, PP_FIELD_TP), par->tp },
        { pp_err_name(err, PP_FIELD_CP), par->cp },
        { pp_err_name(err, PP_FIELD_DP), par->dp },
        { pp_err_name(err, PP_FIELD_EP), par->ep },
        { pp_err_name(err, PP_FIELD_CHUNKS), par->vpp },
    };
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        if (degrees[i].value < 1 || degrees[i].value > 1 << 20)
            return pp_err_set(err, PP_USAGE, degrees[i].option,
                              "must be from 1 to 1048576, not %" PRId64, degrees[i].value);
    }
    if (context->switches.recompute == PP_RECOMPUTE_AUTO)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
                          "must be none, selective or full here");
    const int zero = context->switches.zero;
    if (zero < 0 || zero > 3)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                          "must be 0, 1, 2 or 3, not %d", zero);
    if (zero >= 2 && par->pp == 1 && !context->shards_ops)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                          "%d is predicted beside a pipeline only: without one, parameters are "
                          "gathered and gradients reduced for every microbatch; give %s 2 or more, "
                          "executor megatron-fsdp, or %s 1",
                          zero, pp_err_name(err, PP_FIELD_RANKS), pp_err_name(err, PP_FIELD_ZERO));
    const int64_t copies = context->switches.dp_replicate;
    if (copies > 1 && zero != 3)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_DP_REPLICATE),
                          "%" PRId64 " copies of sharded parameters need %s 3", copies,
                          pp_err_name(err, PP_FIELD_ZERO));
    if (copies > 1 && par->dp % copies != 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_DP_REPLICATE),
                          "must divide dp, which is %" PRId64 ", not be %" PRId64, par->dp, copies);
    if (copies > 1 && context->model->experts > 0 &&
        pp_parallel_expert_gpus(par) / par->ep % copies != 0)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_DP_REPLICATE),
                          "%" PRId64 " copies do not have equally many of the %" PRId64
                          " GPUs that hold the same experts; give fewer copies, or a smaller %s",
                          copies, pp_parallel_expert_gpus(par) / par->ep,
                          pp_err_name(err, PP_FIELD_EP));
    pp_status status = check_reshard(context, err);
    if (!status)
        status = check_precision(context, err);
    if (!status)
        status = check_tensor_parallel(context, err);
    if (!status)
        status = check_context_parallel(context, err);
    return status ? status : check_expert_parallel(context, err);
}

static pp_gpu_batch local_of(const pp_cost_context *context, int type, const pp_batch *batch)
{
    pp_gpu_batch local = pp_gpu_batch_of_type(context, type, batch->tokens, batch->square_sum);
    if (batch->imbalance > 0)
        pp_gpu_batch_set_imbalance(&local, batch->imbalance);
    if (batch->longest > 0) {
        local.longest = batch->longest;
        local.tiles = batch->tiles;
    }
    return local;
}

enum { EDGE = 1, LAYER_KINDS = PP_LAYER_KINDS };

/* The number of kinds that a model can have. */
static int kinds_of(const pp_cost_context *context)
{
    return 2 * pp_model_types(context->model);
}

/* The number of first and of last layers in 16 bits. */
static int64_t edge_layers(const pp_cost_context *context)
{
    return pp_recipe_of(context->switches.precision)->edge_layers;
}

int pp_layer_kind(const pp_cost_context *context, int64_t layer)
{
    const int64_t edge = edge_layers(context);
    const bool at_edge = layer < edge || layer >= context->model->layers - edge;
    return 2 * pp_model_type_at(context->model, layer) + (at_edge ? EDGE : 0);
}

/* kind_of_layer: for PP_UNIT_LAYER. */
static void unit_cost(const pp_cost_context *context, pp_unit_kind kind, int kind_of_layer,
                      const pp_batch *batch, pp_unit_cost *cost)
{
    const pp_model *model = context->model;
    pp_gpu_batch local = local_of(
        context, kind == PP_UNIT_LAYER ? kind_of_layer / 2 : pp_model_type_at(model, model->layers),
        batch);
    pp_work work = { 0 };
    double hidden = 0;
    *cost = (pp_unit_cost){ 0 };
    if (kind == PP_UNIT_LAYER && !(kind_of_layer & EDGE))
        local.recipe = pp_recipe_of(context->switches.precision);
    switch (kind) {
    case PP_UNIT_EMBEDDING:
        work = pp_embedding_work(&local);
        pp_embedding_memory(&local, cost);
        break;
    case PP_UNIT_LAYER:
        work = pp_layer_work(&local);
        if (pp_gpu_batch_is_moe(&local) && context->pairs_hide)
            hidden = pp_layer_hidden_seconds(&local, &work);
        pp_layer_memory(&local, cost);
        cost->model_flops = pp_layer_flops(&local);
        break;
    case PP_UNIT_MTP:
        work = pp_mtp_work(&local);
        pp_mtp_memory(&local, cost);
        cost->model_flops = pp_mtp_flops(&local);
        break;
    case PP_UNIT_LOSS:
        work = pp_loss_work(&local);
        pp_loss_memory(&local, cost);
        cost->model_flops = pp_loss_flops(&local);
        break;
    }
    const double slower = 1 / pp_sustained_of(context);
    cost->f_s = work.f * slower;
    cost->i_s = work.i * slower;
    cost->w_s = work.w * slower;
    cost->saved_s = work.saved * slower;
    cost->hidden_s = hidden * slower;
    if (context->switches.recompute == PP_RECOMPUTE_FULL && kind == PP_UNIT_LAYER)
        cost->again_s = pp_weight_ops(&local) * cost->f_s;
    else if (context->switches.recompute == PP_RECOMPUTE_FULL && kind == PP_UNIT_MTP)
        cost->again_s = pp_weight_ops(&local) * pp_layer_work(&local).f * slower;
}

pp_status pp_cost_unit(const pp_cost_context *context, pp_unit_kind kind, int64_t layer,
                       int64_t tokens, int64_t square_sum, pp_unit_cost *cost_out, pp_err *err)
{
    pp_status status = pp_cost_context_check(context, err);
    if (status)
        return status;
    if (tokens < 1 || square_sum < tokens)
        return pp_err_set(err, PP_INPUT, NULL,
                          "there is no microbatch with %" PRId64 " tokens and square sum %" PRId64,
                          tokens, square_sum);
    const pp_batch batch = { .tokens = tokens, .square_sum = square_sum };
    unit_cost(context, kind, pp_layer_kind(context, layer), &batch, cost_out);
    return PP_OK;
}

/* Adds `times` units that follow those in the sum. Recomputed activations exist for one layer at a
 * time, and so does what an op holds in addition: in the backward, later units have already dropped
 * what they kept. */
static void add_unit(pp_unit_cost *sum, const pp_unit_cost *unit, double times)
{
    if (!(times > 0))
        return;
    sum->f_s += times * unit->f_s;
    sum->i_s += times * unit->i_s;
    sum->w_s += times * unit->w_s;
    sum->saved_s += times * unit->saved_s;
    sum->hidden_s += times * unit->hidden_s;
    sum->again_s += times * unit->again_s;
    sum->activation_bytes += times * unit->activation_bytes;
    sum->stash_bytes += times * unit->stash_bytes;
    sum->weight_gradient_bytes += times * unit->weight_gradient_bytes;
    sum->again_bytes += times * unit->again_bytes;
    sum->again_once_bytes = fmax(sum->again_once_bytes, unit->again_once_bytes);
    sum->logits_bytes += times * unit->logits_bytes;
    sum->output_bytes += times * unit->output_bytes;
    sum->model_flops += times * unit->model_flops;
    sum->recompute_bytes = fmax(sum->recompute_bytes, unit->recompute_bytes);
    const double dropped = times * (unit->activation_bytes + unit->logits_bytes);
    sum->temporary_bytes = fmax(sum->temporary_bytes - dropped, unit->temporary_bytes);
}

enum { RECOMPUTES = PP_RECOMPUTE_FULL + 1 };

/* The costs of all units for one class of microbatches. */
typedef struct units {
    pp_unit_cost embedding, mtp, loss;
    pp_unit_cost layer[LAYER_KINDS][RECOMPUTES]; /* only the first kinds_of */
} units;

static size_t units_bytes(const pp_cost_context *context)
{
    return offsetof(units, layer) + (size_t)kinds_of(context) * sizeof(((units *)NULL)->layer[0]);
}

static void layer_units(const pp_cost_context *context, const pp_batch *batch, units *u)
{
    const pp_recompute how = context->switches.recompute;
    const bool edges = edge_layers(context) > 0;
    int64_t layers[PP_LAYER_TYPES_MAX];
    pp_model_count_types(context->model, 0, context->model->layers, layers);
    for (int kind = 0; kind < kinds_of(context); kind++) {
        if (layers[kind / 2] && (edges || !(kind & EDGE)))
            unit_cost(context, PP_UNIT_LAYER, kind, batch, &u->layer[kind][how]);
    }
}

/* Fills in the first units_bytes of u. */
static void make_units(const pp_cost_context *context, const pp_batch *batch, units *u)
{
    pp_cost_context each = *context;
    pp_recompute *how = &each.switches.recompute;
    memset(u, 0, units_bytes(context));
    unit_cost(context, PP_UNIT_EMBEDDING, 0, batch, &u->embedding);
    unit_cost(context, PP_UNIT_LOSS, 0, batch, &u->loss);
    if (context->model->mtp_layers > 0)
        unit_cost(context, PP_UNIT_MTP, 0, batch, &u->mtp);
    if (context->switches.recompute < (pp_recompute)RECOMPUTES) {
        layer_units(context, batch, u);
        return;
    }
    for (*how = PP_RECOMPUTE_NONE; *how < (pp_recompute)RECOMPUTES; ++*how)
        layer_units(&each, batch, u);
}

/* The same, from the cache of the context if it has one. made: receives them if they are not kept.
 */
static const units *find_units(const pp_cost_context *context, const pp_batch *batch, units *made)
{
    bool known = false;
    units *kept = context->units
                      ? pp_unit_cache_at(context->units, batch, units_bytes(context), &known)
                      : NULL;
    if (!kept)
        kept = made;
    if (!known)
        make_units(context, batch, kept);
    return kept;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Adds the kinds of layers first to end - 1, which recompute `how`. */
static void count_kinds(const pp_model *model, int64_t first, int64_t end, int edge, int how,
                        int64_t counts[LAYER_KINDS][RECOMPUTES])
{
    int64_t layers[PP_LAYER_TYPES_MAX];
    if (first >= end)
        return;
    pp_model_count_types(model, first, end - first, layers);
    for (int type = 0; type < pp_model_types(model); type++)
        counts[2 * type + edge][how] += layers[type];
}

/* Counts the layers of a stage by what they recompute, not layer by layer: models of thousands of
 * layers may have as many microbatches of different lengths. */
static void count_layers(const pp_cost_context *context, const pp_stage *stage,
                         int64_t counts[LAYER_KINDS][RECOMPUTES])
{
    static const pp_recompute order[] = { PP_RECOMPUTE_FULL, PP_RECOMPUTE_SELECTIVE,
                                          PP_RECOMPUTE_NONE };
    const pp_recompute how = context->switches.recompute;
    const int64_t ends[] = { stage->full, stage->full + stage->selective, stage->layers };
    const pp_model *model = context->model;
    /* layers before `edge` and from `high` on are at the ends of the model */
    const int64_t edge = edge_layers(context), high = model->layers - edge;
    int64_t from = 0;
    for (int k = 0; k < RECOMPUTES; k++) {
        const bool alike = how < (pp_recompute)RECOMPUTES;
        const int64_t to = alike ? stage->layers : clamp(ends[k], from, stage->layers);
        const int64_t a = stage->first_layer + from, b = stage->first_layer + to;
        const int64_t c = clamp(high, a, b), d = clamp(edge, a, c);
        const int column = (int)(alike ? how : order[k]);
        count_kinds(model, a, d, EDGE, column, counts);
        count_kinds(model, d, c, 0, column, counts);
        count_kinds(model, c, b, EDGE, column, counts);
        from = to;
    }
}

/* What is recomputed of a chunk of `layers` layers, if they are those of the stage that need most.
 */
static double chunk_bytes(const units *u, int kinds, int64_t counts[LAYER_KINDS][RECOMPUTES],
                          int64_t layers)
{
    bool taken[LAYER_KINDS] = { false };
    double sum = 0;
    for (int k = 0; k < kinds && layers > 0; k++) {
        double most = -1;
        int best = 0;
        for (int kind = 0; kind < kinds; kind++) {
            const double bytes = u->layer[kind][PP_RECOMPUTE_FULL].recompute_bytes;
            if (!taken[kind] && bytes > most) {
                most = bytes;
                best = kind;
            }
        }
        const int64_t these = clamp(counts[best][PP_RECOMPUTE_FULL], 0, layers);
        taken[best] = true;
        sum += (double)these * most;
        layers -= these;
    }
    return sum;
}

/* Adds the layers of a stage. Where the kinds alternate, any of them may be the last, so that none
 * has dropped what it kept while another holds its temporaries. */
static void add_layers(const pp_cost_context *context, const units *u, const pp_stage *stage,
                       int64_t counts[LAYER_KINDS][RECOMPUTES], int64_t chunk, pp_unit_cost *sum)
{
    const int64_t inputs = (stage->layers + chunk - 1) / chunk;
    const bool sorted = pp_model_types_are_sorted(context->model);
    pp_unit_cost layers = { 0 };
    double temporary_bytes = 0;
    for (int kind = 0; kind < kinds_of(context); kind++) {
        for (int how = RECOMPUTES - 1; how >= 0; how--) { /* those that recompute all come first */
            pp_unit_cost unit = u->layer[kind][how];
            if (chunk > 1 && how == PP_RECOMPUTE_FULL && stage->layers > 0)
                unit.activation_bytes *= (double)inputs / (double)stage->layers;
            add_unit(sorted ? sum : &layers, &unit, (double)counts[kind][how]);
            if (counts[kind][how])
                temporary_bytes = fmax(temporary_bytes, unit.temporary_bytes);
        }
    }
    layers.temporary_bytes = temporary_bytes;
    if (!sorted)
        add_unit(sum, &layers, 1);
}

/* chunk: the layers that are recomputed at a time, where all are. */
static pp_unit_cost stage_cost(const pp_cost_context *context, const units *u,
                               const pp_stage *stage, int64_t counts[LAYER_KINDS][RECOMPUTES],
                               int64_t chunk)
{
    pp_unit_cost sum = { 0 };
    add_unit(&sum, &u->embedding, stage->embedding);
    add_layers(context, u, stage, counts, chunk, &sum);
    if (chunk > 1)
        sum.recompute_bytes = chunk_bytes(u, kinds_of(context), counts, chunk);
    add_unit(&sum, &u->mtp, (double)stage->mtp);
    add_unit(&sum, &u->loss, stage->loss);
    return sum;
}

/* One tensor between two stages, on one GPU. */
typedef struct message {
    double bytes;
    double gather_s; /* to gather the slices in which it was sent */
} message;

/* With scatter-gather (Megatron-LM of 2021 and 2022, DeepSpeed's pipe_partitioned, Colossal-AI)
 * every tensor-parallel rank sends a slice; current Megatron-Core sends the whole tensor from each.
 */
static message message_of(const pp_cost_context *context, int64_t tokens)
{
    const pp_gpu_batch local = pp_gpu_batch_of(context, tokens, tokens);
    const bool slices =
        !local.sequence_parallel && context->switches.scatter_gather && context->parallel.tp > 1;
    message m = { .bytes = local.norm_bytes };
    if (slices) {
        m.bytes = local.row_bytes / local.t;
        m.gather_s = pp_gather_seconds(&local, PP_ALL_GATHER, local.row_bytes);
    }
    return m;
}

/* A stage on its rank, with all that its costs depend on besides the microbatch. */
typedef struct placed_stage {
    pp_stage stage;
    int64_t counts[LAYER_KINDS][RECOMPUTES];
    double speed;
    bool sends_forward, sends_backward; /* to another rank */
    pp_link forward, backward;
    uint32_t like; /* the first stage of equal costs, but for what single microbatches recompute */
} placed_stage;

static bool find_link(const pp_cost_context *context, uint32_t from, uint32_t to, pp_link *link_out)
{
    const uint32_t ranks = (uint32_t)context->parallel.pp;
    const uint32_t a = pp_placement_rank(context->placement, from, ranks);
    const uint32_t b = pp_placement_rank(context->placement, to, ranks);
    if (a == b)
        return false;
    *link_out = pp_link_between(context, a, b);
    return true;
}

static placed_stage place(const pp_cost_context *context, const pp_stage *stages, uint32_t s,
                          uint32_t stage_count)
{
    const uint32_t rank = pp_placement_rank(context->placement, s, (uint32_t)context->parallel.pp);
    placed_stage placed = {
        .stage = stages[s],
        .speed = pp_rank_overrides_speed(context->overrides, rank),
        .like = s,
    };
    count_layers(context, &placed.stage, placed.counts);
    if (s + 1 < stage_count)
        placed.sends_forward = find_link(context, s, s + 1, &placed.forward);
    if (s > 0)
        placed.sends_backward = find_link(context, s, s - 1, &placed.backward);
    return placed;
}

static bool same_link(const pp_link *a, const pp_link *b)
{
    return a->same_node == b->same_node && a->bytes_per_s == b->bytes_per_s;
}

static bool cost_alike(const placed_stage *a, const placed_stage *b)
{
    return a->stage.embedding == b->stage.embedding && a->stage.mtp == b->stage.mtp &&
           a->stage.loss == b->stage.loss && memcmp(a->counts, b->counts, sizeof a->counts) == 0 &&
           a->speed == b->speed && a->sends_forward == b->sends_forward &&
           a->sends_backward == b->sends_backward && same_link(&a->forward, &b->forward) &&
           same_link(&a->backward, &b->backward);
}

/* Most pipelines have a handful of stages that differ; of the others, equal ones may be missed, so
 * that this is O(stages). */
#define ALIKE_MAX 16

/* Places all stages. placed: [stage_count]. */
static void place_all(const pp_cost_context *context, const pp_stage *stages, uint32_t stage_count,
                      placed_stage *placed)
{
    uint32_t first[ALIKE_MAX];
    uint32_t firsts = 0;
    for (uint32_t s = 0; s < stage_count; s++) {
        placed[s] = place(context, stages, s, stage_count);
        uint32_t k = 0;
        while (k < firsts && !cost_alike(&placed[first[k]], &placed[s]))
            k++;
        if (k < firsts)
            placed[s].like = first[k];
        else if (firsts < ALIKE_MAX)
            first[firsts++] = s;
    }
}

static double send_seconds(const pp_cost_context *context, const message *m, const pp_link *link)
{
    return m->gather_s + pp_link_seconds(context, link, m->bytes);
}

/* With tensors that are padded only on the wire, a stage copies what it received out of the padding
 * before it computes, and what it sends into a padded tensor afterwards. Kernels that copy: real
 * bytes are read, and real or padded ones written. */
static void add_wire_padding(const pp_cost_context *context, const message *real,
                             const message *wire, const placed_stage *placed, pp_unit_cost *cost)
{
    const double pad_s = pp_elementwise_seconds(context->hardware, real->bytes + wire->bytes);
    const double unpad_s = pp_elementwise_seconds(context->hardware, 2 * real->bytes);
    const double slower = 1 / pp_sustained_of(context);
    const double below = placed->sends_backward, above = placed->sends_forward;
    cost->f_s += (below * unpad_s + above * pad_s) * slower;
    cost->i_s += (above * unpad_s + below * pad_s) * slower;
}

/* Transfers of one stage, in seconds: forward to the next stage, backward to the previous one, and
 * the time that its rank waits for the exchange after every F and B. */
typedef struct transfers {
    double forward, backward, exchange;
} transfers;

static transfers transfers_of(const pp_cost_context *context, const message *m,
                              const placed_stage *placed)
{
    transfers t = { 0 };
    if (placed->sends_forward)
        t.forward = send_seconds(context, m, &placed->forward);
    if (placed->sends_backward)
        t.backward = send_seconds(context, m, &placed->backward);
    /* Without overlap, Megatron's interleaved schedule waits for each batched exchange (up to four
     * messages after an F and a B): the exchange is charged to the op, and the link takes no time.
     * 1F1B waits, too, but there the dependencies already include it. Orders on a V never ran in
     * that loop: Megatron's zero-bubble fork posts transfers, and waits for an input right before
     * the op that needs it (sail-sg/zero-bubble-pipeline-parallelism, zerobubble/runtime.py: flush,
     * schedule_f). An executor that models the exchange gets the link's time, and decides itself
     * who waits. */
    if (context->parallel.vpp > 1 && context->placement == PP_PLACE_LOOP &&
        !context->switches.p2p_overlap && !context->links_modelled) {
        t.exchange = fmax(t.forward, t.backward);
        t.forward = t.backward = 0;
    }
    return t;
}

static pp_status to_bytes(double bytes, int64_t *bytes_out, pp_err *err)
{
    if (!(bytes >= 0 && bytes <= (double)PP_BYTES_MAX))
        return pp_err_set(err, PP_INPUT, NULL, "a stage needs %g bytes: the workload is too large",
                          bytes);
    *bytes_out = (int64_t)(bytes + 0.5);
    return PP_OK;
}

static pp_status fill_cell(const pp_cost_context *context, const pp_unit_cost *cost,
                           const transfers *link, double message_bytes, pp_costs *costs, size_t i,
                           pp_err *err)
{
    const bool overlapped = context->switches.p2p_overlap && context->parallel.vpp > 1;
    const pp_measured *measured = context->hardware->measured;
    const bool gaps = context->parallel.pp > 1 && !overlapped && !(measured && measured->holds_gap);
    const double gap = link->exchange + (gaps ? context->hardware->host_gap_s : 0);
    /* a measured end is a difference, which may be negative for a stage without layers */
    const struct {
        double seconds;
        pp_ns *ns;
    } times[] = {
        { fmax(0, cost->f_s) + gap, &costs->f_ns[i] },
        { fmax(0, cost->i_s) + gap, &costs->i_ns[i] },
        { fmax(0, cost->w_s), &costs->w_ns[i] },
        { cost->again_s, &costs->again_ns[i] },
        { link->forward, &costs->send_f_ns[i] },
        { link->backward, &costs->send_b_ns[i] },
    };
    const struct {
        double bytes;
        int64_t *out;
    } sizes[] = {
        { cost->activation_bytes, &costs->activation_bytes[i] },
        { cost->stash_bytes, &costs->stash_bytes[i] },
        { cost->weight_gradient_bytes, &costs->weight_gradient_bytes[i] },
        { cost->again_bytes + cost->again_once_bytes, &costs->again_bytes[i] },
        { cost->recompute_bytes, &costs->recompute_bytes[i] },
        { cost->logits_bytes, &costs->logits_bytes[i] },
        { cost->temporary_bytes, &costs->temporary_bytes[i] },
        { cost->output_bytes, &costs->output_bytes[i] },
        { message_bytes, &costs->message_bytes[i] },
    };
    pp_status status = PP_OK;
    for (size_t k = 0; k < sizeof times / sizeof times[0] && !status; k++)
        status = pp_ns_from_seconds(times[k].seconds, "cost model", times[k].ns, err);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0] && !status; k++)
        status = to_bytes(sizes[k].bytes, sizes[k].out, err);
    costs->b_ns[i] = costs->i_ns[i] + costs->w_ns[i];
    if (cost->saved_s != 0 && !status)
        status = pp_ns_from_seconds(fmax(0, cost->i_s + cost->w_s - cost->saved_s) + gap,
                                    "cost model", &costs->b_ns[i], err);
    if (cost->hidden_s > 0 && !status) {
        status = pp_ns_from_seconds(cost->hidden_s, "cost model", &costs->hidden_ns[i], err);
        costs->hidden_ns[i] = pp_min(costs->hidden_ns[i], pp_min(costs->f_ns[i], costs->b_ns[i]));
        costs->has_hidden = true;
    }
    return status;
}

static void copy_cell(pp_costs *costs, size_t from, size_t to)
{
    int64_t *const tables[] = {
        costs->f_ns,         costs->i_ns,
        costs->w_ns,         costs->b_ns,
        costs->hidden_ns,    costs->send_f_ns,
        costs->send_b_ns,    costs->activation_bytes,
        costs->stash_bytes,  costs->recompute_bytes,
        costs->logits_bytes, costs->temporary_bytes,
        costs->output_bytes, costs->message_bytes,
        costs->again_ns,     costs->weight_gradient_bytes,
        costs->again_bytes,  costs->w_extra_bytes,
    };
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        tables[k][to] = tables[k][from];
}

/* Makes the counts of a stage those of one microbatch. */
static void recompute_as(const pp_cost_context *context, const pp_recomputed *recomputed,
                         placed_stage *placed)
{
    placed->stage.full = recomputed->full;
    placed->stage.selective = recomputed->selective;
    memset(placed->counts, 0, sizeof placed->counts);
    count_layers(context, &placed->stage, placed->counts);
}

/* wire_tokens: of pp_workload. */
static pp_status fill_class(const pp_cost_context *context, const placed_stage *stages,
                            const pp_batch *batch, int64_t wire_tokens, uint32_t class_index,
                            pp_costs *costs, pp_err *err)
{
    units made;
    const units *u = find_units(context, batch, &made);
    const message real = message_of(context, batch->tokens);
    const message m = wire_tokens ? message_of(context, wire_tokens) : real;
    const pp_switches *how = &context->switches;
    const int64_t chunk = how->recompute == PP_RECOMPUTE_FULL && how->recompute_layers > 1
                              ? how->recompute_layers
                              : 1;
    const size_t row = (size_t)class_index * costs->stages;
    for (uint32_t s = 0; s < costs->stages; s++) {
        if (stages[s].like < s && !batch->recomputed) {
            copy_cell(costs, row + stages[s].like, row + s);
            continue;
        }
        placed_stage placed = stages[s];
        if (batch->recomputed)
            recompute_as(context, &batch->recomputed[s], &placed);
        pp_unit_cost cost = stage_cost(context, u, &placed.stage, placed.counts, chunk);
        if (wire_tokens)
            add_wire_padding(context, &real, &m, &placed, &cost);
        cost.f_s /= placed.speed;
        cost.i_s /= placed.speed;
        cost.w_s /= placed.speed;
        cost.saved_s /= placed.speed;
        cost.hidden_s /= placed.speed;
        cost.again_s /= placed.speed;
        const transfers link = transfers_of(context, &m, &placed);
        pp_status status = fill_cell(context, &cost, &link, m.bytes, costs, row + s, err);
        if (status)
            return status;
        if (context->splits_late)
            pp_costs_split_late(costs, s, row + s);
    }
    return PP_OK;
}

/* FLOPs of one microbatch in all stages; much cheaper than units_of, which computes times, too. */
static double flops_of(const pp_cost_context *context, const pp_microbatch *microbatch,
                       const pp_stage *stages, const int64_t *layers, uint32_t stage_count)
{
    const pp_model *m = context->model;
    const pp_gpu_batch local = pp_gpu_batch_of(context, microbatch->tokens, microbatch->square_sum);
    double layer_flops[PP_LAYER_TYPES_MAX] = { 0 };
    for (int k = 0; k < pp_model_types(m); k++) {
        const pp_gpu_batch layer =
            pp_gpu_batch_of_type(context, k, microbatch->tokens, microbatch->square_sum);
        layer_flops[k] = pp_layer_flops(&layer);
    }
    const double mtp_flops = m->mtp_layers > 0 ? pp_mtp_flops(&local) : 0;
    const double loss_flops = pp_loss_flops(&local);
    double sum = 0;
    for (uint32_t s = 0; s < stage_count; s++) {
        double flops = 0;
        for (int k = 0; k < pp_model_types(m); k++)
            flops += (double)layers[s * PP_LAYER_TYPES_MAX + (uint32_t)k] * layer_flops[k];
        flops += (double)stages[s].mtp * mtp_flops;
        flops += stages[s].loss * loss_flops;
        sum += flops;
    }
    return sum;
}

/* The peak in the format of the run relative to that in 16 bits. */
static double peak_ratio(const pp_cost_context *context)
{
    const pp_gemm_format format = pp_recipe_of(context->switches.precision)->format;
    if (context->switches.dtype == PP_DTYPE_FP32)
        return context->hardware->fp32_ratio;
    return format ? context->hardware->low[format].peak_ratio : 1;
}

/* FLOPs and tokens of all replicas in one step, which each replica's costs contain. */
typedef struct throughput {
    double model_flops, tokens, peak_flops_per_s;
} throughput;

static pp_status throughput_of(const pp_cost_context *context, const pp_stage *stages,
                               uint32_t stage_count, const pp_workload *workload,
                               throughput *throughput_out, pp_err *err)
{
    const double copies = workload->replicas == 1 ? (double)context->parallel.dp : 1;
    const size_t count = (size_t)workload->replicas * workload->microbatches;
    int64_t *layers = pp_alloc_array(stage_count, PP_LAYER_TYPES_MAX * sizeof *layers);
    throughput t = { 0 };
    double flops = 0;
    if (!layers)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < stage_count; s++)
        pp_model_count_types(context->model, stages[s].first_layer, stages[s].layers,
                             layers + (size_t)s * PP_LAYER_TYPES_MAX);
    for (size_t j = 0; j < count; j++) {
        const pp_microbatch *microbatch = &workload->microbatch[j];
        if (j == 0 || microbatch->tokens != microbatch[-1].tokens ||
            microbatch->square_sum != microbatch[-1].square_sum)
            flops = flops_of(context, microbatch, stages, layers, stage_count);
        t.model_flops += copies * flops;
        t.tokens += copies * (double)microbatch->tokens;
    }
    free(layers);
    t.peak_flops_per_s = (double)pp_parallel_gpus(&context->parallel) *
                         context->hardware->peak_flops_per_s * peak_ratio(context);
    if (isinf(t.peak_flops_per_s)) /* the hardware is not known */
        t.peak_flops_per_s = 0;
    *throughput_out = t;
    return PP_OK;
}

static void free_array(void *array)
{
    free(*(void **)array);
}

static pp_status check_input(const pp_cost_context *context, const pp_stage *stages,
                             uint32_t stage_count, const pp_workload *workload, uint32_t replica,
                             pp_err *err)
{
    pp_status status = pp_cost_context_check(context, err);
    if (status)
        return status;
    if ((int64_t)stage_count != context->parallel.pp * context->parallel.vpp)
        return pp_err_set(err, PP_USAGE, NULL, "there are %u stages, but pp x vpp = %" PRId64,
                          stage_count, context->parallel.pp * context->parallel.vpp);
    if (replica >= workload->replicas)
        return pp_err_set(err, PP_USAGE, NULL, "replica %u of %u", replica, workload->replicas);
    for (uint32_t s = 0; s < stage_count; s++) {
        if (stages[s].layers < 0 || stages[s].first_layer < 0 || stages[s].mtp < 0 ||
            stages[s].layers > context->model->layers - stages[s].first_layer ||
            stages[s].full < 0 || stages[s].selective < 0 || stages[s].full > stages[s].layers ||
            stages[s].selective > stages[s].layers - stages[s].full)
            return pp_err_set(err, PP_INPUT, NULL,
                              "stage %u has layers beyond the model's %" PRId64, s,
                              context->model->layers);
    }
    const pp_microbatch *list = workload->microbatch + (size_t)replica * workload->microbatches;
    for (uint32_t j = 0; j < workload->microbatches; j++) {
        if (list[j].tokens < 1 || list[j].square_sum < list[j].tokens)
            return pp_err_set(err, PP_INPUT, NULL, "microbatch %u of replica %u has no tokens", j,
                              replica);
    }
    return context->switches.recompute == PP_RECOMPUTE_MICROBATCHES
               ? pp_recompute_table_check(context->recomputed, stages, stage_count, workload,
                                          replica, err)
               : PP_OK;
}

pp_status pp_cost_model_tables(const pp_cost_context *context, const pp_stage *stages,
                               uint32_t stage_count, const pp_workload *workload, uint32_t replica,
                               pp_costs **costs_out, pp_err *err)
{
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    uint32_t *class_of PP_CLEANUP(free_array) = NULL;
    placed_stage *placed PP_CLEANUP(free_array) = NULL;
    uint32_t classes = 0;
    pp_status status = check_input(context, stages, stage_count, workload, replica, err);
    if (status)
        return status;
    const uint32_t count = workload->microbatches;
    const pp_microbatch *list = workload->microbatch + (size_t)replica * count;
    class_of = pp_alloc_array(count, sizeof *class_of);
    placed = pp_alloc_array(stage_count, sizeof *placed);
    if (!class_of || !placed)
        return pp_err_nomem(err);
    place_all(context, stages, stage_count, placed);
    status = pp_cost_classify(context, workload, list, count, class_of, &classes, err);
    if (!status)
        status =
            pp_costs_new((uint32_t)context->parallel.pp, stage_count, count, classes, &costs, err);
    if (status)
        return status;
    memcpy(costs->class_of, class_of, count * sizeof *class_of);
    costs->has_memory = true;
    uint32_t filled = 0;
    for (uint32_t j = 0; j < count && !status; j++) {
        if (class_of[j] < filled)
            continue;
        const pp_batch batch = pp_batch_of(context, workload, &list[j]);
        status = fill_class(context, placed, &batch, workload->wire_tokens, filled, costs, err);
        filled++;
    }
    if (!status)
        status = pp_cost_step(context, stages, costs, err);
    if (status)
        return status;
    *costs_out = costs;
    costs = NULL;
    return PP_OK;
}

/* Makes the costs of replicas `first` to `first + count - 1`, or none of them on failure. FLOPs and
 * tokens are those of `real`. */
static pp_status build(const pp_cost_context *context, const pp_stage *stages, uint32_t stage_count,
                       const pp_workload *workload, const pp_workload *real, uint32_t first,
                       uint32_t count, pp_costs **costs_out, pp_err *err)
{
    throughput whole = { 0 };
    uint32_t built = 0;
    pp_status status = PP_OK;
    for (; built < count && !status; built += !status)
        status = pp_cost_model_tables(context, stages, stage_count, workload, first + built,
                                      &costs_out[built], err);
    if (!status)
        status = throughput_of(context, stages, stage_count, real, &whole, err);
    for (uint32_t i = 0; i < built; i++) {
        if (status) {
            pp_costs_free(&costs_out[i]);
            continue;
        }
        costs_out[i]->model_flops = whole.model_flops;
        costs_out[i]->tokens = whole.tokens;
        costs_out[i]->peak_flops_per_s = whole.peak_flops_per_s;
    }
    for (uint32_t i = 0; i < built && !status && context->late_too; i++)
        status = pp_costs_add_late(costs_out[i], err);
    for (uint32_t i = 0; i < built && status; i++)
        pp_costs_free(&costs_out[i]);
    return status;
}

pp_status pp_cost_model_build(const pp_cost_context *context, const pp_stage *stages,
                              uint32_t stage_count, const pp_workload *workload, uint32_t replica,
                              pp_costs **costs_out, pp_err *err)
{
    return build(context, stages, stage_count, workload, workload, replica, 1, costs_out, err);
}

pp_status pp_cost_model_build_all(const pp_cost_context *context, const pp_stage *stages,
                                  uint32_t stage_count, const pp_workload *workload,
                                  pp_costs **costs_out, pp_err *err)
{
    return build(context, stages, stage_count, workload, workload, 0, workload->replicas, costs_out,
                 err);
}

pp_status pp_cost_model_build_padded(const pp_cost_context *context, const pp_stage *stages,
                                     uint32_t stage_count, const pp_workload *padded,
                                     const pp_workload *real, pp_costs **costs_out, pp_err *err)
{
    return build(context, stages, stage_count, padded, real, 0, padded->replicas, costs_out, err);
}
