/* Rows of option tables that several commands share, used as { PP_OPTION_X }, so that their help is
 * the same. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_OPTION_ROWS_H
#define PPSIM_TOOLS_PPSIM_BASE_OPTION_ROWS_H

#define PP_OPTION_MODEL                                                                           \
    "--model", "M", "a name of 'ppsim list models', a file, or a Hugging Face config.json", NULL, \
        false
#define PP_OPTION_HW                                                                             \
    "--hw", "H", "a name of 'ppsim list hardware', or a file, of a cluster too; h100-80g", NULL, \
        false
#define PP_OPTION_TRACE_RANKS "--ranks", "A-B", "of --trace: only these ranks; all", NULL, false
#define PP_OPTION_PP "--pp", "P", "pipeline ranks", "--pipeline-model-parallel-size", false
#define PP_OPTION_TP                                                                              \
    "--tp", "N", "tensor parallel degree; chosen when not given", "--tensor-model-parallel-size", \
        false
#define PP_OPTION_DP "--dp", "N", "data parallel replicas; 1", "--data-parallel-size", false
#define PP_OPTION_CP "--cp", "N", "context parallel degree; 1", "--context-parallel-size", false
#define PP_OPTION_EP \
    "--ep", "N", "expert parallel degree, inside dp x cp; 1", "--expert-model-parallel-size", false
#define PP_OPTION_VPP                                              \
    "--vpp", "V", "stages per rank; 1 where the schedule has one", \
        "--num-virtual-stages-per-pipeline-rank", false
#define PP_OPTION_VPP_CHOSEN                                \
    "--vpp", "V", "stages per rank; chosen when not given", \
        "--num-virtual-stages-per-pipeline-rank", false
#define PP_OPTION_MICROBATCHES \
    "--microbatches", "M", "microbatches per step", "--num-microbatches", false
#define PP_OPTION_MICROBATCH_GROUP_SIZE                                          \
    "--microbatch-group-size", "N", "Megatron's microbatch group (interleaved)", \
        "--microbatch-group-size-per-virtual-pipeline-stage", false
#define PP_OPTION_COSTS                                                                            \
    "--costs", "F=T,I=T,W=T,comm=T",                                                               \
        "durations per op of one stage; B=T instead of I and W; FB=T of an overlapped pair", NULL, \
        false
#define PP_OPTION_COSTS_FILE                                                                    \
    "--costs-file", "FILE", "durations per stage and microbatch (JSON, docs/formats.md)", NULL, \
        false
#define PP_OPTION_MEMORY_COSTS                                                                   \
    "--memory-costs", "F=X,I=X,W=X", "memory change per op, in activations or with units", NULL, \
        false
#define PP_OPTION_FORWARD_ONLY \
    "--forward-only", NULL, "an evaluation: the schedule without its backwards", NULL, false
#define PP_OPTION_TENSORS_PER_BOUNDARY \
    "--tensors-per-boundary", "K", "the bytes between stages come in K tensors; 1", NULL, false
#define PP_OPTION_COLUMNS "--columns", "N", "width of the text timeline; 80", NULL, false
#define PP_OPTION_RECV_BUFFERS  \
    "--recv-buffers", "POLICY", \
        "on-post, per-microbatch, per-stage, per-direction or pool; the executor's", NULL, false
#define PP_OPTION_SEND_BUFFERS  \
    "--send-buffers", "POLICY", \
        "until-done, until-waited, until-backward or until-step-end; the executor's", NULL, false
#define PP_OPTION_RETURN_OUTPUTS \
    "--return-outputs", "on|off", "the last stage keeps what it made; as the executor", NULL, false
#define PP_OPTION_SHAPES                                                                         \
    "--shapes", "PROTOCOL",                                                                      \
        "how receivers learn sizes: plan, local, message, cached, padded[:MAX], bucket:N; plan", \
        NULL, false
#define PP_OPTION_SHAPES_OR_AUTO                                  \
    "--shapes", "plan|local|message|cached|padded|bucket:N|auto", \
        "how receivers learn sizes, padded:MAX too; auto: what is fastest; plan", NULL, false
#define PP_OPTION_HOST                  \
    "--host", "launch=T,sync=T,read=T", \
        "of each rank's host, per op or group, sync, size read; 0", NULL, false
#define PP_OPTION_STEP_SYNC \
    "--step-sync", "on|off", "a global barrier ends the step; on", NULL, false
#define PP_OPTION_EXECUTOR \
    "--executor", "NAME", "communication habits, 'ppsim list executors'; ideal", NULL, false
#define PP_OPTION_EXECUTOR_OR_AUTO \
    "--executor", "NAME|auto",     \
        "communication habits, 'ppsim list executors'; auto: what is fastest; ideal", NULL, false
#define PP_OPTION_TORCH_COMPILE                                                                   \
    "--torch-compile", "on|off", "the target compiles its stages: no split backward (I, W); off", \
        NULL, false
#define PP_OPTION_RECOMPUTE                                             \
    "--recompute", "none|selective|full|per-stage|per-microbatch|auto", \
        "activation recomputation; auto", "--recompute-granularity", false
#define PP_OPTION_MEMORY_LIMIT \
    "--memory-limit", "SIZE", "per GPU, 80GB; the GPU's memory less 5 %", NULL, false
#define PP_OPTION_PARTITION                                                                \
    "--partition", "auto|uniform|LAYOUT", "layers per stage; auto. LAYOUT: Et*3|t*4|t*3L", \
        "--pipeline-model-parallel-layout", false
#define PP_OPTION_STACK \
    "--stack", "NAME", "software: megatron-2021, megatron-2022, current; current", NULL, false
#define PP_OPTION_LENGTHS \
    "--lengths", "FILE", "sequence lengths of one step, one per line or a JSON array", NULL, false
#define PP_OPTION_SHAPE_MESSAGE \
    "--shape-message", "TIME", "that a message about a shape takes; the link's latency", NULL, false
#define PP_OPTION_RANK_SPEED \
    "--rank-speed", "R=X,...", "compute speed of single pipeline ranks, 3=0.8,5=1.1; 1", NULL, false
#define PP_OPTION_RANK_MEMORY \
    "--rank-memory", "R=SIZE,...", "memory limit of single pipeline ranks, 3=40GiB", NULL, false
#define PP_OPTION_RANK_LINK \
    "--rank-link", "A:B=RATE,...", "rate between two pipeline ranks, 2:3=25GB/s", NULL, false
#define PP_OPTION_RECOST_PROFILE \
    "--profile", "FILE", "the plan must be made from it; with --recost it need not", NULL, false
#define PP_OPTION_RECOST                                                                        \
    "--recost", NULL, "give the plan's order, partition and data the costs of --profile", NULL, \
        false
#define PP_OPTION_RECOST_MODEL \
    "--model", "M", "of --recost; the plan's, where that is a name", NULL, false
#define PP_OPTION_RECOST_HW "--hw", "H", "of --recost, for what the profile lacks", NULL, false
#define PP_OPTION_RECOST_ONLY "--profile-only", "kernels|links", "of --recost, as plan", NULL, false
#define PP_OPTION_RECOST_LAYERS "--profile-layers", "N", "of --recost, as plan", NULL, false

#endif
