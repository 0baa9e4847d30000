/* Maps the fields that messages of the libraries name to what the user types: an option or a
 * command. This is the only such table; a unit test checks that every field has a line. */
#include "tools/ppsim/base/option_names.h"

#include "sim/base/field.h"

/* clang-format off */
/* copies: the option that gives their number. */
#define NAMES(copies) { { \
    [PP_FIELD_DP_REPLICATE] = (copies), \
    [PP_FIELD_MODEL] = "--model", \
    [PP_FIELD_HARDWARE] = "--hw", \
    [PP_FIELD_PROFILE_LAYERS] = "--profile-layers", \
    [PP_FIELD_RECOST] = "--profile FILE --recost", \
    [PP_FIELD_GPUS] = "--gpus", \
    [PP_FIELD_RANKS] = "--pp", \
    [PP_FIELD_CHUNKS] = "--vpp", \
    [PP_FIELD_TP] = "--tp", \
    [PP_FIELD_CP] = "--cp", \
    [PP_FIELD_DP] = "--dp", \
    [PP_FIELD_EP] = "--ep", \
    [PP_FIELD_ETP] = "--etp", \
    [PP_FIELD_PARTITION] = "--partition", \
    [PP_FIELD_BARE_ENDS] = "--bare-ends", \
    [PP_FIELD_MEMORY_LIMIT] = "--memory-limit", \
    [PP_FIELD_SEQ_LENGTH] = "--seq-length", \
    [PP_FIELD_MICRO_BATCH_SIZE] = "--micro-batch-size", \
    [PP_FIELD_GLOBAL_BATCH_SIZE] = "--global-batch-size", \
    [PP_FIELD_LENGTHS] = "--lengths", \
    [PP_FIELD_TRUNCATE] = "--truncate", \
    [PP_FIELD_SPLIT_LONG] = "--split-long", \
    [PP_FIELD_PACKING] = "--packing", \
    [PP_FIELD_MICROBATCHES] = "--microbatches", \
    [PP_FIELD_STACK] = "--stack", \
    [PP_FIELD_TARGET] = "--target", \
    [PP_FIELD_RECOMPUTE] = "--recompute", \
    [PP_FIELD_ZERO] = "--zero", \
    [PP_FIELD_RESHARD] = "--reshard-after-forward", \
    [PP_FIELD_GRAD_SYNC] = "--grad-sync", \
    [PP_FIELD_SEQUENCE_PARALLEL] = "--sequence-parallel", \
    [PP_FIELD_ATTENTION] = "--attention", \
    [PP_FIELD_PRECISION] = "--precision", \
    [PP_FIELD_LOW_PARAMETERS] = "--fp8-params", \
    [PP_FIELD_GRADIENTS] = "--grad-dtype", \
    [PP_FIELD_MOMENTS] = "--optimizer-dtype", \
    [PP_FIELD_CP_COMM] = "--cp-comm", \
    [PP_FIELD_RECOMPUTE_LAYERS] = "--recompute-num-layers", \
    [PP_FIELD_RECOMPUTE_MODULES] = "--recompute-modules", \
    [PP_FIELD_DISPATCHER] = "--moe-dispatcher", \
    [PP_FIELD_FP8_DISPATCH] = "--moe-fp8-dispatch", \
    [PP_FIELD_SHARED_OVERLAP] = "--moe-shared-expert-overlap", \
    [PP_FIELD_CAPACITY] = "--moe-capacity-factor", \
    [PP_FIELD_PADS] = "--moe-pad-to-capacity", \
    [PP_FIELD_CUDA_GRAPHS] = "--cuda-graphs", \
    [PP_FIELD_TORCH_COMPILE] = "--torch-compile", \
    [PP_FIELD_STEP_SYNC] = "--step-sync", \
    [PP_FIELD_SCHEDULE] = "--schedule", \
    [PP_FIELD_GROUP_SIZE] = "--microbatch-group-size", \
    [PP_FIELD_FRAMEWORK] = "--executor", \
    [PP_FIELD_SHAPES] = "--shapes", \
    [PP_FIELD_COMM] = "--comm", \
    [PP_FIELD_LANES] = "--lanes", \
    [PP_FIELD_RECV_BUFFERS] = "--recv-buffers", \
    [PP_FIELD_SEND_BUFFERS] = "--send-buffers", \
    [PP_FIELD_RETURN_OUTPUTS] = "--return-outputs", \
    [PP_FIELD_COMMUNICATORS] = "--communicators", \
    [PP_FIELD_RANKS_PER_NIC] = "--nic", \
    [PP_FIELD_OVERLAP_SLOWDOWN] = "--overlap-slowdown", \
    [PP_FIELD_HOST] = "--host", \
    [PP_FIELD_RUNS] = "--pipeline-runs", \
    [PP_FIELD_TENSORS] = "--tensors-per-boundary", \
    [PP_FIELD_UNSHARD_LOOKAHEAD] = "--unshard-lookahead", \
    [PP_FIELD_OUTSTANDING_SENDS] = "--max-outstanding-sends", \
    [PP_FIELD_COSTS] = "--costs", \
    [PP_FIELD_MEMORY_COSTS] = "--memory-costs", \
    [PP_FIELD_RANK_SPEED] = "--rank-speed", \
    [PP_FIELD_RANK_MEMORY] = "--rank-memory", \
    [PP_FIELD_RANK_LINK] = "--rank-link", \
    [PP_FIELD_JITTER] = "--jitter", \
    [PP_FIELD_JITTER_RANK] = "--jitter slow-rank", \
    [PP_FIELD_JITTER_LINK] = "--jitter slow-link", \
    [PP_FIELD_BUDGET] = "--budget", \
    [PP_FIELD_THREADS] = "--threads", \
    [PP_FIELD_TRANSPORT] = "--transport", \
    [PP_FIELD_COMPUTE] = "--compute", \
    [PP_FIELD_COMPUTE_SETTINGS] = "--compute-settings", \
    [PP_FIELD_LINK] = "--link", \
    [PP_FIELD_FAULT] = "--fault", \
    [PP_FIELD_PAYLOAD] = "--payload", \
    [PP_FIELD_VERIFY] = "--verify", \
    [PP_FIELD_CHECK_MESSAGES] = "--check-messages", \
    [PP_FIELD_SERIALIZE_COMPUTE] = "--serialize-compute", \
    [PP_FIELD_PROBE] = "--probe", \
    [PP_FIELD_KIND] = "--kind", \
    [PP_FIELD_AXES] = "--x", \
    [PP_FIELD_SHOWN_RANKS] = "--ranks", \
    [PP_FIELD_FROM] = "--from", \
    [PP_FIELD_STEPS] = "--steps", \
    [PP_FIELD_PLAN_FILE] = "made with --emit plan=FILE", \
    [PP_FIELD_TRACE_WRITERS] = "'ppsim simulate' or 'ppsim run'", \
    [PP_FIELD_CHROME_WRITER] = "--trace chrome=FILE of 'ppsim simulate' or 'ppsim run'", \
    [PP_FIELD_MEMORY_CSV_WRITER] = "--trace memory-csv=FILE", \
    [PP_FIELD_MEMORY_JSON_WRITER] = "--trace memory-json=FILE", \
    [PP_FIELD_JITTER_REPORTS] = "reports of 'simulate --jitter'", \
    [PP_FIELD_PARETO_FILE] = "what 'plan --pareto --json' prints", \
    [PP_FIELD_CANDIDATES_FILE] = "plans or reports, or the file of 'plan --candidates'", \
    [PP_FIELD_ASK_SCHEDULES] = "'ppsim list schedules'", \
    [PP_FIELD_ASK_FRAMEWORKS] = "'ppsim list executors'", \
    [PP_FIELD_ASK_TRANSPORTS] = "'ppsim list transports'", \
    [PP_FIELD_ASK_COMPUTES] = "'ppsim list computes'", \
    [PP_FIELD_ASK_PROBES] = "'ppsim list probes'", \
    [PP_FIELD_ASK_FORMATS] = "'ppsim list formats'", \
    [PP_FIELD_ASK_TARGETS] = "'ppsim list targets'", \
    [PP_FIELD_ASK_PLOTS] = "'ppsim list plots'", \
    [PP_FIELD_ASK_PLAN] = "'ppsim plan'", \
    [PP_FIELD_ASK_PLAN_MODEL] = "'ppsim plan --model'", \
    [PP_FIELD_ASK_PLAN_PADDED] = "'ppsim plan --shapes padded'", \
    [PP_FIELD_ASK_SHAPES_MODEL] = "'ppsim shapes --model'", \
    [PP_FIELD_ASK_PACK] = "'ppsim pack'", \
    [PP_FIELD_ASK_CHECK] = "'ppsim check'", \
    [PP_FIELD_RUNTIME] = "ppsim run", \
    [PP_FIELD_PROGRAM] = "ppsim run", \
} }
/* clang-format on */

const struct pp_field_names pp_option_names = NAMES("--dp-replicate");
const struct pp_field_names pp_option_names_shard = NAMES("--dp-shard");
