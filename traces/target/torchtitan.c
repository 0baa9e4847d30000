/* Writes a configuration of torchtitan, and the schedule rows that it names
 * (pipeline_parallel_schedule_csv). FILE.py is for torchtitan 0.3 and later, whose configurations
 * are Python, and FILE.toml for 0.2. Options are those of 0.2.2 and 0.3.0, and options that were
 * renamed after 0.3.0 have the names of commit b5bcd76c. */
#include "sim/framework/registry.h"
#include "traces/target/target.h"
#include "traces/target/torch_run.h"

#include <inttypes.h>
#include <string.h>

static const pp_framework *const frameworks[] = { &pp_framework_torch_2_15, &pp_framework_torch,
                                                  NULL };

static const pp_module_names modules_py = {
    .embedding = "tok_embeddings", .layers = "layers.", .norm = "norm", .head = "lm_head"
};
static const pp_module_names modules_toml = {
    .embedding = "tok_embeddings", .layers = "layers.", .norm = "norm", .head = "output"
};

/* The file being written. */
typedef struct config {
    const pp_export *data;
    const pp_torch_run *run;
    pp_text *text;
    const char *section; /* of the last option (TOML) */
    bool python;
} config;

static void begin_option(config *c, const char *section, const char *key)
{
    if (c->python) {
        pp_text_add(c->text, "    config.%s.%s = ", section, key);
        return;
    }
    if (!c->section || strcmp(c->section, section) != 0)
        pp_text_add(c->text, "\n[%s]\n", section);
    c->section = section;
    pp_text_add(c->text, "%s = ", key);
}

static void add_int(config *c, const char *section, const char *key, int64_t value)
{
    if (value <= 0)
        return; /* the plan does not set it */
    begin_option(c, section, key);
    pp_text_add(c->text, "%" PRId64 "\n", value);
}

static void add_text(config *c, const char *section, const char *key, const char *value)
{
    begin_option(c, section, key);
    pp_torch_print_quoted(value, "", c->text);
    pp_text_add(c->text, "\n");
}

static void add_switch(config *c, const char *section, const char *key, bool on)
{
    begin_option(c, section, key);
    pp_text_add(c->text, "%s\n", c->python ? (on ? "True" : "False") : (on ? "true" : "false"));
}

static void add_partition(config *c)
{
    const pp_stage *stage = c->data->plan->partition;
    if (!stage)
        return;
    begin_option(c, "parallelism", "module_fqns_per_model_part");
    pp_text_add(c->text, "[\n");
    for (uint32_t s = 0; s < c->data->order->stages; s++) {
        pp_text_add(c->text, c->python ? "        " : "    ");
        pp_torch_print_modules(&stage[s], c->python ? &modules_py : &modules_toml, c->text);
        pp_text_add(c->text, ",\n");
    }
    pp_text_add(c->text, c->python ? "    ]\n" : "]\n");
}

static void add_parallelism(config *c)
{
    static const char section[] = "parallelism";
    static const char *const dispatchers[] = { [PP_DISPATCHER_ALLTOALL] = "standard",
                                               [PP_DISPATCHER_ALLGATHER] = "",
                                               [PP_DISPATCHER_DEEPEP] = "deepep",
                                               [PP_DISPATCHER_DEEPEP_LL] = "",
                                               [PP_DISPATCHER_HYBRIDEP] = "hybridep" };
    const pp_parallel *degrees = &c->data->plan->parallel;
    add_int(c, section, "pipeline_parallel_degree", c->data->order->ranks);
    if (c->run->known) {
        add_int(c, section, "tensor_parallel_degree", degrees->tp);
        add_int(c, section, "context_parallel_degree", degrees->cp);
        add_int(c, section, "expert_parallel_degree", degrees->ep);
    }
    if (!c->python && c->run->known && degrees->cp > 1) /* alltoall hands keys and values around */
        add_text(c, section, "context_parallel_rotate_method",
                 c->data->plan->cp_comm == PP_CP_COMM_RING ? "alltoall" : "allgather");
    /* The dispatch that is predicted. After 0.2 it is an argument of model_registry(). */
    if (c->run->known && degrees->ep > 1 && c->python)
        pp_text_add(c->text,
                    "    # The prediction needs a model of "
                    "model_registry(..., moe_comm_backend=\"%s\").\n",
                    dispatchers[c->data->plan->dispatcher]);
    if (c->run->known && degrees->ep > 1 && !c->python)
        add_text(c, section, "expert_parallel_comm_backend",
                 dispatchers[c->data->plan->dispatcher]);
    if (c->run->known && degrees->dp > 0) {
        const int64_t copies = c->data->plan->dp_replicate > 1 ? c->data->plan->dp_replicate : 1;
        add_int(c, section, "data_parallel_replicate_degree", copies);
        add_int(c, section, "data_parallel_shard_degree", degrees->dp / copies);
    }
    if (c->python && degrees->tp > 1 && c->data->plan->sequence_parallel == 0)
        add_switch(c, section, "enable_sequence_parallel", false);
    if (c->data->plan->reshard_after_forward == PP_RESHARD_ALWAYS)
        add_text(c, section, "fsdp_reshard_after_forward", "always");
    add_text(c, section, "pipeline_parallel_schedule", c->run->schedule);
    begin_option(c, section, "pipeline_parallel_schedule_csv");
    pp_torch_print_quoted(c->data->path, ".csv", c->text);
    pp_text_add(c->text, "\n");
    if (!c->python)
        add_int(c, section, "pipeline_parallel_microbatch_size", c->run->micro_batch_size);
    add_partition(c);
}

/* With "selective", torchtitan itself chooses which ops are recomputed. */
static void add_recompute(config *c)
{
    const pp_recompute recompute = c->run->recompute;
    const bool selective = recompute == PP_RECOMPUTE_SELECTIVE;
    if (recompute == PP_RECOMPUTE_UNKNOWN)
        return;
    if (c->python) {
        pp_text_add(c->text, "    config.activation_checkpoint = %s\n",
                    selective                        ? "SelectiveAC.Config()"
                    : recompute == PP_RECOMPUTE_FULL ? "FullAC.Config()"
                                                     : "None");
        return;
    }
    add_text(c, "activation_checkpoint", "mode", pp_recompute_name(recompute));
    if (selective)
        add_text(c, "activation_checkpoint", "selective_ac_option", "op");
}

static void add_compile(config *c)
{
    if (c->data->compiled)
        add_switch(c, "compile", "enable", true);
    else if (c->run->facts.split)
        add_switch(c, "compile", "enable", false);
}

/* The linear layers of attention, MLP and experts. In 0.2 a converter takes those that no name of a
 * list matches, later those that a name matches. */
static void add_precision_toml(config *c)
{
    const pp_precision precision = c->data->plan->precision;
    if (precision == PP_PRECISION_BF16)
        return;
    begin_option(c, "model", "converters");
    if (precision == PP_PRECISION_MXFP8) {
        pp_text_add(c->text, "[\"quantize.linear.mx\", \"quantize.grouped_mm.mx\"]\n");
        add_text(c, "quantize.linear.mx", "recipe_name", "mxfp8_cublas");
        begin_option(c, "quantize.linear.mx", "filter_fqns");
        pp_text_add(c->text, "[\"output\", \"router\"]\n");
        add_text(c, "quantize.grouped_mm.mx", "recipe_name", "mxfp8");
        begin_option(c, "quantize.grouped_mm.mx", "fqns");
        pp_text_add(c->text, "[\"experts\"]\n");
        return;
    }
    pp_text_add(c->text, "[\"quantize.linear.float8\"]\n");
    add_text(c, "quantize.linear.float8", "recipe_name", "tensorwise");
    begin_option(c, "quantize.linear.float8", "filter_fqns");
    pp_torch_print_16bit(c->data, modules_toml.head, c->text);
}

/* Layers are converted in the model's configuration, as model_registry() does. */
static void add_precision_py(config *c)
{
    static const char linear[] = "fqns=[\"attention\", \"feed_forward\", \"shared_experts\"]";
    const pp_precision precision = c->data->plan->precision;
    const bool four = precision == PP_PRECISION_NVFP4;
    if (precision == PP_PRECISION_BF16)
        return;
    if (four) /* as its own configurations have it, llama3_debugmodel_nvfp4 */
        add_text(c, "parallelism", "spmd_backend", "spmd_types");
    pp_text_add(c->text,
                "    compiled = config.compile.enable and \"model\" in config.compile.components\n"
                "    for converter in (\n"
                "        %s.Config(%s, model_compile_enabled=compiled),\n%s"
                "    ):\n"
                "        config.model_spec.model = "
                "converter.build().convert(config.model_spec.model)\n",
                four ? "NVFP4LinearConverter" : "MXFP8LinearConverter", linear,
                four ? ""
                     : "        MXFP8GroupedExpertsConverter.Config(model_compile_enabled=compiled)"
                       ",\n");
}

static const char *imports_of(pp_precision precision)
{
    return precision == PP_PRECISION_MXFP8 ? "from torchtitan.components.quantization import (\n"
                                             "    MXFP8GroupedExpertsConverter,\n"
                                             "    MXFP8LinearConverter,\n"
                                             ")\n"
           : precision == PP_PRECISION_NVFP4
               ? "from torchtitan.components.quantization import NVFP4LinearConverter\n"
               : "";
}

static void print_toml(config *c)
{
    pp_torch_print_head(c->data, "For the configuration of torchtitan 0.2, a TOML file.", c->text);
    add_int(c, "training", "local_batch_size", c->run->local_batch_size);
    if (c->run->global_batch_size > 0)
        add_int(c, "training", "global_batch_size", c->run->global_batch_size);
    add_int(c, "training", "seq_len", c->run->seq_length);
    add_parallelism(c);
    add_recompute(c);
    add_precision_toml(c);
    add_compile(c);
}

static void print_sizes_py(config *c)
{
    const pp_torch_run *run = c->run;
    int64_t tokens = run->seq_length * run->micro_batch_size;
    pp_text_add(c->text,
                "    if hasattr(config.parallelism, \"num_pp_microbatches\"):  # after 0.3.0\n"
                "        config.parallelism.num_pp_microbatches = %" PRIu32 "\n",
                c->data->order->microbatches);
    if (tokens > 0)
        pp_text_add(c->text,
                    "        config.training.num_tokens_per_microbatch_per_dp_rank = %" PRId64 "\n"
                    "        config.training.max_context_length = %" PRId64 "\n",
                    tokens, run->seq_length);
    if (tokens > 0 && run->global_batch_size > 0)
        pp_text_add(c->text, "        config.training.num_tokens_per_train_step = %" PRId64 "\n",
                    run->seq_length * run->global_batch_size);
    pp_text_add(c->text,
                "    else:\n"
                "        config.parallelism.pipeline_parallel_microbatch_size = %" PRId64 "\n"
                "        config.training.local_batch_size = %" PRId64 "\n",
                run->micro_batch_size, run->local_batch_size);
    if (run->global_batch_size > 0)
        pp_text_add(c->text, "        config.training.global_batch_size = %" PRId64 "\n",
                    run->global_batch_size);
    if (run->seq_length > 0)
        pp_text_add(c->text, "        config.training.seq_len = %" PRId64 "\n", run->seq_length);
}

static void print_python(config *c)
{
    pp_torch_print_head(c->data, "For torchtitan 0.3 and later: apply() changes a Trainer.Config.",
                        c->text);
    pp_text_add(c->text, "%s", imports_of(c->data->plan->precision));
    pp_text_add(c->text, "from torchtitan.distributed.activation_checkpoint import FullAC, "
                         "SelectiveAC\n\n\n"
                         "def apply(config):\n");
    print_sizes_py(c);
    /* 0.3 does not support CUDA graphs with a pipeline. */
    add_switch(c, "training", "disable_cuda_graphs", true);
    add_parallelism(c);
    add_recompute(c);
    add_compile(c);
    add_precision_py(c); /* it asks whether layers are compiled */
    pp_text_add(c->text, "    return config\n");
}

/* Returns 1 for a file of Python, 0 for TOML, and -1 for any other. */
static int is_python(const char *path)
{
    size_t bytes = path ? strlen(path) : 0;
    if (bytes > 3 && strcmp(path + bytes - 3, ".py") == 0)
        return 1;
    return bytes > 5 && strcmp(path + bytes - 5, ".toml") == 0 ? 0 : -1;
}

/* What one of the two kinds of files cannot say (components/quantization: float8.py has one scale
 * per tensor in 0.2 only; mx.py of 0.2 asserts that it is not compiled with tensor parallelism). */
static pp_status check_precision(const pp_export *data, bool python, pp_err *err)
{
    const pp_plan *plan = data->plan;
    const bool some = plan->precision == PP_PRECISION_FP8_CURRENT;
    const char *why = NULL;
    if ((some || plan->precision == PP_PRECISION_FP8_CURRENT_ALL) && python)
        why = "0.3 has no FP8 with one scale per tensor; write FILE.toml for 0.2, or plan with "
              "precision mxfp8";
    else if (some && !plan->partition)
        why = "the first and last layer stay in 16 bits, and a plan without a partition does not "
              "say which these are";
    else if (plan->precision == PP_PRECISION_NVFP4 && !python)
        why = "0.2 has no NVFP4; write FILE.py for 0.3";
    else if (plan->precision == PP_PRECISION_MXFP8 && !python && plan->parallel.ep > 1)
        why = "0.2 has no MXFP8 with experts that are divided; write FILE.py for 0.3";
    else if (plan->precision == PP_PRECISION_MXFP8 && plan->parallel.ep > 1 &&
             plan->dispatcher != PP_DISPATCHER_HYBRIDEP)
        why = "experts in MXFP8 need rows that only HybridEP pads; plan with "
              "--moe-dispatcher hybridep";
    else if (plan->precision == PP_PRECISION_MXFP8 && !python && plan->parallel.tp > 1 &&
             data->compiled)
        why = "0.2 does not compile MXFP8 with tensor parallelism; write FILE.py for 0.3, or plan "
              "without compiled stages";
    return why ? pp_err_set(err, PP_INFEASIBLE, "torchtitan", "%s", why) : PP_OK;
}

static pp_status emit(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err)
{
    pp_torch_run run;
    int python = is_python(data->path);
    pp_status status = pp_torch_run_of("torchtitan", data, &run, err);
    if (status)
        return status;
    if (python < 0)
        return pp_err_set(err, PP_USAGE, "torchtitan",
                          "'%.200s' must end in .py (torchtitan 0.3 and later) or .toml (0.2)",
                          data->path);
    if (!python && data->plan->parallel.tp > 1 && data->plan->sequence_parallel == 0)
        return pp_err_set(err, PP_INFEASIBLE, "torchtitan",
                          "0.2 uses sequence parallelism whenever tp > 1; plan with "
                          "--sequence-parallel on, or write FILE.py for 0.3");
    if (python && data->plan->parallel.cp > 1 && data->plan->cp_comm == PP_CP_COMM_RING)
        return pp_err_set(err, PP_INFEASIBLE, "torchtitan",
                          "0.3 gathers keys and values for context parallelism, and has no ring; "
                          "plan with --cp-comm all-gather, or write FILE.toml for 0.2");
    if ((status = check_precision(data, python == 1, err)))
        return status;
    config c = { .data = data, .run = &run, .text = text, .python = python == 1 };
    if (c.python)
        print_python(&c);
    else
        print_toml(&c);
    return pp_torch_finish(data, text, companion, err);
}

const pp_target pp_target_torchtitan = {
    .limits = { .name = "torchtitan",
                .rules = "torchtitan reads the schedule from a file "
                         "(pipeline_parallel_schedule_csv): any order with each stage on one rank, "
                         "placed on a loop or on a V of two stages per rank; all microbatches have "
                         "one size, and all replicas run one order",
                .frameworks = frameworks,
                PP_TORCH_LIMITS,
                .experts = PP_EXPERTS_WHOLE_WITHIN_EP, /* parallel_dims.py, moe_sharding.py */
                .pads_with_hybridep = true,
                .precisions = 1 << PP_PRECISION_MXFP8,
                .dense_precisions = 1 << PP_PRECISION_FP8_CURRENT |
                                    1 << PP_PRECISION_FP8_CURRENT_ALL | 1 << PP_PRECISION_NVFP4,
                .no_precision = "no other recipe of torchao is one that ppsim predicts",
                .no_low_state = "it reduces gradients in fp32 (mixed_precision_reduce), and its "
                                "AdamW keeps moments in the type of the weights that it updates",
                .drops_outputs = true }, /* trainer.py: step(return_outputs=False) */
    .format = { .name = "torchtitan",
                .summary = "pipeline settings for torchtitan, FILE.py (0.3) or FILE.toml (0.2), "
                           "with the schedule in FILE.csv",
                .holds = PP_HOLDS_ORDER,
                .emit = emit },
};
