/* Turns the command line of `ppsim plan` into the request of the planner. It loads model, hardware
 * and profile, fills in the defaults, and notes every assumption for the report. */
#include "tools/ppsim/plan/input.h"

#include "planner/candidate/rules.h"
#include "planner/order/search.h"
#include "planner/pack/pack.h"
#include "planner/robustness/jitter_spec.h"
#include "runtime/core/clock.h"
#include "sim/base/processors.h"
#include "sim/framework/registry.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/input/exchange_args.h"
#include "tools/ppsim/input/load.h"
#include "tools/ppsim/input/profile_args.h"
#include "tools/ppsim/plan/interrupt.h"
#include "traces/target/registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HARDWARE "h100-80g"
#define COUNT_MAX (1 << 20)

/* Steps that differ by less than this part tie, and plans that tie should leave this part of a
 * GPU's memory free: docs/explanation/planning.md. */
#define DEFAULT_TIE 0.01
#define DEFAULT_HEADROOM 0.1

static pp_status load_model(pp_plan_input *r, const char *name, pp_err *err)
{
    const pp_input *known = pp_inputs_find(r->inputs, PP_INPUT_MODEL, name);
    pp_status status = known ? PP_OK : pp_load_model(name, &r->model, err);
    if (known)
        r->model = known->model;
    if (status)
        return status;
    if (r->model.no_source_given)
        status = pp_notes_add(&r->assumptions, err, "model", "source not given in %s", name);
    if (!status && r->model.text_part)
        status = pp_notes_add(&r->assumptions, err, "model",
                              "only the text part; what sees images is not modelled");
    if (status || !*r->model.not_understood)
        return status;
    if (!known) /* a sweep would say so for every point */
        pp_remark("%s: keys without a known meaning, which are ignored: %s", name,
                  r->model.not_understood);
    return pp_notes_add(&r->assumptions, err, "model", "ignores keys without a known meaning: %s",
                        r->model.not_understood);
}

static pp_status load_hardware(const pp_args *args, pp_plan_input *r, const char *name, pp_err *err)
{
    const pp_input *known = pp_inputs_find(r->inputs, PP_INPUT_HARDWARE, name);
    pp_status status = PP_OK;
    if (known)
        r->class_hardware[0] = known->hardware;
    else
        status = pp_load_cluster(name, &r->cluster, r->class_hardware, err);
    for (uint32_t k = 0; k < r->cluster.classes && !status; k++)
        status = pp_files_check_input(args, r->cluster.class[k].hardware, err);
    return status;
}

/* Assigns the ranks of the pipeline to the classes of a cluster, once the sizes are known. */
static pp_status read_cluster(pp_plan_input *r, pp_err *err)
{
    const pp_cluster *cluster = &r->cluster;
    const pp_hardware *hardware = r->class_hardware;
    double speed[PP_CLUSTER_CLASSES_MAX];
    uint32_t rank = cluster->class[0].ranks;
    if (!cluster->classes)
        return PP_OK;
    pp_status status =
        pp_cluster_rank_overrides(cluster, hardware, &r->request, &r->overrides, speed, err);
    for (uint32_t k = 1; k < cluster->classes && !status; k++) {
        const uint32_t end = rank + cluster->class[k].ranks;
        status = pp_notes_add(&r->assumptions, err, "device class",
                              "ranks %" PRIu32 " to %" PRIu32 ": %s, %.3g times the speed of %s "
                              "(a layer, forward and backward); links and network are "
                              "those of %s",
                              rank, end - 1, hardware[k].name, speed[k], hardware[0].name,
                              hardware[0].name);
        rank = end;
    }
    return status;
}

/* Cuts what is longer than a row, as --truncate or --split-long says, and notes how much that was.
 */
static pp_status cut_lengths(const pp_lengths *from, pp_lengths_cut how, pp_plan_input *r,
                             pp_err *err)
{
    const int64_t most = r->request.seq_length ? r->request.seq_length : r->model.max_seq_length;
    pp_lengths before PP_CLEANUP(pp_lengths_free) = { 0 };
    pp_lengths_cut_sum sum;
    pp_lengths fitted;
    pp_status status = pp_lengths_fit(from, most, how, &fitted, &sum, err);
    if (status)
        return status;
    before = r->lengths;
    const size_t count = from->count;
    r->lengths = fitted;
    if (!sum.cut)
        return PP_OK;
    if (how == PP_LENGTHS_TRUNCATE)
        return pp_notes_add(&r->assumptions, err, PP_NOTE_LONG,
                            "%zu of %zu cut at %" PRId64 " tokens, which leaves out %" PRId64
                            " of %" PRId64 " tokens (%.2f %%)",
                            sum.cut, count, most, sum.lost, sum.tokens,
                            100 * (double)sum.lost / (double)sum.tokens);
    return pp_notes_add(&r->assumptions, err, PP_NOTE_LONG,
                        "%zu of %zu split into %zu pieces of at most %" PRId64
                        " tokens, which makes %zu sequences; no token is left out",
                        sum.cut, count, sum.pieces, most, fitted.count);
}

static pp_status load_expert_tokens(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    const char *name = pp_args_text(args, "--moe-tokens");
    if (!name)
        return PP_OK;
    if (pp_args_has(args, "--moe-imbalance"))
        return pp_err_set(err, PP_USAGE, "--moe-tokens",
                          "excludes --moe-imbalance, which follows from the file");
    pp_status status =
        pp_load_expert_tokens(name, r->request.switches.value.moe_capacity, &r->expert_tokens, err);
    if (!status && r->expert_tokens.experts != r->model.experts)
        return pp_err_set(err, PP_USAGE, "--moe-tokens",
                          "%.200s has the tokens of %" PRId64
                          " experts, but a layer of %s has %" PRId64,
                          name, r->expert_tokens.experts, r->model.name, r->model.experts);
    r->request.expert_tokens = &r->expert_tokens;
    return status;
}

static pp_status load_lengths(const pp_args *args, const char *name, pp_plan_input *r, pp_err *err)
{
    const pp_input *known = name ? pp_inputs_find(r->inputs, PP_INPUT_LENGTHS, name) : NULL;
    const pp_lengths *lengths = known ? &known->lengths : &r->lengths;
    const bool cut = pp_args_has(args, "--truncate");
    const bool split = pp_args_has(args, "--split-long");
    if (cut && split)
        return pp_err_set(err, PP_USAGE, "--split-long",
                          "cannot be combined with --truncate; give one of them");
    if ((cut || split) && !name)
        return pp_err_set(err, PP_USAGE, cut ? "--truncate" : "--split-long",
                          "needs the sequences of --lengths; add --lengths, or remove this option");
    pp_status status = name && !known ? pp_load_lengths(name, &r->lengths, err) : PP_OK;
    if (!status && (cut || split)) {
        status = cut_lengths(lengths, split ? PP_LENGTHS_SPLIT : PP_LENGTHS_TRUNCATE, r, err);
        lengths = &r->lengths;
    }
    r->request.lengths = lengths->length;
    r->request.length_count = lengths->count;
    r->request.group_end = lengths->group_end;
    r->request.group_count = lengths->group_count;
    return status;
}

static pp_status read_machines(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    const char *model = pp_args_text(args, "--model");
    const char *hardware = pp_args_text(args, "--hw");
    const pp_data_file *alias;
    if (!model)
        return pp_err_set(err, PP_USAGE, "--model",
                          "is missing; give a name from 'ppsim list "
                          "models', a ppsim.model file or a Hugging Face config.json");
    if (!pp_args_has(args, "--pp") && !pp_args_has(args, "--gpus"))
        return pp_err_set(err, PP_USAGE, "--pp",
                          "is missing; give the number of pipeline ranks, e.g. --pp 16, or the "
                          "number of all GPUs, e.g. --gpus 64");
    pp_status status = load_model(r, model, err);
    r->profile.inputs = r->inputs;
    if (!status)
        status = pp_profile_given(args, &r->profile, err);
    if (!status)
        status = pp_profile_options(args, &r->profile, err);
    if (!status && r->profile.path)
        status = pp_profile_hardware(args, &r->profile, &r->model, &r->hardware, err);
    else if (!status)
        status = load_hardware(args, r, hardware ? hardware : DEFAULT_HARDWARE, err);
    if (!status && !r->profile.path)
        r->hardware = r->class_hardware[0];
    if (!status && r->cluster.classes)
        snprintf(r->hardware.name, sizeof r->hardware.name, "%s", r->cluster.name);
    if (!status && !hardware && !r->profile.path)
        status = pp_notes_add(&r->assumptions, err, "hardware", "%s (--hw)", r->hardware.name);
    if (!status && hardware && (alias = pp_load_alias(PP_DATA_HARDWARE, hardware)))
        status = pp_notes_add(&r->assumptions, err, "hardware", "%s, which --hw %.64s stands for",
                              alias->name, hardware);
    if (!status)
        status = pp_args_rate(args, "--node-network", &r->hardware.network_bytes_per_s, err);
    r->request.model = &r->model;
    r->request.hardware = &r->hardware;
    return status;
}

/* Remarks that --tp does not change times that were measured. */
static pp_status tell_split(pp_plan_input *r, bool probed, pp_err *err)
{
    const int64_t tp = r->request.parallel.tp;
    if (tp == 1)
        return PP_OK;
    if (!r->profile.quiet)
        pp_remark(
            "--tp %" PRId64 " does not change the measured stages: %s", tp,
            probed
                ? "the probe measured them with tp 1"
                : "the profile does not record the tp of its measurements, which must be the same");
    return pp_notes_add(&r->assumptions, err, "tensor parallel",
                        "tp %" PRId64 ", as given; measured stages are used unchanged, %s", tp,
                        probed ? "measured with tp 1" : "as if measured with this tp");
}

/* Sets what the measured stages determine: the type of numbers and, unless they are given, tp 1 and
 * no further recomputation. */
static pp_status keep_stages(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    char text[128];
    pp_switch_request *switches = &r->request.switches;
    if (!r->profile.path || !pp_measured_has_stages(r->profile.measured, text, sizeof text))
        return PP_OK;
    if (!r->request.parallel.tp)
        r->request.parallel.tp = 1;
    switches->given.dtype =
        pp_profile_settings(&r->profile, text, sizeof text, &switches->value.dtype);
    pp_status status = tell_split(r, switches->given.dtype, err);
    if (status)
        return status;
    if (pp_args_has(args, "--recompute"))
        return PP_OK;
    switches->value.recompute = PP_RECOMPUTE_NONE;
    switches->given.recompute = true;
    return pp_notes_add(&r->assumptions, err, "recompute",
                        "none beyond that of the measured stages");
}

static pp_status read_sizes(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    pp_plan_request *request = &r->request;
    int64_t group = 0;
    int64_t seed = 0;
    const struct {
        const char *option;
        int64_t *value;
        int64_t low, high;
    } rows[] = {
        { "--gpus", &request->gpus, 1, COUNT_MAX },
        { "--pp", &request->parallel.pp, 1, PP_RANKS_MAX },
        { "--tp", &request->parallel.tp, 1, COUNT_MAX },
        { "--cp", &request->parallel.cp, 1, COUNT_MAX },
        { "--dp", &request->parallel.dp, 1, COUNT_MAX },
        { "--ep", &request->parallel.ep, 1, COUNT_MAX },
        { "--etp", &request->parallel.etp, 1, COUNT_MAX },
        { "--vpp", &request->parallel.vpp, 1, PP_STAGES_MAX },
        { "--seq-length", &request->seq_length, 1, PP_LENGTH_MAX },
        { "--micro-batch-size", &request->micro_batch_size, 1, COUNT_MAX },
        { "--global-batch-size", &request->global_batch_size, 1, PP_MICROBATCHES_MAX },
        { "--microbatch-group-size", &group, 1, PP_MICROBATCHES_MAX },
        { "--seed", &seed, 0, INT64_MAX },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pp_status status =
            pp_args_int(args, rows[i].option, rows[i].low, rows[i].high, rows[i].value, err);
        if (status)
            return status;
    }
    request->group_size = (uint32_t)group;
    request->seed = (uint64_t)seed;
    pp_status status = pp_args_bytes(args, "--memory-limit", &request->memory_limit_bytes, err);
    if (!status && pp_args_has(args, "--memory-limit") && request->memory_limit_bytes == 0)
        return pp_err_set(err, PP_USAGE, "--memory-limit", "must be larger than 0");
    return status;
}

/* Names with commas between them. known: all of them, for the message. */
static pp_status read_set(const char *text, const char *option, const char *const *names,
                          const char *known, unsigned *set_out, pp_err *err)
{
    unsigned set = 0;
    for (const char *at = text;; at++) {
        const size_t bytes = strcspn(at, ",");
        int k = 0;
        while (names[k] && (strlen(names[k]) != bytes || strncmp(names[k], at, bytes) != 0))
            k++;
        if (!names[k])
            return pp_err_set(err, PP_USAGE, option,
                              "'%.*s' is not one of %s (with commas between them)",
                              (int)(bytes < 40 ? bytes : 40), at, known);
        set |= 1U << k;
        at += bytes;
        if (!*at)
            break;
    }
    *set_out = set;
    return PP_OK;
}

/* True if one of the names with commas between them is this. */
static bool has_name(const char *text, const char *name)
{
    for (const char *at = text;; at++) {
        const size_t bytes = strcspn(at, ",");
        if (strlen(name) == bytes && strncmp(name, at, bytes) == 0)
            return true;
        at += bytes;
        if (!*at)
            return false;
    }
}

/* Modules alone ask for selective recomputation, too. */
static pp_status read_modules(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    const char *text = pp_args_text(args, "--recompute-modules");
    unsigned modules = 0;
    if (!text)
        return PP_OK;
    pp_status status = read_set(text, "--recompute-modules", pp_recompute_module_names(),
                                "core_attn, layernorm, mla_up_proj, mlp, moe_act, shared_experts, "
                                "moe",
                                &modules, err);
    if (status)
        return status;
    if (s->given.recompute && s->value.recompute != PP_RECOMPUTE_SELECTIVE)
        return pp_err_set(err, PP_USAGE, "--recompute-modules",
                          "is for --recompute selective, not %s",
                          pp_recompute_name(s->value.recompute));
    s->given.recompute = s->given.recompute_modules = true;
    s->value.recompute = PP_RECOMPUTE_SELECTIVE;
    s->value.recompute_modules = modules;
    return PP_OK;
}

/* Megatron-LM's names of what full recomputation does: every layer is recomputed, N at a time
 * (uniform), or the first N of each stage (block). */
static pp_status read_method(const pp_args *args, const pp_model *model, pp_switch_request *s,
                             pp_err *err)
{
    static const char *const methods[] = { "uniform", "block", NULL };
    const char *const method_name = "--recompute-method", *const layers_name =
                                                              "--recompute-num-layers";
    const bool method_given = pp_args_has(args, method_name);
    int method = 0;
    int64_t layers = 0;
    pp_status status = pp_args_choice(args, method_name, methods, &method, err);
    if (!status)
        status = pp_args_int(args, layers_name, 1, PP_MODEL_LAYERS_MAX, &layers, err);
    if (status || (!method_given && !layers))
        return status;
    if (!method_given || (method && !layers))
        return pp_err_set(err, PP_USAGE, method_given ? method_name : layers_name, "needs %s",
                          method_given ? layers_name : "--recompute-method uniform or block");
    if (s->value.recompute != PP_RECOMPUTE_FULL)
        return pp_err_set(err, PP_USAGE, method_name, "needs --recompute full, not %s",
                          pp_recompute_name(s->value.recompute));
    if (!method && layers > 1 && model->mtp_layers > 0)
        return pp_err_set(err, PP_USAGE, layers_name,
                          "must be 1 for a model with MTP modules, as in Megatron-LM; or give "
                          "--recompute-method block");
    s->value.recompute_layers = layers;
    if (method)
        s->value.recompute = PP_RECOMPUTE_STAGES;
    return PP_OK;
}

static pp_status read_recompute(const pp_args *args, const pp_model *model, pp_switch_request *s,
                                pp_err *err)
{
    int choice = PP_RECOMPUTE_AUTO;
    pp_status status = pp_args_choice(args, "--recompute", pp_recompute_names(), &choice, err);
    s->value.recompute = (pp_recompute)choice;
    s->given.recompute = pp_args_has(args, "--recompute");
    if (!status)
        status = read_method(args, model, s, err);
    return status ? status : read_modules(args, s, err);
}

/* Reads --communicators: a layout, or auto. */
static pp_status read_layout(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    const char *names[PP_COMMUNICATORS_PER_EDGE + 2] = { NULL };
    int layout = 0;
    if (!pp_args_has(args, "--communicators"))
        return PP_OK;
    for (int k = 0; k < PP_COMMUNICATORS_PER_EDGE; k++)
        names[k] = pp_communicators_names()[k];
    names[PP_COMMUNICATORS_PER_EDGE] = "auto";
    pp_status status = pp_args_choice(args, "--communicators", names, &layout, err);
    if (status)
        return status;
    r->request.free.communicators = layout == PP_COMMUNICATORS_PER_EDGE;
    if (!r->request.free.communicators)
        r->request.switches.value.communicators = (pp_communicators)(layout + 1);
    return PP_OK;
}

static pp_status read_transfers(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    int p2p = PP_P2P_SEND_RECV;
    pp_status status;
    if ((status = pp_args_choice(args, "--p2p", pp_p2p_names(), &p2p, err)) ||
        (status = pp_args_switch(args, "--scatter-gather", &s->value.scatter_gather, err)))
        return status;
    s->value.p2p = (pp_p2p)p2p;
    s->given.p2p = pp_args_has(args, "--p2p");
    s->given.scatter_gather = pp_args_has(args, "--scatter-gather");
    return PP_OK;
}

/* Megatron's names of a precision. Finds out whether one was given. */
static pp_status read_megatron_precision(const pp_args *args, bool *given_out,
                                         pp_precision *precision_out, pp_err *err)
{
    static const char *const recipes[] = { "delayed", "tensorwise", "blockwise", "mxfp8", NULL };
    static const pp_precision of_recipe[] = { PP_PRECISION_FP8, PP_PRECISION_FP8_CURRENT,
                                              PP_PRECISION_FP8_BLOCK, PP_PRECISION_MXFP8 };
    static const char *const fp8[] = { "hybrid", "e4m3", NULL };
    static const char *const fp4[] = { "e2m1", NULL };
    static const char *const fp4_recipes[] = { "nvfp4", NULL };
    const bool four = pp_args_has(args, "--fp4-format");
    int recipe = 0, format = 0;
    pp_status status = pp_args_choice(args, "--fp8-recipe", recipes, &recipe, err);
    if (!status)
        status = pp_args_choice(args, "--fp8-format", fp8, &format, err);
    if (!status)
        status = pp_args_choice(args, "--fp4-format", fp4, &format, err);
    if (!status)
        status = pp_args_choice(args, "--fp4-recipe", fp4_recipes, &format, err);
    *given_out = four || pp_args_has(args, "--fp8-format");
    *precision_out = four ? PP_PRECISION_NVFP4 : of_recipe[recipe];
    if (!status && four && pp_args_has(args, "--fp8-format"))
        return pp_err_set(err, PP_USAGE, "--fp4-format", "excludes --fp8-format");
    if (!status && pp_args_has(args, "--fp8-recipe") && !pp_args_has(args, "--fp8-format"))
        return pp_err_set(err, PP_USAGE, "--fp8-recipe",
                          "has no effect without --fp8-format, as in Megatron-LM");
    const bool edges = pp_args_has(args, "--first-last-layers-bf16");
    const bool current = *given_out && *precision_out == PP_PRECISION_FP8_CURRENT;
    if (!status && edges && !current)
        return pp_err_set(err, PP_USAGE, "--first-last-layers-bf16",
                          "is known with --fp8-recipe tensorwise only");
    if (current && !edges)
        *precision_out = PP_PRECISION_FP8_CURRENT_ALL;
    return status;
}

/* fp16 differs from bf16 only in the name of the data type. */
static pp_status read_precision(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    const char *names[PP_PRECISIONS + 2] = { NULL };
    int choice = 0;
    for (int k = 0; k < PP_PRECISIONS; k++)
        names[k] = pp_precision_names()[k];
    names[PP_PRECISIONS] = "fp16";
    pp_status status = pp_args_choice(args, "--precision", names, &choice, err);
    if (status || (status = pp_args_switch(args, "--fp8-params", &s->value.low_parameters, err)))
        return status;
    s->given.low_parameters = pp_args_has(args, "--fp8-params");
    bool megatron = false;
    if ((status = read_megatron_precision(args, &megatron, &s->value.precision, err)))
        return status;
    if (megatron && pp_args_has(args, "--precision"))
        return pp_err_set(err, PP_USAGE, "--precision", "excludes --fp8-format and --fp4-format");
    if (!megatron) {
        s->value.precision = choice == PP_PRECISIONS ? PP_PRECISION_BF16 : (pp_precision)choice;
        s->value.dtype = choice == PP_PRECISIONS ? PP_DTYPE_FP16 : PP_DTYPE_BF16;
    }
    const pp_recipe *recipe = pp_recipe_of(s->value.precision);
    if (s->value.low_parameters && (!recipe->format || recipe->format == PP_GEMM_NVFP4))
        return pp_err_set(err, PP_USAGE, "--fp8-params", "weights are kept in 16 bits with %s",
                          recipe->name);
    s->given.precision = s->given.dtype = megatron || pp_args_has(args, "--precision");
    if (megatron && !s->given.low_parameters) { /* Megatron-LM's default */
        s->given.low_parameters = true;
        s->value.low_parameters = false;
    }
    return PP_OK;
}

/* The type of the moments, with Megatron-LM's names of the settings around it. */
static pp_status read_moments(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    static const char *const masters[] = { "fp32", NULL };
    const bool second = pp_args_has(args, "--exp-avg-sq-dtype");
    int moments = PP_MOMENTS_FP32, squares = PP_MOMENTS_FP32, master = 0;
    pp_status status = pp_args_choice(args, "--optimizer-dtype", pp_moments_names(), &moments, err);
    if (!status)
        status = pp_args_choice(args, "--exp-avg-sq-dtype", pp_moments_names(), &squares, err);
    if (!status)
        status = pp_args_choice(args, "--main-params-dtype", masters, &master, err);
    if (status)
        return status;
    s->given.moments = pp_args_has(args, "--optimizer-dtype");
    s->value.moments = (pp_moments)moments;
    if (second && squares != moments)
        return pp_err_set(err, PP_USAGE, "--exp-avg-sq-dtype",
                          "both moments have one type, which is %s; give --optimizer-dtype %s",
                          pp_moments_names()[moments], pp_moments_names()[squares]);
    if (pp_args_has(args, "--use-precision-aware-optimizer") && !s->given.moments)
        return pp_err_set(err, PP_USAGE, "--use-precision-aware-optimizer",
                          "give the type of the moments, too: --optimizer-dtype, or Megatron-LM's "
                          "--exp-avg-dtype");
    if (moments == PP_MOMENTS_FP32)
        return PP_OK;
    if (!s->stack->has.distributed_optimizer)
        return pp_err_set(err, PP_USAGE, "--optimizer-dtype",
                          "stack %s has no distributed optimizer, which moments in fewer bits need",
                          s->stack->name);
    if (pp_args_has(args, "--zero") && s->value.zero == 0)
        return pp_err_set(err, PP_USAGE, "--optimizer-dtype",
                          "moments in fewer bits need the distributed optimizer: --zero 1");
    return PP_OK;
}

/* Also by Megatron-LM's names. */
static pp_status read_cp_comm(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    static const char *const types[] = { "p2p", "a2a", "all_gather", "a2a+p2p", "allgather", NULL };
    const bool own = pp_args_has(args, "--cp-comm"), megatron = pp_args_has(args, "--cp-comm-type");
    int kind = PP_CP_COMM_RING;
    pp_status status = pp_args_choice(args, "--cp-comm", pp_cp_comm_names(), &kind, err);
    if (!status && megatron)
        status = own ? pp_err_set(err, PP_USAGE, "--cp-comm", "excludes --cp-comm-type")
                     : pp_args_choice(args, "--cp-comm-type", types, &kind, err);
    s->given.cp_comm = own || megatron;
    s->value.cp_comm = kind > PP_CP_COMM_HIERARCHICAL ? PP_CP_COMM_ALL_GATHER : (pp_cp_comm)kind;
    return status;
}

/* Also by Megatron-LM's names: a dispatcher "flex" has a backend. */
static pp_status read_dispatcher(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    static const char *const names[] = { "auto",      "alltoall", "allgather", "deepep",
                                         "deepep-ll", "hybridep", NULL };
    static const char *const types[] = { "alltoall", "allgather", "flex", NULL };
    static const char *const backends[] = { "deepep", "hybridep", NULL };
    const bool type_given = pp_args_has(args, "--moe-token-dispatcher-type");
    const bool backend_given = pp_args_has(args, "--moe-flex-dispatcher-backend");
    int own = 0, type = 2, backend = 0;
    pp_status status = pp_args_choice(args, "--moe-dispatcher", names, &own, err);
    if (!status)
        status = pp_args_choice(args, "--moe-token-dispatcher-type", types, &type, err);
    if (!status)
        status = pp_args_choice(args, "--moe-flex-dispatcher-backend", backends, &backend, err);
    if (status)
        return status;
    if (pp_args_has(args, "--moe-dispatcher") && (type_given || backend_given))
        return pp_err_set(err, PP_USAGE, "--moe-dispatcher", "excludes %s",
                          type_given ? "--moe-token-dispatcher-type"
                                     : "--moe-flex-dispatcher-backend");
    if (backend_given && type != 2)
        return pp_err_set(err, PP_USAGE, "--moe-flex-dispatcher-backend",
                          "needs --moe-token-dispatcher-type flex");
    s->given.moe_fp8_dispatch = pp_args_has(args, "--moe-fp8-dispatch");
    if ((status = pp_args_switch(args, "--moe-fp8-dispatch", &s->value.moe_fp8_dispatch, err)) ||
        (status = pp_args_switch(args, "--moe-shared-expert-overlap",
                                 &s->value.moe_shared_expert_overlap, err)))
        return status;
    s->given.dispatcher = own > 0 || type_given || backend_given;
    if (own > 0)
        s->value.dispatcher = (pp_dispatcher)(own - 1);
    else if (type < 2)
        s->value.dispatcher = (pp_dispatcher)type;
    else
        s->value.dispatcher = backend ? PP_DISPATCHER_HYBRIDEP : PP_DISPATCHER_DEEPEP;
    const pp_dispatcher kind =
        s->given.dispatcher ? s->value.dispatcher : s->stack->switches.dispatcher;
    s->given.moe_shared_expert_overlap = pp_args_has(args, "--moe-shared-expert-overlap");
    if (s->value.moe_shared_expert_overlap && kind == PP_DISPATCHER_ALLGATHER)
        return pp_err_set(err, PP_USAGE, "--moe-shared-expert-overlap",
                          "needs another dispatcher than allgather, as in Megatron-LM; add "
                          "--moe-dispatcher alltoall");
    if (s->value.moe_shared_expert_overlap && s->given.recompute_modules &&
        s->value.recompute_modules >> PP_MODULE_SHARED_EXPERTS & 1)
        return pp_err_set(err, PP_USAGE, "--moe-shared-expert-overlap",
                          "excludes --recompute-modules shared_experts, as in Megatron-LM; leave "
                          "out one of them");
    if (s->given.moe_fp8_dispatch && s->value.moe_fp8_dispatch && !pp_dispatcher_has_fp8(kind))
        return pp_err_set(err, PP_USAGE, "--moe-fp8-dispatch",
                          "%s sends tokens in 16 bits; add --moe-dispatcher deepep or hybridep",
                          pp_dispatcher_names()[kind]);
    return PP_OK;
}

static pp_status read_imbalance(const pp_args *args, pp_switch_request *s, pp_err *err)
{
    const char *text = pp_args_text(args, "--moe-imbalance");
    char *end = NULL;
    s->value.moe_imbalance = text ? strtod(text, &end) : 1;
    if (!text || (*text && !*end && s->value.moe_imbalance >= 1 &&
                  s->value.moe_imbalance <= PP_IMBALANCE_MOST))
        return PP_OK;
    return pp_err_set(err, PP_USAGE, "--moe-imbalance",
                      "'%.40s' is not a number from 1 to %g: the tokens of the busiest rank's "
                      "experts over the mean of all ranks",
                      text, PP_IMBALANCE_MOST);
}

static pp_status read_capacity(const pp_args *args, const pp_model *model, pp_switch_request *s,
                               pp_err *err)
{
    const char *text = pp_args_text(args, "--moe-capacity-factor");
    const double top = fmax(1, (double)model->experts_per_token);
    const double most = (double)model->experts / top;
    const pp_dispatcher kind =
        s->given.dispatcher ? s->value.dispatcher : s->stack->switches.dispatcher;
    char *end = NULL;
    pp_status status = pp_args_switch(args, "--moe-pad-to-capacity", &s->value.moe_pads, err);
    if (status)
        return status;
    s->value.moe_capacity = text ? strtod(text, &end) : 0;
    if (s->value.moe_pads && !text)
        return pp_err_set(err, PP_USAGE, "--moe-pad-to-capacity",
                          "needs a capacity; add --moe-capacity-factor");
    if (text && model->experts <= 0)
        return pp_err_set(err, PP_USAGE, "--moe-capacity-factor", "%s has no experts; leave it out",
                          model->name);
    if (text && !(*text && !*end && s->value.moe_capacity >= PP_CAPACITY_LEAST &&
                  s->value.moe_capacity <= most))
        return pp_err_set(err, PP_USAGE, "--moe-capacity-factor",
                          "'%.40s' is not a number from %g to %g: the most tokens of an expert "
                          "over the mean of all; one that gets every token has %g times the mean",
                          text, PP_CAPACITY_LEAST, most, most);
    if (s->value.moe_pads && (kind == PP_DISPATCHER_DEEPEP || kind == PP_DISPATCHER_DEEPEP_LL))
        return pp_err_set(err, PP_USAGE, "--moe-pad-to-capacity",
                          "%s sends no padding, as in Megatron-LM; add --moe-dispatcher alltoall "
                          "or hybridep",
                          pp_dispatcher_names()[kind]);
    return PP_OK;
}

/* What Megatron-Core's TransformerConfig asserts of what is captured. */
static pp_status check_graphs(const pp_model *model, const pp_switch_request *s, pp_err *err)
{
    const unsigned graphs = s->value.graphs;
    const char *fault = pp_graphs_fault(graphs, s->value.moe_pads);
    const bool mlp = graphs >> PP_GRAPH_MLP & 1, moe = graphs >> PP_GRAPH_MOE & 1;
    const bool router = graphs >> PP_GRAPH_ROUTER & 1;
    const bool preprocess = graphs >> PP_GRAPH_PREPROCESS & 1;
    const pp_dispatcher kind =
        s->given.dispatcher ? s->value.dispatcher : s->stack->switches.dispatcher;
    const bool recomputes_moe =
        s->given.recompute_modules && (s->value.recompute_modules >> PP_MODULE_MOE & 1);
    int64_t layers[PP_LAYER_TYPES_MAX];
    bool dense = false, experts = false;
    pp_model_count_types(model, 0, model->layers, layers);
    for (int k = 0; k < pp_model_types(model); k++) {
        experts |= layers[k] > 0 && pp_model_type(model, k).mlp == PP_MLP_MOE;
        dense |= layers[k] > 0 && pp_model_type(model, k).mlp == PP_MLP_DENSE;
    }
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        { (moe || router) && !experts, "the model has no experts; leave out moe and moe_router" },
        { mlp && !dense, "the model has no dense layer; leave out mlp" },
        { moe && !router && !s->value.moe_pads,
          "moe is captured only if each expert has as many rows; add --moe-capacity-factor and "
          "--moe-pad-to-capacity on" },
        { preprocess && kind == PP_DISPATCHER_ALLTOALL && s->value.moe_capacity > 0 &&
              !s->value.moe_pads,
          "the host waits for the sizes of alltoall with a capacity before moe_preprocess ends; "
          "leave it out, or add --moe-pad-to-capacity on" },
        { router && recomputes_moe, "--recompute-modules moe holds moe_router; leave out one" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].wrong)
            return pp_err_set(err, PP_USAGE, "--cuda-graphs", "%s", rules[i].why);
    }
    return fault ? pp_err_set(err, PP_USAGE, "--cuda-graphs", "%s", fault) : PP_OK;
}

static pp_status read_graphs(const pp_args *args, const pp_model *model, pp_switch_request *s,
                             pp_err *err)
{
    const char *text = pp_args_text(args, "--cuda-graphs");
    s->given.cuda_graphs = text != NULL;
    if (!text || strcmp(text, "off") == 0)
        return PP_OK;
    if (has_name(text, "off"))
        return pp_err_set(err, PP_USAGE, "--cuda-graphs",
                          "off stands alone, as full does; leave out the other names");
    pp_status status =
        read_set(text, "--cuda-graphs", pp_graph_names(),
                 "off, full, attn, mlp, moe, moe_router, moe_preprocess", &s->value.graphs, err);
    return status ? status : check_graphs(model, s, err);
}

/* Refuses a format in which the stack does not train. */
static pp_status check_precision(const pp_stack *stack, pp_precision precision, pp_err *err)
{
    pp_text known PP_CLEANUP(pp_text_free) = { 0 };
    if (stack->has.precision[precision])
        return PP_OK;
    for (size_t k = 0; k < PP_PRECISIONS; k++) {
        if (stack->has.precision[k])
            pp_text_add(&known, "%s%s", known.bytes ? ", " : "", pp_precision_names()[k]);
    }
    pp_status status = pp_text_check(&known, err);
    return status
               ? status
               : pp_err_set(err, PP_USAGE, "--precision", "the stack %.200s has no %s; it has %s",
                            pp_stack_meant(stack), pp_precision_names()[precision], known.data);
}

static pp_status read_switches(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    static const char *const attentions[] = { "unfused", "flash", NULL };
    static const char *const syncs[] = { "exposed", "overlap", NULL };
    static const char *const zeros[] = { "0", "1", "2", "3", NULL };
    pp_switch_request *s = &r->request.switches;
    int attention = 0;
    int sync = 0;
    int dtype = PP_DTYPE_BF16;
    int zero = 0;
    const char *stack = pp_args_text(args, "--stack");
    const char *reshard = pp_args_text(args, "--reshard-after-forward");
    pp_status status =
        pp_load_stack(stack ? stack : PP_DEFAULT_STACK, &r->hardware, &r->stack, err);
    s->stack = &r->stack;
    if (status || (status = read_recompute(args, &r->model, s, err)) ||
        (status = read_precision(args, s, err)) ||
        (status = check_precision(&r->stack, s->value.precision, err)) ||
        (status = pp_args_switch(args, "--sequence-parallel", &s->value.sequence_parallel, err)) ||
        (status = pp_args_switch(args, "--tp-overlap", &s->value.tp_overlap, err)) ||
        (status = pp_args_choice(args, "--attention", attentions, &attention, err)) ||
        (status = pp_args_choice(args, "--grad-sync", syncs, &sync, err)) ||
        (status = pp_args_choice(args, "--grad-dtype", pp_dtype_names(), &dtype, err)) ||
        (status = pp_args_choice(args, "--zero", zeros, &zero, err)) ||
        (status = pp_args_int(args, "--dp-replicate", 1, 1 << 20, &s->value.dp_replicate, err)) ||
        (reshard && (status = pp_reshard_parse(reshard, &s->value.reshard_after_forward, err))) ||
        (status = read_layout(args, r, err)) || (status = read_cp_comm(args, s, err)) ||
        (status = read_dispatcher(args, s, err)) || (status = read_imbalance(args, s, err)) ||
        (status = read_capacity(args, &r->model, s, err)) ||
        (status = read_graphs(args, &r->model, s, err)) || (status = read_transfers(args, s, err)))
        return status;
    s->value.flash_attention = attention == 1;
    s->value.grad_sync_overlap = sync == 1;
    s->value.grad_dtype = (pp_dtype)dtype;
    s->value.zero = zero;
    s->given.sequence_parallel = pp_args_has(args, "--sequence-parallel");
    s->given.tp_overlap = pp_args_has(args, "--tp-overlap");
    s->given.flash_attention = pp_args_has(args, "--attention");
    s->given.grad_sync_overlap = pp_args_has(args, "--grad-sync");
    s->given.grad_dtype = pp_args_has(args, "--grad-dtype");
    s->given.zero = pp_args_has(args, "--zero");
    return read_moments(args, s, err);
}

/* After the framework. */
static pp_status read_buffers(const pp_args *args, pp_plan_request *request, pp_err *err)
{
    const char *recv = pp_args_text(args, "--recv-buffers");
    const char *send = pp_args_text(args, "--send-buffers");
    const char *outputs = pp_args_text(args, "--return-outputs");
    if ((recv || send || outputs) && !request->free.framework &&
        request->framework == &pp_framework_ideal)
        return pp_err_set(err, PP_USAGE,
                          recv   ? "--recv-buffers"
                          : send ? "--send-buffers"
                                 : "--return-outputs",
                          "executor ideal has no buffers; choose another with --executor");
    return pp_buffer_settings_parse(recv, send, outputs, &request->buffers, err);
}

/* The number of copies by the number of ranks that share each. Refusals of that number name this
 * option from now on. */
static pp_status read_dp_shard(const pp_args *args, pp_plan_request *request, pp_err *err)
{
    int64_t *copies = &request->switches.value.dp_replicate;
    const int64_t cp = request->parallel.cp ? request->parallel.cp : 1;
    const int64_t ranks = request->parallel.dp * cp;
    int64_t shard = 0;
    pp_status status = pp_args_int(args, "--dp-shard", 1, 1 << 20, &shard, err);
    if (status || !shard)
        return status;
    if (!request->parallel.dp)
        return pp_err_set(err, PP_USAGE, "--dp-shard",
                          "needs --dp, with which it says how many copies there are; give it, or "
                          "--dp-replicate");
    if (request->gpus && !request->parallel.cp)
        return pp_err_set(err, PP_USAGE, "--dp-shard",
                          "needs --cp, too, which --gpus leaves free: a copy is divided over part "
                          "of dp x cp; give it, or --dp-replicate");
    if (ranks % shard)
        return pp_err_set(err, PP_USAGE, "--dp-shard",
                          "%" PRId64 " does not divide dp x cp, which is %" PRId64, shard, ranks);
    if (request->parallel.dp % (ranks / shard))
        return pp_err_set(err, PP_USAGE, "--dp-shard",
                          "%" PRId64 " ranks per copy make %" PRId64 " copies, which do not divide "
                          "dp, which is %" PRId64 "; give a multiple of cp, which is %" PRId64,
                          shard, ranks / shard, request->parallel.dp, cp);
    if (pp_args_has(args, "--dp-replicate") && *copies != ranks / shard)
        return pp_err_set(err, PP_USAGE, "--dp-shard",
                          "%" PRId64 " ranks with %" PRId64 " copies are not dp x cp, which is "
                          "%" PRId64 "; leave out one of --dp-shard and --dp-replicate",
                          shard, *copies, ranks);
    *copies = ranks / shard;
    if (err->names == &pp_option_names && !pp_args_has(args, "--dp-replicate"))
        err->names = &pp_option_names_shard;
    return PP_OK;
}

/* After the target, which may shard. */
static pp_status check_dp_shard(const pp_args *args, const pp_plan_request *request, pp_err *err)
{
    const pp_switch_request *s = &request->switches;
    if (!pp_args_has(args, "--dp-shard") || (s->given.zero && s->value.zero == 3))
        return PP_OK;
    return pp_err_set(err, PP_USAGE, "--dp-shard",
                      "divides the parameters, and needs --fsdp or a target that shards; give one "
                      "of them, or leave this option out");
}

static pp_status read_program(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    pp_plan_request *request = &r->request;
    const char *schedule = pp_args_text(args, "--schedule");
    const char *partition = pp_args_text(args, "--partition");
    const char *framework = pp_args_text(args, "--executor");
    bool step_sync = true;
    bool bare_ends = true;
    pp_status status = PP_OK;
    bool planned = schedule && strcmp(schedule, "planned") == 0;
    if (schedule && strcmp(schedule, "auto") != 0 && !planned)
        status = pp_schedule_get(schedule, &request->schedule, err);
    if (!status && request->schedule && request->schedule->simulate_only)
        status =
            pp_err_set(err, PP_INFEASIBLE, "--schedule",
                       "%s works only with simulate, because no runtime accepts its orders; choose "
                       "dualpipev, which runs the same pairs with every stage on one rank",
                       request->schedule->name);
    if (!request->schedule)
        request->orders = planned ? PP_ORDERS_PLANNED : PP_ORDERS_BETTER;
    if (!status)
        status = pp_args_switch(args, "--torch-compile", &request->no_split, err);
    request->free.framework = pp_args_is_auto(args, "--executor");
    if (!status && framework && !request->free.framework)
        status = pp_framework_get(framework, &request->framework, err);
    if (!status)
        status = read_buffers(args, request, err);
    if (!status)
        status = pp_args_switch(args, "--step-sync", &step_sync, err);
    if (!status)
        status = pp_args_switch(args, "--bare-ends", &bare_ends, err);
    if (pp_args_has(args, "--bare-ends"))
        request->bare_ends = bare_ends ? PP_BARE_ENDS_ON : PP_BARE_ENDS_OFF;
    if (!status)
        status = pp_args_exchange_or_auto(args, &request->exchange, &request->free.shapes, err);
    request->shape_message_given = pp_args_has(args, "--shape-message");
    request->given_sharding.unshard_lookahead = pp_args_has(args, "--unshard-lookahead");
    request->given_sharding.copies =
        pp_args_has(args, "--dp-replicate") || pp_args_has(args, "--dp-shard");
    request->given_sharding.reshard = pp_args_has(args, "--reshard-after-forward");
    request->no_step_sync = !step_sync;
    request->why = pp_args_has(args, "--why");
    if (partition && strcmp(partition, "uniform") == 0) {
        request->partition = PP_PARTITION_UNIFORM;
    } else if (partition && strcmp(partition, "auto") != 0) {
        if (!strchr(partition, 'E') || !strchr(partition, 'L'))
            return pp_err_set(err, PP_USAGE, "--partition",
                              "'%.64s' is neither auto nor uniform "
                              "nor a layout such as 'Et*3|t*4|t*3L'",
                              partition);
        request->partition = PP_PARTITION_LAYOUT;
        request->layout = partition;
    }
    if (!status && request->partition != PP_PARTITION_AUTO && request->bare_ends == PP_BARE_ENDS_ON)
        return pp_err_set(err, PP_USAGE, "--bare-ends",
                          "is for --partition auto; a layout has bare ends where it says so, and "
                          "uniform has none");
    return status;
}

/* "1%" is 0.01. Fails: USAGE unless it is a percentage from 0 to 100. */
static pp_status parse_percent(const char *text, const char *option, double *part_out, pp_err *err)
{
    char *end = NULL;
    const double percent = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;
    if (!end || strcmp(end, "%") != 0 || !(percent <= 100))
        return pp_err_set(err, PP_USAGE, option,
                          "'%.40s' is not a percentage from 0%% to 100%%; write, for example, 1%%",
                          text);
    *part_out = percent / 100;
    return PP_OK;
}

/* Reads --tie, --headroom and --fastest. */
static pp_status read_preference(const pp_args *args, pp_plan_request *request, pp_err *err)
{
    const char *tie = pp_args_text(args, "--tie");
    const char *headroom = pp_args_text(args, "--headroom");
    double part = request->memory_limit_bytes ? 0 : DEFAULT_HEADROOM;
    pp_status status = PP_OK;
    if (pp_args_has(args, "--fastest") && (tie || headroom))
        return pp_err_set(err, PP_USAGE, "--fastest",
                          "takes the fastest plan whatever %s says; leave one of the two out",
                          tie ? "--tie" : "--headroom");
    request->tie = DEFAULT_TIE;
    if (tie && (status = parse_percent(tie, "--tie", &request->tie, err)))
        return status;
    request->fastest = !(request->tie > 0) || pp_args_has(args, "--fastest");
    if (request->fastest)
        request->tie = DEFAULT_TIE; /* of the search, which is that for the recommended plan */
    if (headroom && !strchr(headroom, '%')) {
        part = 0;
        status = pp_args_bytes(args, "--headroom", &request->headroom_bytes, err);
    } else if (headroom) {
        status = parse_percent(headroom, "--headroom", &part, err);
    }
    if (status)
        return status;
    if (part > 0)
        request->headroom_bytes = (int64_t)(part * (double)request->hardware->memory_bytes);
    return PP_OK;
}

static bool time_is_up(void *context)
{
    const pp_plan_input *r = context;
    return pp_interrupted(r->console) || pp_clock_now_ns() >= r->end_ns;
}

bool pp_plan_input_is_cancelled(const pp_plan_input *input)
{
    return input->console && pp_interrupted(input->console);
}

static bool is_cancelled(void *context)
{
    return pp_plan_input_is_cancelled(context);
}

static double part_of_time(void *context)
{
    const pp_plan_input *r = context;
    if (pp_interrupted(r->console))
        return 1;
    double gone_ns = (double)(pp_clock_now_ns() - r->begin_ns);
    return r->end_ns > r->begin_ns ? gone_ns / (double)(r->end_ns - r->begin_ns) : 1;
}

pp_status pp_budget_read(const pp_args *args, int64_t *count, pp_ns *time_ns, pp_err *err)
{
    const char *text = pp_args_text(args, "--budget");
    size_t bytes = text ? strlen(text) : 0;
    char number[32];
    if (bytes <= 2 || strcmp(text + bytes - 2, "it") != 0)
        return pp_args_duration(args, "--budget", time_ns, err);
    if (bytes - 2 >= sizeof number)
        return pp_err_set(err, PP_USAGE, "--budget", "'%.64s' is too large", text);
    memcpy(number, text, bytes - 2);
    number[bytes - 2] = '\0';
    if (pp_parse_int(number, "--budget", 1, INT64_MAX / 2, count, NULL))
        return pp_err_set(err, PP_USAGE, "--budget",
                          "'%.64s' is not a number of iterations; write, for example, 20000it",
                          text);
    return PP_OK;
}

static pp_status read_budget(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    int64_t count = 0;
    pp_ns budget_ns = 0;
    pp_status status = pp_budget_read(args, &count, &budget_ns, err);
    r->console = pp_console_current();
    r->request.cancelled = is_cancelled;
    r->request.cancel_context = r;
    if (status || !pp_args_has(args, "--budget"))
        return status;
    r->request.max_simulations = (uint64_t)count;
    if (count)
        return PP_OK;
    r->begin_ns = pp_args_begin_ns(args);
    r->end_ns = r->begin_ns + budget_ns;
    r->request.stop = time_is_up;
    r->request.spent = part_of_time;
    r->request.budget_s = (double)budget_ns * 1e-9;
    r->request.context = r;
    r->request.cancelled = NULL; /* it ends with the best so far instead */
    return PP_OK;
}

static pp_status read_jitter(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    static const char *const names[] = { "p50", "p95", NULL };
    const char *text = pp_args_text(args, "--jitter");
    int percentile = 0;
    if (!text && pp_args_has(args, "--rank-by"))
        return pp_err_set(err, PP_USAGE, "--rank-by",
                          "needs --jitter; add --jitter, or remove this option");
    pp_status status = pp_args_choice(args, "--rank-by", names, &percentile, err);
    if (status || !text)
        return status;
    r->request.rank_by_p95 = percentile == 1;
    r->request.jitter = &r->jitter;
    return pp_jitter_parse(text, &r->jitter, err);
}

static pp_status read_threads(const pp_args *args, pp_plan_request *request, pp_err *err)
{
    int64_t threads = pp_processors();
    pp_status status =
        pp_args_int(args, "--threads", 1, PP_ORDER_SEARCH_THREADS_MAX, &threads, err);
    request->threads = (uint32_t)threads;
    return status;
}

/* The target whose configuration `emit` ("NAME=FILE") writes; NULL: it is of a format. */
static const pp_target *written_by(const char *emit)
{
    const size_t bytes = strcspn(emit, "=");
    for (size_t i = 0; i < pp_target_count(); i++) {
        const pp_target *target = pp_target_at(i);
        if (target->format.name && strlen(target->format.name) == bytes &&
            strncmp(emit, target->format.name, bytes) == 0)
            return target;
    }
    return NULL;
}

/* The target of --target or, since a configuration starts a run of its framework, of --emit. */
static pp_status find_target(const pp_args *args, const pp_target **target_out, pp_err *err)
{
    const char *name = pp_args_text(args, "--target");
    const char *emit;
    *target_out = NULL;
    pp_status status = name ? pp_target_get(name, target_out, err) : PP_OK;
    for (size_t i = 0; !status && (emit = pp_args_each(args, "--emit", i)); i++) {
        const pp_target *written = written_by(emit);
        if (written && *target_out && written != *target_out)
            status =
                pp_err_set(err, PP_USAGE, "--emit",
                           "%s is another framework than %s, and a plan is made for one; plan for "
                           "each, or convert this plan: ppsim convert PLAN --to %s",
                           written->limits.name, (*target_out)->limits.name, written->limits.name);
        else if (written)
            *target_out = written;
    }
    return status;
}

/* Without a target and an executor, plans are for the runtime of ppsim, which runs all that plan
 * makes, but with sharded parameters for PyTorch, whose FSDP is meant. */
static pp_status assume_executor(pp_plan_input *r, pp_err *err)
{
    if (r->request.framework || r->request.free.framework)
        return PP_OK;
    if (r->request.switches.given.zero && r->request.switches.value.zero == 3) {
        r->request.framework = &pp_framework_torch_2_15;
        return pp_notes_add(&r->assumptions, err, "executor",
                            "torch-2.15, whose FSDP shards parameters (--target or --executor)");
    }
    r->request.framework = &pp_framework_ppsim;
    return pp_notes_add(&r->assumptions, err, "executor",
                        "ppsim, the runtime of this program (--target or --executor)");
}

static pp_status read_target(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    const bool shapes_given = pp_args_has(args, "--shapes") && !r->request.free.shapes;
    const pp_target *target;
    pp_status status = find_target(args, &target, err);
    if (status || !target)
        return status ? status : assume_executor(r, err);
    r->free_request = r->request;
    r->target = &target->limits;
    if ((status = pp_target_apply(r->target, shapes_given, &r->request, err)))
        return status;
    if (!pp_args_has(args, "--target"))
        pp_remark("--emit %s= writes the configuration of a run, so this plans for --target %s",
                  target->limits.name, target->limits.name);
    return PP_OK;
}

void pp_plan_remark_degrees(const pp_plan_request *request, pp_err *err)
{
    const pp_parallel *given = &request->parallel;
    pp_parallel p = *given;
    int64_t *const degrees[] = { &p.pp, &p.tp, &p.cp, &p.dp, &p.ep };
    pp_rule_broken broken;
    for (size_t k = 0; k < sizeof degrees / sizeof *degrees; k++)
        *degrees[k] = *degrees[k] ? *degrees[k] : 1;
    for (size_t next = 0; pp_rules_remark(request, &p, &next, &broken);)
        pp_remark("%s %" PRId64 " is used as given, although %s", pp_err_name(err, broken.field),
                  broken.degree, broken.why);
}

pp_status pp_plan_input_read(const pp_args *args, pp_plan_input *input, pp_err *err)
{
    if (pp_args_word(args, 0))
        return pp_err_set(err, PP_USAGE, NULL,
                          "'%.64s' is not an option; give the model as --model %.64s",
                          pp_args_word(args, 0), pp_args_word(args, 0));
    for (size_t i = 0; i < 2; i++) {
        static const char *const of_costs[] = { "--costs-file", "--microbatches" };
        if (pp_args_has(args, of_costs[i]))
            return pp_err_set(err, PP_USAGE, of_costs[i],
                              "is for ordering the ops of one schedule, not for a model, whose "
                              "microbatches follow from --global-batch-size and "
                              "--micro-batch-size");
    }
    return pp_plan_input_read_with(args, pp_args_text(args, "--lengths"), input, err);
}

pp_status pp_plan_input_read_with(const pp_args *args, const char *lengths, pp_plan_input *input,
                                  pp_err *err)
{
    pp_status status = read_machines(args, input, err);
    if (status || (status = read_sizes(args, input, err)) ||
        (status = read_switches(args, input, err)) ||
        (status = read_dp_shard(args, &input->request, err)) ||
        (status = keep_stages(args, input, err)) || (status = read_program(args, input, err)) ||
        (status = read_preference(args, &input->request, err)) ||
        (status = read_jitter(args, input, err)) ||
        (status = pp_args_rank_overrides(args, &input->overrides, err)) ||
        (status = read_cluster(input, err)) ||
        (status = read_threads(args, &input->request, err)) ||
        (status = read_budget(args, input, err)))
        return status;
    input->request.overrides = input->overrides.count ? &input->overrides : NULL;
    pp_rules_limit(&input->request);
    status = load_lengths(args, lengths, input, err);
    if (!status)
        status = load_expert_tokens(args, input, err);
    if (!status)
        status = read_target(args, input, err);
    return status ? status : check_dp_shard(args, &input->request, err);
}

pp_status pp_packing_read(const pp_args *args, int *choice, bool packings[PP_PACKING_COUNT],
                          pp_err *err)
{
    enum { AUTO = PP_PACKING_COUNT };
    const char *names[AUTO + 2] = { [AUTO] = "auto" };
    for (int k = 0; k < PP_PACKING_COUNT; k++)
        names[k] = pp_packing_name((pp_packing)k);
    pp_status status = pp_args_choice(args, "--packing", names, choice, err);
    for (int k = 0; k < PP_PACKING_COUNT; k++)
        packings[k] = *choice == AUTO || *choice == k;
    return status;
}

/* Reads --packing. A file that groups its sequences determines their packing. */
pp_status pp_plan_input_read_packing(const pp_args *args, pp_plan_input *r, pp_err *err)
{
    const bool given = pp_args_has(args, "--packing");
    int choice = r->request.group_count ? PP_PACKING_GIVEN : PP_PACKING_COUNT;
    const char *packing = pp_args_text(args, "--packing");
    if (packing && strcmp(packing, "none") == 0)
        return pp_err_set(
            err, PP_USAGE, "--packing",
            "'none' is no packing; to train each sequence in a microbatch of its own, "
            "give --lengths a JSON file with one list per sequence, such as "
            "[[1551],[886]]: docs/how-to/variable-lengths.md has the command that "
            "makes it");
    pp_status status = pp_packing_read(args, &choice, r->packings, err);
    if (status)
        return status;
    if (!r->request.lengths && given)
        return pp_err_set(err, PP_USAGE, "--packing",
                          "needs the sequences of --lengths; add --lengths, or remove this option");
    const bool as_is =
        choice == PP_PACKING_FIRST_FIT || (choice == PP_PACKING_GIVEN && r->request.group_count);
    if (!r->request.lengths)
        return PP_OK;
    r->request.packings = as_is ? NULL : r->packings;
    if (choice == PP_PACKING_FIRST_FIT) {
        r->request.group_end = NULL;
        r->request.group_count = 0;
    }
    return PP_OK;
}

pp_status pp_plan_input_refuse_auto(const pp_plan_input *input, const char *instead, pp_err *err)
{
    const pp_free_settings *f = &input->request.free;
    const char *option = f->framework       ? "--executor"
                         : f->shapes        ? "--shapes"
                         : f->communicators ? "--communicators"
                                            : NULL;
    if (!option)
        return PP_OK;
    return pp_err_set(
        err, PP_USAGE, option,
        "auto cannot be combined with %s; plan without it first, then give the chosen value",
        instead);
}

void pp_plan_input_free(pp_plan_input *input)
{
    pp_lengths_free(&input->lengths);
    pp_expert_tokens_free(&input->expert_tokens);
    pp_notes_free(&input->assumptions);
    pp_profile_release(&input->profile);
    pp_rank_overrides_free(&input->overrides);
}
