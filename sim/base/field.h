/* What a message may name: a field of the input, or something that ppsim can be asked. The library
 * calls a field as its structs and files do ("chunks"). A front end whose users set fields in
 * another way passes its own names along with the pp_err ("--vpp"). A message is composed with
 * these names where it is made, so that its text is final wherever it is used: on a screen, in a
 * plan file, in another message. Values of users are never searched for names. */
#ifndef PPSIM_SIM_BASE_FIELD_H
#define PPSIM_SIM_BASE_FIELD_H

#include "sim/base/status.h"

/* The identifier, and what the library calls it. */
#define PP_FIELD_MAP(X)                                \
    /* The request: what runs, and how it is split. */ \
    X(MODEL, "model")                                  \
    X(HARDWARE, "hardware")                            \
    X(PROFILE_LAYERS, "profile_layers")                \
    X(RECOST, "from a profile")                        \
    X(GPUS, "gpus")                                    \
    X(RANKS, "ranks")                                  \
    X(CHUNKS, "chunks")                                \
    X(TP, "tp")                                        \
    X(CP, "cp")                                        \
    X(DP, "dp")                                        \
    X(EP, "ep")                                        \
    X(ETP, "etp")                                      \
    X(PARTITION, "partition")                          \
    X(BARE_ENDS, "bare_ends")                          \
    X(MEMORY_LIMIT, "memory_limit")                    \
    /* Its data. */                                    \
    X(SEQ_LENGTH, "seq_length")                        \
    X(MICRO_BATCH_SIZE, "micro_batch_size")            \
    X(GLOBAL_BATCH_SIZE, "global_batch_size")          \
    X(LENGTHS, "lengths")                              \
    X(TRUNCATE, "truncation")                          \
    X(SPLIT_LONG, "splitting")                         \
    X(PACKING, "packing")                              \
    X(MICROBATCHES, "microbatches")                    \
    /* Its software. */                                \
    X(STACK, "stack")                                  \
    X(TARGET, "target")                                \
    X(RECOMPUTE, "recompute")                          \
    X(ZERO, "zero")                                    \
    X(DP_REPLICATE, "dp_replicate")                    \
    X(RESHARD, "reshard_after_forward")                \
    X(GRAD_SYNC, "grad_sync")                          \
    X(SEQUENCE_PARALLEL, "sequence_parallel")          \
    X(ATTENTION, "attention")                          \
    X(PRECISION, "precision")                          \
    X(LOW_PARAMETERS, "low_parameters")                \
    X(GRADIENTS, "grad_dtype")                         \
    X(MOMENTS, "optimizer_dtype")                      \
    X(CP_COMM, "cp_comm")                              \
    X(DISPATCHER, "moe_dispatcher")                    \
    X(FP8_DISPATCH, "moe_fp8_dispatch")                \
    X(SHARED_OVERLAP, "moe_shared_expert_overlap")     \
    X(CAPACITY, "moe_capacity")                        \
    X(PADS, "moe_pads")                                \
    X(CUDA_GRAPHS, "cuda_graphs")                      \
    X(RECOMPUTE_LAYERS, "recompute_layers")            \
    X(RECOMPUTE_MODULES, "recompute_modules")          \
    X(TORCH_COMPILE, "torch_compile")                  \
    X(STEP_SYNC, "step_sync")                          \
    /* Order and communication. */                     \
    X(SCHEDULE, "schedule")                            \
    X(GROUP_SIZE, "group_size")                        \
    X(RUNS, "pipeline_runs")                           \
    X(FRAMEWORK, "executor")                           \
    X(SHAPES, "shapes")                                \
    X(COMM, "comm")                                    \
    X(LANES, "lanes")                                  \
    X(RECV_BUFFERS, "recv_buffers")                    \
    X(SEND_BUFFERS, "send_buffers")                    \
    X(RETURN_OUTPUTS, "return_outputs")                \
    X(COMMUNICATORS, "communicators")                  \
    X(RANKS_PER_NIC, "ranks_per_nic")                  \
    X(OVERLAP_SLOWDOWN, "overlap_slowdown")            \
    X(HOST, "host")                                    \
    X(TENSORS, "tensors_per_boundary")                 \
    X(UNSHARD_LOOKAHEAD, "unshard_lookahead")          \
    X(OUTSTANDING_SENDS, "max_outstanding_sends")      \
    /* Costs. */                                       \
    X(COSTS, "costs")                                  \
    X(MEMORY_COSTS, "memory_costs")                    \
    X(RANK_SPEED, "rank_speed")                        \
    X(RANK_MEMORY, "rank_memory")                      \
    X(RANK_LINK, "rank_link")                          \
    X(JITTER, "jitter")                                \
    X(JITTER_RANK, "jitter slow-rank")                 \
    X(JITTER_LINK, "jitter slow-link")                 \
    /* Searching. */                                   \
    X(BUDGET, "budget")                                \
    X(THREADS, "threads")                              \
    /* Running and measuring. */                       \
    X(TRANSPORT, "transport")                          \
    X(COMPUTE, "compute")                              \
    X(COMPUTE_SETTINGS, "compute_settings")            \
    X(LINK, "link")                                    \
    X(FAULT, "fault")                                  \
    X(PAYLOAD, "payload")                              \
    X(VERIFY, "verify")                                \
    X(CHECK_MESSAGES, "check_messages")                \
    X(SERIALIZE_COMPUTE, "serialize_compute")          \
    X(PROBE, "probe")                                  \
    /* Pictures and recordings. */                     \
    X(KIND, "kind")                                    \
    X(AXES, "axes")                                    \
    X(SHOWN_RANKS, "ranks")                            \
    X(FROM, "from")                                    \
    X(STEPS, "steps")                                  \
    /* Files, named after what writes them. */         \
    X(PLAN_FILE, "a ppsim.plan file")                  \
    X(TRACE_WRITERS, "the simulator or the runtime")   \
    X(CHROME_WRITER, "the writer of Chrome traces")    \
    X(MEMORY_CSV_WRITER, "the format memory-csv")      \
    X(MEMORY_JSON_WRITER, "the format memory-json")    \
    X(JITTER_REPORTS, "reports with jitter")           \
    X(PARETO_FILE, "a Pareto front")                   \
    X(CANDIDATES_FILE, "plans, reports or candidates") \
    /* Questions. */                                   \
    X(ASK_SCHEDULES, "the registry of schedules")      \
    X(ASK_FRAMEWORKS, "the registry of executors")     \
    X(ASK_TRANSPORTS, "the registry of transports")    \
    X(ASK_COMPUTES, "the registry of computes")        \
    X(ASK_PROBES, "the registry of probes")            \
    X(ASK_FORMATS, "the registry of formats")          \
    X(ASK_TARGETS, "the registry of targets")          \
    X(ASK_PLOTS, "the registry of plots")              \
    X(ASK_PLAN, "the planner")                         \
    X(ASK_PLAN_MODEL, "a plan of a model")             \
    X(ASK_PLAN_PADDED, "shapes padded")                \
    X(ASK_SHAPES_MODEL, "the study of shapes")         \
    X(ASK_PACK, "the packer")                          \
    X(ASK_CHECK, "the check of schedules")             \
    X(RUNTIME, "the runtime")                          \
    X(PROGRAM, "PROGRAM")

typedef enum pp_field {
    PP_FIELD_NONE,
#define PP_FIELD_ENUM(id, name) PP_FIELD_##id,
    PP_FIELD_MAP(PP_FIELD_ENUM)
#undef PP_FIELD_ENUM
        PP_FIELD_COUNT
} pp_field;

/* A front end's names. NULL: it uses the library's name of that field. */
struct pp_field_names {
    const char *of[PP_FIELD_COUNT];
};

/* The name of `field` in messages of `err`, which may be NULL. It lives as long as the names that
 * `err` carries. NULL for PP_FIELD_NONE. */
const char *pp_err_name(const pp_err *err, pp_field field);

#endif
