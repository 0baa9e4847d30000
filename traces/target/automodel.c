/* Writes sections of a recipe of NeMo AutoModel (YAML), and the schedule rows that they name
 * (pp_schedule_csv). Options are those of version 0.7.0
 * (components/distributed/pipelining/config.py, recipes/_dist_utils.py). */
#include "sim/framework/registry.h"
#include "traces/target/target.h"
#include "traces/target/torch_run.h"

#include <inttypes.h>
#include <string.h>

static const pp_framework *const frameworks[] = { &pp_framework_torch_2_15, &pp_framework_torch,
                                                  NULL };

/* The names of Hugging Face's causal language models. */
static const pp_module_names modules = { .embedding = "model.embed_tokens",
                                         .layers = "model.layers.",
                                         .norm = "model.norm",
                                         .head = "lm_head",
                                         .every = "model.rotary_emb" };

static void add_known(pp_text *text, const char *indent, const char *key, int64_t value)
{
    if (value > 0)
        pp_text_add(text, "%s%s: %" PRId64 "\n", indent, key, value);
}

static void add_pipeline(const pp_export *data, const pp_torch_run *run, pp_text *text)
{
    const pp_stage *stage = data->plan->partition;
    /* Only this name makes AutoModel place stages on a V; the order is that of the rows. */
    pp_text_add(text, "  pipeline:\n    pp_schedule: %s\n    pp_schedule_csv: ",
                pp_pytorch_is_v(&run->facts) ? "ZBVZeroBubble" : run->schedule);
    pp_torch_print_quoted(data->path, ".csv", text);
    pp_text_add(text, "\n");
    add_known(text, "    ", "pp_microbatch_size", run->micro_batch_size);
    add_known(text, "    ", "pp_seq_len", run->seq_length);
    if (!stage)
        return;
    pp_text_add(text, "    module_fqns_per_model_part:\n");
    for (uint32_t s = 0; s < data->order->stages; s++) {
        pp_text_add(text, "      - ");
        pp_torch_print_modules(&stage[s], &modules, text);
        pp_text_add(text, "\n");
    }
}

/* components/quantization/fp8.py: current scaling of all linear layers that no name matches. */
static void add_precision(const pp_export *data, pp_text *text)
{
    if (data->plan->precision == PP_PRECISION_BF16)
        return;
    pp_text_add(text, "\nfp8:\n  enabled: true\n  recipe_name: tensorwise\n  filter_fqns: ");
    pp_torch_print_16bit(data, modules.head, text);
}

static void print(const pp_export *data, const pp_torch_run *run, pp_text *text)
{
    const pp_plan *plan = data->plan;
    pp_torch_print_head(data, "For a recipe of NeMo AutoModel.", text);
    pp_text_add(text, "distributed:\n  strategy: fsdp2\n");
    add_known(text, "  ", "pp_size", data->order->ranks);
    if (run->known) {
        add_known(text, "  ", "tp_size", plan->parallel.tp);
        add_known(text, "  ", "cp_size", plan->parallel.cp);
        add_known(text, "  ", "dp_size", plan->parallel.dp);
        if (plan->dp_replicate > 1)
            add_known(text, "  ", "dp_replicate_size", plan->dp_replicate);
        add_known(text, "  ", "ep_size", plan->parallel.ep);
        if (plan->reshard_after_forward == PP_RESHARD_ALWAYS)
            pp_text_add(text, "  reshard_after_forward: true\n");
    }
    if (run->known && plan->parallel.ep > 1)
        pp_text_add(
            text, "  # The prediction needs backend.dispatcher: %s in the model's section.\n",
            plan->dispatcher == PP_DISPATCHER_ALLTOALL ? "torch"
                                                       : pp_dispatcher_names()[plan->dispatcher]);
    if (plan->sequence_parallel >= 0 && plan->parallel.tp > 1)
        pp_text_add(text, "  sequence_parallel: %s\n", plan->sequence_parallel ? "true" : "false");
    if (run->recompute != PP_RECOMPUTE_UNKNOWN)
        pp_text_add(text, "  activation_checkpointing: %s\n",
                    run->recompute == PP_RECOMPUTE_NONE ? "false"
                                                        : pp_recompute_name(run->recompute));
    add_pipeline(data, run, text);
    pp_text_add(text, "\nstep_scheduler:\n");
    add_known(text, "  ", "local_batch_size", run->local_batch_size);
    add_known(text, "  ", "global_batch_size", run->global_batch_size);
    add_precision(data, text);
    if (data->compiled || run->facts.split)
        pp_text_add(text, "\ncompile:\n  enabled: %s\n", data->compiled ? "true" : "false");
}

static pp_status emit(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err)
{
    pp_torch_run run;
    pp_status status = pp_torch_run_of("automodel", data, &run, err);
    if (status)
        return status;
    if (data->order->microbatches < data->order->ranks)
        return pp_err_set(
            err, PP_INFEASIBLE, "automodel",
            "its recipes need at least as many microbatches as pipeline ranks%s, and %" PRIu32
            " are fewer than %" PRIu32 "; give a larger --global-batch-size%s",
            data->plan->runs > 1 ? " in each pipeline run" : "", data->order->microbatches,
            data->order->ranks, data->plan->runs > 1 ? ", or fewer --pipeline-runs" : "");
    if (data->plan->dp_replicate > 1 && data->plan->dp_replicate >= data->plan->parallel.dp)
        return pp_err_set(err, PP_INFEASIBLE, "automodel",
                          "it has no copies that are not sharded: dp_replicate_size must be below "
                          "dp_size; plan with a smaller --dp-replicate");
    if (data->plan->precision == PP_PRECISION_FP8_CURRENT && !data->plan->partition)
        return pp_err_set(err, PP_INFEASIBLE, "automodel",
                          "the first and last layer stay in 16 bits, and a plan without a "
                          "partition does not say which these are");
    print(data, &run, text);
    return pp_torch_finish(data, text, companion, err);
}

const pp_target pp_target_automodel = {
    .limits = { .name = "automodel",
                .rules = "AutoModel reads the schedule from a file (pp_schedule_csv): any order "
                         "with each stage on one rank, placed on a loop or on a V of two stages "
                         "per rank; all microbatches have one size, and all replicas run one order",
                .frameworks = frameworks,
                .dense_precisions =
                    1 << PP_PRECISION_FP8_CURRENT | 1 << PP_PRECISION_FP8_CURRENT_ALL,
                .no_precision =
                    "no other recipe of its file is one that ppsim predicts; those of "
                    "TransformerEngine are settings of a model there, and quantize the head, too",
                .no_low_state = "ppsim does not know how to tell it otherwise",
                PP_TORCH_LIMITS,
                .experts_in_all_copies = true,
                .experts = PP_EXPERTS_WHOLE }, /* mesh_utils.py */
    .format = { .name = "automodel",
                .summary =
                    "pipeline settings for NeMo AutoModel (YAML), with the schedule in FILE.csv",
                .holds = PP_HOLDS_ORDER,
                .emit = emit },
};
