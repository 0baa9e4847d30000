/* Rows of option tables that several commands share, used as { PP_OPTION_X }, so that their help is
 * the same. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_OPTION_ROWS_H
#define PPSIM_TOOLS_PPSIM_BASE_OPTION_ROWS_H

#include "tools/ppsim/base/command.h"

#define PP_OPTION_MODEL                                                                          \
    PP_ROW("--model", "M", MODEL,                                                                \
           "a name from 'ppsim list models', a ppsim.model file, or a Hugging Face config.json", \
           NULL)
#define PP_OPTION_HW                                                                       \
    PP_ROW("--hw", "H", HARDWARE, "a name from 'ppsim list hardware', or a hardware file", \
           "h100-80g")
#define PP_OPTION_VERBOSE(help) "--verbose", NULL, PP_GROUP_OUTPUT, help, NULL, "-v", false
#define PP_OPTION_REPORT \
    PP_ROW("--report", "FILE", OUTPUT, "write a web page that shows the answer, e.g. a.html", NULL)
#define PP_OPTION_TRACE_RANKS \
    PP_ROW("--ranks", "A-B", OUTPUT, "pipeline ranks that --trace writes", "all")
#define PP_OPTION_PP                                                                          \
    "--pp", "P", PP_GROUP_PARALLELISM, "pipeline-parallel degree (number of pipeline ranks)", \
        NULL, "--pipeline-model-parallel-size", false
#define PP_OPTION_TP                                                       \
    "--tp", "N", PP_GROUP_PARALLELISM, "tensor-parallel degree", "chosen", \
        "--tensor-model-parallel-size", false
#define PP_OPTION_DP \
    "--dp", "N", PP_GROUP_PARALLELISM, "data-parallel degree", "1", "--data-parallel-size", false
#define PP_OPTION_CP                                                                              \
    "--cp", "N", PP_GROUP_PARALLELISM, "context-parallel degree", "1", "--context-parallel-size", \
        false
#define PP_OPTION_EP                                                                              \
    "--ep", "N", PP_GROUP_PARALLELISM, "expert-parallel degree, a divisor of tp x cp x dp / etp", \
        "1", "--expert-model-parallel-size", false
#define PP_OPTION_ETP                                                                         \
    "--etp", "N", PP_GROUP_PARALLELISM, "ranks that divide an expert (1: experts are whole)", \
        "tp", "--expert-tensor-parallel-size", false
#define PP_OPTION_VPP                                                                      \
    "--vpp", "V", PP_GROUP_SCHEDULE, "stages per pipeline rank (virtual pipeline stages)", \
        "1, or 2 for V-shaped schedules such as zbv. Interleaved schedules need a value",  \
        "--num-virtual-stages-per-pipeline-rank", false
#define PP_OPTION_VPP_CHOSEN                                                               \
    "--vpp", "V", PP_GROUP_SCHEDULE, "stages per pipeline rank (virtual pipeline stages)", \
        "chosen", "--num-virtual-stages-per-pipeline-rank", false
#define PP_OPTION_MICROBATCHES                                                                     \
    "--microbatches", "M", PP_GROUP_SCHEDULE, "microbatches per step", NULL, "--num-microbatches", \
        false
#define PP_OPTION_MICROBATCH_GROUP_SIZE                                                    \
    "--microbatch-group-size", "N", PP_GROUP_SCHEDULE,                                     \
        "interleaved: microbatches that a stage runs before the rank's next stage starts", \
        "PyTorch's rule", "--microbatch-group-size-per-virtual-pipeline-stage", false
#define PP_OPTION_COSTS                                                                         \
    PP_ROW("--costs", "F=T,I=T,W=T,comm=T", COSTS,                                              \
           "time per op of one stage: forward F, backward for input I and weights W. B=T sets " \
           "I and W together, FB=T is the time of an F and B that overlap",                     \
           NULL)
#define PP_OPTION_COSTS_FILE              \
    PP_ROW("--costs-file", "FILE", COSTS, \
           "JSON file with times per stage and microbatch (docs/reference/formats.md)", NULL)
#define PP_OPTION_MEMORY_COSTS                     \
    PP_ROW("--memory-costs", "F=X,I=X,W=X", COSTS, \
           "memory that each op takes or frees, in activations or with a unit", NULL)
#define PP_OPTION_FORWARD_ONLY \
    PP_ROW("--forward-only", NULL, SCHEDULE, "evaluation: run the forwards only", NULL)
#define PP_OPTION_TENSORS_PER_BOUNDARY                   \
    PP_ROW("--tensors-per-boundary", "K", COMMUNICATION, \
           "number of tensors that carry the data between two stages", "1")
#define PP_OPTION_OUTSTANDING_SENDS                                                             \
    PP_ROW("--max-outstanding-sends", "N|none", FRAMEWORK,                                      \
           "with torch-2.15: how many sends of a rank may be under way, by waiting for others " \
           "earlier",                                                                           \
           "the plan's, or none")
#define PP_OPTION_UNSHARD_LOOKAHEAD                                                             \
    PP_ROW("--unshard-lookahead", "full|auto|K", FRAMEWORK,                                     \
           "with torch-2.15: of how many stages parameters are gathered ahead. It changes the " \
           "emitted rows, and with sharded parameters the time",                                \
           "the plan's, or full, which is 3")
#define PP_OPTION_PIPELINE_RUNS                                                      \
    PP_ROW("--pipeline-runs", "R", SCHEDULE,                                         \
           "run the schedule R times per step, each time with an equal part of the " \
           "microbatches, as torchtitan and AutoModel accumulate gradients",         \
           "1")
#define PP_OPTION_COLUMNS \
    PP_ROW("--columns", "N", OUTPUT, "width of the text timeline, in characters", "80")
#define PP_OPTION_RECV_BUFFERS                                                                     \
    PP_ROW("--recv-buffers", "POLICY", COMMUNICATION,                                              \
           "how receive buffers are allocated: on-post, per-microbatch, per-stage, per-direction " \
           "or pool",                                                                              \
           "the executor's")
#define PP_OPTION_SEND_BUFFERS                                                            \
    PP_ROW("--send-buffers", "POLICY", COMMUNICATION,                                     \
           "how long sent tensors are kept: until-done, until-waited, until-backward or " \
           "until-step-end",                                                              \
           "the executor's")
#define PP_OPTION_RETURN_OUTPUTS                        \
    PP_ROW("--return-outputs", "on|off", COMMUNICATION, \
           "the last stage keeps its outputs until the step ends", "the executor's")
#define PP_OPTION_SHAPES                                                                    \
    PP_ROW("--shapes", "PROTOCOL", COMMUNICATION,                                           \
           "how receivers learn tensor sizes: plan, local, message, cached, padded[:MAX], " \
           "bucket:N or padded-wire[:MAX]",                                                 \
           "plan")
#define PP_OPTION_SHAPES_OR_AUTO                                                              \
    PP_ROW("--shapes", "plan|local|message|cached|padded|bucket:N|padded-wire|auto",          \
           COMMUNICATION,                                                                     \
           "how receivers learn tensor sizes (see ppsim(1)). padded:MAX pads to MAX tokens. " \
           "auto chooses the fastest",                                                        \
           "plan")
#define PP_OPTION_HOST                                        \
    PP_ROW("--host", "launch=T,sync=T,read=T", COMMUNICATION, \
           "host overhead: per launch, per device sync, per size read", "0")
#define PP_OPTION_STEP_SYNC \
    PP_ROW("--step-sync", "on|off", FRAMEWORK, "end every step with a global barrier", "on")
#define PP_OPTION_EXECUTOR                  \
    PP_ROW("--executor", "NAME", FRAMEWORK, \
           "communicate as this framework does: a name from 'ppsim list executors'", "ideal")
#define PP_OPTION_EXECUTOR_OR_AUTO                                                         \
    PP_ROW("--executor", "NAME|auto", FRAMEWORK,                                           \
           "communicate as this framework does: a name from 'ppsim list executors'. auto " \
           "takes the fastest",                                                            \
           "that of --target, or ppsim")
#define PP_OPTION_TORCH_COMPILE                    \
    PP_ROW("--torch-compile", "on|off", FRAMEWORK, \
           "the framework compiles its stages, so that no backward is split into I and W", "off")
#define PP_OPTION_RECOMPUTE                                                                \
    "--recompute", "none|selective|full|per-stage|per-microbatch|auto", PP_GROUP_SCHEDULE, \
        "activation recomputation", "auto", "--recompute-granularity", false
#define PP_OPTION_MEMORY_LIMIT \
    PP_ROW("--memory-limit", "SIZE", HARDWARE, "limit per GPU, e.g. 80GB", "95 % of its memory")
#define PP_OPTION_PARTITION                                                               \
    "--partition", "auto|uniform|LAYOUT", PP_GROUP_SCHEDULE,                              \
        "layers per stage. uniform: equally many, as Colossal-AI. LAYOUT is a layout of " \
        "Megatron, such as 'Et*3|t*4|t*3L'",                                              \
        "auto", "--pipeline-model-parallel-layout", false
#define PP_OPTION_STACK                  \
    PP_ROW("--stack", "NAME", FRAMEWORK, \
           "training software: a name from 'ppsim list stacks', or a stack file", "current")
#define PP_OPTION_LENGTHS                                                                       \
    PP_ROW("--lengths", "FILE", MODEL, "sequence lengths of one step, one per line or as JSON", \
           NULL)
#define PP_OPTION_TRUNCATE            \
    PP_ROW("--truncate", NULL, MODEL, \
           "cut sequences that are longer than --seq-length, which otherwise are refused", NULL)
#define PP_OPTION_SPLIT_LONG \
    PP_ROW("--split-long", NULL, MODEL, "split them into pieces of at most --seq-length", NULL)
#define PP_OPTION_SHAPE_MESSAGE                                                         \
    PP_ROW("--shape-message", "TIME", COMMUNICATION, "time of one tensor-size message", \
           "link latency")
#define PP_OPTION_RANK_SPEED                    \
    PP_ROW("--rank-speed", "R=X,...", HARDWARE, \
           "relative compute speed of individual pipeline ranks, e.g. 3=0.8,5=1.1", "1")
#define PP_OPTION_RANK_MEMORY                       \
    PP_ROW("--rank-memory", "R=SIZE,...", HARDWARE, \
           "memory limit of individual pipeline ranks, e.g. 3=40GiB", "--memory-limit")
#define PP_OPTION_RANK_LINK                         \
    PP_ROW("--rank-link", "A:B=RATE,...", HARDWARE, \
           "bandwidth between two pipeline ranks, e.g. 2:3=25GB/s", "the hardware's")
#define PP_OPTION_RECOST_PROFILE       \
    PP_ROW("--profile", "FILE", COSTS, \
           "refuse a plan that was not made from this profile, unless --recost is given", NULL)
#define PP_OPTION_RECOST            \
    PP_ROW("--recost", NULL, COSTS, \
           "keep the plan's order, partition and data, but take its costs from --profile", NULL)
#define PP_OPTION_RECOST_MODEL \
    PP_ROW("--model", "M", COSTS, "with --recost: the model", "the plan's, if it has a name")
#define PP_OPTION_RECOST_HW \
    PP_ROW("--hw", "H", COSTS, "with --recost: hardware for costs that the profile lacks", NULL)
#define PP_OPTION_RECOST_ONLY                        \
    PP_ROW("--profile-only", "kernels|links", COSTS, \
           "with --recost: use only this part of the profile", "both")
#define PP_OPTION_RECOST_LAYERS            \
    PP_ROW("--profile-layers", "N", COSTS, \
           "with --recost: number of layers per stage in the imported measurements", NULL)

#endif
